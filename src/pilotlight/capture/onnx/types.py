"""ONNX's element types next to PyTorch's, and arrays next to tensors."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import torch
from onnx import TensorProto

TORCH: dict[int, torch.dtype] = {
    TensorProto.FLOAT: torch.float32, TensorProto.FLOAT16: torch.float16, TensorProto.BFLOAT16: torch.bfloat16,
    TensorProto.DOUBLE: torch.float64, TensorProto.INT8: torch.int8, TensorProto.INT16: torch.int16,
    TensorProto.INT32: torch.int32, TensorProto.INT64: torch.int64, TensorProto.UINT8: torch.uint8,
    TensorProto.UINT16: torch.uint16, TensorProto.UINT32: torch.uint32, TensorProto.UINT64: torch.uint64,
    TensorProto.BOOL: torch.bool,
}
ONNX = {dtype: kind for kind, dtype in TORCH.items()}
_NARROW = {"int4": np.int8, "uint4": np.uint8, "int2": np.int8, "uint2": np.uint8}  # a byte each


def type_name(kind: int) -> str:
    """As users know it: float32, int4, string."""
    if kind in TORCH:
        return str(TORCH[kind]).removeprefix("torch.")
    known = {v: k for k, v in TensorProto.DataType.items()}
    return known.get(kind, f"type {kind}").lower()


def as_array(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def as_tensor(array: np.ndarray) -> torch.Tensor | None:
    """None where PyTorch has no such numbers."""
    array = np.array(array)  # a copy, and dense
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    if array.dtype.name in _NARROW:
        array = array.astype(_NARROW[array.dtype.name])
    try:
        return torch.from_numpy(array)
    except TypeError:
        return None


def tensor_type(tensor: torch.Tensor | np.ndarray) -> onnx.TypeProto:
    if isinstance(tensor, torch.Tensor):
        return onnx.helper.make_tensor_type_proto(ONNX[tensor.dtype], list(tensor.shape))
    return onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(tensor.dtype), list(tensor.shape))
