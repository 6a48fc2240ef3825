"""Many seeds, each in its own child process; one JSON line per model, so that a run can be resumed."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fuzz.check import BOARDS, QUICK
from fuzz.child import isolated, warm
from fuzz.generate import generate
from fuzz.program import Program
from fuzz.shrink import shrink
from support.emulators import runs_here

OUTCOMES = ("right", "refused", "wrong", "crashed")


@dataclass(frozen=True)
class Choice:
    """Which models, and where they run."""

    kind: str | None = None
    mode: str | None = None
    boards: str = "some"  # all, some, none; or quick: no C either, but the compiled graph run in Python


def boards_of(program: Program, choice: Choice) -> tuple[str, ...]:
    """Every fourth quantized model runs on all cores, the others on one; every other float model on one."""
    if choice.boards in ("none", "quick"):
        return QUICK if choice.boards == "quick" else ()
    whole = program.mode in ("int8", "int16x8")
    chosen: tuple[str, ...] = ()
    if choice.boards == "all" or (whole and program.seed % 4 == 0):
        chosen = BOARDS
    elif whole or program.seed % 2 == 0:
        chosen = (BOARDS[program.seed // 2 % len(BOARDS)],)
    return tuple(board for board in chosen if runs_here(board))


def judge(seed: int, choice: Choice, small: bool, folder: Path) -> dict[str, Any]:
    """One seed → its line; a failure is made smaller and written as a Python file."""
    program = generate(seed, choice.kind, choice.mode)
    boards = boards_of(program, choice)
    verdict, cpu = isolated(program.text(), program.mode, boards)
    row = {
        "seed": seed,
        "kind": program.kind,
        "mode": program.mode,
        "outcome": verdict.outcome,
        "where": verdict.where,
        "reason": verdict.reason,
        "figures": verdict.figures,
        "boards": -1 if boards == QUICK else len(boards),
        "statements": len(program.statements),
        "cpu": round(cpu, 1),
    }
    if verdict.outcome in ("wrong", "crashed"):
        if small:
            program, verdict = shrink(program, verdict)
        comment = f"{verdict.outcome} ({verdict.where}): {verdict.reason}"
        path = folder / f"{verdict.outcome}-{program.mode}-{seed}.py"
        path.write_text(replace(program, comment=comment).text())
        row["file"] = path.name
    return row


def run(
    seeds: Iterable[int], choice: Choice, results: Path, *, small: bool = True, jobs: int = 1
) -> list[dict[str, Any]]:
    """Judge what has no line yet; `jobs` processes take turns."""
    results.parent.mkdir(parents=True, exist_ok=True)
    done = {row["seed"] for row in read(results)}
    left = [seed for seed in seeds if seed not in done]
    if left:
        warm()
    children = []
    for part in range(1, min(jobs, len(left))):
        pid = os.fork()
        if pid == 0:
            _run_part(left[part::jobs], choice, results, small)
            os._exit(0)
        children.append(pid)
    _run_part(left[::jobs] if jobs > 1 else left, choice, results, small)
    for pid in children:
        os.waitpid(pid, 0)
    return read(results)


def _run_part(seeds: Sequence[int], choice: Choice, results: Path, small: bool) -> None:
    for seed in seeds:
        row = judge(seed, choice, small, results.parent)
        with results.open("a") as file:
            file.write(json.dumps(row) + "\n")
        if row["outcome"] in ("wrong", "crashed"):
            print(
                f"{row['outcome']}: seed {seed} ({row['kind']}, {row['mode']}; {row['where']}) {row['reason']}\n"
                f"  {results.parent / row['file']}",
                flush=True,
            )
        elif sys.stderr.isatty():
            print(f"\r{seed} {row['outcome']}   ", end="", file=sys.stderr)


def read(results: Path) -> list[dict[str, Any]]:
    """The newest line of each seed."""
    rows: dict[int, dict[str, Any]] = {}
    if results.exists():
        for line in results.read_text().splitlines():
            row = json.loads(line)
            rows[row["seed"]] = row
    return list(rows.values())


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """Counts by mode, then the reasons of what is not right, each with seeds."""
    modes = sorted({row["mode"] for row in rows})
    lines = [f"{'mode':14}{'models':>8}" + "".join(f"{o:>9}" for o in OUTCOMES) + f"{'weak':>7}{'CPU s':>8}"]
    for mode in [*modes, "all"]:
        own = [row for row in rows if mode in ("all", row["mode"])]
        counts = Counter(row["outcome"] for row in own)
        weak = sum(1 for row in own if row["figures"].get("weak"))
        lines.append(
            f"{mode:14}{len(own):8}"
            + "".join(f"{counts[o]:9}" for o in OUTCOMES)
            + f"{weak:7}{sum(r['cpu'] for r in own):8.0f}"
        )
    groups: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        if row["outcome"] != "right":
            reason = re.sub(r"-?\d+(\.\d+)?(e[-+]?\d+)?", "N", row["reason"])[:110]
            groups[f"{row['outcome']} ({row['where']}) {reason}"].append(row["seed"])
    for reason, seeds in sorted(groups.items(), key=lambda item: (item[0].startswith("refused"), -len(item[1]))):
        lines.append(
            f"{len(seeds):4}  {reason}  seeds {', '.join(map(str, seeds[:5]))}{' …' if len(seeds) > 5 else ''}"
        )
    return "\n".join(lines)
