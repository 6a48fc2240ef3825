"""The conformance run of the eager library: the same samples, run by MicroPython.

    python -m conformance.micropython            (with tests/ on the path; `make conformance-micropython` does it)

- text.py: a call of PyTorch's as text that MicroPython reads: tensors as bytes with their strides
- layouts.py: the same arguments in other places of memory
- overlaps.py: calls that write where they read, by PyTorch's rules
- samples.py: PyTorch's operator database → calls, in every form that an operator has (function, method, operator
  sign, in place, out=)
- device.py: many calls in one MicroPython process, or in scripts for a board; what kills the process is found
- verdict.py: PyTorch's answer against MicroPython's
- __main__.py, report.py: the run, and docs/micropython-operators.md

What counts: a sample is covered when every function, method and attribute that its call names exists in the build
(MicroPython itself is asked). It is left out when it has a dtype that the library does not have (float64, complex
numbers, quantized or unsigned ones beyond uint8), an argument that is not a Python or PyTorch value (NumPy arrays), a
layout that is not strided, or when eager PyTorch itself raises. Random numbers count: both sides start from the same
seed. Memory that nothing has written is judged only by its shape and type.
"""
