# What is not here is in `_more`, `_losses` or `_tables`, or is the operator of that name; see __getattr__ at the end.
import builtins

import _torch
from torch._packed import load, refuse

_nn = _torch._nn
# In-place forms are operators of their own: how many arguments go before `inplace`.
_IN_PLACE = (
    " relu 0 relu6 0 selu 0 silu 0 mish 0 hardswish 0 hardsigmoid 0 elu 1 celu 1 leaky_relu 1 hardtanh 2 threshold 2 "
)
# Functions that differ from the operator of the same name, in `_more`.
_DIFFERENT = " rrelu instance_norm alpha_dropout feature_alpha_dropout "


def _op(name):
    return getattr(_nn if hasattr(_nn, name) else _torch, name)


def _activation(name, count):
    def function(input, *args, inplace=False, **kwargs):
        if len(args) > count:
            args, inplace = args[:count], args[count]
        if inplace and hasattr(_nn if hasattr(_nn, name) else _torch, name + "_"):
            return _op(name + "_")(input, *args, **kwargs)
        y = _op(name)(input, *args, **kwargs)
        return input.copy_(y) if inplace else y

    return function


def _max_pool(name):
    def function(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        operator = _op(name + "_with_indices" if return_indices else name)
        return operator(input, kernel_size, kernel_size if stride is None else stride, padding, dilation, ceil_mode)

    return function


def _adaptive(name):
    def function(input, output_size, return_indices=False):
        rank = int(name[-2])
        if rank > 1 and not isinstance(output_size, int):
            if input.dim() <= len(output_size):
                raise ValueError("Input dimension should be at least %d" % (len(output_size) + 1))
            output_size = [input.shape[k - rank] if n is None else n for k, n in enumerate(output_size)]
        average = name[9] == "a"
        if average and output_size in (1, [1] * rank) and not input.is_floating_point():
            input.mean()  # raises what PyTorch does, where this is a mean
        y = _op(name)(input, output_size)
        return y if average or return_indices else y[0]

    return function


def _softmax(name):
    def function(input, dim=None, _stacklevel=3, dtype=None):
        if dim is None:
            dim = 0 if input.dim() in (0, 1, 3) else 1
        return _op(name)(input, dim, dtype=dtype)

    return function


def dropout(input, p=0.5, training=True, inplace=False):
    if not 0.0 <= p <= 1.0:
        raise ValueError("dropout probability has to be between 0 and 1, but got " + str(p))
    return __getattr__("dropped")(input, p, inplace) if training and p else input


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05):
    if training and input.ndim > 1 and input.numel() == input.shape[1]:
        raise ValueError("Expected more than 1 value per channel when training, got input size " + str(input.shape))
    return _torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def __getattr__(name):
    file = None
    at = _IN_PLACE.find(" " + name + " ")
    if at >= 0 and name[0] > "9":
        found = _activation(name, int(_IN_PLACE[at + len(name) + 2]))
    elif name[:8] == "max_pool" and name[-1] == "d":
        found = _max_pool(name)
    elif name[:9] == "adaptive_":
        found = _adaptive(name)
    elif name[-7:] == "softmax" and name[0] != "g":
        found = _softmax(name)
    elif name[-4:] == "loss" or name in ("kl_div", "cross_entropy", "pairwise_distance") or name[:7] == "binary_":
        file = "_losses"
    elif name[:9] == "embedding":
        file = "_tables"
    elif " " + name + " " in _DIFFERENT or not hasattr(_nn, name) and not hasattr(_torch, name):
        file = "_more"
    else:
        found = _op(name)
        if not callable(found):  # a type of elements
            file = "_more"
    if file:
        found = load("torch.nn." + file).get(name) or getattr(_torch, "nn_" + name, None)
        if found is None:
            refuse(name, "nn_")
            raise AttributeError("module 'torch.nn.functional' has no attribute '" + name + "'")
    if not hasattr(builtins, name):  # functions here mean Python's own int
        globals()[name] = found
    return found
