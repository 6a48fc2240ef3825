"""`pilotlight report`: runs from files, one shown and two compared, and files that are not runs."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from pilotlight.report.html import render_versus
from pilotlight.report.versus import versus
from support.command_line import call, call_error, call_json
from support.report_page import Page
from support.report_runs import run


def write(folder: Path, name: str, data: Any) -> Path:
    file = folder / name
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    return file


def test_two_runs_are_compared_figure_by_figure(tmp_path: Path) -> None:
    a, b = run(), run(instructions=400, kind="int8")
    b["flash"]["code"] = 2500
    found = call_json("report", write(tmp_path, "a.json", a), write(tmp_path, "b.json", b))
    figures = {row["name"]: row for row in found["figures"]}
    assert figures["instructions"]["change"] == b["instructions"] - a["instructions"] < 0
    assert figures["flash: code"] == {"name": "flash: code", "a": 2000, "b": 2500, "change": 500}
    assert found["settings"] == [{"name": "quantize", "a": "-", "b": "int8"}] and found["unit"] == "instructions"
    assert len(found["operators"]) == len(a["operators"])
    assert all(row["change"] in (-600, 0) for row in found["operators"])
    table = call("report", tmp_path / "a.json", tmp_path / "b.json").stdout
    assert "+500" in table and "-60.0%" in table and "conv2d 3x3 " in table and "float32 → int8" in table


def test_operators_of_one_run_alone_are_named(tmp_path: Path) -> None:
    a, b = run(3), run(3)
    dropped = b["network"]["steps"][4]
    a["network"]["steps"][4]["module"] = "block.other"
    found = versus(("a.json", "b.json"), a, b)
    alone = [(pair.only, pair.module) for pair in found.pairs if pair.only]
    assert alone == [("only in b", dropped["module"]), ("only in a", "block.other")]
    rows = Page(render_versus(found)).rows
    assert sum("only in a" in cell for row in rows for cell in row) == 1
    assert sum(row[0] == "add" for row in rows) == 3


def test_a_module_that_does_it_otherwise_is_still_that_module() -> None:
    a, b = run(3), run(3)
    b["network"]["steps"][4] |= {"what": "matmul", "group": "matmul"}
    found = versus(("a.json", "b.json"), a, b)
    (pair,) = [pair for pair in found.pairs if pair.b and pair.b["group"] == "matmul"]
    assert pair.what == "conv2d 1x1 + relu → matmul" and not any(pair.only for pair in found.pairs)


def test_runs_that_were_not_counted_are_compared_by_macs() -> None:
    a, b = run(), run()
    b |= {"operators": None, "instructions": None, "cycles_estimate": None}
    found = versus(("a", "b"), a, b)
    assert found.unit == "macs" and all(pair.cost.change == 0 for pair in found.pairs)
    (count,) = [figure for figure in found.figures if figure.name == "instructions"]
    assert count.b is None and count.change is None and count.change_text == ""


def test_the_comparison_is_a_page_that_is_alone(tmp_path: Path) -> None:
    files = [write(tmp_path, f"{k}.json", run(instructions=100 * k)) for k in (1, 2)]
    assert call("report", *files, "-o", tmp_path / "deep" / "page.html").exit_code == 0
    text = (tmp_path / "deep" / "page.html").read_text(encoding="utf-8")
    assert "http" not in text and "<script" not in text and "+100.0%" in text
    assert len([row for row in Page(text).rows if row[-1].startswith("block.")]) == 60


def broken() -> dict[str, tuple[Any, str]]:
    old, part, wrong = run(1), run(1), run(1)
    old["format"] = 2
    del part["network"]
    wrong["network"] = copy.deepcopy(wrong["network"])
    del wrong["network"]["steps"][0]["macs"]
    error = {"error": {"kind": "usage", "message": "there is no such board", "where": None, "hint": None}}
    return {
        "text": ("not this", "is not JSON"), "empty": ("", "is not JSON"), "list": ([1], "not what `pilotlight run"),
        "other": ({"name": "x"}, "not what `pilotlight run"), "format": (old, "has format 2; expected 1"),
        "before": ({"operators": []}, "has format none; expected 1"), "part": (part, "network is missing"),
        "error": (error, "holds an error, not a run: there is no such board"), "inside": (wrong, "KeyError: 'macs'"),
    }


@pytest.mark.parametrize("case", broken())
def test_a_file_that_is_no_run_gets_a_sentence(case: str, tmp_path: Path) -> None:
    data, words = broken()[case]
    bad, good = write(tmp_path, "bad.json", data), write(tmp_path, "good.json", run(1))
    for files in ((bad,), (bad, good), (good, bad)):
        error = call_error("report", *files)
        assert words in error["message"] and error["message"].startswith(str(bad)) and error["kind"] == "broken-file"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert call_error("report", tmp_path / "none.json")["kind"] == "no-file"
    file = write(tmp_path, "run.json", run(1))
    assert "-o" in call_error("report", file, "-o", file / "page.html")["hint"]
