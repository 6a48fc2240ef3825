# Complex numbers: pairs of floats in one more dimension. They are no tensors to C, so that it computes nothing with
# them by mistake: where an operator gets one, it asks `_torch_function`.
import _torch
import torch


class dtype:
    is_complex = is_signed = True
    is_floating_point = False
    itemsize = 8

    def __repr__(self):
        return "torch.complex64"

    # An operator that is asked for this type.
    def _torch_function(self, name, args, kwargs):
        by_name = kwargs.pop("dtype", None) is self
        if name == "to" and len(args) < 3 and not kwargs:
            return joined(args[0].float(), _torch.zeros(()))
        if by_name and (name, len(args)) in (("tensor", 1), ("full", 2)):
            return joined(*[getattr(_torch, name)(*args[:-1], _numbers(args[-1], k), **kwargs) for k in (0, 1)])
        if by_name and name.split("_")[0] in ("zeros", "ones", "empty", "eye"):
            return joined(getattr(_torch, name)(*args, **kwargs).float(), _torch.zeros(()))
        raise NotImplementedError(
            "%s() does not give torch.complex64 here: give two tensors to torch.complex(real, imag)" % name)


complex64 = dtype()


class _Index:
    def __getitem__(self, index):
        return index


_ALL = _Index()[:]  # MicroPython has no other way to get a slice


# Real and imaginary parts of a tensor or a number, as float32 or numbers.
def _parts(x):
    if isinstance(x, ComplexFloatTensor):
        return x.real, x.imag
    if isinstance(x, complex):
        return x.real, x.imag
    return (x.float(), _torch.zeros(())) if isinstance(x, _torch.Tensor) else (float(x), 0.0)


# Those parts of numbers in lists.
def _numbers(x, k):
    return [_numbers(item, k) for item in x] if isinstance(x, (list, tuple)) else _parts(x)[k]


def joined(real, imag):
    return ComplexFloatTensor(_torch.stack(_torch.broadcast_tensors(real, imag), -1))


def _products(a, b):
    (ar, ai), (br, bi) = _parts(a), _parts(b)
    return ar * br - ai * bi, ar * bi + ai * br


# As PyTorch divides: by the larger part of the divisor first.
def _quotients(a, b):
    (ar, ai), (br, bi) = _parts(a), [_torch.as_tensor(x) for x in _parts(b)]
    big = _torch.maximum(br.abs(), bi.abs())
    zero = big == 0
    scale = _torch.where(zero, _torch.ones(()), big)
    br, bi = br / scale, bi / scale
    square = br * br + bi * bi
    re, im = (ar / scale * br + ai / scale * bi) / square, (ai / scale * br - ar / scale * bi) / square
    return _torch.where(zero, ar / big, re), _torch.where(zero, ai / big, im)


def _power(a, n):
    if not isinstance(n, int) or abs(n) > 64:
        raise NotImplementedError("pow() of complex numbers takes an int from -64 to 64 here, got " + str(n))
    y = joined(_torch.ones(a.shape), _torch.zeros(()))
    for _ in range(abs(n)):
        y = y * a
    return 1 / y if n < 0 else y


# The exponential of a real number is real, whatever it is; a real part that is infinite counts even where the other one
# is infinite or NaN.
def _exponential(x):
    a, b = x.real, x.imag
    size, lost = a.exp(), a.isinf() & ~b.isfinite()
    imag = size * _torch.where(lost & (a < 0), b.sign(), b.sin())
    return joined(_torch.where(lost | (b == 0), size, size * b.cos()), _torch.where(b == 0, b, imag))


def _product_of_matrices(a, b):
    if a.dtype is not b.dtype:
        raise RuntimeError("expected both matrices to have the same dtype, but got: %s != %s" % (a.dtype, b.dtype))
    (ar, ai), (br, bi) = _parts(a), _parts(b)
    return joined(ar @ br - ai @ bi, ar @ bi + ai @ br)


def _together(name, tensors, dim):
    given = [joined(*_parts(x)) if not isinstance(x, ComplexFloatTensor) else x for x in tensors]
    count = given[0].dim() + (name == "stack")
    return ComplexFloatTensor(getattr(_torch, name)([x._pairs for x in given], dimension(dim, count)))


def dimension(dim, count):
    if not -max(count, 1) <= dim < max(count, 1):
        raise IndexError("Dimension out of range (expected to be in range of [%d, %d], but got %d)" % (
            -max(count, 1), max(count, 1) - 1, dim))
    return dim % max(count, 1)


