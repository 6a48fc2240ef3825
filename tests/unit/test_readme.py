"""What README.md says and shows: its figures are those of the other documents, its example works."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pilotlight as pl
from pilotlight.session import read_inputs
from support.paths import EXAMPLES

ROOT = EXAMPLES.parent
README = (ROOT / "README.md").read_text()


def test_conformance_figures_are_those_of_the_run() -> None:
    """Those out of scope are named too: a share of what was run alone would sound better than it is."""
    written = (ROOT / "docs" / "operators.md").read_text()
    run = re.search(r"^(\d+) samples of \d+ operators: \d+ pass \(([\d.]+) %\)", written, re.MULTILINE)
    outside = re.search(r"^\*\*(\d+) samples\.\*\* An operator that is neither core", written, re.MULTILINE)
    assert run is not None and outside is not None
    text = " ".join(README.split())
    assert f"{run[2]} % of {int(run[1]):,} pass" in text
    assert f"{int(outside[1]):,} more are out of scope" in text


def test_the_calibration_example_works(tmp_path: Path) -> None:
    script = EXAMPLES / "digits" / "calibrate.py"
    assert "examples/digits/calibrate.py" in README
    subprocess.run([sys.executable, script, tmp_path / "digits.npz"], check=True)
    graph = pl.load("pilotlight.demo.model:digits")
    samples, labels = read_inputs(tmp_path / "digits.npz", graph.inputs)
    assert len(samples) == 200 and labels is None
