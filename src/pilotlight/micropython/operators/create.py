"""New tensors."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

_CONSTANTS = {"zeros": 0, "ones": 1, "empty": 0}

KERNELS: dict[str, Kernel] = {
    **{f"{name}.{'memory_format' if name == 'empty' else 'default'}": Kernel("pt_do_zeros", value)
       for name, value in _CONSTANTS.items()},
    **{f"{name}_like.default": Kernel("pt_do_zeros_like", value) for name, value in _CONSTANTS.items()},
    **{f"new_{name}.default": Kernel("pt_do_new_zeros", value) for name, value in _CONSTANTS.items()},
    "full.default": Kernel("pt_do_full"),
    "full_like.default": Kernel("pt_do_full_like"),
    "new_full.default": Kernel("pt_do_new_full"),
    "scalar_tensor.default": Kernel("pt_do_scalar_tensor"),
    "empty_strided.default": Kernel("pt_do_empty_strided", 0),
    "new_empty_strided.default": Kernel("pt_do_empty_strided", 1),
    "fill_diagonal_.default": Kernel("pt_do_fill_diagonal"),
    "arange.default": Kernel("pt_do_arange", 1),
    "arange.start": Kernel("pt_do_arange", 2),
    "arange.start_step": Kernel("pt_do_arange", 3),
    "range.default": Kernel("pt_do_arange", 6),
    "range.step": Kernel("pt_do_arange", 7),
    **{f"{name}.{overload}": Kernel("pt_do_linspace", number)
       for number, name in enumerate(("linspace", "logspace"))
       for overload in ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")},
    "eye.default": Kernel("pt_do_eye", 0),
    "eye.m": Kernel("pt_do_eye", 1),
}
