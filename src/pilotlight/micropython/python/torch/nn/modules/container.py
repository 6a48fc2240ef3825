from collections import OrderedDict

from torch.nn.modules.module import Module


# modules by number: what Sequential and ModuleList share
class _Numbered(Module):
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

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __bool__(self):
        return len(self) > 0

    def __getitem__(self, index):
        if isinstance(index, slice):
            items = list(self._modules.items())[index]
            return type(self)(OrderedDict(items)) if isinstance(self, Sequential) else type(self)([m for _, m in items])
        return self._modules[self._at(index)]

    def __setitem__(self, index, module):
        key = self._at(index)
        setattr(self, key, module)

    def __delitem__(self, index):
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._at(index)]
        for key in keys:
            del self._modules[key]
        self._fill(list(self._modules.values()))

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self

    def insert(self, index, module):
        modules = list(self)
        modules.insert(index, module)
        self._fill(modules)
        return self

    def pop(self, key):
        module = self[key]
        del self[key]
        return module

    def __iadd__(self, other):
        return self.extend(other)

    def __add__(self, other):
        return type(self)(*(list(self) + list(other))) if isinstance(self, Sequential) else type(self)(list(self) + list(other))


class Sequential(_Numbered):
    def __init__(self, *args):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_Numbered):
    def __init__(self, modules=None):
        super().__init__()
        self.extend(modules or ())

    # equal neighbours are one line: (0-2): 3 x ReLU()
    def _lines(self):
        lines, texts = [], [repr(m) for m in self]
        start = 0
        for k in range(len(texts)):
            if k + 1 == len(texts) or texts[k + 1] != texts[k]:
                many = "" if k == start else "-%d): %d x " % (k, k + 1 - start)
                lines.append("(%d%s%s" % (start, many or "): ", texts[k]))
                start = k + 1
        return lines
