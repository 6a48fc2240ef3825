"""What the quantizer does with which ATen operator, by name; modules are functional, so that there is no `relu_`."""

from __future__ import annotations

from torch.fx import Node

# Weights per output channel, activations in and out.
DENSE = {
    "conv1d.default", "conv1d.padding", "conv2d.default", "conv2d.padding", "convolution.default", "linear.default",
    "conv_transpose1d.default", "conv_transpose2d.input",
}
RECURRENT = {"lstm.input", "gru.input", "lstm_cell.default", "gru_cell.default"}
# A clamp becomes the limits of the operator before it.
CLAMPS = {"relu.default", "relu6.default", "hardtanh.default", "clamp.default", "clamp_min.default"}
# Of one tensor and numbers: any chain of these is one function of that tensor, a table. Names without overload.
POINTWISE = {
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atanh", "ceil", "celu", "clamp", "clamp_max", "clamp_min",
    "cos", "cosh", "div", "elu", "eq", "erf", "exp", "exp2", "expm1", "floor", "fmax", "fmin", "ge", "gelu", "gt",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "le", "leaky_relu", "log", "log10", "log1p", "log2",
    "log_sigmoid", "logical_not", "lt", "masked_fill", "maximum", "minimum", "mish", "mul", "ne", "neg", "pow", "prelu",
    "reciprocal", "relu", "relu6", "round", "rsqrt", "rsub", "selu", "sigmoid", "sign", "silu", "sin", "sinh",
    "softplus", "softshrink", "sqrt", "square", "sub", "tan", "tanh", "threshold", "trunc", "where",
}
# The result has a scale of its own.
OWN = {
    "_upsample_bicubic2d_aa.vec", "adaptive_avg_pool1d.default", "adaptive_avg_pool2d.default", "add.Tensor",
    "avg_pool1d.default", "avg_pool2d.default", "batch_norm.default", "bmm.default", "cumsum.default", "div.Tensor",
    "einsum.default", "embedding.default", "group_norm.default", "instance_norm.default", "layer_norm.default",
    "log_softmax.int", "matmul.default", "mean.default", "mean.dim", "mm.default", "mul.Tensor", "mv.default",
    "outer.default", "prelu.default", "rms_norm.default", "scaled_dot_product_attention.default", "sub.Tensor",
    "sum.default", "sum.dim_IntList", "upsample_bicubic2d.vec", "upsample_bilinear2d.vec", "upsample_linear1d.vec",
}
# The range of the result is known: scale and zero point.
FIXED = {"softmax.int": (1 / 256, -128), "sigmoid.default": (1 / 256, -128), "tanh.default": (1 / 128, 0)}
# The numbers of the result are among those of the inputs, which all get one scale.
SHARED = {
    "_unsafe_view.default", "_upsample_nearest_exact1d.vec", "_upsample_nearest_exact2d.vec",
    "adaptive_max_pool1d.default",
    "adaptive_max_pool2d.default", "alias.default", "amax.default", "amin.default", "as_strided.default", "cat.default",
    "channel_shuffle.default", "chunk.default", "clamp.Tensor", "clone.default", "constant_pad_nd.default",
    "contiguous.default", "detach.default", "diagonal.default", "dropout.default", "expand.default",
    "expand_as.default", "flatten.using_ints", "flip.default", "fmax.default", "fmin.default", "gather.default",
    "im2col.default", "index.Tensor", "index_copy.default", "index_select.default", "masked_fill.Scalar", "max.default",
    "max.dim", "max_pool1d.default", "max_pool2d.default", "maximum.default", "min.default", "min.dim",
    "minimum.default", "movedim.int", "movedim.intlist", "narrow.default", "pad.default", "permute.default",
    "pixel_shuffle.default", "pixel_unshuffle.default", "repeat.default", "repeat_interleave.self_int",
    "reshape.default", "roll.default", "scatter.src", "select.int", "select_scatter.default", "slice.Tensor",
    "slice_scatter.default", "split.Tensor", "split.sizes", "split_with_sizes.default", "squeeze.default",
    "squeeze.dim", "squeeze.dims", "stack.default", "swapaxes.default", "t.default", "tile.default", "transpose.int",
    "tril.default", "triu.default", "unbind.int", "unflatten.int", "unfold.default", "unsqueeze.default",
    "upsample_nearest1d.vec", "upsample_nearest2d.vec", "view.default", "view_as.default", "where.self",
}
# Only read: the result is no number, or none of this tensor's.
READS = {
    "argmax.default", "argmin.default", "eq.Tensor", "ge.Tensor", "gt.Tensor", "le.Tensor", "lt.Tensor", "ne.Tensor",
}

# Which arguments are activations, where not all tensors are.
ACTIVATIONS = {
    "batch_norm": slice(1), "embedding": slice(0), "group_norm": slice(1), "instance_norm": slice(1),
    "layer_norm": slice(1), "prelu": slice(1), "rms_norm": slice(1), "scaled_dot_product_attention": slice(3),
}


def operator_name(node: Node) -> str | None:
    """`add.Tensor`."""
    return str(node.target).removeprefix("aten.") if node.op == "call_function" else None


def base_name(node: Node) -> str:
    return (operator_name(node) or "").partition(".")[0]
