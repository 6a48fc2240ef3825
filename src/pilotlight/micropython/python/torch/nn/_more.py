# The part of torch.nn.functional that few models use.
import _torch
from torch.nn.functional import _op


def softmin(input, dim, _stacklevel=3, dtype=None):
    return _torch.softmax(-input, dim, dtype=dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    y = _torch.softmax((logits - _torch.empty_like(logits).exponential_().log()) / tau, dim)
    return _torch.zeros_like(y).scatter_(dim, y.argmax(dim, True), 1.0) if hard else y


def logsigmoid(input):
    return _op("log_sigmoid")(input)


def softsign(input):
    return input / (input.abs() + 1)


def tanhshrink(input):
    return input - input.tanh()


def rrelu(input, lower=0.125, upper=0.3333333333333333, training=False, inplace=False):
    low = input <= 0
    slope = (lower + upper) / 2
    if training:  # PyTorch draws 53 bits for each of these
        draws = _torch.empty(low.sum().item(), dtype=_torch.int64).random_() & 9007199254740991
        slope = draws * 1.1102230246251565e-16 * (upper - lower) + lower
    y = input if inplace else input.clone()
    y[low] = (input[low] * slope).to(input.dtype)
    return y


# One draw for every element, or (with `batch`) for every channel; `alpha` keeps the mean and variance of SELU's outputs.
def dropped(input, p, inplace, batch=0, alpha=False):
    shape = list(input.shape)
    if batch:
        shape[batch:] = [1] * (len(shape) - batch)
    noise = _torch.empty(shape, dtype=input.dtype).bernoulli_(1 - p)
    if alpha:
        a = ((3.09091329228798 * p + 1) * (1 - p)) ** -0.5 if p < 1 else 0.0
        y = input * (noise * a) + ((noise - 1 + p) * (1.7580993408473766 * a))
    else:
        y = input * (noise.div_(1 - p) if p < 1 else noise)
    return input.copy_(y) if inplace else y


def dropout1d(input, p=0.5, training=True, inplace=False):
    return dropped(input, p, inplace, input.dim() - 1) if training else input


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    return dropped(input, p, inplace, 0, True) if training and p else input


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    return dropped(input, p, inplace, 2, True) if training and p else input


# ---- windows and sizes

def _lp_pool(rank, input, norm_type, kernel_size, stride, ceil_mode):
    size = 1
    for k in [kernel_size] * rank if isinstance(kernel_size, int) else kernel_size:
        size *= k
    y = _op("avg_pool%dd" % rank)(input.pow(norm_type), kernel_size, () if stride is None else stride, 0, ceil_mode)
    return (y.sign() * y.abs().relu()).mul(size).pow(1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def _twos(*values):
    return [(v, v) if isinstance(v, int) else v for v in values]


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    return _op("im2col")(input, *_twos(kernel_size, dilation, padding, stride))


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    return _op("col2im")(input, *_twos(output_size, kernel_size, dilation, padding, stride))


def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False
):
    rank = input.dim() - 2
    nearest = mode[:7] == "nearest" or mode == "area"
    if nearest and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if (size is None) == (scale_factor is None):
        raise ValueError(
            "%s size or scale_factor should be defined" % ("either" if size is None else "only one of")
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
        return _op("adaptive_avg_pool%dd" % rank)(input, size)
    name = "_upsample_nearest_exact" if mode == "nearest-exact" else "upsample_" + mode
    corners = () if nearest else (bool(align_corners),)
    return _op("%s%dd" % (name, rank))(input, size, *(corners + tuple(scales)))


upsample = interpolate


# ---- norms and tables

def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05
):
    return _torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)


def local_response_norm(input, size, alpha=0.0001, beta=0.75, k=1.0):
    square = _op("pad")((input * input).unsqueeze(1), [0, 0] * (input.dim() - 2) + [size // 2, (size - 1) // 2])
    return input / (square.unfold(2, size, 1).mean(-1).squeeze(1) * alpha + k).pow(beta)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    return _torch.div(input, input.norm(p, dim, True).clamp_min(eps), out=out)


def renormed(input, weight, max_norm, norm_type):
    rows = weight[input]
    norm = rows.norm(norm_type, -1, True)
    weight[input] = _torch.where(norm > max_norm, rows * (max_norm / (norm + 1e-7)), rows)


def embedding_bag(
    input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
    per_sample_weights=None, include_last_offset=False, padding_idx=None,
):
    if input.dim() == 2:
        starts = list(range(0, input.numel() + 1, input.shape[1]))
        input = input.reshape(-1)
    else:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        starts = offsets.tolist() + ([] if include_last_offset else [input.numel()])
    if max_norm is not None:
        renormed(input, weight, max_norm, norm_type)
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.shape[0]
    rows = weight[input]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
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


def bilinear(input1, input2, weight, bias=None):
    y = (input1.unsqueeze(-2).unsqueeze(-2) @ weight @ input2.unsqueeze(-2).unsqueeze(-1)).squeeze(-1).squeeze(-1)
    return y if bias is None else y + bias


# ---- losses

def _reduction(reduction):
    if reduction in ("none", "mean", "sum"):
        return ("none", "mean", "sum").index(reduction)
    raise ValueError(str(reduction) + " is not a valid value for reduction")


def _reduced(value, reduction):
    kind = _reduction(reduction)
    return value.mean() if kind == 1 else value.sum() if kind == 2 else value


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _op("mse_loss")(input, target, _reduction(reduction))


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _op("l1_loss")(input, target, _reduction(reduction))


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    return _op("smooth_l1_loss")(input, target, _reduction(reduction), beta)


def huber_loss(input, target, reduction="mean", delta=1.0):
    return _op("huber_loss")(input, target, _reduction(reduction), delta)


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
    return _reduced(_torch.where(target == 1, 1 - cosine, (cosine - margin).clamp_min(0)), reduction)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    y = (margin - input).clamp_min(0) * (target != 1) + input * (target != -1)
    return _reduced(y, reduction)


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    return _reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def pairwise_distance(x1, x2, p=2.0, eps=1e-06, keepdim=False):
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-06, swap=False, size_average=None, reduce=None, reduction="mean"
):
    if margin <= 0:
        raise ValueError("margin must be greater than 0, got " + str(margin))
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = _torch.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _reduced((near - far + margin).clamp_min(0), reduction)
