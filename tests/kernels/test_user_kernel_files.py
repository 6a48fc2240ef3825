"""Kernels that users add from files and packages, and the page about them with its example."""

from __future__ import annotations

import re
from dataclasses import fields
from importlib import metadata
from pathlib import Path

import pytest
import torch

import pilotlight as pl
from pilotlight.capture import kernels as files
from pilotlight.cli.options import Request
from pilotlight.cli.project import stored_arguments, stored_request
from support.command_line import call, call_error, call_json
from support.modules import Forward
from support.paths import ROOT
from support.user_kernels import no_kernel_stays

BOARD = "mps2-an386"
pytestmark = pytest.mark.usefixtures(no_kernel_stays.__name__)

FILE = '''
import torch
import pilotlight as pl

@torch.library.custom_op("userfile::negate", mutates_args=())
def negate(x: torch.Tensor) -> torch.Tensor:
    return -x

@negate.register_fake
def _(x):
    return torch.empty_like(x)

KERNELS = [pl.Kernel(
    name="negate_f32", op="userfile::negate", takes=("float32[...]",), gives=("float32[...]",),
    prototype="void negate_f32(const float *x, float *y, int32_t n)",
    source="""void negate_f32(const float *x, float *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        y[i] = -x[i];
    }
}
""", overlaps={(0, 0): 0})]

class Net(torch.nn.Module):
    def forward(self, x):
        return negate(x) + 1

def net():
    return Net(), (torch.randn(3, 4),)
'''


def test_the_command_line_takes_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FILE)
    (row,) = call_json("check-kernel", file)["kernels"]
    assert (row["kernel"], row["board"], row["passed"]) == ("negate_f32", BOARD, True)
    shown = call("check-kernel", file)
    assert shown.exit_code == 0 and "does what it declares" in shown.output
    assert call_json("run", f"{file}:net", "--kernels", file)["match"]
    file.write_text(FILE.replace("y[i] = -x[i];", "y[i] = x[i];"))
    wrong = call("check-kernel", file)
    assert wrong.exit_code == 1 and "the reference" in " ".join(wrong.output.split())
    assert "the reference gives" in call_error("run", f"{file}:net", "--kernels", file)["message"]


@pytest.mark.parametrize(("text", "told"), [
    ("import pilotlight as pl\nK = pl.Kernel(", "was never closed"),
    ("x = 1\n", "has no kernel"),
    ("raise RuntimeError('no')", "RuntimeError: no"),
    ("import pilotlight as pl\nK = pl.Kernel(name='a')", "TypeError"),
    ("import sys\nsys.exit(3)", "exit code 3"),
])
def test_a_bad_file_is_one_sentence(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    assert told in call_error("check-kernel", file)["message"]


def test_an_installed_package_brings_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "brings_kernels.py").write_text(FILE.replace("userfile::", "userpackage::"))
    monkeypatch.syspath_prepend(tmp_path)
    entry = metadata.EntryPoint("mine", "brings_kernels", files.GROUP)
    monkeypatch.setattr(metadata, "entry_points", lambda **_: [entry])
    files.installed_kernels.cache_clear()
    try:
        net = Forward(lambda x: torch.ops.userpackage.negate(x))
        __import__("brings_kernels")
        assert pl.compile(pl.capture(net, (torch.randn(5),), "net"), "host").session().match
        broken = metadata.EntryPoint("broken", "no_such_module", files.GROUP)
        monkeypatch.setattr(metadata, "entry_points", lambda **_: [broken])
        files.installed_kernels.cache_clear()
        with pytest.raises(pl.PilotlightError, match="the kernels broken of no_such_module cannot be loaded"):
            pl.capture(net, (torch.randn(5),), "net")
    finally:
        files.installed_kernels.cache_clear()


def test_a_project_remembers_its_kernels(tmp_path: Path) -> None:
    asked = Request("net.py:net", "host", (), None, {}, kernels=(tmp_path / "mine.py",))
    stored = stored_arguments(asked, tmp_path / "project")
    assert stored["kernels"] == ["../mine.py"]
    again = stored_request(stored, "host", tmp_path / "project")
    assert [file.resolve() for file in again.kernels] == [(tmp_path / "mine.py").resolve()]


# ---- the page and its example -------------------------------------------------------------------------------------

EXAMPLE, PAGE = ROOT / "examples" / "goertzel", ROOT / "docs" / "adding-a-kernel.md"


def test_the_example_is_what_the_page_says() -> None:
    """A reader who copies every block, in order, has the example."""
    blocks = re.findall(r"```(?:python|c)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    operator, function, declaration, model = blocks[:4]
    assert (EXAMPLE / "goertzel.py").read_text() == f"{operator}\n\n{declaration}"
    assert (EXAMPLE / "goertzel.c").read_text() == function and (EXAMPLE / "tones.py").read_text() == model


def test_every_field_is_on_the_page() -> None:
    page = PAGE.read_text()
    assert [f.name for f in fields(pl.Kernel) if f.init and f"`{f.name}`" not in page and f.name != "name"] == []


def test_the_example_runs() -> None:
    found = call_json("run", EXAMPLE / "tones.py:tones", "--kernels", EXAMPLE / "goertzel.py", "--board", BOARD)
    assert found["match"] and found["operators"][0]["op"] == "tones.goertzel"
