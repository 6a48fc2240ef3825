# Elements picked and put by indices, made of gather, scatter and indexing.
import _torch


def take(input, index):
    if index.dtype is not _torch.int64:
        raise RuntimeError("take(): Expected a long tensor for index")
    return input.reshape(-1)[index]


def take_along_dim(input, indices, dim=None):
    if indices.dtype is not _torch.int64:
        raise RuntimeError("torch.take_along_dim(): dtype of indices should be Long")
    if dim is None:
        return input.reshape(-1).gather(0, indices.reshape(-1))
    if input.dim() != indices.dim():
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions")
    sizes = [b if a == 1 else a for a, b in zip(input.shape, indices.shape)]
    sizes[dim] = -1
    return input.expand(sizes).gather(dim, indices.expand(sizes) % (input.shape[dim] or 1))


def put(input, index, source, accumulate=False):
    if index.numel() != source.numel():
        raise IndexError("put_(): Expected source and index to have the same number of elements")
    if index.dtype is not _torch.int64:
        raise RuntimeError("put_(): Expected a long tensor for index")
    return input.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate).reshape(input.shape)


def index_fill(input, dim, index, value):
    if index.dtype is not _torch.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index")
    if index.dim() > 1 or _torch.is_tensor(value) and value.dim():
        raise RuntimeError("index_fill_(): expects a vector as index and a number as value")
    x = input.reshape(input.shape or (1,))
    mask = _torch.zeros(x.shape[dim], dtype=_torch.bool)
    mask[index] = True
    value = value.item() if _torch.is_tensor(value) else value
    x = x.transpose(dim, -1).masked_fill(mask, _torch.full((), value, dtype=x.dtype))
    return x.transpose(dim, -1).reshape(input.shape)


# index and source of the same shape, for a tensor with at least one dimension
def _rows(name, x, dim, index, source, error):
    if source.dtype is not x.dtype:
        raise RuntimeError(name + "(): self and source must have the same dtype")
    if index.dim() > 1:
        raise IndexError(name + "(): Index is supposed to be a vector")
    source = source.reshape(source.shape or (1,))
    if source.dim() != x.dim() or source.shape[dim] != index.numel():
        raise error(name + "(): source and the number of indices do not fit")
    sizes, own = list(source.shape), list(x.shape)
    sizes[dim] = own[dim] = 1
    if sizes != own:
        raise RuntimeError(name + "(): source must have the shape of self but for dim")
    if index.numel() and not 0 <= int(index.min()) <= int(index.max()) < x.shape[dim]:
        raise IndexError(name + "(): index out of range in self")
    sizes = [1] * x.dim()
    sizes[dim] = -1
    return index.reshape(sizes).expand(source.shape), source


def index_copy(input, dim, index, source):
    if index.dtype is not _torch.int64:
        raise RuntimeError("index_copy_(): Expected a long tensor for index")
    x = input.reshape(input.shape or (1,))
    return x.scatter(dim, *_rows("index_copy_", x, dim, index, source, IndexError)).reshape(input.shape)


def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    if reduce == "sum":
        raise RuntimeError("index_reduce(): Expected reduce to be one of prod, mean, amax or amin")
    x = input.reshape(input.shape or (1,))
    index, source = _rows("index_reduce_", x, dim, index, source, RuntimeError)
    return scatter_reduce(x, dim, index, source, reduce, include_self=include_self).reshape(input.shape)


def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    x, mean = input, reduce == "mean"
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError("reduce argument must be either sum, prod, mean, amax or amin, got " + reduce)
    if mean and x.dtype is _torch.bool:
        raise NotImplementedError("scatter_reduce() mean of Bool")
    if not include_self:  # largest and least: any of them first
        x = x.scatter(dim, index, src if reduce[0] == "a" else int(reduce == "prod"))
    how = {"prod": "multiply", "amax": ">", "amin": "<"}.get(reduce, "add")
    y = x.scatter(dim, index, src, reduce=how)
    if mean:
        count = _torch.full_like(x, include_self, dtype=_torch.int64)
        count = count.scatter(dim, index, 1, reduce="add").clamp(1)
        y = y.div(count, rounding_mode=None if y.dtype.is_floating_point else "floor").to(x.dtype)
    return y


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    if repeats is None:  # the indices alone
        return _repeated(input, output_size).to(input.dtype)
    x = input.reshape(-1) if dim is None or not input.dim() else input
    dim = dim or 0
    size = x.shape[dim]
    if not _torch.is_tensor(repeats):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        repeats = _torch.tensor(repeats)
    if repeats.numel() == 1:
        repeats = repeats.reshape(1).expand(size)
    if repeats.dim() == 1 and repeats.numel() != size:
        raise RuntimeError("repeats must have the same size as input along dim")
    return x.index_select(dim, _repeated(repeats, output_size))


# each index as often as it says there
def _repeated(times, output_size):
    if times.dtype not in (_torch.int32, _torch.int64):
        raise NotImplementedError("repeat_interleave() expects repeats of type int32 or int64")
    if times.dim() != 1 or (times < 0).any():
        raise RuntimeError("repeats must have one dimension and not be negative")
    ends = times.cumsum(0)
    size = int(ends[-1]) if ends.numel() else 0
    if output_size not in (None, size):
        raise RuntimeError("allocated size does not match required size")
    return _ranks(ends, _torch.arange(size), True)
