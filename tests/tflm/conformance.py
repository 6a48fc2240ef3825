"""Random models of every operator against TFLM: `make conformance-tflite`.

    python -m tests.tflm.conformance --count 60 --kind INT8
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import torch
from tests.support.tflite_random import CASES
from tests.tflm.compare import compare


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=60, help="models of each operator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=sorted(CASES), action="append")
    parser.add_argument("--operator", action="append")
    parser.add_argument("--compile", type=int, default=10, help="compile every n-th for the host too; 0: none")
    args = parser.parse_args()
    torch.set_num_threads(1)  # operators on a few elements are fastest so
    wrong = 0
    for kind in args.kind or CASES:
        total: Counter[str] = Counter()
        for name in args.operator or CASES[kind]:
            if name not in CASES[kind]:
                continue
            rows: Counter[str] = Counter()
            shown: Counter[str] = Counter()
            start = time.time()
            for number in range(args.count):
                seed = args.seed + number
                board = "host" if args.compile and number % args.compile == 0 else None
                found = compare(name, seed, kind, board)
                rows[found.outcome if found.truth == "TFLM" else f"{found.outcome} ({found.truth})"] += 1
                if found.outcome != "same" and shown[found.outcome] < 3:
                    shown[found.outcome] += 1
                    print(f"  {kind} {name} {seed}: {found.outcome}: {found.why[:200]}")
            total += rows
            said = ", ".join(f"{count} {outcome}" for outcome, count in rows.items())
            print(f"{kind:8}{name:28}{said}  ({time.time() - start:.1f} s)", flush=True)
        print(f"{kind}: {dict(total)}", flush=True)
        wrong += sum(count for outcome, count in total.items() if outcome.startswith("different"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
