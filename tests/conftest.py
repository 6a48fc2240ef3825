"""What all tests share: one thread a worker, hypothesis without deadlines, and what is skipped where tools are missing.

Set-up without root leaves system packages out and lists them in build/missing.txt. Only then is a test that needs one
of their programs skipped, by the program's name, and the summary counts these tests for each program.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

from pilotlight.errors import MissingToolError, PilotlightError

_LIST = Path(__file__).parent.parent / "build" / "missing.txt"
_NEEDS = "needs "
MISSING = _LIST.read_text().split() if _LIST.exists() else []

torch.set_num_threads(1)

# A shared machine may be slow: no test of ours says how long something takes. The same cases every time.
settings.register_profile(
    "pilotlight", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("pilotlight")


def _lacks(error: BaseException | None) -> str | None:
    """What was not found, if that is what went wrong."""
    while error is not None:
        if isinstance(error, MissingToolError) or (isinstance(error, PilotlightError) and error.kind == "missing-tool"):
            return error.message.split(" was not found")[0]
        if isinstance(error, FileNotFoundError) and "/" not in str(error.filename or "/"):
            return str(error.filename)
        error = error.__cause__ or error.__context__
    return None


def pytest_collection_finish(session: pytest.Session) -> None:
    """PyTorch is a million objects that no search for garbage needs to visit again."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    yield from _skipped_without_its_tools()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    yield from _skipped_without_its_tools()


def _skipped_without_its_tools() -> Generator[None]:
    try:
        return (yield)
    except Exception as error:
        lack = _lacks(error) if MISSING else None
        if lack is None:
            raise
        pytest.skip(_NEEDS + lack)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not MISSING:
        return
    reasons = (str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", []))
    found = Counter(text.partition(_NEEDS)[2] for text in reasons if text.startswith(f"Skipped: {_NEEDS}"))
    terminalreporter.section("not installed")
    terminalreporter.write_line(f"Debian packages that set-up left out: {', '.join(MISSING)}")
    for name, count in found.most_common():
        terminalreporter.write_line(f"{name} is not here: {count} tests skipped")
    if "gcc" in MISSING:
        terminalreporter.write_line("gcc is not here: programs on this computer ran without sanitizers")
