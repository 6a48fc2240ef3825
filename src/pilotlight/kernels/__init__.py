"""Which kernel computes a dense layer on which core: layer shapes, packed weights, generated assembly.

The hand-written C is in csrc/kernels; `text` reads it.
"""
