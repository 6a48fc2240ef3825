"""The demo: 360 handwritten digits classified on an emulated Cortex-M4F board, next to PyTorch.

Writes the C to build/digits/ and a report to build/digits/report.html. Exits with 1 if the board disagrees.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pilotlight as pl
from dataset import splits
from model import digits
from pilotlight.cli.talk import Talk
from pilotlight.figures.profile import profile_rows
from pilotlight.report.html import write_report
from pilotlight.report.profile import profile_table
from pilotlight.report.summary import run_title, summary_table
from pilotlight.session import run_session

BOARD = "mps2-an386"
FOLDER = Path("build/digits")


def main() -> int:
    talk = Talk()
    net, example = digits()
    _, (images, labels) = splits()
    with talk.stage("capturing and planning"):
        build = pl.compile(pl.capture(net, example, "digits"), board=BOARD, source="examples/digits/model.py")
        build.write(FOLDER)
    inputs = [[image] for image in images.split(1)]  # (1, 1, 8, 8) each
    with talk.stage(f"running {len(inputs)} images on {BOARD}") as stage:
        session = run_session(build, inputs, labels=labels, progress=stage.done)
    result = session.as_dict()
    report = write_report(result, FOLDER / "report.html", "Handwritten digits on a Cortex-M4F")
    talk.result(result, run_title(result), summary_table(result))
    if session.profile is not None:
        result["operators"] = profile_rows(session.profile, build)
        talk.result(result, "\nWhere the time goes:", profile_table(result))
    talk.result(result, f"The C is in {FOLDER}/, the report in {report}")
    return 0 if session.match and session.accuracy.different == 0 else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except pl.PilotlightError as error:
        sys.exit(f"error: {error}")
