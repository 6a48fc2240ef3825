"""The generated C of three small models, kept in the tree: a refactor that changes it shows in review.

The kernels are left out: they are reviewed where they are written. To write the files again, run
`PYTHONPATH=tests:examples/zoo python tests/models/test_golden.py` and read the difference.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import torch

import pilotlight as pl
from pilotlight.compiler import Build
from support.c_compilers import SANITIZERS
from support.golden_models import models

GOLDEN = Path(__file__).parent / "golden"
KERNELS = re.compile(r"/\* ---- kernels -.*(?=/\* ---- )", re.DOTALL)


def build(name: str) -> Build:
    module, inputs, board = models()[name]
    return pl.compile(pl.capture(module, inputs, name), board=board)


def texts(name: str) -> dict[str, str]:
    """The files of a model that are worth reading."""
    files = build(name).module.files
    kept = (f"{name}.h", f"{name}.c", "example_main.c", "CMakeLists.txt", f"{name}.pilotlight.cmake")
    return {file: KERNELS.sub("", str(files[file])) for file in kept}


@pytest.mark.parametrize("name", ["perceptron", "gate", "image"])
def test_generated_files_are_as_they_were(name: str) -> None:
    found = texts(name)
    assert {f.name for f in (GOLDEN / name).iterdir()} == set(found)
    for file, text in found.items():
        assert text == (GOLDEN / name / file).read_text(), f"{file} changed: see the first lines of this file"


@pytest.mark.parametrize("name", ["perceptron", "gate", "image"])
def test_golden_models_are_right(name: str) -> None:
    module, inputs, _ = models()[name]
    x = torch.linspace(-1, 2, inputs[0].numel()).reshape(inputs[0].shape)
    with build(name).open("host", sanitize=SANITIZERS) as running:
        running.reset()
        got = running.flat([x])
    with torch.no_grad():
        want = module(x)
    for a, b in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    for model in sys.argv[1:] or models():
        (GOLDEN / model).mkdir(parents=True, exist_ok=True)
        for old in (GOLDEN / model).iterdir():
            old.unlink()
        for name, content in texts(model).items():
            (GOLDEN / model / name).write_text(content)
