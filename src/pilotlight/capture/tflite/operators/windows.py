"""Sizes and paddings of windows that move over an image."""

from __future__ import annotations

from dataclasses import dataclass

from pilotlight.capture.tflite.site import Site

SAME, VALID = 0, 1


@dataclass(frozen=True)
class Padded:
    """One axis of an image: what is added before and after it, and how many windows fit."""

    before: int
    after: int
    count: int


def padded(site: Site, size: int, kernel: int, stride: int, dilation: int = 1) -> Padded:
    """TensorFlow's padding: SAME adds what is odd at the end."""
    if stride < 1 or dilation < 1 or kernel < 1:
        raise site.refuse(f"a window of {kernel} with stride {stride} and dilation {dilation}")
    reach = (kernel - 1) * dilation + 1
    if site.options.Padding == VALID:
        return Padded(0, 0, max((size - reach + stride) // stride, 0))
    count = -(-size // stride)
    total = max((count - 1) * stride + reach - size, 0)
    return Padded(total // 2, total - total // 2, count)
