# Losses and distances.
import _torch


def _refuse_integers(*tensors):
    for t in tensors:
        if not t.is_floating_point():
            raise NotImplementedError("not implemented for " + str(t.dtype))


# reduction: 0 none (the default of PyTorch's binding, whatever its schema says), 1 mean, 2 sum
def _reduce(y, reduction):
    return y.mean() if reduction == 1 else y.sum() if reduction == 2 else y


def _difference(input, target):
    y = input - target
    _refuse_integers(y)
    return y.abs()


def mse_loss(input, target, reduction=0):
    return _reduce(_difference(input, target).square(), reduction)


def l1_loss(input, target, reduction=0):
    return _reduce((input - target).abs(), reduction)


def smooth_l1_loss(input, target, reduction=0, beta=1.0):
    y = _difference(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return _reduce(_torch.where(y < beta, y * y * 0.5 / beta, y - 0.5 * beta) if beta else y, reduction)


def huber_loss(input, target, reduction=0, delta=1.0):
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    y = _difference(input, target)
    return _reduce(_torch.where(y <= delta, y * y * 0.5, (y - 0.5 * delta) * delta).to(input.dtype), reduction)


def soft_margin_loss(input, target, reduction=0):
    return _reduce(input.neg().mul_(target).exp_().log1p_(), reduction)


def kl_div(input, target, reduction=0, *, log_target=False):
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError("kl_div: expected floating point tensors")
    return _reduce(target.exp() * (target - input) if log_target else xlogy(target, target) - target * input, reduction)


def binary_cross_entropy(input, target, weight=None, reduction=0):
    _refuse_integers(input)
    if input.dtype is not target.dtype or input.shape != target.shape:
        raise RuntimeError("binary_cross_entropy: input and target differ in dtype or shape")
    if not ((input >= 0) & (input <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    y = (-input).log1p().clamp_min(-100).mul(target - 1).sub(input.log().clamp_min(-100) * target)
    return _reduce(y if weight is None else y.mul_(weight), reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=0):
    y = log_sigmoid(input)
    if pos_weight is not None:
        y.mul_((pos_weight - 1).mul(target).add_(1))
    y = (1 - target).mul_(input).sub_(y)
    return _reduce(y if weight is None else y.mul_(weight), reduction)


# ---- classes: scores (N, C, ...) or (C)

def _per_class(input, weight):
    # the weights with the classes where the scores have them
    if weight.dim() != 1 or weight.numel() != input.shape[input.dim() > 1]:
        raise RuntimeError("weight tensor should be defined either for all classes or no classes")
    return weight.reshape([-1] + [1] * (input.dim() - 2))


def nll_loss_nd(input, target, weight=None, reduction=0, ignore_index=-100):
    dim = input.dim() - 1
    if dim < 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if dim and target.shape[:1] != input.shape[:1]:
        raise ValueError(
            "Expected input batch_size (%d) to match target batch_size (%d)." % (len(input), len(target)))
    _refuse_integers(input)
    dim = min(dim, 1)
    shape = input.shape[:dim] + input.shape[dim + 1 :]
    classes = input.shape[dim]
    if target.dtype not in (_torch.int64, _torch.uint8) or target.shape != shape and (dim or target.shape != (1,)):
        raise RuntimeError("Expected target size %s, got %s of %s" % (shape, target.shape, target.dtype))
    target = target.reshape(shape).long()
    kept = target != ignore_index
    target = target.where(kept, 0)
    for wrong in target[(target < 0) | (target >= classes)]:
        raise IndexError("Target %d is out of bounds." % wrong)
    y = -input.gather(dim, target.unsqueeze(dim)).squeeze(dim) if classes else input.new_zeros(shape)
    if weight is None:
        weight = kept
    else:
        _per_class(input, weight)
        weight = weight[target].masked_fill(~kept, 0)
        y = y * weight
    y = y.masked_fill(~kept, 0)
    if reduction == 1:
        return (y.float().sum() / weight.float().sum()).to(y.dtype)
    return _reduce(y, reduction)


def nll_loss(input, target, weight=None, reduction=0, ignore_index=-100):
    return nll_loss_nd(input, target, weight, reduction, ignore_index)


def nll_loss2d(input, target, weight=None, reduction=0, ignore_index=-100):
    return nll_loss_nd(input, target, weight, reduction, ignore_index)


def cross_entropy_loss(input, target, weight=None, reduction=0, ignore_index=-100, label_smoothing=0.0):
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError("label_smoothing must be between 0.0 and 1.0.")
    dim = min(input.dim() - 1, 1)
    if input.shape == target.shape:
        if not target.is_floating_point() or ignore_index >= 0:
            raise RuntimeError("Expected floating point type for target with class probabilities, and no ignore_index")
        y = input.log_softmax(dim)
        count = y.shape[dim]
        y = y * (target * (1 - label_smoothing) + label_smoothing / count if label_smoothing else target)
        if weight is not None:
            y = y * _per_class(y, weight)
        y = -y
        return y.sum() * count / y.numel() if reduction == 1 else _reduce(y.sum(dim), reduction)
    if dim < 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    y = input.log_softmax(dim)
    loss = nll_loss_nd(y, target, weight, reduction, ignore_index)
    if label_smoothing == 0:
        return loss
    kept = target.reshape(y.shape[:dim] + y.shape[dim + 1 :]) != ignore_index
    count = y.shape[dim]
    y = -(y if weight is None else y * _per_class(y, weight)).sum(dim).masked_fill(~kept, 0)
    if reduction == 1:
        y = y.sum() / (kept.sum() if weight is None else weight[target[kept]].sum())
    return loss * (1 - label_smoothing) + _reduce(y, reduction) * (label_smoothing / count)


# ---- distances

def cosine_similarity(x1, x2, dim=1, eps=1e-08):
    y = x1 * x2
    if not y.is_floating_point():
        raise RuntimeError("expected common dtype to be floating point, yet common dtype is " + str(y.dtype))
    x1, x2 = _torch.broadcast_tensors(x1.float(), x2.float())
    size = x1.norm(2, dim).clamp_min(eps) * x2.norm(2, dim).clamp_min(eps)
    return ((x1 * x2).sum(dim) / size).to(y.dtype)


def pairwise_distance(x1, x2, p=2.0, eps=1e-06, keepdim=False):
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def _check_distance(p, *tensors):
    for t in tensors:
        if t.dtype is not _torch.float32:
            raise (NotImplementedError if t.is_floating_point() else RuntimeError)("no distances of " + str(t.dtype))
    if not p >= 0:
        raise RuntimeError("distances need a non-negative p")


def _rows_apart(x, y, p):
    # of one row from each of many; nothing is no distance
    return (x - y).norm(p, -1) if y.shape[-1] else (x - y).sum(-1)


def cdist(x1, x2, p=2.0, compute_mode=None):
    if x1.dim() < 2 or x2.dim() < 2 or x1.shape[-1] != x2.shape[-1] or x1.dtype is not x2.dtype:
        raise RuntimeError("cdist: sizes %s and %s do not fit" % (x1.shape, x2.shape))
    _check_distance(p, x1, x2)
    if 0 in (x1.shape[-2], x2.shape[-2]):
        return _rows_apart(x1.unsqueeze(-2), x2.unsqueeze(-3), 2)
    return _torch.stack([_rows_apart(x1.narrow(-2, k, 1), x2, p) for k in range(x1.shape[-2])], -2)


def pdist(input, p=2.0):
    if input.dim() != 2:
        raise RuntimeError("pdist only supports 2D tensors, got: %dD" % input.dim())
    _check_distance(p, input)
    found = [_rows_apart(input[k], input[k + 1 :], p) for k in range(len(input) - 1)]
    return _torch.cat(found) if found else input.new_empty(0)
