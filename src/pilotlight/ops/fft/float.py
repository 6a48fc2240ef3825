"""Discrete Fourier transforms along one dimension: `fft`, `rfft` and `irfft`.

A complex tensor is a float tensor with a last dimension of 2, real and imaginary parts. A node transforms all rows: the
last dimension of a real tensor, the last but one of a complex tensor. It reads through strides, so that frames that
overlap (`torch.stft`) are read where the signal is; `rfft` may multiply by a constant window as it reads.
"""

from __future__ import annotations

import torch

from pilotlight.codegen.loops import collapse
from pilotlight.codegen.step import Step
from pilotlight.codegen.target import Target
from pilotlight.graph import Graph, Node, Shape
from pilotlight.graph.ports import as_complex
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.layers import TransformLayer
from pilotlight.kernels.portable.fft_f32 import STAGES, radices_of
from pilotlight.kernels.registry import candidates
from pilotlight.ops.base import register
from pilotlight.ops.chosen import emit_chosen
from pilotlight.ops.strided import Strided


class Transform(Strided):
    """attrs: scale."""

    strided = 1
    pairs = 1  # dimensions after that of the points

    def length(self, node: Node) -> int:
        """Points of a row."""
        return self.walk(node, 0).shape[-2]

    def bins(self, node: Node) -> int:
        """Numbers, complex or real, that are written for a row."""
        return self.length(node)

    def layer(self, node: Node) -> TransformLayer:
        rows = self._rows(node)
        assert rows is not None
        walk = self.walk(node, 0)
        (batch, frames), (x_batch, x_frame) = rows
        point = walk.strides[-1 - self.pairs] if walk.shape[-1 - self.pairs] > 1 else 1
        window = node.inputs[1].data if len(node.inputs) > 1 else None
        return TransformLayer(
            self.name, self.length(node), self.bins(node), batch, frames, x_batch, x_frame, point,
            node.attrs.get("inverse", False), node.attrs["scale"], window,
        )

    def _rows(self, node: Node) -> tuple[list[int], list[int]] | None:
        """The rows as two dimensions: sizes, and strides of the input."""
        walk = self.walk(node, 0)
        rank = len(walk.shape) - 1 - self.pairs
        sizes, (strides,) = collapse(walk.shape[:rank], [walk.strides[:rank]])
        missing = 2 - len(sizes)
        return None if missing < 0 else ([1] * missing + sizes, [0] * missing + strides)

    def accepts(self, node: Node) -> bool:
        walk = self.walk(node, 0)
        beside = self.pairs == 0 or walk.strides[-1] == 1
        return "writes" not in node.attrs and beside and self._rows(node) is not None

    def describe(self, node: Node) -> str:
        window = " with window" if len(node.inputs) > 1 else ""
        return f"{self.name} of {self.length(node)} points{window}"

    def group(self, node: Node) -> str:
        return self.name

    def candidates(self, node: Node, target: Target) -> list[Candidate]:
        return candidates(self.layer(node), target)

    def take(self, node: Node, graph: Graph, candidate: Candidate) -> None:
        node.attrs["candidate"] = candidate
        node.inputs = [node.inputs[0], *(graph.constant(c, "packed") for c in candidate.constants)]

    def scratch(self, node: Node) -> int:
        kernel: Candidate = node.attrs["candidate"]
        return kernel.scratch

    def emit(self, node: Node, c: Step) -> None:
        emit_chosen(node, c, self.walk(node, 0).offset)


@register
class Fft(Transform):
    """(..., n, 2) to the same; attrs: scale, inverse."""

    name = "fft"

    def shape(self, node: Node) -> Shape:
        return self.walk(node, 0).shape

    def compute(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        x = as_complex(args[0])
        y = torch.fft.ifft(x, norm="forward") if node.attrs["inverse"] else torch.fft.fft(x)
        return torch.view_as_real(y) * node.attrs["scale"]


@register
class Rfft(Transform):
    """(..., n) to (..., n // 2 + 1, 2), or (..., n, 2) with attrs["full"]; attrs: scale, full; inputs: x, and
    a constant window (n) or nothing."""

    name = "rfft"
    pairs = 0

    def length(self, node: Node) -> int:
        return self.walk(node, 0).shape[-1]

    def bins(self, node: Node) -> int:
        return self.length(node) if node.attrs["full"] else self.length(node) // 2 + 1

    def shape(self, node: Node) -> Shape:
        return (*self.walk(node, 0).shape[:-1], self.bins(node), 2)

    def compute(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        x = args[0] * args[1] if len(args) > 1 else args[0]
        function = torch.fft.fft if node.attrs["full"] else torch.fft.rfft
        return torch.view_as_real(function(x).resolve_conj()) * node.attrs["scale"]


@register
class Irfft(Transform):
    """(..., n // 2 + 1, 2) to (..., n); attrs: scale, n."""

    name = "irfft"

    def length(self, node: Node) -> int:
        n: int = node.attrs["n"]
        return n

    def shape(self, node: Node) -> Shape:
        return (*self.walk(node, 0).shape[:-2], node.attrs["n"])

    def compute(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        x = as_complex(args[0])
        return torch.fft.irfft(x, node.attrs["n"], norm="forward") * node.attrs["scale"]


def too_many_factors(n: int) -> bool:
    """Whether a length has more factors than a kernel has stages."""
    return len(radices_of(n)) > STAGES
