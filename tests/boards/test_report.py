"""The HTML report: complete, self-contained, and the picture drawn to scale."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

import pilotlight as pl
from pilotlight.report.html import render_report
from pilotlight.report.memory_map import memory_map
from pilotlight.report.style import milliseconds, number, share, size
from pilotlight.session import Session, run_session
from support.command_line import NETS, call

VOID = {"meta", "rect", "line", "br"}


class Page(HTMLParser):
    """Checks that every tag is closed; collects the rows of tables and the buffers of the picture."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.boxes: list[dict[str, str | None]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID or tag == "rect":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "rect" and "box" in (dict(attrs).get("class") or ""):
            self.boxes.append(dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag == "line"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open and "tr" in self.open:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def session() -> Session:
    return run_session(pl.compile(pl.load_model(f"{NETS}:net"), board="mps2-an386"))


def test_the_page_is_whole_and_alone(session: Session) -> None:
    text = render_report(session)
    Page(text)
    assert not re.search(r"https?://|\bsrc=|\bhref=|@import|url\(", text)


def test_the_page_shows_every_operator_and_the_sum(session: Session) -> None:
    assert session.profile is not None
    rows = Page(render_report(session)).rows
    (start,) = [i for i, row in enumerate(rows) if row[1].startswith("conv2d 3x3 stride 2 + relu")]
    conv, linear, total = rows[start : start + 3]
    counts = [int(row[3].replace(",", "")) for row in (conv, linear, total)]
    assert counts[0] + counts[1] == counts[2] == session.profile.instructions
    assert "nets.py:" in conv[-1] and linear[-1].startswith("fc")


def test_the_picture_has_every_buffer_to_scale(session: Session) -> None:
    buffers = session.build.module.metadata["buffers"]
    page = Page(render_report(session))
    assert len(page.boxes) == len([b for b in buffers if b["bytes"]])
    drawn = memory_map(session.build.plan)
    per_byte = (drawn.bottom - drawn.arena.at) / session.build.plan.arena.size
    for buffer in buffers:
        (box,) = [b for b in drawn.boxes if f"\n{buffer['name']}: {buffer['bytes']:,} bytes" in b.title]
        assert box.height == pytest.approx(buffer["bytes"] * per_byte, abs=0.05)
        assert drawn.bottom - box.y - box.height == pytest.approx(buffer["offset"] * per_byte, abs=0.05)
        column = (drawn.right - drawn.left) / (len(session.build.plan.steps) + 2)
        assert box.x == pytest.approx(drawn.left + (buffer["first"] + 1) * column, abs=0.05)
        assert box.width == pytest.approx((buffer["last"] - buffer["first"] + 1) * column, abs=0.05)
    assert drawn.bound.at >= drawn.arena.at


def test_a_run_that_does_not_match_says_so(session: Session) -> None:
    truth = session.truth
    wrong = truth.compare([[y + 1 for y in row] for row in session.outputs], ["0"])
    text = render_report(replace(session, matches=wrong, profile=None, counts_reason="not counted"))
    assert '<div class="value bad">no</div>' in text and "not counted" in text


def test_names_from_the_model_are_escaped(session: Session) -> None:
    assert "&lt;b&gt;" in render_report(session, "<b>") and "<b>&" not in render_report(session, "<b>")


def test_run_writes_the_report_where_it_is_told(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "report.html"
    result = call("run", f"{NETS}:net", "--board", "host", "--report", file)
    assert result.exit_code == 0 and str(file) in result.stderr
    Page(file.read_text(encoding="utf-8"))


def test_many_steps_still_make_a_picture() -> None:
    layers = [layer for _ in range(60) for layer in (torch.nn.Linear(16, 16), torch.nn.Tanh())]
    build = pl.compile(pl.capture(torch.nn.Sequential(*layers), (torch.randn(1, 16),)))
    drawn = memory_map(build.plan)
    assert len(drawn.boxes) == 121 and 10 < len(drawn.steps) < 60
    assert all(left.at < right.at for left, right in zip(drawn.steps, drawn.steps[1:], strict=False))


def test_numbers() -> None:
    assert number(1234567) == "1,234,567" and number(None) == "-"
    assert (size(1 << 20), size(192 << 10), size(1000)) == ("1 MB", "192 KB", "1,000 bytes")
    assert share(1, 3) == "33.3%" and share(0, 0) == "-"
    assert milliseconds(1_000_000, 64_000_000) == "15.6 ms"