# What operators of torch do that are given complex numbers, and methods.
_COMPLEX = {
    "abs": lambda x: _torch.hypot(*_parts(x)),
    "angle": lambda x: _torch.atan2(x.imag, x.real),
    "add": lambda a, b, *, alpha=1: _sum_of(a, b * alpha if alpha != 1 else b),
    "sub": lambda a, b, *, alpha=1: _sum_of(a, b * -alpha),
    "rsub": lambda a, b, *, alpha=1: _sum_of(b, a * -alpha),
    "mul": lambda a, b: joined(*[_torch.as_tensor(x) for x in _products(a, b)]),
    "div": lambda a, b: joined(*_quotients(a, b)),
    "neg": lambda x: ComplexFloatTensor(-x._pairs),
    "reciprocal": lambda x: joined(*_quotients(1.0, x)),
    "pow": _power,
    "square": lambda x: x * x,
    "exp": _exponential,
    "eq": lambda a, b: _alike(a, b),
    "ne": lambda a, b: ~_alike(a, b),
    "matmul": _product_of_matrices,
    "mm": _product_of_matrices,
    "bmm": _product_of_matrices,
    "mv": _product_of_matrices,
    "sum": lambda x, dim=None, keepdim=False: _reduced(x, "sum", dim, keepdim),
    "mean": lambda x, dim=None, keepdim=False: _reduced(x, "mean", dim, keepdim),
    "cumsum": lambda x, dim: ComplexFloatTensor(x._pairs.cumsum(dimension(dim, x.dim()))),
    "cat": lambda tensors, dim=0: _together("cat", tensors, dim),
    "stack": lambda tensors, dim=0: _together("stack", tensors, dim),
    "clone": lambda x: ComplexFloatTensor(x._pairs.clone()),
    "numel": lambda x: x._pairs.numel() // 2,
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "conj": lambda x: conjugate(x),
    "conj_physical": lambda x: conjugate(x),
    "resolve_conj": lambda x: x,
    "view_as_real": lambda x: x._pairs,
    "roll": lambda x, shifts, dims=(): _rolled(x, shifts, dims),
    "flip": lambda x, *dims: ComplexFloatTensor(x._pairs.flip([dimension(d, x.dim()) for d in _ints(dims)])),
    "isreal": lambda x: x.imag == 0,
    "is_complex": lambda x: True,
    "is_floating_point": lambda x: False,
    "reshape": lambda x, *sizes: _shaped(x, "reshape", sizes),
    "view": lambda x, *sizes: _shaped(x, "view", sizes),
    "flatten": lambda x, start_dim=0, end_dim=-1: ComplexFloatTensor(
        x._pairs.flatten(dimension(start_dim, x.dim()), dimension(end_dim, x.dim()))),
    "transpose": lambda x, dim0, dim1: ComplexFloatTensor(
        x._pairs.transpose(dimension(dim0, x.dim()), dimension(dim1, x.dim()))),
    "permute": lambda x, *dims: _permuted(x, dims),
    "t": lambda x: ComplexFloatTensor(x._pairs.transpose(0, 1)) if _flat(x).dim() == 2 else x,
    "unsqueeze": lambda x, dim: ComplexFloatTensor(x._pairs.unsqueeze(dimension(dim, x.dim() + 1))),
    "squeeze": lambda x, dim=None: _squeezed(x, dim),
    "narrow": lambda x, dim, start, length: ComplexFloatTensor(
        x._pairs.narrow(dimension(dim, x.dim()), start, length)),
    "detach": lambda x: x,
    "contiguous": lambda x: ComplexFloatTensor(x._pairs.contiguous()),
}


_OWN = ("stft", "istft", "polar", "complex", "view_as_complex")  # functions that say themselves what they take


def _ints(given):
    return list(given[0]) if len(given) == 1 and not isinstance(given[0], int) else list(given)


def _rolled(x, shifts, dims):
    if dims == ():
        return ComplexFloatTensor(x._pairs.reshape(-1, 2).roll(shifts, 0).reshape(x._pairs.shape))
    dims = [dims] if isinstance(dims, int) else dims
    return ComplexFloatTensor(x._pairs.roll(shifts, [dimension(d, x.dim()) for d in dims]))


def _flat(x):
    if x.dim() > 2:
        raise RuntimeError("t() expects a tensor with <= 2 dimensions, but self is %dD" % x.dim())
    return x


def _sum_of(a, b):
    (ar, ai), (br, bi) = _parts(a), _parts(b)
    return joined(_torch.as_tensor(ar + br), _torch.as_tensor(ai + bi))


