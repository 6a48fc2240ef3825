"""The wheel holds everything, and works in an environment without the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from support.paths import ROOT

NET = """
import torch

def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU()), (torch.randn(1, 8),)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: what an earlier build left in the checkout could stand in for a file that is missing."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "checkout"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, copy)
    (built,) = folder.glob("*.whl")
    shutil.rmtree(copy)
    return built


def pip(*args: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *args]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    package = ROOT / "src" / "pilotlight"
    files = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert names == {path.relative_to(ROOT / "src").as_posix() for path in files if path.name != ".clang-format"}
    assert "pilotlight/py.typed" in names


def test_a_model_runs_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    pip("--python", python, "install", "--no-deps", "--no-index", wheel)
    # The dependencies as they are installed here. A path file does not read the path files of the folder it names, so
    # the checkout that this environment may point to is not found.
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    paths = dict.fromkeys(sysconfig.get_path(key) for key in ("purelib", "platlib"))
    (environment / "lib" / version / "site-packages" / "dependencies.pth").write_text("\n".join(paths))
    (tmp_path / "net.py").write_text(NET)

    def run(*command: str | Path) -> str:
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    found = run(python, "-c", "import pilotlight; print(pilotlight.__file__)")
    assert Path(found.strip()).is_relative_to(environment)
    said = json.loads(run(environment / "bin" / "pilotlight", "run", "net.py:net", "--board", "host", "--json"))
    assert said["match"] is True
