# Layers with the normalization that follows them, as one layer.
import _torch
from _torch import Parameter
from copy import deepcopy


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    if conv_b is None:
        conv_b = _torch.zeros_like(bn_rm, dtype=conv_w.dtype)
    scale = (bn_rv + bn_eps).rsqrt()
    weight = _torch.ones_like(bn_rm) if bn_w is None else bn_w
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    w = (conv_w * (weight * scale).reshape(shape)).to(conv_w.dtype)
    b = (conv_b - bn_rm) * scale * weight
    b = (b if bn_b is None else b + bn_b).to(conv_b.dtype)
    return Parameter(w, conv_w.requires_grad), Parameter(b, conv_b.requires_grad)


def _fused(layer, bn):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    return deepcopy(layer)


def fuse_conv_bn_eval(conv, bn, transpose=False):
    fused = _fused(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    if linear_b is None:
        linear_b = _torch.zeros_like(bn_rm, dtype=linear_w.dtype)
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    w = linear_w * scale.unsqueeze(-1).to(linear_w.dtype)
    b = ((linear_b - bn_rm) * scale + bn_b).to(linear_b.dtype)
    return Parameter(w, linear_w.requires_grad), Parameter(b, linear_b.requires_grad)


def fuse_linear_bn_eval(linear, bn):
    fused = _fused(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got linear.out_features=%d and "
            "bn.num_features=%d" % (linear.out_features, bn.num_features)
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(
        linear.weight, linear.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
