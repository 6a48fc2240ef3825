"""Pooling and resizing."""

from __future__ import annotations

from tests.support.tflite_random.draw import FLOAT_CASES, UINT8_CASES, Draw, both, case, every, windowed


@every("AVERAGE_POOL_2D", "MAX_POOL_2D")
@case(UINT8_CASES, "AVERAGE_POOL_2D", "MAX_POOL_2D")
@case(FLOAT_CASES, "L2_POOL_2D")
def _pool(d: Draw) -> None:
    n, h, w, c = d.image(9, 9)
    kernel, stride = (d.integer(1, 4), d.integer(1, 4)), (d.integer(1, 3), d.integer(1, 3))
    if d.chance(0.2):
        kernel = (h, w)
    same = d.chance() or kernel[0] > h or kernel[1] > w
    x = d.input((n, h, w, c))
    size = [windowed(s, k, t, 1, same) for s, k, t in zip((h, w), kernel, stride, strict=True)]
    affine = d.like(x) if d.kind != "FLOAT32" else {}
    y = d.graph.tensor((n, *size, c), d.kind, **affine)
    d.graph.outputs.append(y)
    d.call([x], [y], options="Pool2DOptions", Padding=0 if same else 1, StrideH=stride[0], StrideW=stride[1],
           FilterHeight=kernel[0], FilterWidth=kernel[1], FusedActivationFunction=d.activation())


@both("RESIZE_BILINEAR")
@every("RESIZE_NEAREST_NEIGHBOR")
def _resize(d: Draw) -> None:
    n, h, w, c = d.image(6, 5)
    size = d.integer(1, 12), d.integer(1, 12)
    x = d.input((n, h, w, c))
    align = d.chance(0.3)
    kind = "ResizeBilinearOptions" if d.name == "RESIZE_BILINEAR" else "ResizeNearestNeighborOptions"
    d.call([x, d.ints(size)], [d.kept(x, (n, *size, c))], options=kind, AlignCorners=align,
           HalfPixelCenters=not align and d.chance())
