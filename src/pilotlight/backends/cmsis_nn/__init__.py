"""CMSIS-NN, Arm's kernels for Cortex-M, from a folder that the user names: `--kernels cmsis-nn --cmsis-nn DIR`.

`library.py` knows the folder, `layers.py` says which node is which call with which numbers, `scratch.py` how much
memory a call needs on which core.
"""

from pilotlight.backends.cmsis_nn.backend import CmsisNn

__all__ = ["CmsisNn"]
