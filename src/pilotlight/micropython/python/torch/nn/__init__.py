# Classes are made when first asked for; those that are not here are lines of the table of `modules.simple`.
from torch.nn.modules.module import Module
from torch.nn.parameter import Buffer, Parameter

_FILES = (
    ("Conv", "conv"), ("BatchNorm", "batchnorm"), ("InstanceNorm", "batchnorm"), ("Linear", "linear"),
    ("Sequential", "container"), ("ModuleList", "container"),
)


def __getattr__(name):
    if name[0] == name[0].lower():
        try:
            return getattr(__import__("torch.nn." + name).nn, name)
        except ImportError:
            raise AttributeError("module 'torch.nn' has no attribute '" + name + "'")
    file = "simple"
    for start, known in _FILES:
        if name.startswith(start):
            file = known
    found = getattr(getattr(__import__("torch.nn.modules." + file).nn.modules, file), name)
    globals()[name] = found
    return found
