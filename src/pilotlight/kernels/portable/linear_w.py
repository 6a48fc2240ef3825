"""Linear layers of floats with int8 or int4 weights: linear_w8.h, linear_w4.h. One form for every core; with the DSP
extension the inner loop multiplies pairs."""

from __future__ import annotations

from pilotlight.codegen.target import Target
from pilotlight.kernels import pack_weights
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.estimate import Rate
from pilotlight.kernels.layers import WeightLayer
from pilotlight.kernels.registry import offers

DSP_RATES = {"w8": Rate(2.45, 40, 35), "w4": Rate(3.2, 45, 40)}
RATES = {"w8": Rate(5, 80, 35), "w4": Rate(3.5, 90, 45)}


@offers(WeightLayer)
def weights_only(layer: WeightLayer, target: Target) -> list[Candidate]:
    """The one kernel of a layer."""
    o, i = layer.w.shape
    kind = f"linear_{layer.kind}"
    chunks = 0 if layer.steps is None else pack_weights.Grid(i, layer.group).chunks
    return [
        Candidate(
            name=f"portable.{kind}",
            headers=(kind,),
            ctype=f"pl_{kind}_t",
            table=layer.table,
            driver=f"pl_{kind}",
            pack=lambda: (*layer.packed(), layer.scale, layer.bias),
            scratch=4 * (pack_weights.width(i) + chunks),
            distance=pack_weights.forward_distance(layer.rows, i, o),
            reverse=pack_weights.reverse_distance(layer.rows, i, o),
            instructions=(DSP_RATES if "dsp" in target.isa else RATES)[layer.kind].total(
                layer.rows * i * o, layer.rows * o, layer.rows * i
            ),
            types=(*layer.types, "float", "float"),
            scratch_type="float",
            hint="linear",
        )
    ]
