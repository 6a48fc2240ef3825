"""What is declared is what is imported: no more, no less."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from pilotlight import installed
from support.paths import ROOT

SOURCE = ROOT / "src" / "pilotlight"
# Extras, each with the folder or file that alone imports what it brings.
OPTIONAL = {
    "onnx": SOURCE / "capture" / "onnx", "microphone": SOURCE / "session" / "microphone.py", "npu": SOURCE / "npu",
    "fleet": SOURCE / "fleet" / "cluster.py",
}
ON_THE_BOARD = SOURCE / "micropython" / "python"  # imported by MicroPython, not by Python
# Where its name is not the module's.
DISTRIBUTION = {
    "elftools": "pyelftools", "ethosu": "ethos-u-vela", "google": "protobuf", "serial": "pyserial",
    "torchgen": "torch", "yaml": "pyyaml",
}


def imported(folder: Path = SOURCE, apart: Sequence[Path] = ()) -> set[str]:
    """Top-level modules of others that any file imports, at its top or inside a function."""
    found: set[str] = set()
    for path in folder.rglob("*.py") if folder.is_dir() else [folder]:
        if {ON_THE_BOARD, *apart} & {path, *path.parents}:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "load_package":
                found |= {name.value for name in node.args[:1] if isinstance(name, ast.Constant)}
    return found - set(sys.stdlib_module_names) - {"pilotlight"}


def declared(extra: str | None = None) -> dict[str, str]:
    """Distribution to specifier, from pyproject.toml; of an extra, if one is named."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
    split = (re.fullmatch(r"([\w-]+)(.*)", line) for line in lines)
    return {match.group(1).lower(): match.group(2) for match in split if match}


def test_the_declared_dependencies_are_the_imported_ones() -> None:
    run = {"ziglang"}  # a program in a package
    found = imported(apart=list(OPTIONAL.values()))
    assert {DISTRIBUTION.get(module, module) for module in found} | run == set(declared())


@pytest.mark.parametrize("extra", OPTIONAL)
def test_an_extra_declares_what_its_folder_imports(extra: str) -> None:
    found = {DISTRIBUTION.get(module, module) for module in imported(OPTIONAL[extra])}
    assert found - set(declared()) == set(declared(extra))


def test_doctor_names_every_dependency() -> None:
    assert {*installed._PACKAGES, "ziglang", "unicorn", "torchao"} == set(declared())


def test_the_set_up_installs_the_pinned_pytorch_first() -> None:
    """By exactly this specifier, before anything that depends on it could bring another build."""
    assert declared()["torch"] == ">=2.13"
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text().splitlines()
    script = (ROOT / "scripts" / "setup.sh").read_text()
    installs = [line.split()[1:] for line in script.splitlines() if line.startswith("    pip_install ")]
    assert installs[:2] == [["torch==2.13.0"], ["torchao==0.18.0", "--no-deps"]]


@pytest.mark.parametrize("name", ["unicorn", "capstone"])
def test_doctor_tries_what_is_compiled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be installed and not load."""
    assert {part.name: part.version for part in installed.parts()}[name]
    monkeypatch.setitem(sys.modules, name, None)
    (part,) = (part for part in installed.parts() if part.name == name)
    assert part.version is None and part.install == f"pip install {name}"
