"""Whether pip finds a wheel of every package that `pip install pilotlight` brings, for systems other than this one.

`make wheels` runs it. It needs pip and the network, downloads nothing but lists, and writes its table into
docs/tools.md. The versions are those of constraints.txt; where one has no wheel for a system, whatever pyproject.toml
allows besides may take its place, and the table names it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tools.md"
TABLE = re.compile(r"(?<=<!-- wheels -->\n).*?(?=<!-- /wheels -->)", re.DOTALL)
PYTHONS = ("3.11", "3.12", "3.13")
_GLIBC = ("_2_28", "_2_17", "2014", "_2_12", "2010", "_2_5", "1")
PLATFORMS = {
    "Linux x86-64": [f"manylinux{version}_x86_64" for version in _GLIBC],
    "Linux Arm": [f"manylinux{version}_aarch64" for version in _GLIBC[:3]],
    "macOS Arm": ["macosx_14_0_arm64"],
    "macOS x86-64": ["macosx_14_0_x86_64"],
    "Windows x86-64": ["win_amd64"],
    "Windows Arm": ["win_arm64"],
}
_RELEASE = re.compile(r"(\d+(?:\.\d+)*(?:\.?post\d+)?)(?:\+.*)?$")
_VERSIONS = re.compile(r"\(from versions: (.*)\)$", re.MULTILINE)
_NEVER = "0.0.0.dev0"


def declared() -> dict[str, str]:
    """Package to the versions that pyproject.toml allows."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        lines = tomllib.load(file)["project"]["dependencies"]
    return {canonicalize_name(r.name): str(r.specifier) for r in map(Requirement, lines)}


def pinned() -> dict[str, str]:
    """Every package that an installation brings, with its version."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    versions = {canonicalize_name(name): v for name, _, v in (line.partition("==") for line in lines) if v}
    found, waiting = set[str](), list(declared())
    while waiting:
        name = waiting.pop()
        if name not in found and name in versions:
            found.add(name)
            needs = map(Requirement, metadata.requires(name) or ())
            waiting += [canonicalize_name(r.name) for r in needs if "extra" not in str(r.marker)]
    return {name: versions[name] for name in sorted(found)}


def versions(name: str, platform: Sequence[str], python: str) -> list[Version]:
    """Releases of which there is a wheel, the newest first: pip lists them when it is asked for one that is not."""
    args = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--python-version", python]
    args += [part for tag in platform for part in ("--platform", tag)]
    done = subprocess.run([*args, f"{name}=={_NEVER}"], capture_output=True, encoding="utf-8", errors="replace")
    listed = _VERSIONS.search(done.stderr)
    if listed is None:
        raise SystemExit(done.stderr)
    found = (_RELEASE.match(text) for text in listed[1].split(", "))
    return sorted({Version(release[1]) for release in found if release}, reverse=True)


def cell(wanted: dict[str, str], allowed: dict[str, str], platform: Sequence[str], python: str) -> str:
    """What there is for one system and one Python."""
    other, without = [], []
    for name, version in wanted.items():
        found = versions(name, platform, python)
        if Version(version) not in found:
            fitting = [v for v in found if v in SpecifierSet(allowed.get(name, f"=={version}"))]
            (other if fitting else without).append(f"{name} {fitting[0]}" if fitting else name)
    parts = [f"no {', '.join(without)}" if without else "all", *([f"with {', '.join(other)}"] if other else [])]
    return ", ".join(parts)


def main() -> None:
    wanted, allowed = pinned(), declared()
    with ThreadPoolExecutor(4) as pool:
        everywhere = pool.map(lambda name: Version(wanted[name]) in versions(name, ["any"], PYTHONS[0]), wanted)
        compiled = {n: wanted[n] for n, same in zip(wanted, everywhere, strict=True) if not same}
        kinds = [(tags, python) for tags in PLATFORMS.values() for python in PYTHONS]
        cells = list(pool.map(lambda kind: cell(compiled, allowed, *kind), kinds))
    rows = [[f"{len(wanted)} packages", *(f"Python {python}" for python in PYTHONS)], ["---"] * (len(PYTHONS) + 1)]
    rows += [[name, *cells[k * len(PYTHONS) :][: len(PYTHONS)]] for k, name in enumerate(PLATFORMS)]
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    print(f"Compiled for each system: {', '.join(compiled)}.\n{table}", end="")
    page = PAGE.read_text(encoding="utf-8")
    if not TABLE.search(page):
        raise SystemExit(f"{PAGE.name} has no place for the table")
    PAGE.write_text(TABLE.sub(table, page), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
