# Losses of torch.nn.functional.
import _torch
from torch.nn.functional import _op


# its number; `size_average` and `reduce` are how PyTorch once said it
def _reduction(reduction, size_average=None, reduce=None):
    if size_average is not None or reduce is not None:
        average = size_average is None or size_average
        reduction = ("mean" if average else "sum") if reduce is None or reduce else "none"
    if reduction in ("none", "mean", "sum"):
        return ("none", "mean", "sum").index(reduction)
    raise ValueError(str(reduction) + " is not a valid value for reduction")


def _reduced(value, *reduction):
    kind = _reduction(*reduction)
    return value.mean() if kind == 1 else value.sum() if kind == 2 else value


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _op("mse_loss")(input, target, _reduction(reduction, size_average, reduce))


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _op("l1_loss")(input, target, _reduction(reduction, size_average, reduce))


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    return _op("smooth_l1_loss")(input, target, _reduction(reduction, size_average, reduce), beta)


def huber_loss(input, target, reduction="mean", delta=1.0):
    return _op("huber_loss")(input, target, _reduction(reduction), delta)


def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    kind = _reduction(reduction, size_average, reduce)
    return _op("cross_entropy_loss")(input, target, weight, kind, ignore_index, label_smoothing)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    return _op("nll_loss_nd")(input, target, weight, _reduction(reduction, size_average, reduce), ignore_index)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    if target.shape != input.shape:
        raise ValueError(
            "Using a target size (%s) that is different to the input size (%s) is deprecated. Please ensure they have the"
            " same size." % (target.shape, input.shape)
        )
    return _op("binary_cross_entropy")(input, target, weight, _reduction(reduction, size_average, reduce))


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    if target.shape != input.shape:
        raise ValueError("Target size (%s) must be the same as input size (%s)" % (target.shape, input.shape))
    kind = _reduction(reduction, size_average, reduce)
    return _op("binary_cross_entropy_with_logits")(input, target, weight, pos_weight, kind)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    if reduction == "batchmean":
        return kl_div(input, target, size_average, reduce, "sum", log_target) / input.shape[0]
    return _op("kl_div")(input, target, _reduction(reduction, size_average, reduce), log_target=log_target)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-06, reduction="mean"):
    if isinstance(var, (int, float)):
        var = _torch.full_like(input, var)
    if (var < 0).any():
        raise ValueError("var has negative entry/entries")
    if tuple(input.shape[:-1]) == tuple(var.shape):
        var = var.unsqueeze(-1)
    elif var.dim() != input.dim() or sum([m for n, m in zip(input.shape, var.shape) if n != m]) > 1:
        raise ValueError("var is of incorrect size")
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
    return _reduced(y, reduction, size_average, reduce)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _reduced((-target * input).exp().log1p(), reduction, size_average, reduce)


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    cosine = (input1 * input2).sum(-1) / (((input1 * input1).sum(-1) + 1e-12) * ((input2 * input2).sum(-1) + 1e-12)).sqrt()
    return _reduced(_torch.where(target == 1, 1 - cosine, (cosine - margin).clamp_min(0)), reduction, size_average, reduce)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    y = (margin - input).clamp_min(0) * (target != 1) + input * (target != -1)
    return _reduced(y, reduction, size_average, reduce)


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    return _reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction, size_average, reduce)


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
    return _reduced((near - far + margin).clamp_min(0), reduction, size_average, reduce)
