"""Code, weights, RAM and instructions of networks of this tree on an emulated board, to see what a change costs.

    python benchmarks/sizes.py              measure, and write benchmarks/sizes.md
    python benchmarks/sizes.py --compare    measure, and print in Markdown what differs from benchmarks/sizes.md

Nothing is timed: the figures are the same on every computer with the same compilers.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import pilotlight as pl
from pilotlight.capture.reference import variations
from pilotlight.session import run_session

HERE = Path(__file__).resolve().parent
ZOO = HERE.parent / "examples" / "zoo"
TABLE = HERE / "sizes.md"
BOARD = "mps2-an386"
MODELS = {
    "digits": "pilotlight.demo.model:digits",
    "kws": f"{ZOO}/mlperf_tiny.py:kws",
    "ad": f"{ZOO}/mlperf_tiny.py:ad",
    "lenet": f"{ZOO}/classics.py:lenet",
    "gru": f"{ZOO}/recurrent.py:gru",
    "encoder": f"{ZOO}/transformer.py:encoder",
}
TEXT = f"""# Sizes

One run of `make sizes` on `{BOARD}`: bytes, and the instructions of one inference. RAM is the arena, state, static data
and the stack. `python benchmarks/sizes.py --compare` shows how a change affects them.
"""


@dataclass(frozen=True)
class Sizes:
    """The figures of one network; None if the board does not report it."""

    code: int | None
    weights: int | None
    ram: int | None
    instructions: int | None


COLUMNS = [field.name for field in fields(Sizes)]
Table = dict[tuple[str, str], Sizes]  # by network and type


def measure(name: str, mode: str) -> Sizes:
    """Of one run on the board, whose outputs are compared: figures of a wrong answer are worth nothing."""
    graph = pl.load(MODELS[name])
    inputs = graph.truth.example
    if mode == "int8":
        graph = pl.quantize(graph, [inputs, *variations(inputs)])
    session = run_session(pl.compile(graph, board=BOARD), [inputs])
    if not session.match:
        raise SystemExit(f"{name} in {mode}: the outputs on {BOARD} are wrong")
    figures = session.figures
    return Sizes(
        figures["flash"]["code"], figures["flash"]["weights"], figures["ram"]["total"], figures["instructions"],
    )


def write(table: Table) -> str:
    rows = [[*key, *map(number, astuple(sizes))] for key, sizes in table.items()]
    return f"{TEXT}\n{markdown(['network', 'type', *COLUMNS], rows)}"


def read(text: str) -> Table:
    """The table that `write` wrote."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {
        (name, mode): Sizes(*(int(n.replace(",", "")) if n else None for n in numbers))
        for name, mode, *numbers in rows[2:]
    }


def compare(before: Table, now: Table) -> str:
    """What differs, as Markdown."""
    rows = []
    for key in dict.fromkeys([*before, *now]):
        old, new = before.get(key), now.get(key)
        if old is None or new is None:
            rows.append([*key, *["new" if old is None else "gone"] * len(COLUMNS)])
        elif old != new:
            rows.append([*key, *map(change, astuple(old), astuple(new))])
    if not rows:
        return f"Sizes on `{BOARD}`: all {len(now)} rows are as recorded.\n"
    return f"Sizes on `{BOARD}`: {len(rows)} of {len(now)} rows differ from the recorded ones.\n\n" + markdown(
        ["network", "type", *COLUMNS], rows
    )


def change(old: int | None, new: int | None) -> str:
    if old is None or new is None or old == new:
        return number(new)
    share = f" ({(new - old) / old:+.1%})" if old else ""
    return f"{old:,} → {new:,}{share}"


def number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def markdown(head: list[str], rows: list[list[str]]) -> str:
    rule = "|---|---|" + "---:|" * len(COLUMNS)
    return "\n".join([f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(row)} |" for row in rows), ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", action="store_true", help="print what differs instead of writing")
    chosen = parser.parse_args()
    table: Table = {}
    for name in MODELS:
        for mode in ("float32", "int8"):
            print(f"{name}, {mode} ...", file=sys.stderr, flush=True)
            table[name, mode] = measure(name, mode)
    if chosen.compare:
        print(compare(read(TABLE.read_text()), table), end="")
    else:
        TABLE.write_text(write(table))
        print(f"wrote {TABLE.relative_to(HERE.parent)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
