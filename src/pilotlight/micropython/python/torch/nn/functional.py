# What is not here is the operator of that name; see __getattr__ at the end.
import _torch

_nn = _torch._nn
# In-place forms are operators of their own: how many arguments go before `inplace`.
_IN_PLACE = (
    ("relu", 0), ("relu6", 0), ("selu", 0), ("silu", 0), ("mish", 0), ("hardswish", 0), ("hardsigmoid", 0), ("elu", 1),
    ("celu", 1), ("leaky_relu", 1), ("hardtanh", 2), ("threshold", 2), ("rrelu", 3),
)


def _op(name):
    return getattr(_nn if hasattr(_nn, name) else _torch, name)


def _activation(name, count):
    def function(input, *args, inplace=False, **kwargs):
        if len(args) > count:
            args, inplace = args[:count], args[count]
        if inplace:
            for place in (_nn, _torch):
                if hasattr(place, name + "_"):
                    return getattr(place, name + "_")(input, *args, **kwargs)
        y = _op(name)(input, *args, **kwargs)
        return input.copy_(y) if inplace else y

    return function


def _dim(input, dim):
    return dim if dim is not None else 0 if input.dim() in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    return _torch.softmax(input, _dim(input, dim), dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    return _torch.log_softmax(input, _dim(input, dim), dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    return softmax(-input, dim, dtype=dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    noise = -_torch.empty_like(logits).exponential_().log()
    y = softmax((logits + noise) / tau, dim)
    return _torch.zeros_like(y).scatter_(dim, y.argmax(dim, True), 1.0) if hard else y


def logsigmoid(input):
    return _op("log_sigmoid")(input)


def softsign(input):
    return input / (input.abs() + 1)


def tanhshrink(input):
    return input - input.tanh()


# ---- dropout: one draw for every element, or for every channel

def _dropped(input, p, training, inplace, shape, alpha):
    if not 0.0 <= p <= 1.0:
        raise ValueError("dropout probability has to be between 0 and 1, but got " + str(p))
    if not training or p == 0:
        return input
    noise = _torch.empty(shape or input.shape, dtype=input.dtype).bernoulli_(1 - p)
    if alpha:
        scale = 1.7580993408473766
        a = ((scale * scale * p + 1) * (1 - p)) ** -0.5 if p < 1 else 0.0
        y = input * (noise * a) + ((noise - 1) * (scale * a) + scale * a * p)
    else:
        y = input * (noise.div_(1 - p) if p < 1 else noise)
    return input.copy_(y) if inplace else y


def dropout(input, p=0.5, training=True, inplace=False):
    return _dropped(input, p, training, inplace, None, False)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    return _dropped(input, p, training, inplace, None, True)


def _channels(input, rank=9):
    batch = 1 if input.dim() < rank else 2
    return list(input.shape)[:batch] + [1] * (input.dim() - batch)


def dropout1d(input, p=0.5, training=True, inplace=False):
    return _dropped(input, p, training, inplace, _channels(input, 3), False)


def dropout2d(input, p=0.5, training=True, inplace=False):
    return _dropped(input, p, training, inplace, _channels(input, 0), False)


def dropout3d(input, p=0.5, training=True, inplace=False):
    return _dropped(input, p, training, inplace, _channels(input, 0), False)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    return _dropped(input, p, training, inplace, _channels(input, 0), True)


# ---- pooling and windows

def _max_pool(rank):
    def function(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        name = "max_pool%dd" % rank + ("_with_indices" if return_indices else "")
        return _op(name)(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)

    return function


def _adaptive(kind, rank):
    def function(input, output_size, return_indices=False):
        if isinstance(output_size, (tuple, list)):
            at = input.dim() - rank
            output_size = [input.shape[at + k] if n is None else n for k, n in enumerate(output_size)]
        elif rank > 1:
            output_size = [output_size] * rank
        y = _op("adaptive_%s_pool%dd" % (kind, rank))(input, output_size)
        return y if kind == "avg" or return_indices else y[0]

    return function


def _lp_pool(rank):
    def function(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        size = 1
        for k in [kernel_size] * rank if isinstance(kernel_size, int) else kernel_size:
            size *= k
        y = _op("avg_pool%dd" % rank)(
            input.pow(norm_type), kernel_size, () if stride is None else stride, 0, ceil_mode
        )
        return (y.sign() * y.abs().relu()).mul(size).pow(1.0 / norm_type)

    return function


def _two(value):
    return (value, value) if isinstance(value, int) else value


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    return _op("im2col")(input, _two(kernel_size), _two(dilation), _two(padding), _two(stride))


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    return _op("col2im")(
        input, _two(output_size), _two(kernel_size), _two(dilation), _two(padding), _two(stride)
    )


def pad(input, pad, mode="constant", value=None):
    return _op("pad")(input, pad, mode, value)


def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False
):
    rank = input.dim() - 2
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    if (size is None) == (scale_factor is None):
        raise ValueError(
            "either size or scale_factor should be defined" if size is None
            else "only one of size or scale_factor should be defined"
        )
    scales = [None] * rank
    if size is None:
        scales = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * rank
        size = [int(input.shape[k + 2] * float(scales[k])) for k in range(rank)]
        if recompute_scale_factor:
            scales = [None] * rank
    elif isinstance(size, int):
        size = [size] * rank
    if mode == "area":
        return _adaptive("avg", rank)(input, size)
    kinds = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3, "nearest": rank, "nearest-exact": rank}
    if kinds.get(mode) != rank:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got %dD) for the modes: nearest | linear | bilinear"
            " | bicubic | trilinear | area | nearest-exact (got %s)" % (input.dim(), mode)
        )
    name = "_upsample_nearest_exact" if mode == "nearest-exact" else "upsample_" + mode
    corners = () if mode[:7] == "nearest" else (bool(align_corners),)
    return _op("%s%dd" % (name, rank))(input, size, *(corners + tuple(scales)))


upsample = interpolate


# ---- norms

def batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05
):
    if training and input.numel() == input.shape[1]:
        raise ValueError("Expected more than 1 value per channel when training, got input size " + str(input.shape))
    return _torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05
):
    return _torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    return _torch.group_norm(input, num_groups, weight, bias, eps)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    return _torch.layer_norm(input, normalized_shape, weight, bias, eps)


