"""Checks models, kernels and the device server, and prints what is outside of the deviation record."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from itertools import chain
from pathlib import Path

from misra.checker import check_all
from misra.programs import TRAINED, kernel_programs, model_programs, server_program
from misra.record import outside, read_record, unused


def main() -> int:
    parser = argparse.ArgumentParser(prog="misra", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="write the C into this folder and leave it there")
    parser.add_argument("--all", action="store_true", help="also print what the record covers")
    args = parser.parse_args()
    record = read_record()
    with tempfile.TemporaryDirectory() as made:
        folder = args.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        programs = [*model_programs(folder), *kernel_programs(folder), server_program(folder)]
        if TRAINED.is_dir():
            programs += model_programs(folder, trained=True)
        found = check_all(programs, args.jobs)
    rules: Counter[str] = Counter()
    left = 0
    kernels: list[int] = []
    seen = set()
    for name, findings in found.items():
        rest = outside(findings, record)
        rules.update(finding.rule for finding in findings)
        for finding in findings if args.all else rest:
            key = (finding.rule, finding.text, finding.column)
            if key not in seen:
                seen.add(key)
                print(finding)
        left += len(rest)
        if name.startswith("kernel "):
            kernels.append(len(findings))
        else:
            print(f"{name}: {len(findings)} in all, {len(rest)} outside the record")
    print(f"{len(kernels)} kernels: {sum(kernels)} in all")
    print("by rule: " + ", ".join(f"{rule} {count}" for rule, count in rules.most_common()))
    stale = unused(chain.from_iterable(found.values()), record)
    for deviation in stale:
        print(f"the record has a row that nothing needs: {deviation.rule} `{deviation.where}`")
    print(f"{left} findings outside the record of {len(record)} deviations")
    return int(bool(left or stale))


if __name__ == "__main__":
    sys.exit(main())
