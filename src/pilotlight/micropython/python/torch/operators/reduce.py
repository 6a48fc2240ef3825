# Reductions and scans that are made of others.
import _torch


def nansum(input, dim=None, keepdim=False, *, dtype=None):
    return input.masked_fill(input != input, 0).sum(dim, keepdim, dtype=dtype)


def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    if not input.dtype.is_floating_point:
        raise RuntimeError("nanmean(): expected input to have floating point dtype")
    return nansum(input, dim, keepdim, dtype=dtype) / (input == input).sum(dim, keepdim)


def count_nonzero(input, dim=None):
    return (input != 0).sum(dim)


def dist(input, other, p=2):
    return norm(input - other, p)


def norm(input, p=2, dim=None, keepdim=False, *, dtype=None):
    if isinstance(p, str) and p != "fro":
        return _torch._nn.linalg_norm(input, p, dim, keepdim, dtype=dtype)
    return _torch._nn.linalg_vector_norm(input, 2 if p in (None, "fro") else p, dim, keepdim, dtype=dtype)


def frobenius_norm(input, dim, keepdim=False):
    return norm(input, 2, dim, keepdim)


def logsumexp(input, dim, keepdim=False):
    x = input if input.dtype.is_floating_point else input.float()
    top = (x.amax if x.numel() else x.sum)(dim, True)
    top = top.masked_fill(top.abs() == float("inf"), 0)
    y = (x - top).exp().sum(dim, True).log() + top
    return y if keepdim else y.sum(dim)


def _and_mean(y, input, dim=None, unbiased=True, keepdim=False, correction=None):
    return y, input.mean(None if isinstance(dim, bool) else dim, keepdim)


def var_mean(input, *args, **kwargs):
    return _and_mean(input.var(*args, **kwargs), input, *args, **kwargs)


def std_mean(input, *args, **kwargs):
    return _and_mean(input.std(*args, **kwargs), input, *args, **kwargs)


def aminmax(input, *, dim=None, keepdim=False):
    dim = () if dim is None else dim
    return _torch._named("aminmax", ("min", "max"), (input.amin(dim, keepdim), input.amax(dim, keepdim)))


# merges each element with all before it, in steps twice as far each time; `parts` go together
def _scan(parts, dim, merge):
    shape = parts[0].shape
    parts = [x.reshape(shape or (1,)) for x in parts]
    n, step = parts[0].shape[dim], 1
    while step < n:
        new = merge(*[x.narrow(dim, at, n - step) for at in (0, step) for x in parts])
        parts = [_torch.cat((x.narrow(dim, 0, step), y), dim) for x, y in zip(parts, new)]
        step *= 2
    return [x.reshape(shape) for x in parts]


def logcumsumexp(input, dim):
    if not input.dtype.is_floating_point:
        raise NotImplementedError("logcumsumexp() of integers")
    return _scan([input.float()], dim, lambda a, b: [a.logaddexp(b)])[0].to(input.dtype)


# the last of equals stays, and a NaN
def _best(name, input, dim, better):
    def merge(a, i, b, j):
        later = better(b, a) | (b != b)
        return b.where(later, a), j.where(later, i)

    ids = _torch.ones_like(input, dtype=_torch.int64).cumsum(dim) - 1
    return _torch._named(name, ("values", "indices"), _scan([input.clone(), ids], dim, merge))


def cummax(input, dim):
    return _best("cummax", input, dim, lambda a, b: a >= b)


def cummin(input, dim):
    return _best("cummin", input, dim, lambda a, b: a <= b)


def diff(input, n=1, dim=-1, prepend=None, append=None):
    if n < 0 or not input.dim():
        raise RuntimeError("diff() expects a positive order and at least one dimension")
    x, parts = input, [t for t in (prepend, input, append) if t is not None]
    if n and len(parts) > 1:
        if [t for t in parts if t.dim() != x.dim()]:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        x = _torch.cat(parts, dim)
    size = x.shape[dim]
    for k in range(size - 1, max(size - 1 - n, -1), -1):
        a, b = x.narrow(dim, 1, k), x.narrow(dim, 0, k)
        x = a ^ b if x.dtype is _torch.bool else a - b
    return x if n and size else x.clone()
