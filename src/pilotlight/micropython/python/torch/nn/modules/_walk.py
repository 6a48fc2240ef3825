# Methods of Module that list what is in it.


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
    return _members(self, "_parameters", prefix, recurse, remove_duplicate)


def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
    return _members(self, "_buffers", prefix, recurse, remove_duplicate)


def named_children(self):
    memo = set()
    for name, module in self._modules.items():
        if module is not None and id(module) not in memo:
            memo.add(id(module))
            yield name, module


def _values(items):
    for _, value in items:
        yield value


def parameters(self, recurse=True):
    return _values(self.named_parameters("", recurse))


def buffers(self, recurse=True):
    return _values(self.named_buffers("", recurse))


def children(self):
    return _values(self.named_children())


def modules(self):
    return _values(self.named_modules())


def apply(self, function):
    for module in self.children():
        module.apply(function)
    function(self)
    return self
