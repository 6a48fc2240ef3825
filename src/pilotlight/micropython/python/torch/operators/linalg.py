# Norms of matrices and of tensors.
import _torch


def linalg_norm(input, ord=None, dim=None, keepdim=False, *, dtype=None):
    axes = list(range(-input.dim(), 0)) if dim is None else [dim] if isinstance(dim, int) else dim
    if ord is None or len(axes) == 1 and not isinstance(ord, str):
        return _torch._nn.linalg_vector_norm(input, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    return linalg_matrix_norm(input, ord, axes, keepdim, dtype=dtype)


def linalg_matrix_norm(input, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    if ord in ("nuc", 2, -2):
        raise NotImplementedError("norms of matrices by singular values are not there")
    if len(dim) != 2 or ord not in ("fro", 1, -1, float("inf"), -float("inf")):
        raise RuntimeError("linalg.matrix_norm: ord must be 'fro', 1, -1, inf or -inf, and dim two dimensions")
    if ord == "fro":
        return _torch._nn.linalg_vector_norm(input, 2, dim, keepdim, dtype=dtype)
    first, last = dim if ord in (1, -1) else (dim[1], dim[0])
    if (first - last) % input.dim() == 0:
        raise RuntimeError("linalg.matrix_norm: dims must be different")
    x = _torch._nn.linalg_vector_norm(input, 1, first, True, dtype=dtype)
    x = (x.sum if not x.shape[last] else x.amax if ord > 0 else x.amin)(last, True)
    return x if keepdim else x.sum(dim)
