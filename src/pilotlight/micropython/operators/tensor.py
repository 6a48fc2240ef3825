"""Tensors from Python's data, and to other types."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

_CASTS = ("bool", "byte", "char", "short", "int", "long", "half", "bfloat16", "float")  # in the order of dtypes

KERNELS: dict[str, Kernel] = {
    "tensor.default": Kernel("pt_do_tensor", 0),
    "new_tensor.default": Kernel("pt_do_tensor", 1),
    "as_tensor.default": Kernel("pt_do_as_tensor"),
    "asarray.default": Kernel("pt_do_asarray"),
    "frombuffer.default": Kernel("pt_do_frombuffer"),
    "to.dtype": Kernel("pt_do_to", 1),
    "to.other": Kernel("pt_do_to_other"),
    "to.any": Kernel("pt_do_to", 2),
    "type_as.default": Kernel("pt_do_to_other"),
    "type.any": Kernel("pt_do_type"),
    "cpu.default": Kernel("pt_do_cpu"),
    "size.any": Kernel("pt_do_size", 0),
    "stride.any": Kernel("pt_do_size", 1),
    "numel.default": Kernel("pt_do_numel"),
    "nelement.default": Kernel("pt_do_numel"),
    "item.default": Kernel("pt_do_item"),
    "tolist.default": Kernel("pt_do_tolist"),
    "dim.default": Kernel("pt_do_ndim"),
    "ndimension.default": Kernel("pt_do_ndim"),
    "element_size.default": Kernel("pt_do_element_size"),
    "storage_offset.default": Kernel("pt_do_storage_offset"),
    "data_ptr.default": Kernel("pt_do_data_ptr"),
    "is_contiguous.any": Kernel("pt_do_is_contiguous"),
    "requires_grad_.default": Kernel("pt_do_requires_grad"),
    "is_floating_point.default": Kernel("pt_do_is_floating_point"),
    "is_complex.default": Kernel("pt_do_is_complex"),
    "is_signed.default": Kernel("pt_do_is_signed"),
    "set_printoptions.default": Kernel("pt_do_set_printoptions"),
    "__repr__.default": Kernel("pt_do_repr"),
    "__float__.default": Kernel("pt_do_float"),
    **{f"{name}.default": Kernel("pt_do_cast", number) for number, name in enumerate(_CASTS)},
}
