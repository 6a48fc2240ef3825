"""Some mutated ONNX files; `make fuzz-onnx` runs many."""

from __future__ import annotations

from support import fuzz_onnx


def test_mutated_files_give_a_module_or_one_of_our_errors() -> None:
    found = fuzz_onnx.run(500, 120)
    assert sum(found.values()) == 120 and found["broken-file"] > 20 and found["imported"] > 3
