from collections import OrderedDict

from _torch import Parameter, Tensor
from torch.nn.modules.module import Module


class ModuleDict(Module):
    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def __bool__(self):
        return len(self) > 0

    def keys(self):
        return self._modules.keys()

    def values(self):
        return self._modules.values()

    def items(self):
        return self._modules.items()

    def clear(self):
        self._modules.clear()

    def pop(self, key):
        return self._modules.pop(key)

    def update(self, modules):
        if type(modules) is dict:
            modules = sorted(modules.items(), key=lambda item: item[1]._number)
        for key, module in modules.items() if hasattr(modules, "items") else modules:
            self[key] = module


# Tensors become parameters; other values are kept as they are.
class _Values(Module):
    def _put(self, key, value):
        setattr(self, key, Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value)

    def _text(self, key):
        value = self[key]
        if isinstance(value, Tensor):
            size = "x".join([str(s) for s in value.shape])
            kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
            return "%s containing: [%s of size %s]" % (kind, self._kind(value), size)
        return "Object of type: " + type(value).__name__

    def extra_repr(self):
        return "\n".join(["  (%s): %s" % (key, self._text(key)) for key in self.keys()])

    def __len__(self):
        return len(list(self.keys()))


class ParameterList(_Values):
    def _kind(self, value):
        return value.dtype

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        self.extend(values or ())

    def keys(self):
        return range(self._size)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([self[k] for k in self.keys()[index]])
        n = self._size
        if not -n <= index < n:
            raise IndexError("index " + str(index) + " is out of range")
        return getattr(self, str(index % n))

    def __setitem__(self, index, value):
        self._put(str(index % self._size), value)

    def __iter__(self):
        return iter([self[k] for k in self.keys()])

    def append(self, value):
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        for value in values:
            self.append(value)
        return self

    def __iadd__(self, values):
        return self.extend(values)


class ParameterDict(_Values):
    def _kind(self, value):
        return value.type()

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = OrderedDict()
        if parameters is not None:
            self.update(parameters)

    def keys(self):
        return self._keys.keys()

    def values(self):
        return [self[k] for k in self._keys]

    def items(self):
        return [(k, self[k]) for k in self._keys]

    def __getitem__(self, key):
        return getattr(self, key)

    def __setitem__(self, key, value):
        self._keys[key] = None
        self._put(key, value)

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __contains__(self, key):
        return key in self._keys

    def __iter__(self):
        return iter(self._keys)

    def update(self, parameters):
        for key, value in parameters.items() if hasattr(parameters, "items") else parameters:
            self[key] = value
