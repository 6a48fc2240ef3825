# Types that results have, shapes that fit, and tensors of a type.
import _torch


# a tensor without elements, or a number as it is
def _sample(x):
    return x.new_zeros([0] * x.dim()) if _torch.is_tensor(x) else x


def result_type(*tensors):
    for x in tensors:
        if not isinstance(x, (int, bool, float, _torch.Tensor)):
            raise TypeError("result_type(): arguments must be tensors or numbers, not " + type(x).__name__)
    a, b = [_sample(x) for x in tensors]
    if not (_torch.is_tensor(a) or _torch.is_tensor(b)):
        a = _torch.tensor(a)
        b = _torch.tensor(b)
    return (a + b).dtype if _torch.is_tensor(a) else (b + a).dtype


def promote_types(type1, type2):
    return (_torch.empty(0, dtype=type1) + _torch.empty(0, dtype=type2)).dtype


def can_cast(from_, to):
    if from_.is_floating_point:
        return to.is_floating_point
    return to is not _torch.bool or from_ is _torch.bool


def broadcast_shapes(*shapes):
    sizes = []
    for number, shape in enumerate(shapes):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if [n for n in shape if n < 0]:
            raise ValueError("Attempting to broadcast a dimension with negative length!")
        sizes = [1] * (len(shape) - len(sizes)) + sizes
        for k in range(-1, -len(shape) - 1, -1):
            if sizes[k] == 1:
                sizes[k] = shape[k]
            elif shape[k] not in (1, sizes[k]):
                raise RuntimeError(
                    "Attempting to broadcast a dimension of length %d at %d! Mismatching argument at index %d had %s; "
                    "but expected shape should be broadcastable to %s" % (shape[k], k, number, shape, sizes)
                )
    return _torch.Size(sizes)


def combinations(input, r=2, with_replacement=False):
    if input.dim() != 1:
        raise RuntimeError("Expect a 1D vector, but got shape " + str(list(input.shape)))
    if r < 0:
        raise RuntimeError("Expect a non-negative number, but got " + str(r))
    if r == 0:
        return input.new_empty(0)
    rows = [()]
    for _ in range(r):
        step = 0 if with_replacement else 1
        rows = [row + (k,) for row in rows for k in range(row[-1] + step if row else 0, len(input))]
    return input[_torch.tensor(rows, dtype=_torch.int64).reshape(-1, r)]


# ---- tensors of a type


def _typed(dtype, args):
    data = args[0] if len(args) == 1 else args
    if isinstance(data, _torch.Size) or not args or type(args[0]) is int:
        return _torch.empty(args and data or 0, dtype=dtype)
    if _torch.is_tensor(data):
        if data.dtype is not dtype:
            raise TypeError("expected a tensor of %s (got %s): convert it with .to(%s)" % (dtype, data.dtype, dtype))
        return data.detach()
    if not isinstance(data, (list, tuple)):
        raise TypeError("new(): data must be a sequence (got " + type(data).__name__ + ")")
    return _torch.tensor(data, dtype=dtype)


def FloatTensor(*args):
    return _typed(_torch.float32, args)


def HalfTensor(*args):
    return _typed(_torch.float16, args)


def BFloat16Tensor(*args):
    return _typed(_torch.bfloat16, args)


def LongTensor(*args):
    return _typed(_torch.int64, args)


def IntTensor(*args):
    return _typed(_torch.int32, args)


def ShortTensor(*args):
    return _typed(_torch.int16, args)


def CharTensor(*args):
    return _typed(_torch.int8, args)


def ByteTensor(*args):
    return _typed(_torch.uint8, args)


def BoolTensor(*args):
    return _typed(_torch.bool, args)