def local_response_norm(input, size, alpha=0.0001, beta=0.75, k=1.0):
    rank = input.dim()
    square = pad((input * input).unsqueeze(1), [0, 0] * (rank - 2) + [size // 2, (size - 1) // 2])
    mean = square.unfold(2, size, 1).mean(-1).squeeze(1)
    return input / (mean * alpha + k).pow(beta)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    y = input / input.norm(p, dim, True).clamp_min(eps).expand_as(input)
    return y if out is None else out.copy_(y)


# ---- tables

def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if max_norm is not None:
        rows = weight[input]
        norm = rows.norm(norm_type, -1, True)
        weight[input] = _torch.where(norm > max_norm, rows * (max_norm / (norm + 1e-7)), rows)
    return _torch.embedding(weight, input)


def embedding_bag(
    input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
    per_sample_weights=None, include_last_offset=False, padding_idx=None,
):
    if input.dim() == 2:
        starts = list(range(0, input.numel() + 1, input.shape[1]))
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    else:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        starts = offsets.tolist() + ([] if include_last_offset else [input.numel()])
    rows = embedding(input, weight, None, max_norm, norm_type)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    found = []
    for k in range(len(starts) - 1):
        bag = rows[starts[k] : starts[k + 1]]
        if padding_idx is not None:
            bag = bag[input[starts[k] : starts[k + 1]] != padding_idx]
        if bag.shape[0] == 0:
            found.append(weight.new_zeros((weight.shape[1],)))
        else:
            found.append(bag.amax(0) if mode == "max" else bag.sum(0) if mode == "sum" else bag.mean(0))
    return _torch.stack(found)


# ---- distances and losses

def _reduction(reduction):
    if reduction in ("none", "mean", "sum"):
        return ("none", "mean", "sum").index(reduction)
    raise ValueError(str(reduction) + " is not a valid value for reduction")


def _reduced(value, reduction):
    kind = _reduction(reduction)
    return value.mean() if kind == 1 else value.sum() if kind == 2 else value


# a loss that is an operator: its arguments between the target and the reduction, and those after it
def _loss(name, before, after=()):
    def function(input, target, *args, size_average=None, reduce=None, reduction="mean", **kwargs):
        names = before + ("size_average", "reduce", "reduction") + after
        if args:
            for key, value in zip(names, args):
                kwargs[key] = value
            reduction = kwargs.pop("reduction", reduction)
            kwargs.pop("size_average", None)
            kwargs.pop("reduce", None)
        extra = {}
        for key in kwargs:
            if key not in names:
                raise TypeError("%s() got an unexpected keyword argument '%s'" % (name, key))
            extra[key] = kwargs[key]
        return _op(name)(input, target, reduction=_reduction(reduction), **extra)

    return function


def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    return _op("cross_entropy_loss")(input, target, weight, _reduction(reduction), ignore_index, label_smoothing)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    return _op("nll_loss_nd")(input, target, weight, _reduction(reduction), ignore_index)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    if target.shape != input.shape:
        raise ValueError(
            "Using a target size (%s) that is different to the input size (%s) is deprecated. Please ensure they have the"
            " same size." % (target.shape, input.shape)
        )
    return _op("binary_cross_entropy")(input, target, weight, _reduction(reduction))


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    if target.shape != input.shape:
        raise ValueError("Target size (%s) must be the same as input size (%s)" % (target.shape, input.shape))
    return _op("binary_cross_entropy_with_logits")(input, target, weight, pos_weight, _reduction(reduction))


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    if reduction == "batchmean":
        return kl_div(input, target, reduction="sum", log_target=log_target) / input.shape[0]
    return _op("kl_div")(input, target, _reduction(reduction), log_target=log_target)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    return _op("huber_loss")(input, target, _reduction(reduction), delta)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-06, reduction="mean"):
    if isinstance(var, (int, float)):
        var = _torch.full_like(input, var)
    if var.shape != input.shape and var.dim() < input.dim():
        var = var.unsqueeze(-1)
    if (var < 0).any():
        raise ValueError("var has negative entry/entries")
    var = var.clamp(min=eps)
    y = (var.log() + (input - target) ** 2 / var) * 0.5
    return _reduced(y + 0.9189385332046727 if full else y, reduction)


def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, reduction="mean"
):
    y = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + (target * 6.283185307179586).log() * 0.5
        y = y + _torch.where(target > 1, stirling, _torch.zeros_like(y))
    return _reduced(y, reduction)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _reduced((-target * input).exp().log1p(), reduction)


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    cosine = _torch.cosine_similarity(input1, input2, -1)
    y = _torch.where(target == 1, 1 - cosine, (cosine - margin).clamp_min(0))
    return _reduced(y, reduction)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    zero = _torch.zeros_like(input)
    y = _torch.where(target != 1, (margin - input).clamp_min(0), zero) + _torch.where(target != -1, input, zero)
    return _reduced(y, reduction)


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    return _reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def pairwise_distance(x1, x2, p=2.0, eps=1e-06, keepdim=False):
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-06, swap=False, size_average=None, reduce=None, reduction="mean"
):
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = _torch.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _reduced((near - far + margin).clamp_min(0), reduction)


def __getattr__(name):
    found = None
    for known, count in _IN_PLACE:
        if name == known:
            found = _activation(name, count)
    if name[:8] == "max_pool" and name[-1] == "d":
        found = _max_pool(int(name[8]))
    elif name[:9] == "adaptive_":
        found = _adaptive(name[9:12], int(name[-2]))
    elif name[:7] == "lp_pool":
        found = _lp_pool(int(name[7]))
    elif name in ("mse_loss", "l1_loss"):
        found = _loss(name, (), ("weight",))
    elif name == "smooth_l1_loss":
        found = _loss(name, (), ("beta",))
    elif found is None:
        found = _op(name)
    globals()[name] = found
    return found
