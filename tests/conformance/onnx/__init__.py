"""ONNX's own tests through the compiler; `make conformance-onnx` writes docs/onnx.md.

- tests.py: the tests of the onnx package
- cases.py: a test as a case, its inputs given at run time except those that a compiled model must know before
- judge.py: the expected outputs of a test, with the test's own tolerance
- report.py: the table in docs/onnx.md
"""
