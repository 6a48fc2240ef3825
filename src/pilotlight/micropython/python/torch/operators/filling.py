# Operators that make tensors, pad them, and pick elements by masks.
import _torch

# ---- new tensors


def eye(n, m=None, *, dtype=None, **options):
    y = _torch.zeros(n, n if m is None else m, dtype=dtype, **options)
    y.diagonal().fill_(1)
    return y


def scalar_tensor(s, *, dtype=None, **options):
    return _torch.full((), s, dtype=dtype or _torch.float32, **options)


# a number, or the element of a tensor without dimensions
def _end_point(x):
    if _torch.is_tensor(x):
        if x.ndim:
            raise RuntimeError("start and end must be 0-dimensional")
        x = x.item()
    return x


# p / q as a double has it: numerator and denominator
def _double(p, q):
    scale = 1
    while 0 < abs(p) * scale < q << 52:
        scale *= 2
    p, rest = divmod(p * scale, q)
    return p + (rest * 2 > q or rest * 2 == q and p & 1), scale


# PyTorch computes integers as doubles, with products that are not rounded, and from both ends to the middle
def _whole_steps(y, start, end):
    steps = len(y)
    step, scale = _double(end - start, steps - 1 or 1)
    for k in range(steps):
        base, way = (start, k) if k < (steps // 2 or 1) else (end, k - steps + 1)
        p, q = _double(base * scale + step * way, scale)
        y[k] = p // q if p > 0 else -(-p // q)
    return y


# out= keeps its shape where it has as many elements, and says the dtype
def _in_range(function, args, dtype, out, options):
    y = function(*args, dtype or (_torch.float32 if out is None else out.dtype), options)
    if out is None:
        return y
    return _torch._into(out, y.view(out.shape) if out.numel() == y.numel() else y, False)


def linspace(start, end, steps, *, dtype=None, out=None, **options):
    return _in_range(_steps, (start, end, steps), dtype, out, options)


def logspace(start, end, steps, base=10.0, *, dtype=None, out=None, **options):
    return _in_range(_powers, (start, end, steps, base), dtype, out, options)


def _steps(start, end, steps, dtype, options):
    start, end = _end_point(start), _end_point(end)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if dtype is _torch.bool:
        raise NotImplementedError("linspace of bool")
    if not dtype.is_floating_point:
        return _whole_steps(_torch.zeros(steps, dtype=dtype, **options), int(start), int(end))
    start, end = [_torch.full((), x, dtype=dtype, **options) for x in (start, end)]
    step, k = ((end - start) / (steps - 1 or 1)).float(), _torch.arange(steps)
    front, back = [(step * x).to(dtype) for x in (k, steps - 1 - k)]
    return _torch.where(k < (steps // 2 or 1), start + front, end - back)


def _powers(start, end, steps, base, dtype, options):
    start, end = _end_point(start), _end_point(end)
    if not dtype.is_floating_point:
        start, end = int(start), int(end)
    exponents = _steps(start, end, steps, dtype if dtype.is_floating_point else _torch.float32, options)
    return _torch.pow(base, exponents.float()).to(dtype)


def _elements(size, stride):
    count = 1
    for n, step in zip(size, stride):
        count += (n - 1) * step
    return max(count, 0)


def empty_strided(size, stride, **options):
    return _torch.zeros(_elements(size, stride), **options).as_strided(size, stride)


def new_empty_strided(input, size, stride, **options):
    return input.new_zeros(_elements(size, stride), **options).as_strided(size, stride)


def fill_diagonal_(input, fill_value, wrap=False):
    ndim, size = input.ndim, list(input.shape)
    if ndim < 2 or ndim > 2 and min(size) != max(size):
        raise RuntimeError("fill_diagonal_: expected a matrix, or dimensions of equal length")
    for row in range(0, size[0] if wrap and ndim == 2 else 1, size[1] + 1):
        start = input.storage_offset() + row * input.stride(0)
        input.as_strided([min(size[0] - row, size[1])], [sum(input.stride())], start).fill_(fill_value)
    return input


# ---- padding

# one dimension after the other: the elements at these indices
def _border(input, rank, padding, mode):
    padding = _ints(padding)
    padding = padding if len(padding) > 1 else padding * 2 * rank
    if len(padding) != 2 * rank or input.ndim not in (rank + 1, rank + 2):
        raise RuntimeError("padding does not fit the dimensions of the input")
    for k in range(rank):
        size, before, after = input.shape[-1 - k], padding[2 * k], padding[2 * k + 1]
        most = size - 1 if mode == "reflect" else size if mode == "circular" else max(before, after)
        first = max(-before, 0) if mode == "circular" else 0  # what is taken away is not repeated
        whole = size + min(after, 0) - first if mode == "circular" else size
        if before > most or after > most or before + size + after > 0 >= whole:
            raise RuntimeError("padding is too large for the input")
        at = _torch.arange(-before, size + after)
        if mode == "reflect":
            at = at.abs()
            at = at.minimum(2 * size - 2 - at)
        elif mode == "replicate":
            at = at.clamp(0, size - 1)
        else:
            at = (at - first) % max(whole, 1) + first
        input = input.index_select(-1 - k, at)
    return input


def reflection_pad1d(input, padding):
    return _border(input, 1, padding, "reflect")


def reflection_pad2d(input, padding):
    return _border(input, 2, padding, "reflect")


def reflection_pad3d(input, padding):
    return _border(input, 3, padding, "reflect")


def replication_pad1d(input, padding):
    return _border(input, 1, padding, "replicate")


def replication_pad2d(input, padding):
    return _border(input, 2, padding, "replicate")


def replication_pad3d(input, padding):
    return _border(input, 3, padding, "replicate")


def pad(input, pad, mode="constant", value=None):
    if mode == "constant":
        return _torch.constant_pad_nd(input, pad, value or 0)
    if value or len(pad) % 2:
        raise RuntimeError("pad: an even number of them, and a value only of mode constant")
    rank = len(pad) // 2
    if mode not in ("reflect", "replicate", "circular") or rank not in (1, 2, 3) or input.ndim not in (rank + 1, rank + 2):
        raise NotImplementedError("padding of this mode or number of dimensions")
    return _border(input, rank, pad, mode)


# ---- masks

def _masked(input, mask):
    if mask.dtype is not _torch.bool:
        raise RuntimeError("expected BoolTensor for mask")
    return broadcast_tensors((input, mask))


def masked_select(input, mask):
    input, mask = _masked(input, mask)
    return input.reshape(-1)[mask.reshape(-1)]


def masked_scatter(input, mask, source):
    y, mask = _masked(input, mask)
    count = int(mask.sum())
    if source.dtype is not y.dtype or count > source.numel():
        raise RuntimeError("source: expected the dtype of self, and an element for each of mask")
    y = y.clone()
    y[mask] = source.reshape(-1)[:count]
    return y


def one_hot(input, num_classes=-1):
    if input.dtype is not _torch.int64 or not input.numel() and num_classes < 1:
        raise RuntimeError("one_hot: expected dtype long, and num_classes of an empty tensor")
    if input.numel():
        most = int(input.max())
        if int(input.min()) < 0:
            raise RuntimeError("Class values must be non-negative.")
        if -1 < num_classes <= most or num_classes < -1:
            raise RuntimeError("Class values must be smaller than num_classes.")
        num_classes = most + 1 if num_classes == -1 else num_classes
    return (input.unsqueeze(-1) == _torch.arange(num_classes)).long()
