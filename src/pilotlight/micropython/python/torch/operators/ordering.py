# Ranks, places and sets: what follows from sorted lanes.
import _torch


def msort(input):
    return input.sort(0)[0]


# what stands where `rank` of the sorted lanes says
def _ranked(name, input, dim, keepdim, rank):
    x = input.reshape(input.shape or (1,))
    if not x.shape[dim]:
        raise IndexError(name + "(): Expected reduction dim to have non-zero size")
    both = x.sort(dim)
    at = rank(both[0])
    if input.dtype is _torch.bool and name != "mode":
        raise NotImplementedError(name + "() of Bool")
    both = [t.gather(dim, at) for t in both]
    return _torch._named(
        name, ("values", "indices"), both if keepdim and input.dim() else [t.squeeze(dim) for t in both]
    )


def kthvalue(input, k, dim=-1, keepdim=False):
    def rank(x):
        if not 0 < k <= x.shape[dim]:
            raise RuntimeError("kthvalue(): selected number k out of range")
        return _torch.full_like(x.narrow(dim, 0, 1), k - 1, dtype=_torch.int64)

    return _ranked("kthvalue", input, dim, keepdim, rank)


# the lower one of two in the middle; a NaN goes before all unless `skip` says to look past it
def _median(name, input, dim, keepdim, skip):
    if dim is None:
        if input.numel():
            return _median(name, input.reshape(-1), 0, False, skip)[0]
        wide = input.dtype.itemsize
        low = float("nan") if input.dtype.is_floating_point else -1 << 8 * wide - 1 if wide > 2 else 0
        return _torch.tensor(low, dtype=input.dtype)

    def rank(x):
        good = (x == x).sum(dim, True)
        at = ((good - 1) // 2).clamp(0)
        return at if skip else at.where(good == x.shape[dim], good)

    return _ranked(name, input, dim, keepdim, rank)


def median(input, dim=None, keepdim=False):
    return _median("median", input, dim, keepdim, False)


def nanmedian(input, dim=None, keepdim=False):
    return _median("nanmedian", input, dim, keepdim, True)


# the most frequent, of equally frequent ones the least, where it stands last
def mode(input, dim=-1, keepdim=False):
    def rank(x):
        n = x.shape[dim] - 1
        k = _torch.ones_like(x, dtype=_torch.int64).cumsum(dim)
        first = (x.narrow(dim, 1, n) != x.narrow(dim, 0, n)) * k.narrow(dim, 0, n)
        return (k - _torch.cat((k.narrow(dim, 0, 1) * 0, first), dim).cummax(dim)[0]).argmax(dim, True)

    return _ranked("mode", input, dim, keepdim, rank)


def _quantile(name, input, q, dim, keepdim, way, skip):
    if way not in ("linear", "lower", "higher", "nearest", "midpoint"):
        raise RuntimeError(name + "() interpolation must not be " + way)
    q = q if _torch.is_tensor(q) else _torch.tensor(q, dtype=_torch.float32)
    if not input.numel() or q.dim() > 1 or not input.dtype is q.dtype is _torch.float32:
        raise RuntimeError(name + "() expects elements, float32 and q with at most one dimension")
    if not ((q >= 0) & (q <= 1)).all():
        raise RuntimeError(name + "() q must be in the range [0, 1]")
    x = input.reshape(-1) if dim is None or not input.dim() else input.movedim(dim, -1)
    x = x.sort()[0]
    good = (x == x).sum(-1, True)
    rank = q.reshape(-1) * (good - 1)
    rank = rank.clamp(0) if skip else rank.masked_fill(good < x.shape[-1], x.shape[-1] - 1)
    if way in ("linear", "midpoint"):
        low, high = [x.gather(-1, r.long()) for r in (rank, rank.ceil())]
        y = low.lerp(high, 0.5 if way == "midpoint" else rank - rank.floor())
    else:
        y = x.gather(-1, {"lower": rank.floor, "higher": rank.ceil, "nearest": rank.round}[way]().long())
    y = y.movedim(-1, 0)
    if keepdim:
        y = y.reshape([-1] + [1] * input.dim()) if dim is None else y.unsqueeze(dim % input.dim() + 1) if input.dim() else y
    return y if q.dim() else y.select(0, 0)


def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


# how many of a sorted row stand before each value: a binary search for all of them at once
def _ranks(rows, values, right):
    n, step = rows.shape[-1], 1
    x = values.reshape(-1) if rows.dim() == 1 else values
    y = _torch.zeros_like(x, dtype=_torch.int64)
    while step <= n:
        step *= 2
    while step > 1:
        step //= 2
        row = rows.gather(-1, (y + (step - 1)).clamp(max=n - 1))
        y += ((y <= n - step) & ~(row > x if right else row >= x)) * step
    return y.reshape(values.shape)


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    rows, x = sorted_sequence, _torch.as_tensor(input)
    if side not in (None, "left", "right") or right and side == "left":
        raise RuntimeError("searchsorted(): side and right do not fit")
    if not rows.dim() or rows.dim() > 1 and rows.shape[:-1] != x.shape[:-1]:
        raise RuntimeError("searchsorted(): sorted_sequence and input have shapes that do not fit")
    if sorter is not None:
        if sorter.shape != rows.shape or sorter.dtype is not _torch.int64:
            raise RuntimeError("searchsorted(): sorted_sequence and sorter must have the same size")
        rows = rows.gather(-1, sorter)
    y = _ranks(rows, x, right or side == "right")
    return y.int() if out_int32 else y


def bucketize(input, boundaries, *, out_int32=False, right=False):
    if boundaries.dim() != 1:
        raise RuntimeError("bucketize(): boundaries must have 1 dimension")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def isin(*args, **kwargs):
    args += tuple([kwargs[k] for k in ("element", "elements", "test_element", "test_elements") if k in kwargs])
    invert = kwargs.get("invert", False)
    x, known = [_torch.as_tensor(t) for t in args]
    if _torch.bool in (x.dtype, known.dtype):
        raise RuntimeError("isin() of Bool")
    if not known.numel():
        return _torch.full_like(x, invert, dtype=_torch.bool)
    known = known.reshape(-1).sort()[0]
    return (known[_ranks(known, x, False).clamp(max=known.numel() - 1)] == x) != invert


# groups of equal rows along a dimension, or of equal elements
def _groups(input, sort, inverse, counts, dim):
    rest = []
    if dim is None:
        x = input.reshape(-1, 1)
    elif not input.dim():
        raise IndexError("unique(): the tensor has no dimensions")
    else:
        x = input.movedim(dim, 0)
        rest = list(x.shape[1:])
        if 0 in rest:
            raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
        x = x.reshape(-1, x[:1].numel() or 1)
    order = _torch.arange(x.shape[0])
    if sort:
        for k in range(x.shape[1] - 1, -1, -1):
            order = order[x[order, k].sort()[1]]
        x = x[order]
    new = _torch.ones_like(order, dtype=_torch.bool)
    new[1:] = (x[1:] != x[:-1]).any(1)
    ids = new.cumsum(0) - 1
    y = x[new]
    y = [y.reshape(-1) if dim is None else y.reshape([-1] + rest).movedim(0, dim)]
    if inverse:
        back = ids.scatter(0, order, ids)
        y.append(back.reshape(input.shape) if dim is None else back)
    if counts:
        y.append(ids.new_zeros(y[0].shape[dim or 0]).index_add(0, ids, ids * 0 + 1))
    return tuple(y) if len(y) > 1 else y[0]


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    return _groups(input, True, return_inverse, return_counts, dim)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    return _groups(input, False, return_inverse, return_counts, dim)


def bincount(input, weights=None, minlength=0):
    if input.dtype.is_floating_point or input.dtype is _torch.bool:
        raise NotImplementedError("bincount() of other types than integers")
    if input.dim() != 1 or minlength < 0 or (input < 0).any() or weights is not None and weights.shape != input.shape:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs, minlength and weights like them")
    ids = input.long()
    weights = _torch.ones_like(ids) if weights is None else weights.float()
    return weights.new_zeros(max(minlength, int(ids.max()) + 1 if ids.numel() else 0)).index_add(0, ids, weights)
