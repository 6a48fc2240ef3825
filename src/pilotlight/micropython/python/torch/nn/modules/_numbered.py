# Methods of Sequential and ModuleList that few programs call.
from collections import OrderedDict

from torch.nn.modules.container import Sequential


def _fill(self, modules):
    for key in list(self._modules):
        del self._modules[key]
    for k, module in enumerate(modules):
        self.add_module(str(k), module)


def _at(self, index):
    n = len(self)
    if not -n <= index < n:
        raise IndexError("index " + str(index) + " is out of range")
    return list(self._modules)[index]


def item(self, index):
    if isinstance(index, slice):
        items = list(self._modules.items())[index]
        return type(self)(OrderedDict(items)) if isinstance(self, Sequential) else type(self)([m for _, m in items])
    return self._modules[_at(self, index)]


def __setitem__(self, index, module):
    setattr(self, _at(self, index), module)


def __delitem__(self, index):
    for key in list(self._modules)[index] if isinstance(index, slice) else [_at(self, index)]:
        del self._modules[key]
    _fill(self, list(self))


def insert(self, index, module):
    modules = list(self)
    modules.insert(index, module)
    _fill(self, modules)
    return self


def pop(self, key):
    module = self[key]
    del self[key]
    return module


def __add__(self, other):
    modules = list(self) + list(other)
    return type(self)(*modules) if isinstance(self, Sequential) else type(self)(modules)
