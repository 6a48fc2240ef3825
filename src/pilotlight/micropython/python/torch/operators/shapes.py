# Operators that take tensors apart, put them together and turn them.
import _torch


def _ints(x):
    return [x] if isinstance(x, int) else list(x)


def _dim(dim, ndim):
    ndim = ndim or 1
    if not -ndim <= dim < ndim:
        raise IndexError("Dimension out of range")
    return dim % ndim


# ---- together

def _joined(tensors, dim):
    if not tensors:
        raise RuntimeError("expected a non-empty list of tensors")
    return _torch.cat(tensors, dim)


def _at_least(ndim, tensors):
    tensors = tensors[0] if len(tensors) == 1 else tensors
    if isinstance(tensors, (tuple, list)):
        return tuple([_at_least(ndim, (t,)) for t in tensors])
    size = list(_torch.detach(tensors).shape)
    if len(size) >= ndim:
        return tensors
    return tensors.view(([1] * (2 - len(size)) + size + [1])[:ndim])  # the third dimension comes last


def atleast_1d(*tensors):
    return _at_least(1, tensors)


def atleast_2d(*tensors):
    return _at_least(2, tensors)


def atleast_3d(*tensors):
    return _at_least(3, tensors)


def hstack(tensors):
    tensors = [t if t.ndim else t.view(1) for t in tensors]
    return _joined(tensors, 1 if tensors and tensors[0].ndim > 1 else 0)


def vstack(tensors):
    return _joined([atleast_2d(t) for t in tensors], 0)


def dstack(tensors):
    return _joined([atleast_3d(t) for t in tensors], 2)


def column_stack(tensors):
    return _joined([t if t.ndim > 1 else t.reshape(-1, 1) for t in tensors], 1)


def block_diag(tensors):
    tensors = [atleast_2d(t) for t in tensors]
    width = sum([t.shape[1] for t in tensors])
    rows, at = [], 0
    for t in tensors:
        if t.ndim > 2:
            raise RuntimeError("block_diag: at most 2 dimensions")
        rows.append(_torch.constant_pad_nd(t, (at, width - at - t.shape[1])))
        at += t.shape[1]
    return _joined(rows, 0)


def meshgrid(tensors, *, indexing="ij"):
    order = list(range(len(tensors)))
    if indexing == "xy":
        order[:2] = order[1::-1]
    if not order or indexing not in ("ij", "xy"):
        raise RuntimeError("meshgrid: indexing must be xy or ij, and tensors not empty")
    for t in tensors:
        if t.ndim > 1 or t.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid: tensors must be vectors of one dtype")
    size = [tensors[k].numel() for k in order]
    return tuple([tensors[k].reshape([-1 if k == d else 1 for d in order]).expand(size) for k in range(len(order))])


def broadcast_tensors(tensors):
    size = []
    for t in tensors:
        size = [1] * (t.ndim - len(size)) + size
        for k in range(-t.ndim, 0):
            size[k] = t.shape[k] if size[k] == 1 else size[k]
    return tuple([t.expand(size) for t in tensors])


# ---- repeated and turned

def repeat(input, repeats):
    if len(repeats) < input.ndim:
        raise RuntimeError("repeat: repeats must have a number for each dimension")
    y = input.view([1] * (len(repeats) - input.ndim) + list(input.shape))
    for k, n in enumerate(repeats):
        if n != 1:
            before, size, after = list(y.shape[:k]), y.shape[k], list(y.shape[k + 1 :])
            flat = y.reshape([_product(before), 1, size, _product(after)])
            y = flat.expand(-1, n, -1, -1).reshape(before + [n * size] + after)
    return y if y.numel() > input.numel() else y.clone()


def tile(input, dims):
    return repeat(input, [1] * (input.ndim - len(dims)) + list(dims))


