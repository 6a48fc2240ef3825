"""The HTML report: complete, self-contained, and the picture drawn to scale."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch

import pilotlight as pl
from pilotlight import compiler, device, toolchain
from pilotlight.figures.inspection import inspect_build
from pilotlight.figures.network import network
from pilotlight.report.html import render_report
from pilotlight.report.memory_map import memory_map
from pilotlight.report.style import duration, number, share, size
from pilotlight.session import Session, run_session
from pilotlight.toolchain.find import find
from support.command_line import NETS, call, call_json
from support.report_page import Page


@pytest.fixture(scope="module")
def session() -> Session:
    return run_session(pl.compile(pl.load(f"{NETS}:net"), board="mps2-an386"))


def test_figures_and_reports_compile_and_boot_nothing(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("what was built and measured is enough")

    monkeypatch.setattr(toolchain, "build_model", refuse)
    monkeypatch.setattr(device, "open", refuse)
    monkeypatch.setattr(compiler, "emit_module", refuse)
    unbuilt = replace(session.build)  # has no image of its own
    assert render_report(replace(session, build=unbuilt).as_dict()) == render_report(session.as_dict())
    assert inspect_build(unbuilt, session.info)["flash"] == session.figures["flash"]


def test_the_page_is_whole_and_alone(session: Session) -> None:
    text = render_report(session.as_dict())
    Page(text)
    assert not re.search(r"https?:|\bsrc=|\bhref=|@import|url\(|\bfetch\(|\bimport\(", text)


def test_the_page_shows_every_operator_and_the_sum(session: Session) -> None:
    assert session.profile is not None
    rows = Page(render_report(session.as_dict())).rows
    (start,) = [i for i, row in enumerate(rows) if row[1].startswith("conv2d 3x3 stride 2 + relu")]
    conv, linear, total = rows[start : start + 3]
    counts = [int(row[4].replace(",", "")) for row in (conv, linear, total)]
    assert counts[0] + counts[1] == counts[2] == session.profile.instructions
    assert conv[2] == "float32" and "nets.py:" in conv[-1] and linear[-1].startswith("fc")


def test_the_page_tells_inputs_outputs_and_how_it_was_made(session: Session) -> None:
    text = render_report(session.as_dict())
    rows = Page(text).rows
    (given,), (result,) = ([row for row in rows if row[0] == side] for side in ("input", "output"))
    port = session.build.graph.inputs[0]
    assert given[1] == port.name and given[2] == " × ".join(map(str, port.shape)) and given[4] == "float32"
    assert result[8] == "yes"
    made = session.as_dict()["made"]
    assert set(made["versions"]) == {"pilotlight", "torch", "Python", "compiler", "emulator"}
    for version in made["versions"].values():
        assert version in text
    emulator = "qemu" if shutil.which("qemu-system-arm") else "unicorn"
    assert find(session.build.board).kind in made["versions"]["compiler"] and emulator in made["versions"]["emulator"]
    assert made["date"][:10] in text and "from Python" in text and "<dt>optimize</dt><dd>speed</dd>" in text


def test_the_script_has_every_step_and_what_it_reads(session: Session) -> None:
    """Every buffer that is read is written by a step, an input or a state."""
    page = Page(render_report(session.as_dict()))
    rows = page.data["rows"]
    assert [row["index"] for row in rows] == list(range(len(session.build.plan.steps)))
    written = {value["buffer"] for row in rows for value in row["writes"]}
    written |= {port["buffer"] for port in page.data["inputs"]} | {state["buffer"] for state in page.data["states"]}
    assert {name for row in rows for name in row["reads"]} <= written
    assert {port["buffer"] for port in page.data["outputs"]} <= written
    assert {row["group"] for row in rows} <= set(page.data["colours"])
    assert {box["data-buffer"] for box in page.boxes} <= written | {row["scratch"] for row in rows}


def test_the_picture_has_every_buffer_to_scale(session: Session) -> None:
    buffers = session.build.module.metadata["buffers"]
    run = session.as_dict()
    page = Page(render_report(run))
    assert len(page.boxes) == len([b for b in buffers if b["bytes"]])
    drawn = memory_map(run["network"])
    for buffer in buffers:
        (box,) = [b for b in drawn.boxes if b.name == buffer["name"]]
        assert f"\n{buffer['name']}: {buffer['bytes']:,} bytes" in box.title
        assert box.height == pytest.approx(buffer["bytes"] * drawn.per_byte, abs=0.05)
        assert drawn.bottom - box.y - box.height == pytest.approx(buffer["offset"] * drawn.per_byte, abs=0.05)
        assert box.x == pytest.approx(drawn.left + (buffer["first"] + 1) * drawn.column, abs=0.05)
        assert box.width == pytest.approx((buffer["last"] - buffer["first"] + 1) * drawn.column, abs=0.05)
    assert drawn.bound.at >= drawn.arena.at


def test_a_run_that_does_not_match_says_so(session: Session) -> None:
    truth = session.truth
    wrong = truth.compare([[y + 1 for y in row] for row in session.outputs], ["0"])
    text = render_report(replace(session, matches=wrong, profile=None, counts_reason="not counted").as_dict())
    assert '<div class="value bad">no</div>' in text and "not counted" in text


def test_names_from_the_model_are_escaped(session: Session) -> None:
    run = session.as_dict()
    run["network"]["steps"][0] |= {"what": "</script><u>", "module": "<u>"}
    text = render_report(run, "<u>")
    assert "&lt;u&gt;" in text and "<u>" not in text
    assert text.count("</script>") == 2 and Page(text).data["rows"][0]["what"] == "</script><u>"


def test_run_writes_the_report_where_it_is_told(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "report.html"
    result = call("run", f"{NETS}:net", "--board", "host", "--report", file)
    assert result.exit_code == 0 and str(file) in result.stderr
    Page(file.read_text(encoding="utf-8"))


def test_a_run_is_kept_and_shown_again(tmp_path: Path) -> None:
    """What `run --json` prints is all that the page needs."""
    result = call("run", f"{NETS}:net", "--board", "host", "--json")
    file, page = tmp_path / "run.json", tmp_path / "page.html"
    file.write_text(result.stdout)
    shown = call("report", file, "-o", page)
    assert shown.exit_code == 0 and "match" in shown.stdout and str(page) in shown.stderr
    text = page.read_text(encoding="utf-8")
    Page(text)
    assert f"pilotlight run {NETS}:net --board host --json" in text and "conv2d 3x3 stride 2 + relu" in text
    assert call_json("report", file) == json.loads(result.stdout)


def test_many_steps_still_make_a_picture() -> None:
    layers = [layer for _ in range(60) for layer in (torch.nn.Linear(16, 16), torch.nn.Tanh())]
    build = pl.compile(pl.capture(torch.nn.Sequential(*layers), (torch.randn(1, 16),)))
    drawn = memory_map(network(build.plan, build.module.metadata))
    shown = [tick for tick in drawn.steps if not tick.hidden]
    assert len(drawn.boxes) == 121 and 10 < len(shown) < 60 and len(drawn.steps) == 122
    assert all(left.at < right.at for left, right in pairwise(shown))


def test_numbers() -> None:
    assert number(1234567) == "1,234,567" and number(None) == "-"
    assert (size(1 << 20), size(192 << 10), size(1000)) == ("1 MB", "192 KB", "1,000 bytes")
    assert share(1, 3) == "33.3%" and share(0, 0) == "-"
    assert [duration(cycles, 64_000_000) for cycles in (1_000_000, 639_800, 64_000, 63_999, 3_000, 400, 1)] == [
        "15.6 ms", "10.0 ms", "1.00 ms", "1.00 ms", "46.9 µs", "6.25 µs", "0.02 µs",
    ]