def _alike(a, b):
    (ar, ai), (br, bi) = _parts(a), _parts(b)
    return (_torch.as_tensor(ar) == br) & (_torch.as_tensor(ai) == bi)


def _reduced(x, name, dim, keepdim):
    dims = range(x.dim()) if dim is None or dim == () else [dim] if isinstance(dim, int) else dim
    if keepdim and dim is None:
        raise TypeError(name + "(): keepdim needs dim")
    dims = [dimension(d, x.dim()) for d in dims]
    return ComplexFloatTensor(getattr(x._pairs, name)(dims, keepdim) if dims else x._pairs.clone())


def _shaped(x, name, sizes):
    return ComplexFloatTensor(getattr(x._pairs, name)(_ints(sizes) + [2]))


def _permuted(x, dims):
    return ComplexFloatTensor(x._pairs.permute([dimension(d, x.dim()) for d in _ints(dims)] + [x.dim()]))


def _squeezed(x, dim):
    if dim is not None:
        return ComplexFloatTensor(x._pairs.squeeze(dimension(dim, x.dim())) if x.dim() else x._pairs)
    return ComplexFloatTensor(x._pairs.reshape([n for n in x.shape if n != 1] + [2]))


# The texts of all numbers, as wide as the widest.
def _texts(x):
    if not x.numel():
        return []
    return [text.strip() for text in repr(x.reshape(-1))[8:-2].split(",")]


# A part of the numbers, as a tensor of floats over the same memory.
def _half(k):
    def store(x, value):
        if isinstance(value, ComplexFloatTensor):
            value = value.real
        if not isinstance(value, (_torch.Tensor, bool, int, float, complex)):
            raise TypeError("can't assign a %s to a torch.FloatTensor" % type(value).__name__)
        x._pairs[..., k].copy_(_torch.as_tensor(value))

    return property(lambda x: x._pairs[..., k], store)


def _become(x, value):
    if not isinstance(value, ComplexFloatTensor):
        raise TypeError("data has to be a tensor of torch.complex64, not a " + type(value).__name__)
    x._pairs = value._pairs


