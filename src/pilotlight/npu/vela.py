"""Arm's Vela compiler: TOSA in, a command stream and weights out.

It runs in a process of its own (`vela_process.py`), which starts when it is needed and ends with this one. Only what
its raw output states is used: blobs, and where in one scratch buffer inputs and outputs lie.
"""

from __future__ import annotations

import atexit
import csv
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from pilotlight.errors import MissingToolError, PilotlightError

PACKAGE = "ethos-u-vela"
VERSION = "5.2"  # whose raw output is known
WEIGHTS, SCRATCH = 0, 1  # regions of memory as the commands number them

# What Vela assumes of the memories, for the plan and its estimates: feature maps in SRAM, weights in flash.
SYSTEMS = {"u55": "Ethos_U55_High_End_Embedded", "u65": "Ethos_U65_Embedded", "u85": "Ethos_U85_SYS_Flash_High"}
MEMORY_MODE = "Shared_Sram"
MACS = {"u55": (32, 64, 128, 256), "u65": (256, 512), "u85": (128, 256, 512, 1024, 2048)}
CONFIGURATIONS = tuple(f"ethos-{family}-{macs}" for family, counts in MACS.items() for macs in counts)


class VelaError(Exception):
    """What Vela said when it gave up."""


@dataclass(frozen=True)
class Port:
    """Where an input or output lies in the scratch buffer."""

    offset: int
    bytes: int


@dataclass(frozen=True)
class Compiled:
    """What the NPU gets, and what Vela expects of it."""

    commands: bytes  # for Arm's driver
    weights: bytes
    scratch: int  # bytes
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    figures: dict[str, Any]


def check_configuration(name: str) -> str:
    """The name of an NPU that Vela compiles for."""
    if name not in CONFIGURATIONS:
        raise PilotlightError(
            f"unknown NPU configuration {name!r}", hint=f"known: {', '.join(CONFIGURATIONS)}", kind="usage")
    return name


def family(configuration: str) -> str:
    return configuration.split("-")[1]


@cache
def check_version() -> str:
    """The version of Vela that is installed, if it is one that is known."""
    try:
        found = metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        raise MissingToolError(
            "Vela", None, "to compile for an Ethos-U NPU", "pip install 'pilotlight[npu]'"
        ) from None
    if not f"{found}.".startswith(f"{VERSION}."):
        raise PilotlightError(
            f"{PACKAGE} {found} is installed, and only the output of {VERSION} is known",
            hint=f"install it with: pip install '{PACKAGE}=={VERSION}.*'", kind="missing-tool",
        )
    return found


def compile_tosa(tosa: bytes, configuration: str) -> Compiled:
    """Raises `VelaError` where Vela cannot compile it."""
    check_version()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "part.tosa").write_bytes(tosa)
        error = _process().ask([
            str(folder / "part.tosa"), "--accelerator-config", configuration, "--output-format", "raw", "--output-dir",
            name, "--config", "Arm/vela.ini", "--system-config", SYSTEMS[family(configuration)], "--memory-mode",
            MEMORY_MODE,
        ])
        if error is not None:
            raise VelaError(error)
        (summary,) = folder.glob("part_summary_*.csv")
        return _read(folder / "part_vela.npz", summary)


def _read(raw: Path, summary: Path) -> Compiled:
    with np.load(raw, allow_pickle=False) as data:
        if (int(data["weight_region"]), int(data["scratch_region"])) != (WEIGHTS, SCRATCH):
            raise VelaError("its regions are not numbered as expected")
        if int(data["scratch_fast_size"]) and int(data["scratch_fast_region"]) != SCRATCH:
            raise VelaError("it wants a second scratch buffer")
        if data["variable_offset"].size:
            raise VelaError("it made variables")
        return Compiled(
            data["cmd_data"].tobytes(), data["weight_data"].tobytes(), int(data["scratch_size"]),
            _ports(data, "input"), _ports(data, "output"), _figures(summary),
        )


def _ports(data: Any, side: str) -> tuple[Port, ...]:
    if np.any(data[f"{side}_region"] != SCRATCH):
        raise VelaError(f"its {side}s are not in the scratch buffer")
    sizes = data[f"{side}_shape"].prod(axis=1) * data[f"{side}_elem_size"]
    return tuple(Port(int(o), int(n)) for o, n in zip(data[f"{side}_offset"], sizes, strict=True))


def _figures(summary: Path) -> dict[str, Any]:
    """Vela's own estimates: bytes, cycles of the NPU's clock."""
    with summary.open(newline="") as file:
        (row,) = csv.DictReader(file)
    flash = float(row["on_chip_flash_memory_used"]) + float(row["off_chip_flash_memory_used"])
    return {
        "vela": check_version(), "system": row["system_config"], "memory_mode": row["memory_mode"],
        "clock_hz": int(float(row["core_clock"])), "cycles": int(float(row["cycles_total"])),
        "sram_bytes": round(1024 * float(row["sram_memory_used"])), "flash_bytes": round(1024 * flash),
        "macs": int(float(row["nn_macs"])),
    }


class _Process:
    """Vela, waiting for requests."""

    def __init__(self) -> None:
        program = Path(__file__).with_name("vela_process.py")
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, encoding="utf-8",
        )
        atexit.register(self.end)

    def ask(self, arguments: list[str]) -> str | None:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(arguments) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.end()
            _process.cache_clear()
            return f"it ended with the code {self._process.returncode}"
        error: str | None = json.loads(answer)
        return error

    def end(self) -> None:
        atexit.unregister(self.end)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


@cache
def _process() -> _Process:
    return _Process()