def roll(input, shifts, dims=()):
    shifts, dims = _ints(shifts), _ints(dims)
    if len(shifts) == 1 and not dims:
        return roll(input.reshape(-1), shifts, 0).view(input.shape)
    if not shifts or len(shifts) != len(dims):
        raise RuntimeError("roll: shifts and dims must align")
    for shift, dim in zip(shifts, dims):
        size = input.size(dim)
        if size:
            by = shift % size
            input = _torch.cat((input.narrow(dim, size - by, by), input.narrow(dim, 0, size - by)), dim)
    return input


def flip(input, dims):
    dims = [_dim(d, input.ndim) for d in _ints(dims)]
    if len(set(dims)) < len(dims):
        raise RuntimeError("flip: a dim appears multiple times")
    input = input.clone()
    for d in dims:
        input = input.index_select(d, _torch.arange(input.shape[d] - 1, -1, -1)) if input.ndim else input
    return input


def fliplr(input):
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


def flipud(input):
    if not input.ndim:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


def rot90(input, k=1, dims=(0, 1)):
    if len(dims) != 2 or input.ndim < 2 or _dim(dims[0], input.ndim) == _dim(dims[1], input.ndim):
        raise RuntimeError("rot90: expected two different dims")
    if k & 1:
        return flip(input, dims[1 - (k >> 1 & 1)]).transpose(*dims)
    return flip(input, dims if k & 2 else ())


def _edges(input, diagonal):
    if input.ndim < 2:
        raise RuntimeError("input tensor must have at least 2 dimensions")
    return _torch.arange(input.shape[-1]), _torch.arange(input.shape[-2]).unsqueeze(1) + diagonal


def tril(input, diagonal=0):
    column, edge = _edges(input, diagonal)
    return input.masked_fill(column > edge, 0)


def triu(input, diagonal=0):
    column, edge = _edges(input, diagonal)
    return input.masked_fill(column < edge, 0)


def _places(triangle, row, col, offset, dtype, options):
    dtype = dtype or _torch.int64
    if dtype.is_floating_point or dtype is _torch.bool:
        raise NotImplementedError("indices of this dtype")
    return triangle(_torch.ones(row, col, dtype=_torch.bool, **options), offset).nonzero().t().to(dtype)


def tril_indices(row, col, offset=0, *, dtype=None, **options):
    return _places(tril, row, col, offset, dtype, options)


def triu_indices(row, col, offset=0, *, dtype=None, **options):
    return _places(triu, row, col, offset, dtype, options)


def kron(input, other):
    ndim = max(input.ndim, other.ndim)
    a, b = [[1] * (ndim - t.ndim) + list(t.shape) for t in (input, other)]
    product = input.reshape(sum([[n, 1] for n in a], [])) * other.reshape(sum([[1, n] for n in b], []))
    return product.reshape([n * m for n, m in zip(a, b)])


# ---- apart

def _cut(input, dim, start, end, step=1):
    return input.transpose(0, dim)[start:end:step].transpose(0, dim)


def slice(input, dim=0, start=None, end=None, step=1):
    if not input.ndim or step < 1:
        raise RuntimeError("slice: expected a dimension and a positive step")
    return _cut(input, dim, start, end, step)


