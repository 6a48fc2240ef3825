# Norms of matrices and of tensors.
import _torch


def linalg_norm(input, ord=None, dim=None, keepdim=False, *, dtype=None):
    axes = list(range(-input.dim(), 0)) if dim is None else [dim] if isinstance(dim, int) else dim
    if ord is None or len(axes) == 1 and not isinstance(ord, str):
        return _torch._nn.linalg_vector_norm(input, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    return _torch._nn.linalg_matrix_norm(input, ord, axes, keepdim, dtype=dtype)


def linalg_matrix_norm(input, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    if len(dim) != 2 or ord not in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")):
        raise RuntimeError("linalg.matrix_norm: ord must be 'fro', 'nuc', 1, 2, inf or negative, and dim two dimensions")
    if ord == "fro":
        return _torch._nn.linalg_vector_norm(input, 2, dim, keepdim, dtype=dtype)
    first, last = dim if ord in (1, -1) else (dim[1], dim[0])
    if (first - last) % input.dim() == 0:
        raise RuntimeError("linalg.matrix_norm: dims must be different")
    if ord in ("nuc", 2, -2) and input.numel():
        if not (dtype or input.dtype) is input.dtype is _torch.float32:
            raise NotImplementedError("linalg.matrix_norm: singular values are those of float32")
        x = _singular_values(input.movedim(dim, (-2, -1))).unsqueeze(-1).movedim((-2, -1), dim)
    else:
        x = _torch._nn.linalg_vector_norm(input, 1, first, True, dtype=dtype)
    x = (x.sum if ord == "nuc" or not x.shape[last] else x.amax if ord > 0 else x.amin)(last, True)
    return x if keepdim else x.sum(dim)


# lengths of the columns, after these were turned against each other until they are orthogonal
def _singular_values(x):
    columns = list((x if x.shape[-1] <= x.shape[-2] else x.transpose(-1, -2)).unbind(-1))
    for _ in range(10):
        for i in range(len(columns)):
            for k in range(i):
                a, b = columns[i], columns[k]
                angle = ((a * b).sum(-1, True) * 2).atan2((a * a - b * b).sum(-1, True)) / 2
                c, s = angle.cos(), angle.sin()
                columns[i], columns[k] = a * c + b * s, b * c - a * s
    return _torch.stack([(a * a).sum(-1).sqrt() for a in columns], -1)