class ComplexFloatTensor:
    def __init__(self, pairs):
        self._pairs = pairs
        self.requires_grad = False

    # As properties they cannot be hidden by attributes of an object.
    real, imag = _half(0), _half(1)
    data = property(lambda x: ComplexFloatTensor(x._pairs), _become)
    dtype = property(lambda x: complex64)
    device = property(lambda x: _torch.device("cpu"))
    shape = property(lambda x: x._pairs.shape[:-1])
    ndim = property(lambda x: x._pairs.ndim - 1)
    T = property(lambda x: _permuted(x, (range(x.ndim - 1, -1, -1),)))
    mT = property(lambda x: _COMPLEX["transpose"](x, -2, -1))
    H = property(lambda x: conjugate(x.T))
    mH = property(lambda x: conjugate(x.mT))

    # An operator with a complex argument.
    def _torch_function(self, name, args, kwargs):
        if name in _COMPLEX:
            return _COMPLEX[name](*args, **kwargs)
        if name in _OWN or name[:4] == "fft_":
            return torch._packed._names[name](*args, **kwargs)
        if name[-1:] == "_" and name[:-1] in _COMPLEX and isinstance(args[0], ComplexFloatTensor):
            return args[0]._changed(_COMPLEX[name[:-1]](*args, **kwargs))
        raise NotImplementedError('"%s" not implemented for \'ComplexFloat\'' % name)

    def _changed(self, y):
        if y.shape != self.shape:
            raise RuntimeError("output with shape %s doesn't match the broadcast shape %s" % (
                list(self.shape), list(y.shape)))
        self._pairs.copy_(y._pairs)
        return self

    def __getattr__(self, name):
        if name in _COMPLEX or name[-1:] == "_" and name[:-1] in _COMPLEX:
            return lambda *args, **kwargs: self._torch_function(name, (self,) + args, kwargs)
        raise AttributeError("'Tensor' object of torch.complex64 has no attribute '%s' here" % name)

    def dim(self):
        return self.ndim

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def item(self):
        if self.numel() != 1:
            raise RuntimeError("a Tensor with %d elements cannot be converted to Scalar" % self.numel())
        return complex(*self._pairs.reshape(2).tolist())

    def tolist(self):
        def made(x):
            return complex(*x) if isinstance(x[0], float) else [made(item) if item else item for item in x]

        return made(self._pairs.tolist()) if self.numel() else self._pairs[..., 0].tolist()

    def _place(self, index):
        items = index if isinstance(index, tuple) else (index,)
        return items + ((_ALL,) if [item for item in items if item is ...] else (..., _ALL))

    def __getitem__(self, index):
        return ComplexFloatTensor(self._pairs[self._place(index)])

    def __setitem__(self, index, value):
        if not isinstance(value, ComplexFloatTensor):
            value = joined(*[_torch.as_tensor(x) for x in _parts(value)])
        self._pairs[self._place(index)] = value._pairs

    def __len__(self):
        return len(self._pairs) if self.ndim else len(self._pairs[0])

    def __iter__(self):
        return iter([self[k] for k in range(len(self))])

    def __bool__(self):
        return self.item() != 0

    def __add__(self, other):
        return _COMPLEX["add"](self, other)

    def __radd__(self, other):
        return _COMPLEX["add"](self, other)

    def __sub__(self, other):
        return _COMPLEX["sub"](self, other)

    def __rsub__(self, other):
        return _COMPLEX["rsub"](self, other)

    def __mul__(self, other):
        return _COMPLEX["mul"](self, other)

    def __rmul__(self, other):
        return _COMPLEX["mul"](self, other)

    def __truediv__(self, other):
        return _COMPLEX["div"](self, other)

    def __rtruediv__(self, other):
        return _COMPLEX["div"](other, self)

    def __matmul__(self, other):
        return _product_of_matrices(self, other)

    def __rmatmul__(self, other):
        return _product_of_matrices(other, self)

    def __pow__(self, n):
        return _power(self, n)

    def __iadd__(self, other):
        return self._changed(self + other)

    def __isub__(self, other):
        return self._changed(self - other)

    def __imul__(self, other):
        return self._changed(self * other)

    def __itruediv__(self, other):
        return self._changed(self / other)

    def __neg__(self):
        return _COMPLEX["neg"](self)

    def __abs__(self):
        return _COMPLEX["abs"](self)

    def __eq__(self, other):
        return _alike(self, other)

    def __ne__(self, other):
        return ~_alike(self, other)

    def __hash__(self):
        return id(self)

    # As PyTorch shows them; not shortened where there are more than 1000.
    def __repr__(self):
        real, imag = _texts(self.real), _texts(self.imag)
        if self.numel() > 1000:
            return "tensor(%d complex numbers, size=%s, dtype=torch.complex64)" % (self.numel(), tuple(self.shape))
        widths = [max([len(text) for text in texts] + [0]) for texts in (real, imag)]
        both = []
        for re, im in zip(real, imag):
            im = im + "j"
            both.append(" " * (widths[0] - len(re)) + re + (im if im[0] == "-" else "+" + im))
        per_line = max(1, (80 - 7 - self.ndim) // (widths[0] + widths[1] + 3))

        def shown(sizes, first, indent):
            if not sizes:
                return both[first]
            count = 1
            for size in sizes[1:]:
                count *= size
            items = [shown(sizes[1:], first + k * count, indent + 1) for k in range(sizes[0])]
            if len(sizes) == 1:
                lines = [", ".join(items[k : k + per_line]) for k in range(0, len(items), per_line)]
                return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
            return "[" + ("," + "\n" * (len(sizes) - 1) + " " * (indent + 1)).join(items) + "]"

        if not both:
            size = "" if self.ndim == 1 else "size=%s, " % (tuple(self.shape),)
            return "tensor([], " + size + "dtype=torch.complex64)"
        return "tensor(" + shown(list(self.shape), 0, 7) + ")"


def conjugate(x):
    return joined(x.real, -x.imag) if isinstance(x, ComplexFloatTensor) else x


# ---- functions of torch


def from_parts(real, imag):
    if real.dtype is not imag.dtype:
        raise RuntimeError(
            "Expected object of scalar type %s but got scalar type %s for second argument"
            % (real.type()[6:-6], imag.type()[6:-6])
        )
    if real.dtype is not _torch.float32:
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got %s and %s"
            % (real.type()[6:-6], imag.type()[6:-6])
        )
    return joined(real, imag)


def polar(size, angle):
    return joined(size * angle.cos(), size * angle.sin())


def view_as_complex(x):
    if x.dtype is not _torch.float32:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            + x.type()[6:-6]
        )
    if x.dim() == 0 or x.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    return ComplexFloatTensor(x)


def angle(x):
    x = x if x.is_floating_point() else x.float()
    y = _torch.where(x < 0, _torch.full_like(x, 3.141592653589793), _torch.zeros_like(x))
    return _torch.where(x.isnan(), x, y)
