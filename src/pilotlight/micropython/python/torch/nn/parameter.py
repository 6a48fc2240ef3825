from _torch import Parameter


# A tensor on its way into a module: Module.__setattr__ registers what it holds.
class Buffer:
    def __init__(self, data, *, persistent=True):
        self.data, self.persistent = data, persistent
