# Names come from the C module `_torch` when first asked for, and stay here from then on. Functions of this file use no
# builtin whose name torch has as well (max, int, ...): after `torch.int` it would be found here.
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


def enable_grad(function=None):
    return _Mode(True)(function) if function else _Mode(True)


def inference_mode(mode=True):
    return _Mode(False)(mode) if callable(mode) else _Mode(not mode)


class set_grad_enabled(_Mode):
    def __init__(self, mode):
        super().__init__(mode)
        super().__enter__()

    def __enter__(self):
        pass


def is_grad_enabled():
    return _grad


def get_default_dtype():
    return _torch.float32


def set_default_dtype(dtype):
    if dtype is not _torch.float32:
        raise TypeError("only torch.float32 can be the default dtype")


def compile(model=None, **kwargs):
    return model if model else lambda function: function
