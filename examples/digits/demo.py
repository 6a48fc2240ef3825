"""The demo: 360 handwritten digits classified on an emulated Cortex-M4F board, next to PyTorch.

Writes the C to build/digits/ and a report to build/digits/report.html. Exits with 1 if the board disagrees.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pilotlight as pl
from dataset import splits
from model import digits

BOARD = "mps2-an386"
FOLDER = Path("build/digits")


def main() -> int:
    net, example = digits()
    _, (images, labels) = splits()
    build = pl.compile(pl.capture(net, example, "digits"), board=BOARD, source="examples/digits/model.py")
    build.write(FOLDER)
    print(f"running {len(images)} images on {BOARD} ...", file=sys.stderr)
    session = pl.run(build, images.split(1), labels=labels)  # (1, 1, 8, 8) each
    session.show(operators=True)
    report = session.report(FOLDER / "report.html", "Handwritten digits on a Cortex-M4F")
    print(f"The C is in {FOLDER}/, the report in {report}")
    return 0 if session.match and session.accuracy.different == 0 else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except pl.PilotlightError as error:
        sys.exit(f"error: {error}")
