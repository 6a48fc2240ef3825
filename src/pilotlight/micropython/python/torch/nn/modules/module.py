from collections import OrderedDict

from _torch import Parameter, Tensor
from torch._packed import load
from torch.nn.parameter import Buffer


def _indent(text):
    return text.replace("\n", "\n  ")


# a method that few programs call; it is in `_rare`
def _rare(name):
    def method(self, *args, **kwargs):
        return load("torch.nn.modules._rare")[name](self, *args, **kwargs)

    return method


class Module:
    training = True
    # Empty until __init__ has run; parameters, buffers and children live in these tables only.
    _parameters = _buffers = _modules = ()
    _transient = ()
    _pre_hooks = _hooks = ()
    # Modules in the order they were made: a dict has none here.
    _made = 0

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

    def __delattr__(self, name):
        for table in (self._modules, self._parameters, self._buffers):
            if name in table:
                del table[name]
                return
        object.__delattr__(self, name)

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

    _refuse_register = _rare("refuse_register")
    _refuse_assign = _rare("refuse_assign")
    register_module = add_module
    load_state_dict = _rare("load_state_dict")
    register_forward_hook = _rare("register_forward_hook")
    register_forward_pre_hook = _rare("register_forward_pre_hook")
    get_submodule = _rare("get_submodule")
    get_parameter = _rare("get_parameter")
    get_buffer = _rare("get_buffer")
    to = _rare("to")
    type = _rare("as_type")
    float = _rare("float")
    half = _rare("half")
    bfloat16 = _rare("bfloat16")
    _apply = _rare("_apply")
    requires_grad_ = _rare("requires_grad_")
    zero_grad = _rare("zero_grad")

    def forward(self, *args):
        raise NotImplementedError('Module [%s] is missing the required "forward" function' % type(self).__name__)

    def __call__(self, *args, **kwargs):
        if not self._hooks and not self._pre_hooks:
            return self.forward(*args, **kwargs)
        return self._call_hooked(args, kwargs)

    _call_hooked = _rare("call_hooked")

    # ---- what is in it

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        memo = set() if memo is None else memo
        if id(self) not in memo:
            if remove_duplicate:
                memo.add(id(self))
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    def _members(self, which, prefix, recurse, remove_duplicate):
        memo = set()
        for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
            for name, value in getattr(module, which).items():
                if value is not None and id(value) not in memo:
                    if remove_duplicate:
                        memo.add(id(value))
                    yield path + ("." if path else "") + name, value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        return self._members("_parameters", prefix, recurse, remove_duplicate)

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        return self._members("_buffers", prefix, recurse, remove_duplicate)

    def named_children(self):
        memo = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in memo:
                memo.add(id(module))
                yield name, module

    def parameters(self, recurse=True):
        for _, value in self.named_parameters("", recurse):
            yield value

    def buffers(self, recurse=True):
        for _, value in self.named_buffers("", recurse):
            yield value

    def children(self):
        for _, value in self.named_children():
            yield value

    def modules(self):
        for _, value in self.named_modules():
            yield value

    # ---- its state

    # (module, table, name) of everything that a state dict holds
    def _state(self, prefix=""):
        for table in (self._parameters, self._buffers):
            for name, value in table.items():
                if value is not None and not (table is self._buffers and name in self._transient):
                    yield prefix + name, self, name, value
        for name, module in self._modules.items():
            if module is not None:
                yield from module._state(prefix + name + ".")

    def state_dict(self, destination=None, prefix="", keep_vars=False):
        destination = OrderedDict() if destination is None else destination
        for key, _, _, value in self._state(prefix):
            destination[key] = value if keep_vars else value.detach()
        return destination

    def apply(self, function):
        for module in self.children():
            module.apply(function)
        function(self)
        return self

    def train(self, mode=True):
        if mode not in (True, False):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        return self.train(False)

    # ---- its text

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        return ""

    def _lines(self):
        return ["(%s): %r" % (name, module) for name, module in self._modules.items()]

    def __repr__(self):
        extra = self.extra_repr()
        lines = self._lines()
        if lines or "\n" in extra:
            extra = _indent("\n" + "\n".join(([extra] if extra else []) + lines)) + "\n"
        return self._get_name() + "(" + extra + ")"
