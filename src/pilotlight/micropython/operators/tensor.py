"""Tensors from Python's data, and to other types."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

_CASTS = ("bool", "byte", "char", "short", "int", "long", "half", "bfloat16", "float")  # in the order of dtypes

KERNELS: dict[str, CFunction] = {
    "tensor.default": CFunction("pt_do_tensor", 0),
    "new_tensor.default": CFunction("pt_do_tensor", 1),
    "as_tensor.default": CFunction("pt_do_as_tensor"),
    "asarray.default": CFunction("pt_do_asarray"),
    "frombuffer.default": CFunction("pt_do_frombuffer"),
    "to.dtype": CFunction("pt_do_to", 1),
    "to.other": CFunction("pt_do_to_other"),
    "to.any": CFunction("pt_do_to", 2),
    "type_as.default": CFunction("pt_do_to_other"),
    "type.any": CFunction("pt_do_type"),
    "cpu.default": CFunction("pt_do_cpu"),
    "size.any": CFunction("pt_do_size", 0),
    "stride.any": CFunction("pt_do_size", 1),
    "numel.default": CFunction("pt_do_numel"),
    "nelement.default": CFunction("pt_do_numel"),
    "item.default": CFunction("pt_do_item"),
    "tolist.default": CFunction("pt_do_tolist"),
    "dim.default": CFunction("pt_do_ndim"),
    "ndimension.default": CFunction("pt_do_ndim"),
    "element_size.default": CFunction("pt_do_element_size"),
    "storage_offset.default": CFunction("pt_do_storage_offset"),
    "data_ptr.default": CFunction("pt_do_data_ptr"),
    "is_contiguous.any": CFunction("pt_do_is_contiguous"),
    "requires_grad_.default": CFunction("pt_do_requires_grad"),
    "is_floating_point.default": CFunction("pt_do_is_floating_point"),
    "is_complex.default": CFunction("pt_do_is_complex"),
    "is_signed.default": CFunction("pt_do_is_signed"),
    "set_printoptions.default": CFunction("pt_do_set_printoptions"),
    "__repr__.default": CFunction("pt_do_repr"),
    "__float__.default": CFunction("pt_do_float"),
    **{f"{name}.default": CFunction("pt_do_cast", number) for number, name in enumerate(_CASTS)},
}
