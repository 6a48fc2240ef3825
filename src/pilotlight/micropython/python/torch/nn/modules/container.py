from torch._packed import load
from torch.nn.modules.module import Module, packed


# modules by number: what Sequential and ModuleList share; what changes them is in `_numbered`
class _Numbered(Module):
    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, index):
        if isinstance(index, int) and 0 <= index < len(self):
            return list(self)[index]
        return load("torch.nn.modules._numbered")["item"](self, index)

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self

    __iadd__ = extend


packed(_Numbered, "_numbered", "__add__ __setitem__ __delitem__ insert pop")


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


packed(ModuleList, "_text", "_lines=numbered_lines")
