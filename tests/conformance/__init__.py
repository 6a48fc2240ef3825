"""The conformance run: the compiler judged by other people's samples.

    python -m conformance            (with tests/ on the path; `make conformance` does it)

- cases.py: what a case is, and cases batched into one module; a source is an iterator of groups of cases
- opinfo.py: the first source, PyTorch's operator database
- layouts.py: the same cases with tensors that are views: transposed, expanded, stepped, with offsets and odd strides
- judge.py: PyTorch's answers in float32 and float64, and how far one may be from them
- build.py: generated C → a program, with strict warnings and sanitizers
- batch.py: cases → verdicts; what is refused or fails is narrowed down to single cases
- results.py: verdicts as one JSON file per operator, and totals
- run.py, __main__.py: many batches on several processes
- report.py: docs/operators.md
"""
