# Inverses, determinants and products of matrices.
import _torch


linalg_LinAlgError = type("_LinAlgError", (RuntimeError,), {})


def _square(x, name):
    if x.dim() < 2:
        raise RuntimeError(name + ": The input tensor A must have at least 2 dimensions.")
    if x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            "%s: A must be batches of square matrices, but they are %d by %d matrices" % (name, x.shape[-2], x.shape[-1])
        )


# Matrices of float32, one after the other.
def _matrices(x, name):
    _square(x, name)
    if not x.is_floating_point():
        raise RuntimeError(name + ": Expected a floating point or complex tensor as input. Got " + x.type()[6:-6])
    if x.dtype is not _torch.float32:
        raise RuntimeError(name + ": Low precision dtypes not supported. Got " + x.type()[6:-6])
    return x.reshape((_product(x.shape[:-2]),) + x.shape[-2:])


# The transpose of a matrix with its rows in the order of the largest pivots, as L and U in one; that order, and its
# sign. PyTorch transposes too: its LAPACK reads matrices by columns.
def _factors(a):
    a = a.t().clone()
    order, sign = list(range(len(a))), 1
    for k in range(len(a)):
        p = k + a[k:, k].abs().argmax().item()
        if p != k:
            order[k], order[p], sign = order[p], order[k], -sign
            a[[k, p]] = a[[p, k]]
        if a[k, k] != 0:
            below = a[k + 1 :, k : k + 1].div_(a[k, k])
            a[k + 1 :, k + 1 :].sub_(below * a[k, k + 1 :])
    return a, order, sign


# The number of the first pivot that is zero, from 1; 0 if there is none.
def _singular(lu):
    zeros = (lu.diagonal() == 0).tolist()
    return zeros.index(True) + 1 if True in zeros else 0


def _solved(lu, order, b):
    b = b.clone()
    for k in range(len(lu)):
        b[k].div_(lu[k, k])
        b[k + 1 :].sub_(lu[k, k + 1 :].unsqueeze(1) * b[k])
    for k in range(len(lu) - 1, 0, -1):
        b[:k].sub_(lu[k, :k].unsqueeze(1) * b[k])
    y = _torch.empty_like(b)
    y[order] = b
    return y


def _all_solved(name, a, b, said):
    found = []
    for k in range(len(a)):
        lu, order, _ = _factors(a[k])
        zero = _singular(lu)
        if zero:
            where = "(Batch element %d): " % k if said[1] else ""
            raise linalg_LinAlgError(name + ": " + where + said[0].replace("#", str(zero)))
        found.append(_solved(lu, order, b[k]))
    return _torch.stack(found) if found else b


def linalg_inv(A):
    a = _matrices(A, "linalg.inv")
    said = "The diagonal element # is zero, the inversion could not be completed because the input matrix is singular."
    identity = _torch.eye(A.shape[-1]).expand(a.shape)
    return _all_solved("linalg.inv", a, identity, (said, A.dim() > 2)).reshape(A.shape)


def inverse(input):
    return linalg_inv(input)


def linalg_solve(A, B, *, left=True):
    name = "linalg.solve"
    vector = B.dim() == 1 or A.dim() - 1 == B.dim() and B.shape == A.shape[:-1]
    _matrices(A, name)
    if A.dtype is not B.dtype:
        raise RuntimeError(
            "%s: Expected A and B to have the same dtype, but found A of type %s and B of type %s instead"
            % (name, A.type()[6:-6], B.type()[6:-6])
        )
    b = B.unsqueeze(-1) if vector else B
    if b.dim() < 2:
        raise RuntimeError(name + ": The input tensor B must have at least 2 dimensions.")
    if not left and vector:
        raise RuntimeError(
            name + ": Vector broadcasting of the left hand side is not supported for left=False. In this case "
            "linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    if b.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(
            "%s: Incompatible shapes of A and B for the equation %s (%dx%d and %dx%d)"
            % ((name, "AX = B" if left else "XA = B") + A.shape[-2:] + b.shape[-2:])
        )
    if not left:
        return linalg_solve(A.transpose(-1, -2), b.transpose(-1, -2)).transpose(-1, -2)
    n, m = b.shape[-2:]
    batch = list(broadcast_shapes(A.shape[:-2], b.shape[:-2]))
    a = A.expand(batch + [n, n]).reshape(_product(batch), n, n)
    y = b.expand(batch + [n, m]).reshape(_product(batch), n, m)
    said = "The solver failed because the input matrix is singular."
    y = _all_solved("torch." + name, a, y, (said, bool(batch))).reshape(batch + [n, m])
    return y.squeeze(-1) if vector else y


