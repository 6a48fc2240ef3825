# Operators that PyTorch has under special_<name>, or under the same name in torch.
import _torch


def __getattr__(name):
    where, full = _torch._nn, "special_" + name
    return getattr(where, full) if hasattr(where, full) else getattr(_torch, name)
