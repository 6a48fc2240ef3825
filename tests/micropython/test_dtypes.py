"""Builds for some dtypes: what is left out says so, the rest gives what PyTorch gives."""

from __future__ import annotations

import torch

from pilotlight.micropython.build import build
from pilotlight.micropython.ports import unix
from pilotlight.micropython.select import DTYPES, SMALL, select
from support.command_line import call_error
from support.micropython_scripts import output

OPERATORS = [
    "tensor", "zeros", "add", "eq", "lt", "bitwise_and", "logical_not", "matmul", "sort", "cumsum", "argmax", "to",
    "half", "sum", "any", "where", "view", "frombuffer", "index_select", "__getitem__", "__repr__", "item",
]
# As CPython has them.
COMPUTED = [
    "f + 1", "f == 1.5", "(f < 2) & (f == f)", "f.argmax()", "f[f.argmax()]", "f.sort().indices", "i",
    "f.index_select(0, i)", "i == 1", "f.cumsum(0)", "f @ f", "(f < 2).sum()", "(f < 2).any()", "f.to(torch.int64)",
    "i.to(f)", "torch.where(f < 2, f, 0.0)", "f.to(bool)", "(f < 2).logical_not()",
    "torch.tensor([True, False]) & False",
]
REFUSED = {
    "torch.zeros(2, dtype=torch.int8)": "torch.int8 is not in this build: add it to --dtypes",
    "f.half()": "torch.float16 is not in this build: add it to --dtypes",
    "f.to(torch.bfloat16)": "torch.bfloat16 is not in this build: add it to --dtypes",
    "torch.tensor([1], dtype=torch.uint8)": "torch.uint8 is not in this build: add it to --dtypes",
    "torch.frombuffer(bytearray(4), dtype=torch.int16)": "torch.int16 is not in this build: add it to --dtypes",
    "f.view(torch.int16)": "torch.int16 is not in this build: add it to --dtypes",
    "i + 1": "add() of integers is not in this build: add int64 to --dtypes",
    "i @ i": "matmul() of integers is not in this build: add int64 to --dtypes",
    "i.sort()": "sort() of integers is not in this build: add int64 to --dtypes",
    "i.cumsum(0)": "cumsum() of integers is not in this build: add int64 to --dtypes",
}


def test_a_build_of_floats() -> None:
    """With int64 for indices only."""
    program = build(unix(), select(OPERATORS, [], "here").with_dtypes(["float32"]))
    setup = "import torch\nf, i = torch.tensor([1.5, 2.5, -1.0]), torch.tensor([2, 0])\n"
    lines = "".join(f"print(repr({text}))\n" for text in COMPUTED)
    for text in REFUSED:
        lines += f"try:\n    {text}\n    print('no error')\nexcept NotImplementedError as error:\n    print(error)\n"
    said = output(setup + lines, binary=program).splitlines()
    names = {"torch": torch, "f": torch.tensor([1.5, 2.5, -1.0]), "i": torch.tensor([2, 0])}
    assert said == [*(repr(eval(text, names)) for text in COMPUTED), *REFUSED.values()]


def test_a_build_of_every_dtype_has_no_limits() -> None:
    assert SMALL.types_header() == "#define PT_BUILT 0x1ff\n#define PT_INTEGERS 1\n"
    assert SMALL.with_dtypes(DTYPES) == SMALL
    assert SMALL.with_dtypes(["float32", "int8"]).types_header() == "#define PT_BUILT 0x135\n#define PT_INTEGERS 1\n"


def test_a_dtype_that_is_not_there(tmp_path) -> None:
    error = call_error("micropython", "export", "--dtypes", "float32,float64", "-o", tmp_path)
    assert error["message"] == "the module has no dtype float64" and "bfloat16, float32" in error["hint"]
