"""What `import pilotlight as pl` offers: capture, compile, run, boards, and errors that say what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.graph import Graph
from pilotlight.session import read_inputs, run_session
from support.compiled import zoo_build, zoo_graph
from support.programs import path_of
from zoo import load

X = torch.randn(1, 4, generator=torch.Generator().manual_seed(0))


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()


@pytest.fixture(scope="module")
def build() -> pl.Build:
    return pl.compile(pl.capture(net(), (X,), "net"))


def test_the_example_of_the_front_page(build: pl.Build) -> None:
    want = net()(X)
    torch.testing.assert_close(build.run(X), want, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(build.run(X, on="host"), want, rtol=1e-5, atol=1e-6)
    with pl.open_board("mps2-an386", build) as dev:
        torch.testing.assert_close(dev(X), want, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(dev(2 * X), net()(2 * X), rtol=1e-5, atol=1e-6)


def test_names_offered() -> None:
    assert set(pl.__all__) >= {"Build", "Options", "PilotlightError", "capture", "compile", "load", "open_board"}
    assert all(getattr(pl, name) is not None for name in pl.__all__)
    with pytest.raises(AttributeError, match="frobnicate"):
        _ = pl.frobnicate  # type: ignore[attr-defined]


def test_light_commands_do_not_load_pytorch() -> None:
    code = "import sys, pilotlight, pilotlight.boards; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_capture_takes_one_tensor_or_many() -> None:
    assert [p.shape for p in pl.capture(net(), X).inputs] == [p.shape for p in pl.capture(net(), (X,)).inputs]
    assert pl.capture(net(), [X], "My Net").name == "my_net"
    assert pl.capture(net(), (X,)).name == "sequential"


def test_a_build_is_for_one_board_and_runs_on_others(build: pl.Build) -> None:
    board = pl.compile(build.graph, board="mps2-an386")
    assert board.board.name == "mps2-an386"
    torch.testing.assert_close(board.run(X, on="host"), net()(X), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(board.run(X, on="riscv32-virt"), net()(X), rtol=1e-5, atol=1e-6)


def test_several_outputs_come_as_pytorchs_flat_tuple() -> None:
    module, inputs = load("several")
    got = zoo_build("several").run(*inputs)
    with torch.no_grad():
        want = list(module(*inputs).values())
    assert isinstance(got, tuple)
    assert [y.shape for y in got] == [y.shape for y in want]
    assert [y.dtype for y in got] == [y.dtype for y in want]
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_inputs_may_be_arrays_or_lists(build: pl.Build) -> None:
    with build.open() as running:
        want = running(X)
        assert torch.equal(running(X.numpy()), want)
        assert torch.equal(running(X.clone().requires_grad_()), want)
        assert torch.equal(running(X.expand(3, 4).T[:, :1].T), want)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((torch.zeros(1, 5),), r"expected input input: float32\[1, 4\], got float32\[1, 5\]"),
        ((torch.zeros(4),), r"float32\[1, 4\], got float32\[4\]"),
        ((torch.zeros(1, 4, dtype=torch.int64),), r"float32\[1, 4\], got int64\[1, 4\]"),
        ((torch.zeros(1, 4, dtype=torch.float64),), r"float32\[1, 4\], got float64\[1, 4\]"),
        ((), r"net takes 1 input \(input: float32\[1, 4\]\), got 0"),
        ((torch.zeros(1, 4), torch.zeros(1, 4)), "net takes 1 input .*, got 2"),
    ],
)
def test_wrong_inputs_are_named(build: pl.Build, given: tuple[torch.Tensor, ...], says: str) -> None:
    with build.open() as running:
        with pytest.raises(pl.PilotlightError, match=says) as caught:
            running(*given)
        assert caught.value.kind == "wrong-input"
        assert running(X).shape == (1, 3)


def test_options_are_checked_by_name() -> None:
    with pytest.raises(TypeError):
        pl.compile(zoo_graph("mlp"), optimise="speed")
    with pytest.raises(pl.PilotlightError, match="speed or size"):
        _ = pl.compile(zoo_graph("mlp"), optimize="fast").info
    with pytest.raises(pl.PilotlightError) as caught:
        pl.compile(zoo_graph("mlp"), board="mps2-an386", weights_in="attic")
    assert "attic" in str(caught.value)
    with pytest.raises(pl.PilotlightError) as caught:
        pl.compile(zoo_graph("mlp"), board="mps2-an38")
    assert "mps2-an386" in str(caught.value)


def test_a_module_that_was_not_captured_is_named() -> None:
    for call in (pl.compile, pl.run):
        with pytest.raises(pl.PilotlightError, match="expected a captured graph, got Sequential") as caught:
            call(net())
        assert "pilotlight.capture" in str(caught.value.hint)


def test_size_is_smaller_than_speed() -> None:
    """With GCC: zig compiles for size either way."""
    path_of("arm-none-eabi-gcc")
    graph = zoo_graph("several")
    speed, size = (pl.compile(graph, board="mps2-an386", optimize=o).info.sizes for o in ("speed", "size"))
    assert speed.code is not None and size.code is not None
    assert size.code < speed.code


def test_budgets() -> None:
    graph = zoo_graph("kws")
    fits = pl.compile(graph, board="mps2-an386", max_ram=100_000, max_flash=200_000)
    assert fits.module.metadata["arena_bytes"] < 100_000
    with pytest.raises(pl.PilotlightError) as caught:
        pl.compile(graph, board="mps2-an386", max_ram=10_000)
    assert "bytes" in str(caught.value)
    peak = fits.plan.peak()[0]
    assert any(word in str(caught.value) for word in (peak.name, "conv2d"))


def test_too_large_for_the_board() -> None:
    with pytest.raises(pl.PilotlightError) as caught:
        _ = pl.compile(zoo_graph("kws"), board="microbit").info
    assert caught.value.kind == "does-not-fit"
    assert "bytes" in str(caught.value)


def test_write_puts_the_files_where_the_user_says(build: pl.Build, tmp_path: Path) -> None:
    folder = build.write(tmp_path / "deep" / "net")
    assert {f.name for f in folder.iterdir()} == set(build.module.files)
    assert json.loads((folder / "metadata.json").read_text())["name"] == "net"


def test_builds_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTLIGHT_CACHE", str(tmp_path))
    made = pl.compile(pl.capture(net(), (X,), "net"))
    made.run(X)
    assert list(tmp_path.glob("work/*/net-*"))
    made.close()
    assert not list(tmp_path.glob("work/*/net-*"))


def test_session_compares_and_measures(build: pl.Build) -> None:
    session = run_session(pl.compile(build.graph, board="mps2-an386"))
    found = session.as_dict()
    assert session.match and found["match"]
    assert found["runs"] == 8
    assert {"board", "target", "max_abs_error", "macs", "macs_executed", "instructions", "cycles_estimate", "flash",
            "ram", "operators"} <= set(found)
    assert set(found["flash"]) >= {"code", "weights", "harness", "total"}
    assert set(found["ram"]) >= {"arena", "arena_lower_bound", "arena_no_overlap", "state", "static", "stack", "total"}
    assert found["macs"] == 4 * 8 + 8 * 3
    assert found["instructions"] == sum(row["instructions"] for row in found["operators"])
    json.dumps(found)


def test_session_tells_when_outputs_differ(build: pl.Build) -> None:
    """A weight that is off by a thousandth is no match."""
    wrong = pl.compile(build.graph)
    blob = str(wrong.module.files["net_weights.c"])
    numbers = blob.split("{", 1)
    wrong.module.files["net_weights.c"] = numbers[0] + "{" + numbers[1].replace("61,", "62,", 3)
    assert wrong.module.files["net_weights.c"] != blob
    assert not run_session(wrong).match


def test_samples_from_a_file(build: pl.Build, tmp_path: Path) -> None:
    ports = build.graph.inputs
    np.savez(tmp_path / "x.npz", x=np.zeros((5, 4), np.float32), label=np.arange(5))
    rows, labels = read_inputs(tmp_path / "x.npz", ports)
    assert len(rows) == 5 and rows[0][0].shape == (1, 4)
    assert labels is not None and labels.tolist() == [0, 1, 2, 3, 4]
    session = run_session(build, rows, labels=labels % 3)
    assert session.accuracy is not None
    assert session.accuracy.samples == 5
    assert session.accuracy.different == 0
    np.savez(tmp_path / "wrong.npz", x=np.zeros((5, 3), np.float32))
    with pytest.raises(pl.PilotlightError, match="expected"):
        read_inputs(tmp_path / "wrong.npz", ports)
    (tmp_path / "text.npz").write_text("no")
    with pytest.raises(pl.PilotlightError, match="cannot be read"):
        read_inputs(tmp_path / "text.npz", ports)


def test_run_is_one_call(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("import torch\nfrom torch import nn\n\ntorch.manual_seed(0)\n"
                                     "layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))\n"
                                     "net = layers, (torch.randn(1, 4),)\n")
    name = f"{tmp_path / 'net.py'}:net"
    samples = torch.randn(40, 1, 4, generator=torch.Generator().manual_seed(1))
    labels = torch.arange(40) % 3
    real = pl.run(name, samples, labels=labels)
    assert real.match and len(real.outputs) == 40 and real.compared_with == "PyTorch"
    assert real.accuracy is not None and real.accuracy.samples == 40
    assert sum(row.instructions for row in real.operators) == real.figures["instructions"] > 0
    int8 = pl.run(pl.load(name), board="host", quantize="int8", calibration=samples)
    assert int8.match and int8.compared_with == "the integer reference" and len(int8.outputs) == 16
    assert int8.snr_db is not None and int8.snr_db[0] is not None and int8.snr_db[0] > 20
    np.savez(tmp_path / "data.npz", x=samples.numpy(), label=labels.numpy())
    again = pl.run(name, board="host", quantize="int8", calibration=tmp_path / "data.npz")
    assert again.accuracy is not None and again.accuracy.samples == 40
    assert pl.run(name, board="host", quantize="weights-int8").match


def test_a_build_profiles_and_reports(build: pl.Build, tmp_path: Path) -> None:
    counted = build.profile("mps2-an386")
    assert counted.instructions == sum(row.instructions for row in counted.rows) > 0
    with pytest.raises(pl.PilotlightError, match="nothing was counted on host"):
        build.profile()
    page = build.report(tmp_path / "pages" / "net.html").read_text()
    assert page.startswith("<!doctype html>") and "net" in page
    assert "<pre" in build._repr_html_() and "weights" in build._repr_html_()
    assert "match" in build.session([X, 2 * X])._repr_html_()


def test_the_stages_one_by_one(tmp_path: Path) -> None:
    lowered = pl.lower(pl.capture(net(), (X,), "net"))
    chosen = pl.select(lowered, "mps2-an386")
    assert {node.op for node in chosen} <= {node.op for node in lowered.nodes} and len(chosen) > 0
    assert pl.make_plan(lowered, "mps2-an386").arena.size == pl.make_plan(lowered, "mps2-an386", chosen).arena.size
    plan = pl.make_plan(lowered, "mps2-an386", chosen)
    module = pl.emit_c(plan, "mps2-an386")
    assert module.metadata["arena_bytes"] == plan.arena.size
    module.write(tmp_path / "net")
    assert (tmp_path / "net" / "net.c").read_text() == pl.compile(
        pl.capture(net(), (X,), "net"), "mps2-an386").module.files["net.c"]


def test_a_pass_of_ones_own() -> None:
    seen = []

    def without_relu(graph: Graph) -> Graph:
        seen.append(len(graph.nodes))
        for node in list(graph.nodes):
            if node.op == "clamp_min":
                graph.nodes.remove(node)
                graph.replace(node.output, node.inputs[0])
        return graph

    passes = pl.default_passes()
    names = [name for name, _ in passes]
    passes.insert(names.index("optimize layout"), ("without relu", without_relu))
    changed = pl.compile(pl.capture(net(), (X,), "net"), passes=passes)
    plain = net()
    torch.testing.assert_close(changed.run(X), plain[2](plain[0](X)), rtol=1e-5, atol=1e-6)
    assert len(seen) == 1

    def broken(graph: Graph) -> Graph:
        graph.nodes.pop(0)
        return graph

    with pytest.raises(pl.PilotlightError, match="after broken: "):
        pl.compile(pl.capture(net(), (X,), "net"), passes=[("broken", broken), *passes])
