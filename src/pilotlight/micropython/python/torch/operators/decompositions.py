# Matrices as products of simpler ones, for small matrices: Householder's reflections and Jacobi's rotations.
import _torch


# Matrices of float32 of any shape, one after the other.
def _any_matrices(x, name):
    if x.dim() < 2:
        raise RuntimeError(name + ": The input tensor A must have at least 2 dimensions.")
    if not x.is_floating_point():
        raise RuntimeError(name + ": Expected a floating point or complex tensor as input. Got " + x.type()[6:-6])
    if x.dtype is not _torch.float32:
        raise RuntimeError(name + ": Low precision dtypes not supported. Got " + x.type()[6:-6])
    return x.reshape((_product(x.shape[:-2]),) + x.shape[-2:])


def _stacked(found, batch, shape):
    return (_torch.stack(found) if found else _torch.zeros((0,) + shape)).reshape(tuple(batch) + shape)


def _finite(a, name, number, batch):
    if not a.isfinite().all():
        where = "(Batch element %d): " % number if batch else ""
        raise linalg_LinAlgError(
            "%s: %sThe algorithm failed to converge because the input matrix contained non-finite values."
            % (name, where)
        )


# Q whole and R, with the signs of LAPACK: what a reflection leaves of a column has the other sign than its first
# element.
def _reflected(a):
    r = a.clone()
    m, n = r.shape
    q = _torch.eye(m)
    for k in range(min(m - 1, n)):
        v = r[k:, k].clone()
        rest = v[1:].abs().max()
        if rest == 0:
            continue
        scale = v.abs().max()
        v = v / scale
        norm = (v * v).sum().sqrt()
        v[0] += norm if v[0] >= 0 else -norm
        v = v / v[0]
        factor = 2 / (v * v).sum()
        r[k:, k:] -= factor * v.unsqueeze(1) * (v @ r[k:, k:])
        r[k + 1 :, k] = 0.0
        q[:, k:] -= factor * (q[:, k:] @ v).unsqueeze(1) * v
    return q, r


def linalg_qr(A, mode="reduced"):
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            "qr received unrecognized mode '%s' but expected one of 'reduced' (default), 'r', or 'complete'" % mode
        )
    m, n = A.shape[-2:] if A.dim() > 1 else (0, 0)
    k = m if mode == "complete" else min(m, n)
    both = [_reflected(a) for a in _any_matrices(A, "linalg.qr")]
    batch = A.shape[:-2]
    q = _stacked([q[:, :k] for q, _ in both], batch, (m, k)) if mode != "r" else A.new_zeros(0)
    return _torch._named("linalg_qr", ("Q", "R"), (q, _stacked([r[:k] for _, r in both], batch, (k, n))))


def qr(input, some=True):
    return _torch._named("qr", ("Q", "R"), tuple(linalg_qr(input, "reduced" if some else "complete")))


# Cosine and sine of Jacobi's rotation, from the cotangent of twice its angle.
def _turn(theta):
    if abs(theta) < 1e15:
        t = (1 if theta >= 0 else -1) / (abs(theta) + (theta * theta + 1) ** 0.5)
    else:
        t = 0.5 / theta
    c = 1 / (t * t + 1) ** 0.5
    return c, t * c


# Eigenvalues of a symmetric matrix, the least first, and eigenvectors as columns: rotations until nothing beside the
# diagonal counts.
def _rotated(a):
    a, n = a.clone(), len(a)
    v = _torch.eye(n)
    if not a.isfinite().all():
        return a[0] * float("nan"), a * float("nan")
    for _ in range(30 if n > 1 else 0):
        outside = (a - a.diagonal().diag_embed()).abs().max()
        if not outside > a.abs().max() * 1e-9:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if a[p, q] == 0:
                    continue
                theta = ((a[q, q] - a[p, p]) / (2 * a[p, q])).item()
                c, s = _turn(theta)
                for m in (a, v):
                    left, right = m[:, p].clone(), m[:, q].clone()
                    m[:, p] = c * left - s * right
                    m[:, q] = s * left + c * right
                upper, lower = a[p].clone(), a[q].clone()
                a[p] = c * upper - s * lower
                a[q] = s * upper + c * lower
                a[p, q] = a[q, p] = 0.0
    values, order = a.diagonal().sort()
    return values, v[:, order]


def _symmetric(A, UPLO, name):
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError("Expected UPLO argument to be 'L' or 'U', but got " + UPLO)
    found = []
    for a in _matrices(A, name):
        half = a.tril() if UPLO in ("L", "l") else a.triu()
        found.append(_rotated(half + half.t() - a.diagonal().diag_embed()))
    return found


def linalg_eigh(input, UPLO="L"):
    found = _symmetric(input, UPLO, "linalg.eigh")
    n, batch = input.shape[-1], input.shape[:-2]
    values = _stacked([w for w, _ in found], batch, (n,)), _stacked([v for _, v in found], batch, (n, n))
    return _torch._named("linalg_eigh", ("eigenvalues", "eigenvectors"), values)


def linalg_eigvalsh(input, UPLO="L"):
    return _stacked([w for w, _ in _symmetric(input, UPLO, "linalg.eigh")], input.shape[:-2], (input.shape[-1],))


