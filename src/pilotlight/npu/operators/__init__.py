"""Nodes in TOSA, by family."""

from pilotlight.npu.operators import dense, moves, pointwise, pool
from pilotlight.npu.operators.base import RefusedError, refusal, written

__all__ = ["RefusedError", "dense", "moves", "pointwise", "pool", "refusal", "written"]
