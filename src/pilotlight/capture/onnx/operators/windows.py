"""Windows that slide over images: kernel, stride, padding and dilation as convolutions and pools have them."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from pilotlight.capture.onnx.operators.shape import pad_ends


@dataclass(frozen=True)
class Window:
    """One number an axis."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    before: list[int]
    after: list[int]

    @property
    def is_even(self) -> bool:
        """Whether each axis is padded as much before as after."""
        return self.before == self.after

    def padded(self, x: Tensor, value: float = 0.0) -> Tensor:
        around = [0] * (x.dim() - len(self.kernel))
        return pad_ends(x, [*around, *self.before], [*around, *self.after], value)


def window(
    x: Tensor, kernel: list[int], strides: list[int] | None, dilations: list[int] | None, pads: list[int] | None,
    auto_pad: str, ceil_mode: int = 0,
) -> Window:
    """With padding as `auto_pad` says, or as given; `ceil_mode` pads the end for a last window that is not whole."""
    dims = len(kernel)
    strides, dilations = strides or [1] * dims, dilations or [1] * dims
    sizes = list(x.shape[-dims:])
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
    pads = pads or [0] * (2 * dims)
    before, after = list(pads[:dims]), list(pads[dims:])
    if auto_pad.startswith("SAME"):
        for k, (size, stride, whole) in enumerate(zip(sizes, strides, reach, strict=True)):
            total = max(0, (-(-size // stride) - 1) * stride + whole - size)
            small, large = total // 2, total - total // 2
            before[k], after[k] = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
    elif auto_pad == "VALID":
        before, after = [0] * dims, [0] * dims
    return Window(kernel, strides, dilations, before, after)
