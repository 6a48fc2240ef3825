"""Kernels that users add: what one declares, the operator that it computes, and which kernels there are.

    pl.add_kernel(pl.Kernel(name="goertzel", op="dsp::goertzel", takes=("float32[n, t]",), gives=("float32[n]",), ...))

`kernel.py` is the declaration, `signature.py` its shapes and expressions, `op.py` the operator in the graph,
`registry.py` what was added. `check/` runs a kernel against its reference before anything uses it.
"""

from pilotlight.custom.kernel import Kernel
from pilotlight.custom.op import KernelCandidate, UserOp
from pilotlight.custom.registry import add_kernel, added_kernels, patterns, withdraw_kernel

__all__ = ["Kernel", "KernelCandidate", "UserOp", "add_kernel", "added_kernels", "patterns", "withdraw_kernel"]
