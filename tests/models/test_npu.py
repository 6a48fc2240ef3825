"""Models on an Ethos-U: what is handed over, that its TOSA gives our integers, and the C against a stand-in of Arm's
driver that checks every argument. The commands themselves are executed nowhere: no emulator has an Ethos-U."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from importlib import metadata
from io import StringIO
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from rich.console import Console
from torch import nn

import pilotlight as pl
from pilotlight.compiler import Build
from pilotlight.emit import module
from pilotlight.emit.module import PART
from pilotlight.graph import Graph, Node
from pilotlight.graph.evaluate import trace
from pilotlight.mpy import native_module
from pilotlight.mpy.architectures import ARCHITECTURES
from pilotlight.npu import check, reference, vela
from pilotlight.npu.operators import written
from pilotlight.projects.model import project_model
from pilotlight.report.backends import backend_tables
from support.c_compilers import STRICT, compile_c
from support.command_line import NETS, call_error
from support.paths import ROOT

NPU, BOARD = "ethos-u55-128", "corstone-300"


class Classifier(nn.Module):
    """A residual block between convolutions, and a softmax that stays on the CPU."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 1, 1, groups=8)
        self.fc = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.first(x))
        x = F.relu(x + self.second(x))
        return torch.softmax(self.fc(x.mean((2, 3))), 1)


