# Modules that only keep arguments for a function: lines of the table in `_table`.
from torch._packed import load
from torch.nn import functional
from torch.nn.modules.module import Module

def _literal(text):
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    if text[0] == "'":
        return text[1:-1]
    return float(text) if "." in text or "e" in text else int(text)


def _repeat(value, count):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


# (mark, name, count, keyword, default) of an argument; a default is a text, or None where there is none
def _argument(text):
    text, _, default = text.partition("=")
    text, _, keyword = text.partition(">")
    mark = text[0] if text[0] in "-?~@*:+!" else ""
    name, _, count = text[len(mark) :].partition("^")
    return mark, name, int(count or 0), keyword or name, default


class _Simple(Module):
    _spec = ()

    def __init__(self, *args, **kwargs):
        super().__init__()
        at = 0
        for mark, name, count, _, default in self._spec:
            if mark == "+":
                continue
            if mark == ":" or mark == "!":
                value = _literal(default)
            elif at < len(args):
                value = args[at]
                at += 1
                if name in kwargs:
                    self._wrong("got multiple values for argument", name)
            elif name in kwargs:
                value = kwargs.pop(name)
            elif not default:
                self._wrong("missing 1 required positional argument:", name)
            else:
                value = None if default[0] == "$" else _literal(default)
            if value is None and default[:1] == "$":
                value = getattr(self, default[1:])
            if count:
                value = _repeat(value, count)
            if name == "p" and not 0 <= value <= 1 and "inplace" in [a[1] for a in self._spec]:
                raise ValueError("dropout probability has to be between 0 and 1, but got " + str(value))
            if name == "scale_factor" and value is not None:
                value = tuple([float(v) for v in value]) if isinstance(value, (tuple, list)) else float(value)
            if name == "weight" or name == "pos_weight":
                self.register_buffer(name, value)
            elif mark != "*":
                setattr(self, name, value)
        if at < len(args):
            self._wrong("takes %d positional arguments but" % (at + 1), "%d were given" % (len(args) + 1))
        for name in kwargs:
            self._wrong("got an unexpected keyword argument", name)

    def _wrong(self, what, name):
        name = name if " " in name else "'" + name + "'"
        raise TypeError("%s.__init__() %s %s" % (type(self).__name__, what, name))

    def forward(self, *inputs):
        keywords = {}
        for mark, name, _, keyword, _ in self._spec:
            if mark != "*":
                keywords[keyword] = getattr(self, name)
        return getattr(functional, self._function)(*inputs, **keywords)

    def extra_repr(self):
        parts = []
        for mark, name, _, _, _ in self._spec:
            if mark in ("", "@", "!") or mark in ("?", "~") and getattr(self, name) not in (None, False):
                value = getattr(self, name)
                parts.append(str(value) if mark == "@" else name + "=" + repr(value))
        return ", ".join(parts)


def __getattr__(name):
    line = load("torch.nn.modules._table", {})["find"](name).split()
    if not line:
        raise AttributeError("module 'torch.nn' has no attribute '" + name + "'")
    made = type(name, (_Simple,), {"_function": line[1], "_spec": [_argument(a) for a in line[2:]]})
    globals()[name] = made
    return made
