"""Many calls in one MicroPython process. A call that kills the process is found, and the rest still run."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from pilotlight import boards
from pilotlight.errors import PilotlightError
from pilotlight.micropython.build import build
from pilotlight.micropython.ports import port
from pilotlight.micropython.session import open_session

DRIVER = Path(__file__).with_name("driver.py")
HANG = 30.0  # seconds without a line


def run_unix(binary: Path, lines: Sequence[str], heap: str = "256m") -> dict[int, str]:
    """What each line gave, by its number: `ok …`, `error Type text`, or `died …`."""
    answers: dict[int, str] = {}
    first = 0
    with tempfile.TemporaryDirectory(prefix="pilotlight-") as folder:
        work = Path(folder)
        script = work / "driver.py"
        script.write_text(f"{DRIVER.read_text()}\n\nmain()\n")
        while first < len(lines):
            (work / "calls").write_text("".join(f"{k} {lines[k]}\n" for k in range(first, len(lines))))
            status = _process([str(binary), "-X", f"heapsize={heap}", str(script), str(work / "calls")], work)
            answers |= _parse((work / "output").read_text(errors="replace").splitlines())
            done = next((k for k in range(first, len(lines)) if k not in answers), len(lines))
            if done < len(lines):
                note = " ".join((work / "errors").read_text(errors="replace").split()[-40:])
                answers[done] = f"died {status}: {sanitizer(work / 'errors') or note}"
            first = done + 1
    return answers


def run_board(board: str, lines: Sequence[str], timeout: float = 60.0) -> dict[int, str]:
    """The same on an emulated board, each line by itself; the board is restarted if one has stopped it."""
    firmware = build(port(board))
    answers: dict[int, str] = {}
    while len(answers) < len(lines):
        with open_session(boards.load(board), firmware, timeout) as session:
            session.execute(DRIVER.read_text(), lambda data: None, lambda data: None)
            for number in range(len(answers), len(lines)):
                said: list[bytes] = []
                try:
                    session.execute(f"run({number}, {lines[number]!r})", said.append, said.append)
                except PilotlightError as error:
                    answers[number] = f"died {error}"
                    break
                text = b"".join(said).decode(errors="replace")
                answers |= _parse(text.splitlines()) or {number: f"died {' '.join(text.split())[-200:]}"}
    return answers


def sanitizer(path: Path) -> str | None:
    for line in path.read_text(errors="replace").splitlines():
        if "runtime error" in line or "ERROR: AddressSanitizer" in line:
            return line.strip()
    return None


def _parse(output: Iterable[str]) -> dict[int, str]:
    rows = (line.split(" ", 2) for line in output if line.startswith("= "))
    return {int(row[1]): row[2] for row in rows if len(row) == 3 and row[1].isdigit()}


def _process(command: list[str], work: Path) -> str:
    """Runs to the end, or until nothing has come for a while."""
    with (work / "output").open("wb") as output, (work / "errors").open("wb") as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors, stdin=subprocess.DEVNULL)
        size, since = 0, time.monotonic()
        while True:
            try:
                status = process.wait(0.2)
                return f"with status {status}"
            except subprocess.TimeoutExpired:
                now = (work / "output").stat().st_size
                if now != size:
                    size, since = now, time.monotonic()
                elif time.monotonic() - since > HANG:
                    process.kill()
                    process.wait()
                    return f"after {HANG:.0f} s"


def known_names(binary: Path, names: Iterable[str]) -> set[str]:
    """Those of the dotted names that exist in the build."""
    asked = sorted(set(names))
    with tempfile.TemporaryDirectory(prefix="pilotlight-") as folder:
        script = Path(folder) / "driver.py"
        script.write_text(f"{DRIVER.read_text()}\n\nmain()\n")
        (Path(folder) / "names").write_text("".join(f"? {name}\n" for name in asked))
        done = subprocess.run([str(binary), str(script), str(Path(folder) / "names")], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the build does not start: {done.stderr[-500:]}")
    rows = (line.split() for line in done.stdout.splitlines() if line.startswith("? "))
    return {name for _, name, there in rows if there == "True"}
