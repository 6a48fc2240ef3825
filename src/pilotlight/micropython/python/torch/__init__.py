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
            _refuse(name)
            raise AttributeError("module 'torch' has no attribute '" + name + "'")
    found = globals()[name] = getattr(_torch, name)
    return found


# Raises if the name is that of a part which this build is without.
def _refuse(name, prefix=""):
    if hasattr(_torch, "_block"):
        from torch._packed import refuse

        refuse(name, prefix)


# A module of torch that is no file: its functions are those of torch whose names begin so.
class _Part:
    def __init__(self, *prefixes):
        self._prefixes = prefixes

    def __getattr__(self, name):
        for prefix in self._prefixes:
            for where in (_torch._nn, _torch):
                if hasattr(where, prefix + name):
                    return getattr(where, prefix + name)
            _refuse(name, prefix)
        raise AttributeError("module 'torch." + self._prefixes[0][:-1] + "' has no attribute '" + name + "'")


special = _Part("special_", "")
for _name in ("linalg", "jit", "cuda", "fft"):
    globals()[_name] = _Part(_name + "_")
for _name in ("special", "linalg", "jit", "cuda", "fft"):
    sys.modules["torch." + _name] = globals()[_name]


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
