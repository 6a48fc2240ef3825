"""Element types: one row each, with its names in PyTorch, numpy and C."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from pilotlight.errors import PilotlightError


@dataclass(frozen=True)
class DType:
    """One element type; `c` is how generated code spells it."""

    name: str
    c: str
    numpy: np.dtype
    torch: torch.dtype
    kind: str  # "f" float, "h" a float stored in 16 bits, "i" signed, "u" unsigned, "b" bool

    @property
    def size(self) -> int:
        return int(self.numpy.itemsize)

    def __repr__(self) -> str:
        return self.name

    def __deepcopy__(self, memo: object) -> DType:
        return self


FLOAT32 = DType("float32", "float", np.dtype(np.float32), torch.float32, "f")
FLOAT16 = DType("float16", "uint16_t", np.dtype(np.float16), torch.float16, "h")
BFLOAT16 = DType("bfloat16", "uint16_t", np.dtype(np.uint16), torch.bfloat16, "h")  # numpy has none: its bits
INT64 = DType("int64", "int64_t", np.dtype(np.int64), torch.int64, "i")
INT32 = DType("int32", "int32_t", np.dtype(np.int32), torch.int32, "i")
INT16 = DType("int16", "int16_t", np.dtype(np.int16), torch.int16, "i")
INT8 = DType("int8", "int8_t", np.dtype(np.int8), torch.int8, "i")
UINT8 = DType("uint8", "uint8_t", np.dtype(np.uint8), torch.uint8, "u")
BOOL = DType("bool", "uint8_t", np.dtype(np.bool_), torch.bool, "b")

ALL = (FLOAT32, FLOAT16, BFLOAT16, INT64, INT32, INT16, INT8, UINT8, BOOL)
BY_NAME = {d.name: d for d in ALL}
BY_TORCH = {d.torch: d for d in ALL}
BY_NUMPY = {d.numpy: d for d in ALL}


def from_torch(dtype: torch.dtype, what: str = "a tensor") -> DType:
    """Our name for PyTorch's dtype; a clear error for those that no kernel handles."""
    if dtype not in BY_TORCH:
        known = ", ".join(d.name for d in ALL)
        raise PilotlightError(
            f"{what} has dtype {str(dtype).removeprefix('torch.')}; expected one of {known}, complex64",
            hint="convert the model and its inputs, for example with module.float()",
            kind="dtype",
        )
    return BY_TORCH[dtype]


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """A tensor's elements as a dense array of its type's `numpy`."""
    tensor = tensor.detach().cpu().contiguous()
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def to_torch(array: np.ndarray) -> torch.Tensor:
    """The tensor that shares an array's memory, or has a copy where that is read-only; numpy's uint16 is bfloat16."""
    tensor = torch.from_numpy(array if array.flags.writeable else array.copy())
    return tensor.view(torch.bfloat16) if tensor.dtype == torch.uint16 else tensor


def convert(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Elements of one type as another's, rounded and wrapped around as PyTorch does."""
    return to_numpy(to_torch(np.asarray(array)).to(dtype.torch))
