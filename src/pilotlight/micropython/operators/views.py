"""Views: operators that give other sizes and strides to the same elements."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

_SIMPLE = {
    "view.dtype": "view_dtype", "flatten.using_ints": "flatten", "ravel.default": "ravel", "unflatten.int": "unflatten",
    "permute.default": "permute", "t.default": "t", "t_.default": "t", "adjoint.default": "adjoint",
    "movedim.int": "movedim", "movedim.intlist": "movedims",
    "squeeze.default": "squeeze", "squeeze.dim": "squeeze_dim", "squeeze.dims": "squeeze_dims",
    "squeeze_.default": "squeeze", "squeeze_.dim": "squeeze_dim", "squeeze_.dims": "squeeze_dims",
    "unsqueeze.default": "unsqueeze", "unsqueeze_.default": "unsqueeze",
    "expand.default": "expand", "broadcast_to.default": "expand", "expand_as.default": "expand_as",
    "broadcast_tensors.default": "broadcast_tensors",
    "contiguous.default": "contiguous", "clone.default": "clone", "positive.default": "same", "real.default": "same",
    "detach.default": "alias", "detach_.default": "alias", "alias.default": "alias",
    "narrow.default": "narrow", "narrow.Tensor": "narrow_tensor",
    "select.int": "select", "slice.Tensor": "slice", "chunk.default": "chunk", "split.Tensor": "split",
    "split.sizes": "split_sizes", "split_with_sizes.default": "split_sizes",
    "tensor_split.sections": "tensor_split", "tensor_split.indices": "tensor_split_at",
    "tensor_split.tensor_indices_or_sections": "tensor_split_tensor", "unbind.int": "unbind",
    "diagonal.default": "diagonal", "diag.default": "diag", "diag_embed.default": "diag_embed",
    "as_strided.default": "as_strided", "as_strided_.default": "as_strided", "unfold.default": "unfold",
    "transpose.int": "transpose", "transpose_.default": "transpose",
}

KERNELS: dict[str, Kernel] = {
    **{name: Kernel(f"pt_do_{function}") for name, function in _SIMPLE.items()},
    "view.default": Kernel("pt_do_view", 0),
    "reshape.default": Kernel("pt_do_view", 1),
    "view_as.default": Kernel("pt_do_view_as", 0),
    "reshape_as.default": Kernel("pt_do_view_as", 1),
    **{f"atleast_{n}d.default": Kernel("pt_do_atleast", n) for n in (1, 2, 3)},
    **{f"atleast_{n}d.Sequence": Kernel("pt_do_atleast_all", n) for n in (1, 2, 3)},
    **{f"{name}split.int": Kernel("pt_do_hsplit", dim) for name, dim in (("v", 0), ("h", 1), ("d", 2))},
    **{f"{name}split.array": Kernel("pt_do_hsplit_at", dim) for name, dim in (("v", 0), ("h", 1), ("d", 2))},
}
