# Operators that PyTorch has under linalg_<name>.
import _torch


def __getattr__(name):
    full = "linalg_" + name
    if hasattr(_torch._nn, full):
        return getattr(_torch._nn, full)
    raise AttributeError("module 'torch.linalg' has no attribute '" + name + "'")
