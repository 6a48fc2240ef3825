# Operators that PyTorch has under linalg_<name>, and norms of vectors.
import _torch


def __getattr__(name):
    full = "linalg_" + name
    if hasattr(_torch._nn, full):
        return getattr(_torch._nn, full)
    raise AttributeError("module 'torch.linalg' has no attribute '" + name + "'")


def norm(A, ord=None, dim=None, keepdim=False, *, out=None, dtype=None):
    axes = A.dim() if dim is None else 1 if isinstance(dim, int) else len(dim)
    if ord is not None and not (axes == 1 or ord == "fro" and axes == 2):
        raise NotImplementedError("torch.linalg.norm(): norms of matrices other than 'fro' are not there")
    order = 2 if ord in (None, "fro") else ord
    return _torch._nn.linalg_vector_norm(A, order, dim, keepdim, dtype=dtype, out=out)
