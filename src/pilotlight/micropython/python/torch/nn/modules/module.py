from collections import OrderedDict, namedtuple

from _torch import Parameter, Tensor
from torch.nn.parameter import Buffer


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


def _indent(text):
    return text.replace("\n", "\n  ")


def _name(value):
    if isinstance(value, Tensor):
        return value.type()
    return type(value).__name__


def _quoted(names):
    return ", ".join(['"' + n + '"' for n in names])


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
            self._forget(name, "_parameters", "parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, "_modules", "module")[name] = value
        elif isinstance(value, Buffer):
            self.register_buffer(name, value.data, value.persistent)
        elif name in self._parameters:
            self._check(value, None, "parameter", name, "torch.nn.Parameter")
            self._parameters[name] = value
        elif name in self._modules:
            self._check(value, None, "child module", name, "torch.nn.Module")
            self._modules[name] = value
        elif name in self._buffers:
            self._check(value, Tensor, "buffer", name, "torch.nn.Buffer, torch.Tensor")
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name):
        for table in (self._modules, self._parameters, self._buffers):
            if name in table:
                del table[name]
                return
        object.__delattr__(self, name)

    def _check(self, value, kind, what, name, expected):
        if value is not None and not (kind and isinstance(value, kind)):
            raise TypeError("cannot assign '%s' as %s '%s' (%s or None expected)" % (_name(value), what, name, expected))

    # the table that is to hold a name, which leaves the other places
    def _forget(self, name, which, what):
        table = getattr(self, which)
        if table is ():
            raise AttributeError("cannot assign " + what + " before Module.__init__() call")
        for other in (self.__dict__, self._parameters, self._buffers, self._modules):
            if other is not table and name in other:
                delattr(self, name)
        return table

    def _register(self, what, table, name, value, fits, wrong):
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
        if value is not None and not isinstance(value, fits):
            raise TypeError(wrong % (_name(value), name))
        table[name] = value

    def register_parameter(self, name, param):
        self._register(
            "parameter", self._parameters, name, param, Parameter,
            "cannot assign '%s' object to parameter '%s' (torch.nn.Parameter or None required)",
        )

    def register_buffer(self, name, tensor, persistent=True):
        self._register(
            "buffer", self._buffers, name, tensor, Tensor,
            "cannot assign '%s' object to buffer '%s' (torch Tensor or None required)",
        )
        if persistent == (name in self._transient):
            others = tuple([n for n in self._transient if n != name])
            self._transient = others if persistent else others + (name,)

    def add_module(self, name, module):
        self._register("module", self._modules, name, module, Module, "%s is not a Module subclass%.0s")

    register_module = add_module

    def forward(self, *args):
        raise NotImplementedError('Module [%s] is missing the required "forward" function' % type(self).__name__)

    def __call__(self, *args, **kwargs):
        if not self._hooks and not self._pre_hooks:
            return self.forward(*args, **kwargs)
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

    def _hook(self, which, hook, prepend, with_kwargs):
        hooks = getattr(self, which)
        if hooks == ():
            hooks = []
            object.__setattr__(self, which, hooks)
        entry = (hook, with_kwargs)
        hooks.insert(0 if prepend else len(hooks), entry)
        return _Handle(hooks, entry)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        return self._hook("_pre_hooks", hook, prepend, with_kwargs)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        return self._hook("_hooks", hook, prepend, with_kwargs)

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
        return self._get(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target):
        return self._get(target, "_buffers", "a buffer")

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
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def type(self, dtype):
        return self._apply(lambda t: t.to(dtype))

    def float(self):
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def half(self):
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self):
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self):
        return self

    def requires_grad_(self, requires_grad=True):
        for value in self.parameters():
            value.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        pass

    def share_memory(self):
        return self

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

    def __dir__(self):
        return dir(type(self)) + list(self.__dict__) + list(self._parameters) + list(self._modules) + list(self._buffers)