# The determinants of matrices: their signs, and the absolute values of what they are a product of.
def _determinants(A, name):
    found = []
    signs = []
    for matrix in _matrices(A, name):
        lu, _, sign = _factors(matrix)
        pivots = lu.diagonal()
        signs.append(pivots.sign().prod() * sign)
        found.append(pivots)
    batch = A.shape[:-2]
    if not found:
        return A.new_zeros(batch), A.new_zeros(A.shape[:-1])
    return _torch.stack(signs).reshape(batch), _torch.stack(found).abs().reshape(A.shape[:-1])


def linalg_det(A):
    sign, pivots = _determinants(A, "linalg.det")
    return _torch.where(pivots.isnan().any(-1), pivots.sum(-1), pivots.prod(-1) * sign)


def det(input):
    return linalg_det(input)


def _sign_and_log(A, name):
    sign, pivots = _determinants(A, name)
    return sign, pivots.log().sum(-1)


def linalg_slogdet(A):
    return _torch._named("linalg_slogdet", ("sign", "logabsdet"), _sign_and_log(A, "linalg.slogdet"))


def slogdet(input):
    return _torch._named("slogdet", ("sign", "logabsdet"), _sign_and_log(input, "linalg.slogdet"))


def logdet(input):
    sign, y = _sign_and_log(input, "logdet")
    return _torch.where(sign == -1, _torch.full_like(y, float("nan")), y)


# ---- factors


# After an infinite pivot there is no other, as in LAPACK's code for small matrices.
def _cholesky(name, A, upper):
    y = _torch.zeros_like(_matrices(A, name))
    for number, a in enumerate(_matrices(A, name)):
        l = y[number]
        for k in range(len(a)):
            pivot = a[k, k] - (l[k, :k] * l[k, :k]).sum()
            if not pivot > 0 or k and l[k - 1, k - 1].isinf():
                raise linalg_LinAlgError(
                    "%s: %sThe factorization could not be completed because the input is not positive-definite "
                    "(the leading minor of order %d is not positive-definite)."
                    % (name, "(Batch element %d): " % number if A.dim() > 2 else "", k + 1)
                )
            below = ((a[k:, k] if not upper else a[k, k:]) - l[k:, :k] @ l[k, :k]) / pivot.sqrt()
            l[k:, k].copy_(below)
            l[k, k] = pivot.sqrt()
    y = y.reshape(A.shape)
    return y.transpose(-1, -2) if upper else y


def linalg_cholesky(input, *, upper=False):
    return _cholesky("linalg.cholesky", input, upper)


def cholesky(input, upper=False):
    return _cholesky("cholesky", input, upper)


# ---- products


def linalg_matrix_power(input, n):
    _square(input, "linalg.matrix_power")
    if n == 0:
        return _torch.eye(input.shape[-1], dtype=input.dtype).expand(input.shape).clone()
    power = linalg_inv(input) if n < 0 else input
    n, y = abs(n), None
    while n:
        if n & 1:
            y = power if y is None else y @ power
        n >>= 1
        if n:
            power = power @ power
    return y.clone() if y is input else y


def matrix_power(input, n):
    return linalg_matrix_power(input, n)


