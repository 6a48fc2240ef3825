# Methods of Module that few programs call.
import _torch
from _torch import Parameter, Tensor
from torch.nn.modules.module import Module


class _Handle:
    def __init__(self, hooks, hook):
        self.hooks, self.hook = hooks, hook

    def remove(self):
        if self.hook in self.hooks:
            self.hooks.remove(self.hook)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def _kind(value):
    return value.type() if isinstance(value, Tensor) else type(value).__name__


def _refuse_register(self, what, table, name, value):
    if table is ():
        plural = "s" if what == "parameter" else ""
        raise AttributeError("cannot assign " + what + plural + " before Module.__init__() call")
    if not isinstance(name, str):
        raise TypeError(what + " name should be a string. Got " + type(name).__name__)
    if "." in name:
        raise KeyError('%s name can\'t contain "."%s' % (what, ", got: " + name if what == "module" else ""))
    if name == "":
        raise KeyError(what + ' name can\'t be empty string ""')
    if hasattr(self, name) and name not in table:
        raise KeyError("attribute '%s' already exists" % name)
    if what == "module":
        raise TypeError(_kind(value) + " is not a Module subclass")
    wanted = "torch.nn.Parameter" if what == "parameter" else "torch Tensor"
    raise TypeError("cannot assign '%s' object to %s '%s' (%s or None required)" % (_kind(value), what, name, wanted))


def _refuse_assign(self, table, name, value):
    if table is self._parameters:
        what, wanted = "parameter", "torch.nn.Parameter"
    elif table is self._modules:
        what, wanted = "child module", "torch.nn.Module"
    else:
        what, wanted = "buffer", "torch.nn.Buffer, torch.Tensor"
    raise TypeError("cannot assign '%s' as %s '%s' (%s or None expected)" % (_kind(value), what, name, wanted))


def _hook(self, which, hook, prepend, with_kwargs):
    hooks = getattr(self, which)
    if hooks == ():
        hooks = []
        object.__setattr__(self, which, hooks)
    entry = (hook, with_kwargs)
    hooks.insert(0 if prepend else len(hooks), entry)
    return _Handle(hooks, entry)


def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
    return _hook(self, "_pre_hooks", hook, prepend, with_kwargs)


def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
    return _hook(self, "_hooks", hook, prepend, with_kwargs)


def _call_hooked(self, args, kwargs):
    for hook, with_kwargs in list(self._pre_hooks):
        if with_kwargs:
            changed = hook(self, args, kwargs)
            if changed is not None:
                args, kwargs = changed
        else:
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    result = self.forward(*args, **kwargs)
    for hook, with_kwargs in list(self._hooks):
        changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
        if changed is not None:
            result = changed
    return result


def get_submodule(self, target):
    module = self
    for name in target.split(".") if target else ():
        parent, module = module, getattr(module, name, None)
        if module is None:
            raise AttributeError(type(parent).__name__ + " has no attribute `" + name + "`")
        if not isinstance(module, Module):
            raise AttributeError("`" + name + "` is not an nn.Module")
    return module


def _get(self, target, which, what):
    path, _, name = target.rpartition(".")
    module = self.get_submodule(path)
    if not hasattr(module, name):
        raise AttributeError(type(module).__name__ + " has no attribute `" + name + "`")
    if name not in getattr(module, which):
        raise AttributeError("`" + name + "` is not " + what)
    return getattr(module, name)


def get_parameter(self, target):
    return _get(self, target, "_parameters", "an nn.Parameter")


def get_buffer(self, target):
    return _get(self, target, "_buffers", "a buffer")


# a tensor that several modules share stays shared

def _apply(self, function):
    memo = {}
    for module in self.modules():
        for table in (module._parameters, module._buffers):
            for name, value in list(table.items()):
                if value is not None:
                    if id(value) not in memo:
                        new = function(value.detach())
                        if isinstance(value, Parameter):
                            new = Parameter(new, value.requires_grad)
                        memo[id(value)] = (new, value)
                    table[name] = memo[id(value)][0]
    return self


def to(self, *args, **kwargs):
    # only floating-point tensors follow a dtype; there is one device
    dtype = kwargs.get("dtype")
    for value in args:
        if isinstance(value, Tensor):
            dtype = value.dtype
        elif hasattr(value, "is_floating_point") or isinstance(value, type):
            dtype = value
    if dtype is None:
        return self
    dtype = _torch.empty(0, dtype=dtype).dtype  # of Python's float too
    if not dtype.is_floating_point:
        raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=%s" % dtype)
    return _apply(self, lambda t: t.to(dtype) if t.is_floating_point() else t)


def cpu(self):
    return self


def cuda(self, device=None):
    raise AssertionError("Torch not compiled with CUDA enabled")


def double(self):
    raise TypeError("there is no float64 here: a Module has float32, float16 or bfloat16")


def as_type(self, dtype):
    return _apply(self, lambda t: t.to(dtype))


def as_float(self):
    return _apply(self, lambda t: t.float() if t.is_floating_point() else t)


def as_half(self):
    return _apply(self, lambda t: t.half() if t.is_floating_point() else t)


def as_bfloat16(self):
    return _apply(self, lambda t: t.bfloat16() if t.is_floating_point() else t)


def requires_grad_(self, requires_grad=True):
    for value in self.parameters():
        value.requires_grad_(requires_grad)
    return self


def zero_grad(self, set_to_none=True):
    pass


def register_module(self, name, module):
    self.add_module(name, module)


def __delattr__(self, name):
    for table in (self._modules, self._parameters, self._buffers):
        if name in table:
            del table[name]
            return
    object.__delattr__(self, name)


# of a class of `simple`; `kwargs` are those that are left
def refuse_arguments(self, args, kwargs):
    names = [name for mark, name, _, _, _ in self._spec if mark not in (":", "!", "+")]
    what = ""
    for name in kwargs:
        what = ("got multiple values for argument '%s'" if name in names else "got an unexpected keyword argument '%s'") % name
    if len(args) > len(names):
        what = "takes %d positional arguments but %d were given" % (len(names) + 1, len(args) + 1)
    for name in names:
        if not what and not hasattr(self, name):
            what = "missing 1 required positional argument: '%s'" % name
    raise TypeError(type(self).__name__ + ".__init__() " + what)
