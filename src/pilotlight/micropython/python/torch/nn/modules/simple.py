# Modules that only keep arguments for a function: lines of the table in `_table`.
from torch._packed import load
from torch.nn import functional
from torch.nn.modules.module import Module


def _literal(text):
    if text in ("None", "True", "False"):
        return {"N": None, "T": True, "F": False}[text[0]]
    if text[0] == "'":
        return text[1:-1]
    return float(text) if "." in text or "e" in text else int(text)


def _repeat(value, count):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


# (mark, name, count, keyword, default) of an argument; a default is a text, or None where there is none
def _argument(text):
    text, _, default = text.partition("=")
    text, _, keyword = text.partition(">")
    mark = text[0] if text[0] in "-?~@:+!" else ""
    name, _, count = text[len(mark) :].partition("^")
    return mark, name, int(count or 0), keyword or name, default


class _Simple(Module):
    _text = "simple"

    def __init__(self, *args, **kwargs):
        super().__init__()
        given = list(args)
        wrong = False
        for mark, name, count, _, default in self._spec:
            if mark == "+":
                continue
            if mark == ":" or mark == "!":
                value = _literal(default)
            elif given and name not in kwargs:
                value = given.pop(0)
            elif name in kwargs and not given:
                value = kwargs.pop(name)
            elif given or not default:
                wrong = True
                break
            else:
                value = None if default[0] == "$" else _literal(default)
            if value is None and default[:1] == "$":
                value = getattr(self, default[1:])
            if count:
                value = _repeat(value, count)
            if name == "p" and not mark and not 0 <= value <= 1:
                raise ValueError("dropout probability has to be between 0 and 1, but got " + str(value))
            if name == "scale_factor" and value is not None:
                value = tuple([float(v) for v in value]) if isinstance(value, (tuple, list)) else float(value)
            if name == "weight" or name == "pos_weight":
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)
        if given or kwargs or wrong:
            load("torch.nn.modules._rare")["refuse_arguments"](self, args, kwargs)

    def forward(self, *inputs, **keywords):
        for _, name, _, keyword, _ in self._spec:
            keywords[keyword] = getattr(self, name)
        return getattr(functional, self._function)(*inputs, **keywords)


def __getattr__(name):
    line = load("torch.nn.modules._table", {})["find"](name).split()
    if not line:
        raise AttributeError("module 'torch.nn' has no attribute '" + name + "'")
    if line[1][0] == "/":
        return load("torch.nn.modules." + line[1][1:])[name]
    made = type(name, (_Simple,), {"_function": line[1], "_spec": [_argument(a) for a in line[2:]]})
    globals()[name] = made
    return made
