from _torch import Parameter, Tensor
from torch._packed import load
from ucollections import OrderedDict

# Gives a class methods that a forward pass does not need, from a packed file; `float=as_float`: another name there.
def packed(owner, file, names):
    def method(name):
        return lambda self, *args, **kwargs: load("torch.nn.modules." + file)[name](self, *args, **kwargs)

    for word in names.split():
        name, _, there = word.partition("=")
        setattr(owner, name, method(there or name))


# A tensor on its way into a module: Module.__setattr__ registers what it holds.
class Buffer:
    def __init__(self, data, *, persistent=True):
        self.data, self.persistent = data, persistent


class Module:
    training = True
    # Empty until __init__ has run; parameters, buffers and children live in these tables only.
    _parameters = _buffers = _modules = ()
    _transient = ()
    _pre_hooks = _hooks = ()
    # Modules in the order they were made: a dict has none here.
    _made = 0
    _text = None  # the function of `_text` that writes what extra_repr() gives

    def __init__(self, *args, **kwargs):
        for name in ("_parameters", "_buffers", "_modules"):
            object.__setattr__(self, name, OrderedDict())
        Module._made += 1
        self._number = Module._made

    def __getattr__(self, name):
        for table in (self._modules, self._parameters, self._buffers):
            if name in table:
                return table[name]
        raise AttributeError("'%s' object has no attribute '%s'" % (type(self).__name__, name))

    def __setattr__(self, name, value):
        if isinstance(value, Parameter):
            self._forget(name, "_parameters", "parameter")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, "_modules", "module")[name] = value
        elif isinstance(value, Buffer):
            self.register_buffer(name, value.data, value.persistent)
        else:
            for table in (self._parameters, self._modules, self._buffers):
                if name in table:
                    if value is not None and not (table is self._buffers and isinstance(value, Tensor)):
                        self._refuse_assign(table, name, value)
                    table[name] = value
                    return
            object.__setattr__(self, name, value)

    # the table that is to hold a name, which leaves the other places
    def _forget(self, name, which, what):
        table = getattr(self, which)
        if table is ():
            self._refuse_register(what, table, name, None)
        for other in (self.__dict__, self._parameters, self._buffers, self._modules):
            if other is not table and name in other:
                delattr(self, name)
        return table

    def _register(self, what, table, name, value, fits):
        if (
            table is () or not isinstance(name, str) or "." in name or name == ""
            or hasattr(self, name) and name not in table or value is not None and not isinstance(value, fits)
        ):
            self._refuse_register(what, table, name, value)
        table[name] = value

    def register_parameter(self, name, param):
        self._register("parameter", self._parameters, name, param, Parameter)

    def register_buffer(self, name, tensor, persistent=True):
        self._register("buffer", self._buffers, name, tensor, Tensor)
        if persistent == (name in self._transient):
            others = tuple([n for n in self._transient if n != name])
            self._transient = others if persistent else others + (name,)

    def add_module(self, name, module):
        self._register("module", self._modules, name, module, Module)

    def forward(self, *args):
        raise NotImplementedError('Module [%s] is missing the required "forward" function' % type(self).__name__)

    def __call__(self, *args, **kwargs):
        if not self._hooks and not self._pre_hooks:
            return self.forward(*args, **kwargs)
        return self._call_hooked(args, kwargs)

    def train(self, mode=True):
        if mode not in (True, False):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self._modules.values():
            if module is not None:
                module.train(mode)
        return self

    def eval(self):
        return self.train(False)


packed(
    Module, "_walk",
    "named_modules named_children named_parameters named_buffers modules children parameters buffers apply",
)
packed(Module, "_state", "state_dict load_state_dict")
packed(Module, "_text", "extra_repr _get_name _lines __repr__")
packed(
    Module, "_rare",
    "to _apply __delattr__ register_module register_forward_hook register_forward_pre_hook _call_hooked get_submodule"
    " get_parameter get_buffer type=as_type float=as_float half=as_half bfloat16=as_bfloat16 requires_grad_ zero_grad"
    " cpu cuda double"
    " _refuse_register _refuse_assign",
)
