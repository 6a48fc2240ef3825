# Norms of matrices and of tensors.
import _torch


def linalg_norm(input, ord=None, dim=None, keepdim=False, *, dtype=None):
    axes = input.dim() if dim is None else 1 if isinstance(dim, int) else len(dim)
    if ord is not None and not (axes == 1 or ord == "fro" and axes == 2):
        raise NotImplementedError("torch.linalg.norm(): norms of matrices other than 'fro' are not there")
    order = 2 if ord in (None, "fro") else ord
    return _torch._nn.linalg_vector_norm(input, order, dim, keepdim, dtype=dtype)
