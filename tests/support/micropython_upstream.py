"""MicroPython's own tests on a build with the module: `python -m support.micropython_upstream [BOARD] [FOLDER ...]`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from pilotlight.micropython import ports
from pilotlight.micropython.build import build
from pilotlight.micropython.session import emulator_command
from pilotlight.micropython.source import micropython_source

FOLDERS = ("basics", "float", "micropython")


@dataclass(frozen=True)
class Result:
    passed: int
    failed: list[str]
    output: str


def run_upstream(board: str = ports.HOST, folders: tuple[str, ...] = FOLDERS, only: str = "") -> Result:
    """What MicroPython's own runner says of these folders of tests; `only` is a pattern of names."""
    port = ports.port(board)
    program = build(port)
    environment = {**os.environ, "MICROPY_CPYTHON3": sys.executable}
    options = ["-j2"]
    if port.board is None:
        environment["MICROPY_MICROPYTHON"] = str(program)
    else:
        command = emulator_command(port.board, program)
        command[command.index("stdio")] = "pty"
        options = ["-t", f"execpty:{' '.join(command)}"]
    if only:
        options += ["-i", only]
    with tempfile.TemporaryDirectory() as results:
        done = subprocess.run(
            [sys.executable, "run-tests.py", *options, "-r", results, "-d", *folders],
            cwd=micropython_source() / "tests", env=environment, capture_output=True, text=True, timeout=900,
        )
    passed = re.search(r"^(\d+) tests passed", done.stdout, re.MULTILINE)
    failed = re.search(r"^\d+ tests failed: (.*)", done.stdout, re.MULTILINE)
    return Result(int(passed[1]) if passed else 0, failed[1].split() if failed else [], done.stdout + done.stderr)


if __name__ == "__main__":
    boards = sys.argv[1:2] or [ports.HOST, "mps2-an386"]
    for name in boards:
        result = run_upstream(name, tuple(sys.argv[2:]) or FOLDERS)
        print(f"{name}: {result.passed} tests passed, {len(result.failed)} failed {' '.join(result.failed)}")
        if result.failed or not result.passed:
            sys.exit(1)
