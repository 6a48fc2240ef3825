"""Every command on a model with several entry points, and on one whose length is given at run time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from support.command_line import call, call_error, call_json
from support.paths import FIXTURES

FILE = FIXTURES / "cli" / "entries.py"
MODEL = f"{FILE}:memory"


def test_run_compares_every_entry_point() -> None:
    found = call_json("run", MODEL, "--board", "mps2-an386")
    assert found["match"] and found["name"] == "m_memory" and list(found["entries"]) == ["feed", "ask"]
    feed, ask = found["entries"]["feed"], found["entries"]["ask"]
    assert feed["runs"] + ask["runs"] == 8 and feed["instructions"] > ask["instructions"] > 0
    assert [port["name"] for port in feed["network"]["inputs"]] == ["rows", "rows_size_0"]
    assert feed["network"]["inputs"][1]["is_size"]
    assert feed["ram"]["arena"] == ask["ram"]["arena"] >= feed["ram"]["arena_lower_bound"]
    assert all(row["source"].startswith("entries.py:") for row in feed["operators"] if row["source"])


def test_profile_inspect_and_compile(tmp_path: Path) -> None:
    profile = call_json("profile", MODEL)["entries"]
    for entry in profile.values():
        assert entry["instructions"] == sum(row["instructions"] for row in entry["operators"])
    found = call_json("inspect", MODEL, "--board", "nucleo-wb55rg", "--candidates", "--dump")["entries"]
    assert all(entry["fits"] and entry["layers"] is not None and "graph" in entry for entry in found.values())
    done = call_json("compile", MODEL, "--board", "nucleo-wb55rg", "-o", tmp_path, "--name", "recall")
    assert {row["file"] for row in done["files"]} == {p.name for p in tmp_path.iterdir()}
    header = (tmp_path / "recall.h").read_text()
    for name in ("recall_feed_run(const recall_t", "recall_ask_run(const recall_t", "*recall_feed_input_rows_size_0("):
        assert name in header
    meta = json.loads((tmp_path / "metadata.json").read_text())
    assert [(row["name"], row["function"]) for row in meta["entries"]] == [
        ("feed", "recall_feed_run"), ("ask", "recall_ask_run")]


def test_people_read_a_table_for_each() -> None:
    for command in ("run", "inspect"):
        text = call(command, MODEL, "--board", "host").output
        assert "m_memory_feed on host" in text and "m_memory_ask on host" in text


def test_a_length_of_a_plain_model(tmp_path: Path) -> None:
    samples = tmp_path / "some.npz"
    np.savez(samples, x=np.ones((3, 2, 3), np.float32))
    found = call_json("run", f"{FILE}:rows", "--inputs", samples, "--board", "host")
    assert found["match"] and found["runs"] == 3
    assert call_json("run", f"{FILE}:rows", "--board", "host")["match"]
    np.savez(samples, x=np.ones((3, 6, 3), np.float32))
    error = call_error("run", f"{FILE}:rows", "--inputs", samples, "--board", "host")
    assert "has 6 along dimension 0; expected 1 to 5" in error["message"]


@pytest.mark.parametrize(("args", "text"), [
    (("run", MODEL, "--quantize", "auto", "--calibrate", "x.npz"), "quantizing them is not supported"),
    (("run", MODEL, "--quantize", "weights-int8"), "quantizing them is not supported"),
    (("compare", MODEL, "--quantize", "int8", "--calibrate", "x.npz"), "quantizing them is not supported"),
    (("run", MODEL, "--inputs", "x.npz"), "--inputs is not supported for m_memory, which has the entry points"),
    (("run", MODEL, "--report", "x.html"), "--report is not supported for m_memory"),
    (("inspect", MODEL, "--input", "1x3"), "several entry points with inputs of their own"),
    (("inspect", f"{FILE}:wrong"), "'feed' and 'ask' of"),
    (("inspect", f"{FILE}:rows", "--quantize", "weights-int8"), "quantizing it is not supported"),
    (("profile", MODEL, "--board", "host"), "instructions are counted on emulated boards"),
    (("inspect", MODEL, "--max-ram", "100"), "more than the 100 that --max-ram 100 allows"),
])
def test_what_cannot_be_done_is_said(args: tuple[str, ...], text: str) -> None:
    assert text in call_error(*args)["message"]


def test_a_page_shows_one_entry_point(tmp_path: Path) -> None:
    saved = tmp_path / "run.json"
    found = call_json("run", MODEL, "--board", "host")
    saved.write_text(json.dumps(found))
    assert "is a run of the entry points feed, ask" in call_error("report", saved)["message"]
    saved.write_text(json.dumps(found["entries"]["ask"]))
    assert call("report", saved, "-o", tmp_path / "page.html").exit_code == 0
    assert "m_memory_ask" in (tmp_path / "page.html").read_text()
