# Classes are made when first asked for; those that are not here are lines of the table of `modules.simple`.
import sys

from torch._packed import refuse
from torch.nn.modules.module import Buffer, Module, Parameter

parameter = sys.modules["torch.nn.parameter"] = sys.modules["torch.nn"]

_FILES = (
    "Conv conv BatchNorm batchnorm InstanceNorm batchnorm Linear linear Sequential container ModuleList container"
)


def __getattr__(name):
    if name[0] == name[0].lower():
        try:
            return getattr(__import__("torch.nn." + name).nn, name)
        except ImportError:
            refuse(name, "torch.nn.")
            raise AttributeError("module 'torch.nn' has no attribute '" + name + "'")
    file = "simple"
    words = _FILES.split()
    for k in range(0, 12, 2):
        if name.startswith(words[k]):
            file = words[k + 1]
    found = getattr(getattr(__import__("torch.nn.modules." + file).nn.modules, file), name)
    globals()[name] = found
    return found
