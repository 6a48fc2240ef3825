"""`zig cc`: clang, lld and their libraries for every core in one PyPI package."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from pilotlight.errors import PilotlightError

# Its linker and its names for cores change from one version to the next. PyPI has no 0.17 for Windows.
VERSIONS = ("0.17", "0.16")
INSTALL = "pip install 'ziglang>=0.16,<0.18'"
COMPILE = ("-g0", "-fno-sanitize=all", "-fstack-size-section", "-Wno-unused-command-line-argument")

_MACHINE = re.compile(r"-m(cpu|arch|fpu|float-abi|abi)=(.*)")
# Features for a unit by GCC's name, or for the unit that a core has if none is named.
_FLOAT_UNITS = {
    "fpv4-sp-d16": ("vfp4d16sp",), "fpv5-sp-d16": ("fp_armv8d16sp",), "fpv5-d16": ("fp_armv8d16",),
    "cortex-m55": ("fp_armv8d16", "mve_fp"),
}
_OPTIONAL_DSP = ("cortex-m33",)  # GCC takes it for granted


@cache
def program() -> str | None:
    """The program of the installed package."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        return None
    found = [path for name in ("zig", "zig.exe") if (path := Path(spec.origin).parent / name).exists()]
    return str(found[0]) if found else None


def version() -> str | None:
    try:
        return metadata.version("ziglang")
    except metadata.PackageNotFoundError:
        return None


def checked_program() -> str:
    """The program, if it is of the version that is known to work."""
    found, there = program(), version() or "of an unknown version"
    assert found is not None
    if not there.startswith(tuple(f"{version}." for version in VERSIONS)):
        raise PilotlightError(
            f"zig {there} is installed, expected {' or '.join(VERSIONS)}", hint=INSTALL, kind="missing-tool"
        )
    return found


def core_flags(flags: Sequence[str], target: str) -> list[str]:
    """Flags that tell GCC of a core, in zig's words."""
    if target == "native":
        return []
    given = {match[1]: match[2] for match in map(_MACHINE.fullmatch, flags) if match}
    kept = [flag for flag in flags if flag.startswith(("-f", "-mcmodel"))]
    if "arch" in given:
        return ["-target", f"{target}-none", f"-mcpu={_riscv(given['arch'])}", f"-mabi={given['abi']}", *kept]
    hard = given.get("float-abi") == "hard"
    return ["-target", f"{target}-eabi{'hf' if hard else ''}", f"-mcpu={_cortex(given, hard)}", *kept]


def _cortex(given: dict[str, str], hard: bool) -> str:
    """zig's name of a core, which is without what Arm makes optional: cortex_m4+vfp4d16sp."""
    core, *without = given["cpu"].split("+no")
    unit = _FLOAT_UNITS.get(given.get("fpu") or given["cpu"], ()) if hard else ()
    more = [*unit, *(["dsp"] if core in _OPTIONAL_DSP and "dsp" not in without else [])]
    return "-".join([core.replace("-", "_"), *without]) + "".join(f"+{feature}" for feature in more)


def _riscv(arch: str) -> str:
    """rv32imac: generic_rv32+m+a+c, and the linker may shorten calls."""
    return "generic_rv32" + "".join(f"+{feature}" for feature in (*arch.removeprefix("rv32i"), "relax"))