class Gated(nn.Module):
    """A softmax in the middle: two parts with two inputs and two outputs between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.gate, self.last = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 1), nn.Conv2d(4, 2, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(self.first(x))
        return self.last(x * torch.softmax(self.gate(x), 3))


@cache
def quantized(net: type[nn.Module]) -> Graph:
    torch.manual_seed(0)
    samples = [(torch.randn(1, 3, 12, 10),) for _ in range(8)]
    return pl.quantize(pl.capture(net().eval(), samples[0]), calibration=samples)


@cache
def built(net: type[nn.Module]) -> Build:
    return pl.compile(quantized(net), board=BOARD, npu=NPU, name="model")


def calls(build: Build) -> list[Node]:
    return [node for node in build.lowered.nodes if node.op == "extern"]


def test_one_part_and_what_stays_is_listed() -> None:
    (partition,) = built(Classifier).lowered.partitions
    (taken,) = partition.taken
    assert [row["op"] for row in partition.refused] == ["softmax"]
    assert partition.refused[0]["reason"] == "there is no form of it in TOSA that gives the same integers"
    assert (taken["bytes_in"], taken["bytes_out"]) == (360, 5)
    assert taken["operators"] == 6
    figures = taken["figures"]
    assert figures["cycles"] > 0 and figures["sram_bytes"] >= figures["scratch_bytes"] > 0
    assert figures["flash_bytes"] > 0 and figures["vela"] == metadata.version("ethos-u-vela")


@pytest.mark.skipif(reference.program() is None, reason="tosa_reference_model is not installed")
@pytest.mark.parametrize("net", [Classifier, Gated])
@pytest.mark.parametrize("family", ["u55", "u85"])
def test_every_part_gives_our_integers(net: type[nn.Module], family: str) -> None:
    for node in calls(built(net)):
        assert check.check_part(node.attrs["part"], family) > 0


@pytest.mark.skipif(reference.program() is None, reason="tosa_reference_model is not installed")
def test_another_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    given = reference.run
    monkeypatch.setattr(reference, "run", lambda graph, inputs: [y ^ 1 for y in given(graph, inputs)])
    with pytest.raises(pl.PilotlightError, match="gives other integers"):
        check.check_part(calls(built(Classifier))[0].attrs["part"], "u55")


def c_bytes(name: str, data: bytes) -> str:
    return f"static const uint8_t {name}[] = {{{', '.join(map(str, data))}}};\n"


def expectations(build: Build, x: torch.Tensor) -> tuple[str, bytes, bytes]:
    """What the driver has to be given in a run, as C; the input and the output of the run as bytes."""
    values, _ = trace(build.lowered, [x])
    text, rows = '#include "model.h"\n', []
    for k, node in enumerate(calls(build)):
        part, sides = node.attrs["part"], []
        inputs, outputs = ([port.value for port in ports] for ports in (part.inputs, part.outputs))
        compiled = vela.compile_tosa(written(part.nodes, inputs, outputs, "u55").serialize(), NPU)
        for side, tensors, places in (("x", node.inputs, compiled.inputs), ("y", node.outputs, compiled.outputs)):
            cells = []
            for i, (value, place) in enumerate(zip(tensors, places, strict=False)):
                text += c_bytes(f"{side}{k}_{i}", values[value].numpy().tobytes())
                cells.append(f"{{{place.offset}, {place.bytes}, {side}{k}_{i}}}")
            text += f"static const tensor_t {side}{k}[] = {{{', '.join(cells)}}};\n"
            sides.append(f"{len(cells)}, {side}{k}")
        text += c_bytes(f"commands{k}", compiled.commands) + c_bytes(f"weights{k}", compiled.weights)
        blobs = f"{len(compiled.commands)}, commands{k}, {len(compiled.weights)}, weights{k}"
        rows.append(f"{{{blobs}, {compiled.scratch}, {sides[0]}, {sides[1]}}}")
    (given,), (result,) = build.lowered.inputs, build.lowered.outputs
    meta = build.module.metadata
    text += f"static const expected_t expected[] = {{{', '.join(rows)}}};\n"
    text += f"#define INPUT_BYTES {given.value.bytes}u\n#define OUTPUT_BYTES {result.value.bytes}u\n"
    text += f"#define model_input {meta['inputs'][0]['c_name']}\n#define model_output {meta['outputs'][0]['c_name']}\n"
    return text, values[given.value].numpy().tobytes(), values[result.value].numpy().tobytes()


@pytest.fixture(
    params=[(Classifier, PART), (Gated, PART), (Gated, 1)], ids=["one part", "two parts", "a function for each step"],
    scope="module",
)
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, bytes, bytes]:
    """The generated C with the stand-in, for this computer."""
    folder, (net, steps) = tmp_path_factory.mktemp("npu"), request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PART", steps)
        build = pl.compile(quantized(net), board=BOARD, npu=NPU, name="model")
    build.write(folder)
    torch.manual_seed(5)
    text, given, wanted = expectations(build, torch.randn(1, 3, 12, 10))
    (folder / "expected.h").write_text(text)
    sources = [folder / name for name in build.module.metadata["sources"]]
    stand_in = ROOT / "tests" / "support" / "ethosu_stand_in.c"
    compile_c(["gcc", *STRICT, f"-I{folder}", *map(str, sources), str(stand_in), "-o", str(folder / "run")], folder)
    return folder / "run", given, wanted


def played(program: Path, given: bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([program], input=given, capture_output=True, env={**os.environ, **environment}, timeout=60)


def test_the_driver_is_given_what_it_needs(program: tuple[Path, bytes, bytes]) -> None:
    run, given, wanted = program
    done = played(run, given)
    assert done.returncode == 0, done.stdout
    assert done.stdout == wanted


def test_the_stand_in_finds_another_input(program: tuple[Path, bytes, bytes]) -> None:
    run, given, _ = program
    done = played(run, bytes([given[0] ^ 1]) + given[1:])
    assert (done.returncode, done.stdout) == (3, b"call 0: an input is another\n")


@pytest.mark.parametrize("environment, status", [({"DRIVER_ERROR": "-7"}, b"-7\n"), ({"NO_DRIVER": "1"}, b"-1\n")])
def test_errors_of_the_driver_end_the_run(
    program: tuple[Path, bytes, bytes], environment: dict[str, str], status: bytes
) -> None:
    done = played(program[0], program[1], **environment)
    assert (done.returncode, done.stdout) == (1, status)


def test_it_is_compiled_and_linked_for_the_board() -> None:
    info = built(Classifier).info
    assert info.sizes.code and info.image is None
    assert info.stack is None and info.stack_reason is not None and "ethosu_reserve_driver" in info.stack_reason


def test_blobs_are_in_the_weights_and_scratch_in_the_arena() -> None:
    build = built(Classifier)
    (node,) = calls(build)
    commands, weights = node.attrs["extern"].constants
    blob = build.module.weights
    for data in (commands.tobytes(), weights.tobytes()):
        assert data in blob and blob.index(data) % 16 == 0
    assert commands.tobytes()[:4] == b"COP1"
    assert build.module.metadata["arena_bytes"] >= node.attrs["extern"].scratch


@pytest.mark.parametrize("npu", ["ethos-u65-256", "ethos-u85-256"])
def test_other_families(npu: str, tmp_path: Path) -> None:
    text = (ROOT / "src" / "pilotlight" / "boards" / f"{BOARD}.toml").read_text()
    board = tmp_path / "mine.toml"
    board.write_text(text.replace(f'name = "{BOARD}"', 'name = "mine"').replace('"ethos-u55-32"', f'"{npu}"'))
    build = pl.compile(quantized(Classifier), board=str(board), npu=npu)
    (taken,) = build.lowered.partitions[0].taken
    assert taken["operators"] == 6 and taken["figures"]["cycles"] > 0


def refused(**choices: object) -> pl.PilotlightError:
    with pytest.raises(pl.PilotlightError) as caught:
        pl.compile(quantized(Classifier), **{"board": BOARD, "npu": NPU, **choices})  # type: ignore[arg-type]
    return caught.value


def test_an_unknown_configuration() -> None:
    error = refused(npu="ethos-u55-100")
    assert error.message == "unknown NPU configuration 'ethos-u55-100'"
    assert error.hint is not None and "ethos-u55-128" in error.hint and "ethos-u85-2048" in error.hint
    assert call_error("compile", NETS, "-o", "x", "--npu", "ethos-n78")["message"] == \
        "unknown NPU configuration 'ethos-n78'"


def test_a_board_without_that_npu() -> None:
    assert "the board has no Ethos-U" in refused(board="mps3-an547").message
    assert "its NPU can be ethos-u55-128" in refused(npu="ethos-u85-256").message


def test_vela_missing_or_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    vela.check_version.cache_clear()
    try:
        monkeypatch.setattr(vela.metadata, "version", missing)
        error = refused()
        assert error.message == "Vela was not found; it is needed to compile for an Ethos-U NPU"
        assert error.hint is not None and "pilotlight[npu]" in error.hint
        monkeypatch.setattr(vela.metadata, "version", lambda name: "6.0.1")
        assert refused().message == "ethos-u-vela 6.0.1 is installed, and only the output of 5.2 is known"
    finally:
        vela.check_version.cache_clear()


def test_a_model_that_the_npu_cannot_take() -> None:
    graph = pl.capture(Classifier().eval(), (torch.randn(1, 3, 12, 10),))
    with pytest.raises(pl.PilotlightError, match=f"^{NPU} takes nothing of classifier: it works on float32") as caught:
        pl.compile(graph, board=BOARD, npu=NPU)
    assert caught.value.hint is not None and "--quantize int8" in caught.value.hint


def test_an_operator_that_no_engine_takes() -> None:
    class Odd(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.linalg.svdvals(x)

    with pytest.raises(pl.PilotlightError) as caught:
        pl.compile(pl.capture(Odd(), (torch.randn(4, 4),)), board=BOARD, npu=NPU)
    assert "svd" in caught.value.message


def test_projects_and_native_modules_are_refused() -> None:
    build = built(Classifier)
    said = "model calls ethosu_reserve_driver, which is no part of it, so a {} cannot be made here"
    with pytest.raises(pl.PilotlightError, match=said.format("project")):
        project_model(build, None)
    with pytest.raises(pl.PilotlightError, match=said.format("native module")):
        native_module(build, ARCHITECTURES["armv7emsp"])


def test_inspect_shows_the_report_of_vela() -> None:
    (partition,) = built(Classifier).lowered.partitions
    console = Console(width=160, file=StringIO())
    for grid in backend_tables({"backends": [partition.as_dict()]}):
        console.print(grid)
    text = console.file.getvalue()
    (taken,) = partition.taken
    for number in (taken["figures"]["cycles"], taken["figures"]["sram_bytes"], taken["bytes_in"], taken["bytes_out"]):
        assert f" {number:,} " in text
    assert "Ethos_U55_High_End_Embedded, Shared_Sram" in text and "not on ethos-u55-128" in text
    assert "softmax" in text and "not checked" in text


def test_it_is_not_run() -> None:
    said = f"no emulator has an Ethos-U NPU, so a model for {NPU} cannot be run here"
    assert call_error("run", NETS, "--board", BOARD, "--npu", NPU)["message"] == said
    with pytest.raises(pl.PilotlightError, match=said), built(Classifier).open():
        pass
