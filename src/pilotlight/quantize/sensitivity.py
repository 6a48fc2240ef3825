"""How much of the outputs' noise each layer causes: the float model with only that layer in int8."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Interpreter, Node
from torch.utils import _pytree as pytree
from torchao.quantization.pt2e.quantizer import SharedQuantizationSpec

from pilotlight.capture.exported import place_of
from pilotlight.graph import Place
from pilotlight.quantize.choice import NamedLayer
from pilotlight.quantize.flat import flat_module, states_of
from pilotlight.quantize.operators import is_dense, operator_name
from pilotlight.quantize.quantizer import KEY, Int8Quantizer

SAMPLES = 8


def candidates(module: GraphModule) -> dict[Node, Node]:
    """Which tensors may use 16 bits: inputs and results with their own scale, each with the operator that names it."""
    quantizer = Int8Quantizer()
    quantizer.annotate(module)
    found = {}
    for node in quantizer.bits:
        value, annotation = node.meta.get("val"), node.meta.get(KEY)
        spec = annotation.output_qspec if annotation is not None else None
        own = node.op == "placeholder" or not (spec is None or isinstance(spec, SharedQuantizationSpec))
        if own and isinstance(value, torch.Tensor) and value.is_floating_point():
            found[node] = quantizer.maker.get(node, node)
    return found


def rank_results(functional: ExportedProgram, samples: list[list[torch.Tensor]]) -> list[NamedLayer]:
    """Results and inputs, those that lose most when they alone have 8 bits first."""
    module = flat_module(functional)
    return _ranked(_Probe(module, samples), candidates(module), weights=False)


def rank_weights(functional: ExportedProgram, samples: list[list[torch.Tensor]]) -> list[NamedLayer]:
    """Dense layers, those that lose most when only their weights have 8 bits first."""
    module = flat_module(functional)
    dense = {n: n for n in module.graph.nodes if is_dense(n) and _weight(n) is not None}
    return _ranked(_Probe(module, samples), dense, weights=True)


def _ranked(probe: _Probe, nodes: dict[Node, Node], weights: bool) -> list[NamedLayer]:
    layers = []
    for node, maker in nodes.items():
        given = maker.op == "placeholder"
        op = "input" if given else (operator_name(maker) or "").split(".")[0]
        place = Place(str(maker.target)) if given else place_of(maker)
        layers.append(NamedLayer(node.name, op, place, probe.noise(node, weights)))
    return sorted(layers, key=lambda layer: -layer.noise)


def _weight(node: Node) -> Node | None:
    weight = node.args[1]
    return weight if isinstance(weight, Node) and weight.op == "get_attr" else None


class _Probe(Interpreter):
    """Runs the float model with one tensor rounded to 8 bits."""

    def __init__(self, module: GraphModule, samples: list[list[torch.Tensor]]):
        super().__init__(module)
        self.samples = samples[:SAMPLES]
        self.states = [(state, state.clone()) for state in states_of(module).values()]
        self.rounded: Node | None = None
        self.ranges: dict[Node, tuple[float, float]] = {}
        self.exact = self._runs()

    def _runs(self) -> list[list[torch.Tensor]]:
        """The outputs for one sample after the other, from the initial states."""
        for state, initial in self.states:
            state.copy_(initial)
        return [self._outputs(sample) for sample in self.samples]

    def _outputs(self, sample: list[torch.Tensor]) -> list[torch.Tensor]:
        with torch.no_grad():
            results = pytree.tree_leaves(self.run(*sample))
        return [t.double() for t in results if isinstance(t, torch.Tensor) and t.is_floating_point()]

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        if not isinstance(result, torch.Tensor) or not result.is_floating_point() or result.numel() == 0:
            return result
        if n is self.rounded:
            return _per_channel(result) if n.op == "get_attr" else _affine(result, *self.ranges[n])
        if self.rounded is None and n.op != "get_attr":
            low, high = self.ranges.get(n, (0.0, 0.0))
            self.ranges[n] = min(low, float(result.min())), max(high, float(result.max()))
        return result

    def noise(self, node: Node, weights: bool) -> float:
        """Noise over signal, the worst output."""
        self.rounded = _weight(node) if weights else node
        signal, noise = [0.0] * len(self.exact[0]), [0.0] * len(self.exact[0])
        for rounded, exact in zip(self._runs(), self.exact, strict=True):
            for k, (y, x) in enumerate(zip(rounded, exact, strict=True)):
                signal[k] += float((x**2).sum())
                noise[k] += float(((x - y) ** 2).sum())
        return max((n / s if s else 0.0 for n, s in zip(noise, signal, strict=True)), default=0.0)


def _affine(x: torch.Tensor, low: float, high: float) -> torch.Tensor:
    scale = max((high - low) / 255, 2.0**-40)
    return torch.clamp(torch.round((x - low) / scale), 0, 255) * scale + low


def _per_channel(w: torch.Tensor) -> torch.Tensor:
    """Symmetric along the first axis, which is the outputs except in a transposed convolution."""
    scale = (w.abs().reshape(len(w), -1).amax(1) / 127).clamp(min=2.0**-40).reshape(-1, *[1] * (w.ndim - 1))
    return torch.round(w / scale) * scale
