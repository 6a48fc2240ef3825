"""Users' kernels, checked before a model uses them: on the board, against their references, over many shapes.

`cases.py` makes sizes, numbers and places in memory; `harness.py` is a program that calls a kernel on any of them;
`run.py` runs it, looks at every byte of its memory, and keeps what passed; `chosen.py` does so for the kernels that a
plan calls.
"""

from pilotlight.check.chosen import check_chosen
from pilotlight.check.run import KernelError, Passed, check_kernel

__all__ = ["KernelError", "Passed", "check_chosen", "check_kernel"]
