# Names come from the C module `_torch` when first asked for, and stay here from then on. Functions of this file use no
# builtin whose name torch has as well (max, int, ...): after `torch.int` it would be found here.
import sys

import _torch

__version__ = "2.13.0"
e, inf, nan, pi = 2.718281828459045, float("inf"), float("nan"), 3.141592653589793
_grad = True


def __getattr__(name):
    if name[0] == "_" or name == "Parameter" or not hasattr(_torch, name):
        try:
            return getattr(__import__("torch." + name), name)
        except ImportError:
            raise AttributeError("module 'torch' has no attribute '" + name + "'")
    found = globals()[name] = getattr(_torch, name)
    return found


# A module of torch that is no file: what is in it are functions whose names begin with its own.
class _Part:
    def __init__(self, prefix):
        self._prefix = prefix

    def __getattr__(self, name):
        full = self._prefix + name
        for where in (_torch._nn, _torch):
            if hasattr(where, full):
                return getattr(where, full)
        if self._prefix[0] == "s":
            return getattr(_torch, name)
        raise AttributeError(full)


for _name in ("special", "linalg", "jit", "cuda"):
    globals()[_name] = sys.modules["torch." + _name] = _Part(_name + "_")


# There are no gradients; only the mode is kept, for is_grad_enabled().
class _Mode:
    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        global _grad
        self.last, _grad = _grad, self.mode

    def __exit__(self, *error):
        global _grad
        _grad = self.last

    def __call__(self, function):
        def run(*args, **kwargs):
            with _Mode(self.mode):
                return function(*args, **kwargs)

        return run


def no_grad(function=None):
    return _Mode(False)(function) if function else _Mode(False)
