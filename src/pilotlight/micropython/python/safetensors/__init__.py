# The package safetensors: its functions are packed ones of torch.
import _torch


def __getattr__(name):
    return getattr(_torch, "safetensors_" + name)
