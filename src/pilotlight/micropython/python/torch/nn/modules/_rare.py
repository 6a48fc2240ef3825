# Methods of Module that few programs call.
from collections import namedtuple

from _torch import Parameter, Tensor
from torch.nn.modules.module import Module


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    def __repr__(self):
        if self.missing_keys or self.unexpected_keys:
            return "_IncompatibleKeys(missing_keys=%s, unexpected_keys=%s)" % (self.missing_keys, self.unexpected_keys)
        return "<All keys matched successfully>"

    __str__ = __repr__


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


def refuse_register(self, what, table, name, value):
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


def refuse_assign(self, table, name, value):
    if table is self._parameters:
        what, wanted = "parameter", "torch.nn.Parameter"
    elif table is self._modules:
        what, wanted = "child module", "torch.nn.Module"
    else:
        what, wanted = "buffer", "torch.nn.Buffer, torch.Tensor"
    raise TypeError("cannot assign '%s' as %s '%s' (%s or None expected)" % (_kind(value), what, name, wanted))


def refuse_conv(in_channels, out_channels, groups, padding, padding_mode):
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError("Invalid padding string '%s', should be one of {'same', 'valid'}" % padding)
        if padding == "same":
            raise ValueError("padding='same' is not supported for strided convolutions")
    raise ValueError(
        "padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, but got padding_mode='%s'"
        % padding_mode
    )


def refuse_size(output_size, least, stride, input):
    raise ValueError(
        "requested an output size of %s, but valid sizes range from %s to %s (for an input of %s)"
        % (output_size, least, least + stride - 1, input.shape)
    )


def _quoted(names):
    return ", ".join(['"' + n + '"' for n in names])


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


def call_hooked(self, args, kwargs):
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


def load_state_dict(self, state_dict, strict=True, assign=False):
    if not isinstance(state_dict, dict):
        raise TypeError("Expected state_dict to be dict-like, got " + str(type(state_dict)) + ".")
    missing, wrong, known = [], [], set()
    for key, module, name, value in self._state():
        known.add(key)
        given = state_dict.get(key)
        if given is None:
            if name != "num_batches_tracked":
                missing.append(key)
        elif not isinstance(given, Tensor):
            wrong.append(
                'While copying the parameter named "%s", expected torch.Tensor or Tensor-like object from checkpoint '
                "but received %s" % (key, type(given))
            )
        elif given.shape != value.shape:
            wrong.append(
                "size mismatch for %s: copying a param with shape %s from checkpoint, the shape in current model is %s."
                % (key, given.shape, value.shape)
            )
        elif not assign:
            value.copy_(given)
        elif isinstance(value, Parameter):
            module._parameters[name] = Parameter(given, value.requires_grad)
        else:
            module._buffers[name] = given
    unexpected = [key for key in state_dict if key not in known]
    if strict:
        if unexpected:
            wrong.insert(0, "Unexpected key(s) in state_dict: " + _quoted(unexpected) + ". ")
        if missing:
            wrong.insert(0, "Missing key(s) in state_dict: " + _quoted(missing) + ". ")
    if wrong:
        raise RuntimeError(
            "Error(s) in loading state_dict for %s:\n\t%s" % (type(self).__name__, "\n\t".join(wrong))
        )
    return _IncompatibleKeys(missing, unexpected)


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
        elif hasattr(value, "is_floating_point"):
            dtype = value
    if dtype is None:
        return self
    if not dtype.is_floating_point:
        raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=%s" % dtype)
    return _apply(self, lambda t: t.to(dtype) if t.is_floating_point() else t)


def as_type(self, dtype):
    return _apply(self, lambda t: t.to(dtype))


def float(self):
    return _apply(self, lambda t: t.float() if t.is_floating_point() else t)


def half(self):
    return _apply(self, lambda t: t.half() if t.is_floating_point() else t)


def bfloat16(self):
    return _apply(self, lambda t: t.bfloat16() if t.is_floating_point() else t)


def requires_grad_(self, requires_grad=True):
    for value in self.parameters():
        value.requires_grad_(requires_grad)
    return self


def zero_grad(self, set_to_none=True):
    pass