def linalg_multi_dot(tensors):
    count = len(tensors)
    if count < 2:
        raise RuntimeError("multi_dot(): expected at least 2 tensors but got %d" % count)
    for k, t in enumerate(tensors):
        if k in (0, count - 1):
            if t.dim() not in (1, 2):
                what = "last" if k else "first"
                raise RuntimeError("multi_dot(): the %s tensor must be 1D or 2D but got %dD" % (what, t.dim()))
        elif t.dim() != 2:
            raise RuntimeError("multi_dot(): tensor %d must be 2D but got %dD" % (k, t.dim()))
        if k and tensors[k - 1].shape[-1] != t.shape[0]:
            raise RuntimeError(
                "multi_dot(): tensors %d and %d with shapes %s and %s cannot be multiplied"
                % (k - 1, k, list(tensors[k - 1].shape), list(t.shape))
            )
    if tensors[-1].dim() == 1:  # each product is a vector from the end on
        y = tensors[-1]
        for t in tensors[-2::-1]:
            y = t @ y
        return y
    y = tensors[0]
    for t in tensors[1:]:
        y = y @ t
    return y


def chain_matmul(*matrices, out=None):
    for t in matrices:
        if t.dim() != 2:
            raise RuntimeError("Tensor dimension is %d, expected 2 instead." % t.dim())
    y = linalg_multi_dot(matrices) if len(matrices) > 1 else matrices[0]
    return y if out is None else _torch._into(out, y, False)


def linalg_vecdot(x, y, *, dim=-1):
    return (x * y).sum(dim, dtype=(x.new_zeros(0) * y.new_zeros(0)).dtype)


def linalg_cross(input, other, *, dim=-1):
    if input.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if not input.shape[dim] == other.shape[dim] == 3:
        raise RuntimeError(
            "linalg.cross: inputs dimension %d must have length 3. Got %d and %d"
            % (dim, input.shape[dim], other.shape[dim])
        )
    a, b = _torch.broadcast_tensors(input, other)
    return a.roll(-1, dim) * b.roll(1, dim) - a.roll(1, dim) * b.roll(-1, dim)


def cross(input, other, dim=None):
    if dim is None:
        sizes = list(input.shape)
        if 3 not in sizes:
            raise RuntimeError("no dimension of size 3 in input")
        dim = sizes.index(3)
    return linalg_cross(input, other, dim=dim)


# ---- statistics of rows


def _weights(w, name, count, kind):
    if w.dim() > 1:
        raise RuntimeError(
            "cov(): expected %s to have one or fewer dimensions but got %s with %d dimensions" % (name, name, w.dim())
        )
    if w.is_floating_point() != (kind == "floating point") or w.dtype is _torch.bool:
        raise RuntimeError(
            "cov(): expected %s to have %s dtype but got %s with %s dtype" % (name, kind, name, w.type()[6:-6])
        )
    if w.numel() != count:
        raise RuntimeError(
            "cov(): expected %s to have the same numel as there are observations in the input but got %d != %d"
            % (name, w.numel(), count)
        )
    if count and w.min() < 0:
        raise RuntimeError("cov(): %s cannot be negative" % name)
    return w.reshape(count)


def cov(input, *, correction=1, fweights=None, aweights=None):
    if input.dim() > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with %d dimensions" % input.dim()
        )
    if input.dtype is _torch.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input if input.dim() == 2 else input.reshape(1, -1)
    count = x.shape[1]
    w = None
    if fweights is not None:
        w = _weights(fweights, "fweights", count, "integral")
    if aweights is not None:
        aweights = _weights(aweights, "aweights", count, "floating point")
        w = aweights if w is None else w * aweights
    total = count if w is None else w.sum()
    if w is not None and w.is_floating_point() and total == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = (x if w is None else x * w).sum(1) / total
    degrees = total - (correction if aweights is None else correction * (w * aweights).sum() / total)
    x = x - mean.unsqueeze(1)
    degrees = _torch.as_tensor(degrees).clamp_min(0)
    return (x @ (x if w is None else x * w).t()).div(degrees).squeeze()


def corrcoef(input):
    if input.dim() > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with %d dimensions" % input.dim()
        )
    c = cov(input)
    if c.dim() == 0:
        return c / c
    deviation = c.diagonal().sqrt()
    return (c / deviation.unsqueeze(1) / deviation).clamp(-1, 1)
