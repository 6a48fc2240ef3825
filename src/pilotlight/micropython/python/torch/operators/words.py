# What PyTorch says of arguments that do not fit together: the part `errors`; refusals.py has the most frequent.
import _torch


def _kind(t):
    return t.type()[6:-6]


_C_TYPES = {
    "Float": "float", "Long": "long int", "Int": "int", "Short": "short int", "Char": "signed char", "Half": "c10::Half",
    "Byte": "unsigned char", "Bool": "bool", "BFloat16": "c10::BFloat16",
}


# as `_for_refuse`
def _for_refuse_more(name, *args):
    a, b = args[0], args[1] if len(args) > 1 else None
    if name in ("cat", "stack"):
        text = _refused_list(name, a)
    elif name in ("mm", "matmul", "linear", "mv", "dot", "bmm", "outer"):
        text = _refused_product(name, a, b, args)
    elif name == "embedding" or name[:4] == "conv" or name[-4:] in ("norm", "ol2d", "d_nd"):
        text = _refused_layer(name, a, b, args)
    else:
        text = _refused_view(name, a, b, args)
    if text:
        raise RuntimeError(text)


def _refused_product(name, a, b, args):
    m, n = a.dim(), b.dim()
    b = b.t() if name == "linear" and n == 2 else b
    if name == "mm" and (m != 2 or n != 2):
        return ("self" if m != 2 else "mat2") + " must be a matrix"
    if name == "bmm" and (m != 3 or n != 3):
        return ("batch1" if m != 3 else "batch2") + " must be a 3D tensor"
    if name == "outer":
        return "outer: Expected 1-D argument %s, but got %d-D" % (("vec2", n) if m == 1 else ("self", m))
    if name == "dot" and (m != 1 or n != 1):
        return "1D tensors expected, but got %dD and %dD tensors" % (m, n)
    if not (m and n):
        return "both arguments to matmul need to be at least 1D, but they are %dD and %dD" % (m, n)
    rows, inner = 1, a.shape[-1]
    for size in a.shape[:-1]:
        rows *= size
    if a.dtype is not b.dtype:
        if name == "linear" and args[2] is not None:
            return "mat1 and mat2 must have the same dtype, but got %s and %s" % (_kind(a), _kind(b))
        if m > 1 and n == 2:
            return "expected m1 and m2 to have the same dtype, but got: %s != %s" % (
                _C_TYPES[_kind(a)], _C_TYPES[_kind(b)])
    elif m == n == 1:
        return (
            "inconsistent tensor size, expected tensor [%d] and src [%d] to have the same number of elements, but got %d "
            "and %d elements respectively" % (inner, len(b), inner, len(b))
        )
    elif n == 1:
        return "size mismatch, got input (%d), mat (%dx%d), vec (%d)" % (rows, rows, inner, len(b))
    elif m == n == 3:
        return "Expected size for first two dimensions of batch2 tensor to be: [%d, %d] but got: [%d, %d]." % (
            len(a), inner, len(b), b.shape[1])


