# Functions of torch that are no operators: limits of types, modes, and what asks for a compiler or a device.
import _torch
import torch


class _Info:
    def __init__(self, text, dtype, **values):
        for name, value in values.items():
            setattr(self, name, value)
        self.bits, self.dtype = dtype.itemsize * 8, str(dtype)[6:]
        self.text = text

    def __repr__(self):
        values = [n + "=" + ("%g" if self.text[0] == "f" else "%d") % getattr(self, n) for n in self.text.split()[1:]]
        return self.text.split()[0] + "(" + ", ".join(values) + ", dtype=" + self.dtype + ")"


def finfo(type=None):
    dtype = type or _torch.float32
    if not dtype.is_floating_point:
        raise TypeError(
            "torch.finfo() requires a floating point input type. Use torch.iinfo to handle '" + str(dtype) + "'"
        )
    # exponent of the largest, of the smallest normal, of the step, and decimal digits
    top, low, step, digits = {"float32": (128, -126, 23, 6), "float16": (16, -14, 10, 3)}.get(
        str(dtype)[6:], (128, -126, 7, 2)
    )
    eps, tiny = 0.5**step, 0.5**-low
    high = (2.0 - eps) * 2.0 ** (top - 1)
    return _Info(
        "finfo resolution min max eps smallest_normal tiny", dtype, eps=eps, max=high, min=-high, tiny=tiny,
        smallest_normal=tiny, resolution=float("1e-" + str(digits)),
    )


def iinfo(type):
    if type.is_floating_point:
        raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle '" + str(type) + "'")
    low = 0 if str(type)[6] == "u" else -(1 << type.itemsize * 8 - 1)
    return _Info("iinfo min max", type, min=low, max=low + (1 << type.itemsize * 8) - 1)


def is_storage(x):
    return False


def typename(x):
    return "torch." + type(x).__name__ if _torch.is_tensor(x) else type(x).__name__


def use_deterministic_algorithms(mode, warn_only=False):
    pass


def set_num_threads(count):
    pass


def get_num_threads():
    return 1


# ---- modes: `torch` keeps the one of gradients

def enable_grad(function=None):
    return torch._Mode(True)(function) if function else torch._Mode(True)


def inference_mode(mode=True):
    return torch._Mode(False)(mode) if callable(mode) else torch._Mode(not mode)


class set_grad_enabled:
    def __init__(self, mode):
        self.last, torch._grad = torch._grad, mode

    def __enter__(self):
        pass

    def __exit__(self, *error):
        torch._grad = self.last


def is_grad_enabled():
    return torch._grad


def get_default_dtype():
    return _torch.float32


def set_default_dtype(d):
    if d is not _torch.float32:
        raise TypeError("only torch.float32 can be the default dtype")


def compile(model=None, **kwargs):
    return model if model else lambda function: function


# ---- torch.jit: decorators for a compiler that is not here; torch.cuda

def jit_script(obj, *args, **kwargs):
    return obj


def jit_is_scripting():
    return False


def cuda_device_count():
    return 0
