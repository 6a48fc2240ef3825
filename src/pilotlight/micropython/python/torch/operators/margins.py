# Losses that few models have: of sequences without alignment, and of margins.
import _torch


# the number of a reduction; `size_average` and `reduce` are how PyTorch once said it
def _reduction_of(reduction, size_average, reduce):
    if size_average is not None or reduce is not None:
        average = size_average is None or size_average
        reduction = ("mean" if average else "sum") if reduce is None or reduce else "none"
    if reduction in ("none", "mean", "sum"):
        return ("none", "mean", "sum").index(reduction)
    raise ValueError(str(reduction) + " is not a valid value for reduction")


# minus the logarithm of the probability that steps of `x` (t, classes) spell `labels`, with blanks between them
def _not_spelled(x, labels, blank):
    if not len(x):
        return x.new_full((), float("inf") if labels else 0.0)
    states = [blank]
    for label in labels:
        states += [label, blank]
    x = x[:, states]
    none = -float("inf")
    # a blank may be skipped between labels that differ
    skip = [k > 1 and states[k] != blank and states[k] != states[k - 2] for k in range(len(states))]
    shut = x.new_zeros(len(states)).masked_fill(~_torch.tensor(skip), none)
    y = x.new_full((len(states),), none)
    y[:2] = x[0, :2]
    front = x.new_full((2,), none)
    for step in x[1:]:
        before = _torch.cat([front, y])
        y = _torch.stack([y, before[1:-1], before[:-2] + shut]).logsumexp(0) + step
    return -y[-2:].logsumexp(0)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False):
    single = log_probs.dim() == 2
    x = log_probs.unsqueeze(1) if single else log_probs
    checking = " (while checking arguments for ctc_loss_allocate_outputs)"
    if not x.is_floating_point():
        raise NotImplementedError("\"ctc_loss_cpu\" not implemented for '" + x.type()[6:-6] + "'")
    if x.dim() != 3:
        raise RuntimeError(
            "Expected 3-dimensional tensor, but got %d-dimensional tensor for argument #1 'log_probs'" % x.dim() + checking
        )
    steps, batch, classes = x.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    lengths = []
    for name, given in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        given = given.reshape(-1).tolist() if _torch.is_tensor(given) else list(given)
        if len(given) != batch:
            raise RuntimeError(name + " must be of size batch_size")
        if given and min(given) < 0:
            raise RuntimeError("Expected %s to have value at least 0, but got value %d" % (name, min(given)) + checking)
        lengths.append(given)
    if lengths[0] and max(lengths[0]) > steps:
        raise RuntimeError(
            "Expected input_lengths to have value at most %d, but got value %d" % (steps, max(lengths[0])) + checking
        )
    targets = targets.unsqueeze(0) if single and targets.dim() == 1 else targets
    labels = targets.long().tolist()
    if targets.dim() == 1:
        if sum(lengths[1]) != len(labels):
            raise RuntimeError(
                "Expected tensor to have size %d at dimension 0, but got size %d for argument #2 'targets'"
                % (sum(lengths[1]), len(labels)) + checking
            )
        rows, at = [], 0
        for n in lengths[1]:
            rows.append(labels[at : at + n])
            at += n
    else:
        if lengths[1] and max(lengths[1]) > targets.shape[1]:
            raise RuntimeError(
                "Expected tensor to have size at least %d at dimension 1, but got size %d for argument #2 'targets'"
                % (max(lengths[1]), targets.shape[1]) + checking
            )
        rows = [labels[k][:n] for k, n in enumerate(lengths[1])]
    y = [_not_spelled(x[: lengths[0][k], k], rows[k], blank) for k in range(batch)]
    y = _torch.stack(y) if y else x.new_zeros(0)
    if zero_infinity:
        y = y.masked_fill(y == float("inf"), 0)
    if reduction == 1:
        return (y / _torch.tensor(lengths[1]).clamp_min(1)).mean()
    y = y[0] if single else y
    return y.sum() if reduction == 2 else y


def nn_ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False
):
    kind = _reduction_of(reduction, None, None)
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, kind, zero_infinity)


# ---- margins


def nn_multi_margin_loss(
    input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"
):
    kind = _reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    x = input.reshape(-1, input.shape[-1]) if input.dim() == 2 else input.reshape(1, -1)
    classes = x.shape[1]
    at = target.reshape(-1, 1)
    if input.dim() > 2 or len(at) != len(x):
        raise RuntimeError("inconsistent target size, expected %d but got %s" % (len(x), list(target.shape)))
    if at.numel() and not 0 <= at.min() <= at.max() < classes:
        raise RuntimeError("target out of range")
    y = (margin - x.gather(1, at) + x).clamp_min(0)
    y = y * y if p == 2 else y
    y = y if weight is None else y * weight[at]
    y = y.scatter(1, at, 0).sum(1) / classes
    y = y.squeeze(0) if target.dim() == 0 else y
    return _reduce(y, kind)


def nn_multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    kind = _reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape or input.dim() > 2:
        raise RuntimeError("inconsistent target size: %s for input of size: %s" % (target.shape, input.shape))
    if target.numel() and not -1 <= target.min() <= target.max() < (input.shape[-1] if input.dim() else 1):
        raise RuntimeError("target out of range")
    x = input.reshape(-1, input.shape[-1] if input.dim() else 1)
    classes = x.shape[1]
    found = []
    for row, labels in zip(x, target.reshape(x.shape).tolist()):
        labels = labels[: labels.index(-1)] if -1 in labels else labels
        others = row[[k for k in range(classes) if k not in labels]]
        y = row.new_zeros(())
        for k in labels:
            y = y + (1 - row[k] + others).clamp_min(0).sum()
        found.append(y / classes)
    y = _torch.stack(found) if found else input.new_zeros(0)
    return _reduce(y.squeeze(0) if input.dim() < 2 else y, kind)


def nn_multilabel_soft_margin_loss(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    kind = _reduction_of(reduction, size_average, reduce)
    y = -(target * _torch._nn.log_sigmoid(input) + (1 - target) * _torch._nn.log_sigmoid(-input))
    y = y if weight is None else y * weight
    return _reduce(y.sum(-1) / input.size(-1), kind)


def nn_triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    kind = _reduction_of(reduction, None, None)
    if margin <= 0:
        raise ValueError("margin must be greater than 0, got " + str(margin))
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            "anchor %dD, positive %dD, and negative %dD inputs" % (anchor.dim(), positive.dim(), negative.dim())
        )
    distance = distance_function or _torch.pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _torch.minimum(far, distance(positive, negative))
    return _reduce((margin + near - far).clamp_min(0), kind)
