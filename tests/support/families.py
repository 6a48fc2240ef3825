"""The int8 kernels of one instruction set, to test them without a model: a layer in, its kernel out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pilotlight.codegen.target import Target
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.layers import Int8Layer
from pilotlight.kernels.registry import candidates


class Family(Protocol):
    def plan(self, layer: Int8Layer) -> Candidate: ...


@dataclass(frozen=True)
class Registered:
    """What is registered for a core: the usual kernel, or the one with the least scratch memory."""

    isa: frozenset[str] = frozenset()
    small: bool = False
    low_scratch: bool = False
    hides_loads: bool = False

    def plan(self, layer: Int8Layer) -> Candidate:
        usual, *others = candidates(layer, Target(self.isa, small=self.small, hides_loads=self.hides_loads))
        low = [c for c in others if c.name.endswith(".low_scratch")]
        return low[0] if low and self.low_scratch else usual


@dataclass(frozen=True)
class Measured:
    """What is offered where kernels are measured: for each layer another one of its candidates."""

    isa: frozenset[str] = frozenset()

    def plan(self, layer: Int8Layer) -> Candidate:
        usual = candidates(layer, Target(self.isa))
        others = candidates(layer, Target(self.isa, measured=True))[len(usual) :]
        s = layer.shape
        return others[(s.ow * 7 + s.oh * 5 + s.ic * 3 + s.oc) % len(others)] if others else usual[0]


PORTABLE = Registered()
DSP = Registered(frozenset({"thumb2", "dsp"}))
DSP_MIXED = Registered(DSP.isa, hides_loads=True)
HELIUM = Registered(frozenset({"thumb2", "dsp", "mve"}))
RV32 = Registered(frozenset({"rv32", "mul"}))
THUMB1 = Registered(frozenset({"thumb1"}))