# the parts between indices, or a number of parts, the first of which are larger by one
def _parts(input, indices=None, dim=0, sections=None, tensor_indices_or_sections=None):
    for by in (sections, tensor_indices_or_sections):
        indices = by if indices is None else indices
    if not input.ndim or _torch.is_tensor(indices) and (indices.ndim > 1 or indices.dtype is not _torch.int64):
        raise RuntimeError("expected at least 1 dimension, and indices of dtype long")
    indices = indices.tolist() if _torch.is_tensor(indices) else indices
    size, start, parts = input.size(dim), 0, []
    if isinstance(indices, int):
        if not 0 < indices < 1 << 24:
            raise RuntimeError("number of sections must be larger than 0")
        indices = [size // indices * k + min(k, size % indices) for k in range(1, indices)]
    for end in list(indices) + [size]:
        parts.append(_cut(input, dim, start, end))
        start = end
    return tuple(parts)


def tensor_split(input, *args, **kwargs):
    return _parts(input, *args, **kwargs)


def _parts_along(input, dim, least, args, kwargs):
    by = args if len(args) > 1 else (list(args) + list(kwargs.values()))[0]
    if input.ndim < least or isinstance(by, int) and (by < 1 or input.size(dim) % by):
        raise RuntimeError("a dimension cannot be split into equal parts")
    return _parts(input, by, dim)


def hsplit(input, *args, **kwargs):
    return _parts_along(input, min(1, input.ndim - 1), 1, args, kwargs)


def vsplit(input, *args, **kwargs):
    return _parts_along(input, 0, 2, args, kwargs)


def dsplit(input, *args, **kwargs):
    return _parts_along(input, 2, 3, args, kwargs)


# ---- views

def swapaxes(input, axis0, axis1):
    return input.transpose(axis0, axis1)


def swapaxes_(input, axis0, axis1):
    return input.transpose_(axis0, axis1)


def swapdims(input, dim0, dim1):
    return input.transpose(dim0, dim1)


def swapdims_(input, dim0, dim1):
    return input.transpose_(dim0, dim1)


def alias(input):
    return input.view(input.shape)


def real(input):
    return input


def positive(input):
    if input.dtype is _torch.bool:
        raise RuntimeError("positive: not of bool")
    return input


def ravel(input):
    return input.contiguous().view(-1)


def adjoint(input):
    if input.ndim == 1:
        raise RuntimeError("adjoint: expected matrices")
    return input.transpose(-2, -1) if input.ndim else input


def unflatten(input, dim, sizes):
    at, shape = _dim(dim, input.ndim), list(input.shape)
    if not shape or not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    inner = _torch.zeros(shape[at], dtype=_torch.bool).view(list(sizes)).shape  # what -1 stands for
    return input.view(shape[:at] + list(inner) + shape[at + 1 :])


def movedim(input, source, destination):
    ndim = input.ndim
    source, destination = [[_dim(d, ndim) for d in _ints(dims)] for dims in (source, destination)]
    if not len(source) == len(destination) == len(set(source)) == len(set(destination)):
        raise RuntimeError("movedim: repeated or missing dim")
    order = [d for d in range(ndim) if d not in source]
    for to, d in sorted(zip(destination, source)):
        order.insert(to, d)
    return input.permute(order) if ndim else input


def _two_dims(dim1, dim2, ndim):
    dim1, dim2 = _dim(dim1, ndim), _dim(dim2, ndim)
    if dim1 == dim2:
        raise RuntimeError("diagonal dimensions cannot be identical")
    return dim1, dim2


def diagonal(input, offset=0, dim1=0, dim2=1):
    dim1, dim2 = _two_dims(dim1, dim2, input.ndim)
    size, step = list(input.shape), list(input.stride())
    down, right = max(-offset, 0), max(offset, 0)
    length = max(0, min(size[dim1] - down, size[dim2] - right))
    start = (down * step[dim1] + right * step[dim2]) * (length > 0)
    rest = [d for d in range(input.ndim) if d not in (dim1, dim2)]
    return input.as_strided(
        [size[d] for d in rest] + [length], [step[d] for d in rest] + [step[dim1] + step[dim2]],
        input.storage_offset() + start,
    )


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    input = input if input.ndim else input.view(1)
    dims = _two_dims(dim1, dim2, input.ndim + 1)
    size = input.shape[-1] + abs(offset)
    y = input.new_zeros(list(input.shape[:-1]) + [size, size])
    diagonal(y, offset, -2, -1).copy_(input)
    return movedim(y, (-2, -1), dims)


def diag(input, diagonal=0):
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise RuntimeError("diag: expected 1 or 2 dimensions")
    return input.diagonal(diagonal).clone()


def trace(input):
    if input.dtype is _torch.bool:
        raise NotImplementedError("trace() of Bool")
    if input.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    return diagonal(input).sum()


def unfold(input, dimension, size, step):
    dim = _dim(dimension, input.ndim)
    sizes, steps = list(input.shape), list(input.stride())
    length = sizes[dim] if sizes else 1
    if not 0 <= size <= length or step < 1:
        raise RuntimeError("unfold: invalid size or step")
    last = steps[dim] if steps else 1
    if sizes:
        sizes[dim], steps[dim] = (length - size) // step + 1, last * step
    return input.as_strided(sizes + [size], steps + [last])


# ---- pixels and windows

def pixel_shuffle(input, upscale_factor):
    n, r = input.ndim - 3, upscale_factor
    if n < 0 or r < 1 or input.shape[n] % (r * r):
        raise RuntimeError("pixel_shuffle: expected channels, height and width, and a factor that divides channels")
    lead, (c, h, w) = list(input.shape[:n]), input.shape[n:]
    y = input.reshape(lead + [c // r // r, r, r, h, w]).permute(list(range(n)) + [n, n + 3, n + 1, n + 4, n + 2])
    return y.reshape(lead + [c // r // r, h * r, w * r])


def pixel_unshuffle(input, downscale_factor):
    n, r = input.ndim - 3, downscale_factor
    if n < 0 or r < 1 or input.shape[-1] % r or input.shape[-2] % r:
        raise RuntimeError("pixel_unshuffle: expected channels, height and width, and a factor that divides both")
    lead, (c, h, w) = list(input.shape[:n]), input.shape[n:]
    y = input.reshape(lead + [c, h // r, r, w // r, r]).permute(list(range(n)) + [n, n + 2, n + 4, n + 1, n + 3])
    return y.reshape(lead + [c * r * r, h // r, w // r])


def channel_shuffle(input, groups):
    if input.ndim < 3 or groups < 1 or input.shape[1] % groups:
        raise RuntimeError("channel_shuffle: expected more than 2 dimensions, and groups that divide the channels")
    size = list(input.shape)
    return input.reshape(size[:1] + [groups, size[1] // groups] + size[2:]).transpose(1, 2).reshape(size)


# kernel, dilation, padding, stride and the number of windows, for both dimensions
def _windows(size, *numbers):
    found = []
    for d in range(2):
        row = [x if isinstance(x, int) else x[d % len(x)] for x in numbers]
        kernel, dilation, padding, stride = row
        if kernel < 1 or dilation < 1 or padding < 0 or stride < 1:
            raise RuntimeError("kernel_size, dilation and stride must be positive")
        row.append((size[d] + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)
        if row[4] < 1:
            raise RuntimeError("the windows are larger than the input")
        found.append(row)
    return found


def im2col(input, kernel_size, dilation, padding, stride):
    if not input.is_floating_point() and input.dtype is not _torch.bool:
        raise NotImplementedError("im2col of integers")
    if input.ndim not in (3, 4):
        raise RuntimeError("im2col: expected 3 or 4 dimensions")
    (k, a, p, s, n), (l, b, q, t, m) = _windows(input.shape[-2:], kernel_size, dilation, padding, stride)
    x = _torch.constant_pad_nd(input, (q, q, p, p))
    lead, step = list(x.shape[:-2]), list(x.stride())
    x = x.as_strided(lead + [k, l, n, m], step[:-2] + [a * step[-2], b, s * step[-2], t])
    return x.reshape(lead[:-1] + [lead[-1] * k * l, n * m])


def col2im(input, output_size, kernel_size, dilation, padding, stride):
    if not input.is_floating_point():
        raise NotImplementedError("col2im of integers")
    h, w = (_ints(output_size) * 2)[:2]
    (k, a, p, s, n), (l, b, q, t, m) = _windows((h, w), kernel_size, dilation, padding, stride)
    if input.ndim not in (2, 3) or input.shape[-2] % (k * l) or input.shape[-1] != n * m:
        raise RuntimeError("col2im: the input does not fit the windows of output_size")
    lead = list(input.shape[:-2]) + [input.shape[-2] // (k * l)]
    x = input.reshape(lead + [k, l, n, m])
    y = _torch.zeros(lead + [h + 2 * p, w + 2 * q])
    for i in range(k):
        for j in range(l):
            y[..., i * a : i * a + n * s : s, j * b : j * b + m * t : t].add_(x[..., i, j, :, :])
    return y[..., p : p + h, q : q + w].to(input.dtype)
