"""Many operators on several processes: each child process runs a few operators and then ends."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from conformance.batch import Judge
from conformance.cases import Source, Verdict
from conformance.results import Operator, collect, write
from pilotlight.fleet import chosen_workers

PATIENCE = 900.0  # seconds for one child
TOGETHER = 6  # operators of a child, or of a piece of work for another computer


def judge_operators(source: Source, names: Sequence[str], work: Path, boards: Sequence[str] = ()) -> list[Operator]:
    """The operators' cases share batches: most operators have fewer cases than a batch holds."""
    cases = [case for name in names for case in source.cases(name)]
    verdicts: dict[str, list[Verdict]] = {name: [] for name in names}
    for verdict in Judge(work, boards=boards).judge(cases):
        verdicts[verdict.case.operator].append(verdict)
    return [collect(name, found) for name, found in verdicts.items()]


def run(
    source: Source, names: Sequence[str], folder: Path, *, processes: int = 2, boards: Sequence[str] = (),
    say: Callable[[str], None] = lambda text: None, dask: str | None = None,
) -> list[str]:
    """Write one result file per operator; returns the operators whose child died, after retrying each alone."""
    if dask is not None:
        return run_far(source, names, folder, dask, boards=boards, say=say)

    def judge(group: Sequence[str]) -> None:
        with tempfile.TemporaryDirectory(prefix="pilotlight-") as work:
            for operator in judge_operators(source, group, Path(work), boards):
                write(folder, operator)

    return run_groups(judge, names, processes=processes, say=say)


def run_far(
    source: Source, names: Sequence[str], folder: Path, dask: str, *, boards: Sequence[str] = (),
    say: Callable[[str], None] = lambda text: None, together: int = TOGETHER,
) -> list[str]:
    """The same on the workers of a Dask cluster: result files are written here, as results come."""
    lost: list[str] = []
    again: list[tuple[str, ...]] = []

    def failed(group: tuple[str, ...], error: Exception) -> None:
        say(f"{', '.join(group)}: {type(error).__name__}: {error}")
        if len(group) > 1:
            again.extend((name,) for name in group)
        else:
            lost.extend(group)

    groups = [tuple(names[i : i + together]) for i in range(0, len(names), together)]
    done = 0
    with chosen_workers(1, dask, say) as workers:
        while groups:
            for group, operators in workers.spread(partial(_judged, source, boards), groups, failed=failed):
                for operator in operators:
                    write(folder, operator)
                done += len(group)
                say(f"{done} of {len(names)} operators")
            groups, again[:] = list(again), []
    return lost


def _judged(source: Source, boards: Sequence[str], names: Sequence[str]) -> list[Operator]:
    """What a worker does."""
    with tempfile.TemporaryDirectory(prefix="pilotlight-") as work:
        return judge_operators(source, names, Path(work), boards)


def run_groups(
    judge: Callable[[Sequence[str]], None], names: Sequence[str], *, processes: int = 2, together: int = TOGETHER,
    say: Callable[[str], None] = lambda text: None,
) -> list[str]:
    """Calls `judge` for a few operators at a time in children; returns those whose child died."""
    groups = [list(names[i : i + together]) for i in range(0, len(names), together)]
    children: dict[int, tuple[list[str], float]] = {}
    lost: list[str] = []
    done = 0
    started = time.monotonic()
    while groups or children:
        while groups and len(children) < processes:
            group = groups.pop(0)
            pid = os.fork()
            if pid == 0:
                os.setsid()
                gc.disable()  # it lives for a few operators only
                try:
                    judge(group)
                    os._exit(0)
                except BaseException as error:
                    print(f"{group}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                    os._exit(1)
            children[pid] = (group, time.monotonic())
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            for child, (_, since) in children.items():
                if time.monotonic() - since > PATIENCE:
                    os.killpg(child, signal.SIGKILL)
            time.sleep(0.05)
            continue
        group, since = children.pop(pid)
        if status == 0:
            done += len(group)
        elif len(group) > 1:
            groups = [[name] for name in group] + groups
        else:
            lost += group
        say(f"{done}/{len(names)} operators, {time.monotonic() - started:.0f} s: "
            f"{group[0]}{f' … {group[-1]}' if len(group) > 1 else ''} took {time.monotonic() - since:.0f} s"
            f"{'' if status == 0 else ' and died'}")
    return lost
