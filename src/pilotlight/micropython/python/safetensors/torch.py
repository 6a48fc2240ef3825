# safetensors.torch: load_file, save_file, load, save.
import _torch


def __getattr__(name):
    return getattr(_torch, "safetensors_" + name)