def _refused_layer(name, a, b, args):
    size = list(a.shape)
    if name == "embedding":
        if b.is_floating_point():
            return (
                "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
                "%s instead (while checking arguments for embedding)" % b.type()
            )
    elif name == "layer_norm":
        shape = list(b)
        return "Given normalized_shape=%s, expected input with shape [*, %s], but got input of size%s" % (
            shape, str(shape)[1:-1], size)
    elif name == "batch_norm":
        for what, t in (("running_mean", args[3]), ("running_var", args[4]), ("weight", b), ("bias", args[2])):
            if t is not None and t.numel() != size[1]:
                return "%s should contain %d elements not %d" % (what, size[1], t.numel())
    elif name[:4] == "conv":
        rank, weight, turned = int(name[-2]), list(b.shape), name[4] == "_"
        if len(size) == rank + 1:
            size = [1] + size
        if len(size) != rank + 2:
            return "Expected %dD (unbatched) or %dD (batched) input to %s, but got input of size: %s" % (
                rank + 1, rank + 2, name, size)
        groups = args[6]
        if len(weight) != len(size) or isinstance(args[4], str):
            return
        if weight[0] % groups and not turned:
            return "Given groups=%d, expected weight to be divisible by %d at dimension 0, but got weight of size [%s] instead" % (
                groups, groups, weight)
        channels = weight[0] if turned else weight[1] * groups
        if channels != size[1]:
            return "Given %s, weight of size %s, expected input%s to have %d channels, but got %d channels instead" % (
                "transposed=1" if turned else "groups=%d" % groups, weight, size, channels, size[1])
        if args[2] is not None and list(args[2].shape) != weight[:1] and not turned:
            return (
                "Given weight of size %s, expected bias to be 1-dimensional with %d elements, but got bias of size %s "
                "instead" % (weight, weight[0], list(args[2].shape))
            )
        if not turned:
            padded = [n + 2 * p for n, p in zip(size[2:], args[4])]
            kernel = [d * (k - 1) + 1 for k, d in zip(weight[2:], args[5])]
            if [1 for n, k in zip(padded, kernel) if n < k]:
                return (
                    "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size can't be greater than "
                    "actual input size" % (" x ".join(map(str, padded)), " x ".join(map(str, kernel)))
                )
    elif name in ("max_pool2d", "avg_pool2d"):
        if len(size) not in (3, 4):
            return "non-empty 3D or 4D (batch mode) tensor expected for input"
        spread = args[4] if name[0] == "m" else (1, 1)
        out = [
            (size[k - 2] + 2 * args[3][k] - spread[k] * (b[k] - 1) - 1) // (args[2] or b)[k] + 1 for k in (0, 1)
        ]
        if min(out) < 1:
            return "Given input size: (%dx%dx%d). Calculated output size: (%dx%dx%d). Output size is too small" % (
                tuple(size[-3:] + size[-3:-2] + out))
    elif name == "constant_pad_nd":
        if len(b) % 2:
            return "Padding length must be divisible by 2"
        if len(b) > 2 * len(size):
            return (
                "Padding length should be less than or equal to two times the input dimension but got padding length %d "
                "and input of dimension %d" % (len(b), len(size))
            )


def _refused_list(name, all):
    first = None
    for number, t in enumerate(all):
        if name == "stack":
            if t.shape != all[0].shape:
                return "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %d" % (
                    list(all[0].shape), list(t.shape), number)
        elif not t.dim():
            return "zero-dimensional tensor (at position %d) cannot be concatenated" % number
        elif tuple(t.shape) != (0,):
            first = t if first is None else first
            if t.dim() != first.dim():
                return "Tensors must have same number of dimensions: got %d and %d" % (first.dim(), t.dim())


def _refused_view(name, a, b, args):
    if name == "view" and isinstance(b, tuple):
        return (
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    if name == "permute":
        if len(b) != a.dim():
            return (
                "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
                "ordering of dimensions i.e. input.dim() = %d is not equal to len(dims) = %d" % (a.dim(), len(b))
            )
    elif name == "flatten":
        return "flatten() has invalid args: start_dim cannot come after end_dim"
    elif name == "t":
        return "t() expects a tensor with <= 2 dimensions, but self is %dD" % a.dim()
    elif name == "chunk":
        return "chunk expects `chunks` to be greater than 0, got: %d" % b
    elif name == "split" and isinstance(b, int):
        return "split expects split_size be non-negative, but got split_size=%d" % b
    elif name == "split":
        dim = args[2] % a.dim()
        return (
            "split_with_sizes expects split_sizes to sum exactly to %d (input tensor's size at dimension %d), but got "
            "split_sizes=%s" % (a.shape[dim], args[2], list(b))
        )
    elif name == "narrow" and isinstance(args[2], int):
        return "start (%d) + length (%d) exceeds dimension size (%d)." % (args[2], args[3], a.shape[b])
    elif name == "masked_fill" and b.dtype is not _torch.bool:
        return "masked_fill_ only supports boolean masks, but got mask with dtype " + _C_TYPES[_kind(b)]
