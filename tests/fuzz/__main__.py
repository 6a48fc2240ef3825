"""Command line of the fuzzer."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from fuzz.check import BOARDS, check
from fuzz.generate import FORMS, KINDS, MODES, generate
from fuzz.run import Choice, read, run, summary
from support.paths import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many models; default: 100")
    parser.add_argument("--kind", choices=list(KINDS))
    parser.add_argument(
        "--mode", choices=(*MODES, *FORMS),
        help="float or a quantization; without it half of the models are quantized. entries: two entry points on one "
        "state; lengths: inputs of every length",
    )
    parser.add_argument("--boards", choices=("all", "some", "none", "quick"), default="some")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-shrink", action="store_true", help="write failing models as they are")
    parser.add_argument(
        "--results",
        type=Path,
        default=ROOT / "build" / "fuzz" / "results.jsonl",
        help="one JSON line a model; seeds in it are not run again",
    )
    parser.add_argument("--summary", action="store_true", help="only sum up the results that are there")
    parser.add_argument("--show", action="store_true", help="print the model of --seed")
    parser.add_argument("--file", type=Path, help="judge this file, as the fuzzer wrote it, in the mode of --mode")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.show:
        print(generate(args.seed, args.kind, args.mode).text())
        return 0
    if args.file:
        verdict = check(args.file.read_text(), args.mode or "float", BOARDS)
        print(verdict)
        return int(verdict.outcome in ("wrong", "crashed"))
    choice = Choice(args.kind, args.mode, args.boards)
    rows = (
        read(args.results)
        if args.summary
        else run(
            range(args.seed, args.seed + args.count), choice, args.results, small=not args.no_shrink, jobs=args.jobs
        )
    )
    print(summary(rows))
    return int(any(row["outcome"] in ("wrong", "crashed") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
