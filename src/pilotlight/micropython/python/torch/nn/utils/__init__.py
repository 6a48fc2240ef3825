# torch.nn.utils: parameters as one vector; `rnn` and `fusion` are modules of their own.
import _torch


def parameters_to_vector(parameters):
    return _torch.cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    if not isinstance(vec, _torch.Tensor):
        raise TypeError("expected torch.Tensor, but got: " + type(vec).__name__)
    at = 0
    for p in parameters:
        p.data = vec[at : at + p.numel()].view_as(p)
        at += p.numel()


def __getattr__(name):
    try:
        return getattr(__import__("torch.nn.utils." + name).nn.utils, name)
    except ImportError:
        raise AttributeError("module 'torch.nn.utils' has no attribute '" + name + "'")
