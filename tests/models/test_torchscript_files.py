"""Files that are no TorchScript, damaged ones and hostile ones: a sentence says what they are, and nothing is run."""

from __future__ import annotations

import os
import pickle
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.errors import PilotlightError
from support.command_line import call_error, call_json


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """torch.jit says that it is deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def net() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval()


@pytest.fixture
def archive(net: nn.Module, tmp_path: Path) -> Path:
    torch.jit.save(torch.jit.script(net), tmp_path / "good.pt")
    return tmp_path / "good.pt"


class Hostile:
    """A pickle that leaves a file when it is loaded."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.system, (f"touch {self.path}",)


def refused(path: Path, *inputs: str) -> PilotlightError:
    with pytest.raises(PilotlightError) as caught:
        pl.load(str(path), inputs)
    assert caught.value.hint and "\n" not in caught.value.message
    return caught.value


def rewritten(path: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """The archive with other contents."""
    new = path.with_name("rewritten.pt")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(new, "w") as file:
        for entry in old.infolist():
            data = change(entry.filename, old.read(entry))
            if data is not None:
                file.writestr(entry.filename, data)
    return new


@pytest.mark.parametrize("zipped", [True, False])
def test_weights_alone(net: nn.Module, tmp_path: Path, zipped: bool) -> None:
    path = tmp_path / "weights.pt"
    torch.save(net.state_dict(), path, _use_new_zipfile_serialization=zipped)
    error = call_error("inspect", str(path), "--input", "1x4")
    assert error["message"] == f"{path} holds only weights (2 tensors by name) and no model to run"
    assert error["hint"] == f"give the architecture too: file.py:name --weights {path}"


def test_a_checkpoint_and_a_tensor(net: nn.Module, tmp_path: Path) -> None:
    torch.save({"model": net.state_dict(), "epoch": 3}, tmp_path / "checkpoint.pt")
    assert "holds a dictionary with 'model', 'epoch' and no model" in refused(tmp_path / "checkpoint.pt").message
    torch.save(torch.zeros(3), tmp_path / "tensor.pt")
    assert "holds a Tensor and no model" in refused(tmp_path / "tensor.pt").message


def test_a_pickled_module_is_named_and_not_run(net: nn.Module, tmp_path: Path) -> None:
    torch.save(net, tmp_path / "whole.pt")
    error = refused(tmp_path / "whole.pt")
    assert error.message.startswith(f"{tmp_path / 'whole.pt'} is a pickled Python object, torch.nn.modules.container.")
    assert "--weights" in str(error.hint)


def test_hostile_pickles_are_not_run(archive: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    torch.save({"a": Hostile(trace)}, tmp_path / "hostile.pt")
    assert "posix.system" in refused(tmp_path / "hostile.pt").message
    for entry in ("/data.pkl", "/constants.pkl"):
        payload = pickle.dumps(Hostile(trace), 2)
        path = rewritten(archive, lambda name, data, e=entry, p=payload: p if name.endswith(e) else data)  # type: ignore
        assert refused(path, "1x4").kind == "broken-file"
    assert not trace.exists()


def test_code_in_an_archive_is_not_python(archive: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    line = f"import os\nos.system('touch {trace}')\n".encode()
    path = rewritten(archive, lambda name, data: line + data if name.endswith(".py") else data)
    assert refused(path, "1x4").kind == "broken-file"
    inside = rewritten(archive, lambda name, data: data.replace(b"return ", b"__import__('os').getcwd()\n    return "))
    assert refused(inside, "1x4").kind == "broken-file"
    assert not trace.exists()


@pytest.mark.parametrize("call", [
    "torch.save(input, 'trace')", "ops.aten.save(input, 'trace')", "torch . # a comment\n  save(input, 'trace')",
    "ops.debugprims.load_tensor('trace', [1])",
])
def test_code_that_reads_or_writes_files(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.chdir(tmp_path)
    line = f"_ = ({call})\n    return ".encode()
    path = rewritten(archive, lambda name, data: data.replace(b"return ", line) if name.endswith(".py") else data)
    error = refused(path, "1x4")
    assert error.message.endswith("which is not supported; nothing of it was run")
    assert str(error.where).startswith("rewritten.pt:code/__torch__/") and not (tmp_path / "trace").exists()


@pytest.mark.parametrize("name", ["half", "empty", "text", "flipped", "without data", "another version"])
def test_damaged_files(archive: Path, tmp_path: Path, name: str) -> None:
    whole = archive.read_bytes()
    path = tmp_path / "damaged.pt"
    if name == "without data":
        path = rewritten(archive, lambda entry, data: None if "/data/" in entry else data)
    elif name == "another version":
        path = rewritten(archive, lambda entry, data: b"999\n" if entry.endswith("/version") else data)
    else:
        flipped = bytes(b ^ 255 if 200 <= k < 400 else b for k, b in enumerate(whole))
        half = whole[: len(whole) // 2]
        path.write_bytes({"half": half, "empty": b"", "text": b"a model" * 9, "flipped": flipped}[name])
    error = refused(path, "1x4")
    assert error.kind == "broken-file" and error.message.startswith(f"{path} cannot be read: ")


def test_code_that_unpacks_to_too_much(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for k in range(3):
            file.writestr(f"bomb/code/{k}.py", bytes(30 << 20))
    assert path.stat().st_size < 1 << 20
    assert "unpack to 94,371,840 bytes, more than 67,108,864" in refused(path, "1x4").message


def test_an_exported_program_under_another_name(net: nn.Module, tmp_path: Path) -> None:
    torch.export.save(torch.export.export(net, (torch.zeros(1, 4),)), tmp_path / "net.pt2")
    (tmp_path / "net.pt2").replace(tmp_path / "net.pt")
    assert refused(tmp_path / "net.pt").hint == "rename it to net.pt2"


@pytest.mark.parametrize(("inputs", "says"), [
    ([], "needs an --input for input"),
    (["1x4", "1x4"], "takes 1 inputs, got 2"),
    (["x=1x4"], "has no input 'x'"),
    (["1x5"], "RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x5 and 4x3)"),
    (["1x4:int64"], "the model itself fails for these inputs"),
])
def test_wrong_inputs(archive: Path, inputs: list[str], says: str) -> None:
    error = refused(archive, *inputs)
    assert error.kind == "wrong-input" and says in error.message


def test_options_that_change_nothing(archive: Path) -> None:
    error = call_error("inspect", str(archive), "--input", "1x4", "--weights", str(archive))
    assert error["kind"] == "usage" and "--weights cannot change" in error["message"]


def test_the_command_line(archive: Path) -> None:
    result = call_json("run", str(archive), "--input", "1x4", "--board", "host")
    assert result["match"] and result["compared_with"] == "PyTorch"
    sources = {step["source"].rpartition(":")[0] for step in result["network"]["steps"] if step["source"]}
    assert len(sources) == 1  # the archive's file may have a number, if this process has scripted such a layer before
    assert re.fullmatch(r"good\.pt:code/__torch__/torch/nn/modules/linear(/___torch_mangle_\d+)?\.py", *sources)