# U, S and V of a matrix with at least as many rows as columns: its columns are turned until they are orthogonal.
def _turned(a):
    u, n = a.clone(), a.shape[1]
    v = _torch.eye(n)
    for _ in range(40):
        turned = False
        for p in range(n - 1):
            for q in range(p + 1, n):
                x, y = u[:, p].clone(), u[:, q].clone()
                scale = max(x.abs().max().item(), y.abs().max().item()) or 1.0
                xx, yy, xy = [(f / scale * (g / scale)).sum().item() for f, g in ((x, x), (y, y), (x, y))]
                if abs(xy) <= 1e-7 * (xx * yy) ** 0.5 or xy == 0:
                    continue
                turned = True
                c, s = _turn((yy - xx) / (2 * xy))
                for m in (u, v):
                    left, right = m[:, p].clone(), m[:, q].clone()
                    m[:, p] = c * left - s * right
                    m[:, q] = s * left + c * right
        if not turned:
            break
    scale = u.abs().max() if u.numel() else _torch.zeros(())
    scale = scale if scale > 0 else _torch.ones(())
    s = ((u / scale) ** 2).sum(0).sqrt() * scale
    s, order = s.sort(descending=True)
    return u[:, order], s, v[:, order]


# The columns of U as unit vectors, and as many more as a whole basis needs.
def _basis(u, s, whole):
    m, n = u.shape
    least = s.max() * 1e-7 * max(m, n) if n else 0
    rank = int((s > least).sum())
    kept = u[:, :rank] / s[:rank]
    if rank == (m if whole else n):
        return kept
    return _torch.cat([kept, _reflected(kept)[0][:, rank : m if whole else n]], 1)


def _all_turned(A, name):
    found = []
    for number, a in enumerate(_any_matrices(A, name)):
        _finite(a, name, number, A.dim() > 2)
        found.append(_turned(a if a.shape[0] >= a.shape[1] else a.t()))
    return found


def _no_driver(name, driver):
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.%s: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend." % name
        )


def linalg_svd(A, full_matrices=True, *, driver=None):
    _no_driver("svd", driver)
    left, right = [], []
    found = _all_turned(A, "linalg.svd")
    m, n = A.shape[-2:]
    for u, s, v in found:
        u = _basis(u, s, full_matrices)
        left.append(u if m >= n else v)
        right.append((v if m >= n else u).t())
    k, batch = min(m, n), A.shape[:-2]
    sizes = (m, m if full_matrices else k), (n if full_matrices else k, n)
    s = _stacked([s for _, s, _ in found], batch, (k,))
    values = _stacked(left, batch, sizes[0]), s, _stacked(right, batch, sizes[1])
    return _torch._named("linalg_svd", ("U", "S", "Vh"), values)


def linalg_svdvals(A, *, driver=None):
    _no_driver("svdvals", driver)
    return _stacked([s for _, s, _ in _all_turned(A, "linalg.svd")], A.shape[:-2], (min(A.shape[-2:]),))


# The pseudo-inverse: singular values up to `rtol` times the largest, or up to `atol`, count as zero.
def _inverted(a, rtol, atol=0):
    u, s, vh = linalg_svd(a, False)
    kept = (s > rtol * (s[..., :1] if s.shape[-1] else s)) & (s > atol)
    inverse = _torch.where(kept, 1 / s, _torch.zeros_like(s))
    return (vh.transpose(-1, -2) * inverse.unsqueeze(-2)) @ u.transpose(-1, -2), kept.sum(-1)


def pinverse(input, rcond=1e-15):
    return _inverted(input, rcond)[0]


# Of a symmetric matrix (`hermitian`) half is read.
def linalg_pinv(input, *given, rcond=None, hermitian=False, atol=None, rtol=None):
    if given:
        rcond, hermitian = (given + (hermitian,))[:2]
    if hermitian:
        _square(input, "linalg.pinv")
        input = input.tril() + input.tril(-1).transpose(-1, -2)
    atol = _torch.as_tensor(0.0 if atol is None else atol).unsqueeze(-1)
    rtol = rcond if rtol is None else rtol
    least = (atol <= 0) * (1.1920929e-07 * max(input.shape[-2:])) if rtol is None else _torch.as_tensor(rtol).unsqueeze(-1)
    return _inverted(input, least, atol)[0]


def linalg_lstsq(input, b, rcond=None, *, driver=None):
    if driver not in (None, "gelsy", "gels", "gelsd", "gelss"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if driver not in (None, "gelsy"):
        raise NotImplementedError("linalg.lstsq(driver='%s') is not in this module; it has 'gelsy'" % driver)
    if input.dim() < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if input.dtype is not b.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype %s and other's "
            "dtype %s" % (input.type()[6:-6], b.type()[6:-6])
        )
    vector = input.dim() - 1 == b.dim() and b.shape == input.shape[:-1]
    y = b.unsqueeze(-1) if vector else b
    m, n = input.shape[-2:]
    if y.dim() != input.dim() or y.shape[-2] != m:
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    rcond = 1.1920929e-07 * max(m, n) if rcond is None else float(rcond)
    inverse, rank = _inverted(input, rcond)
    solution = inverse @ y
    values = solution.squeeze(-1) if vector else solution, _torch.zeros(0), rank, _torch.zeros(0)
    return _torch._named("linalg_lstsq", ("solution", "residuals", "rank", "singular_values"), values)
