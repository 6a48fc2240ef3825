"""What is generated for models, and the device server, keep MISRA C:2012 but for the deviation record."""

from __future__ import annotations

from pathlib import Path

import pytest

import pilotlight as pl
from misra.checker import CheckedProgram, Finding, check, check_all
from misra.programs import BOARDS, MODELS, graph_of, model_program, server_program, streamed_graph
from misra.record import MENDED, Deviation, outside, read_record, unused

CORE = "cortex-m4"
SEEDED = """\
#include <stdint.h>

int32_t seeded(int32_t a, int32_t b);

int32_t seeded(int32_t a, int32_t b)
{
    int32_t c = a, d = b;
    if (c)
        a = c * 2 + d;
    return a >> 1;
}
"""


def models(folder: Path) -> list[CheckedProgram]:
    """Each in int8; what is float in them is the same in all but the last."""
    chosen = [*((name, "int8") for name in MODELS), ("kws", "float"), ("ad", "float"), ("kws", "tflm")]
    graphs = {f"{name} {mode}": graph_of(name, mode) for name, mode in chosen} | {"stream": streamed_graph()}
    return [
        model_program(pl.compile(graph, board=BOARDS[CORE]), title, CORE, folder) for title, graph in graphs.items()
    ]


def test_models_and_the_server_keep_the_rules(tmp_path: Path) -> None:
    found = check_all([*models(tmp_path), server_program(tmp_path)])
    record = read_record()
    left = [str(finding) for findings in found.values() for finding in outside(findings, record)]
    assert not left, "\n".join(left)
    assert all(found.values()), "a program without any finding was not looked at"


def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    (tmp_path / "seeded.c").write_text(SEEDED, encoding="utf-8")
    rest = outside(check(CheckedProgram("seeded", CORE, (tmp_path / "seeded.c",))), read_record())
    assert {finding.rule for finding in rest} >= {"10.1", "12.1", "12.3", "14.4", "15.6", "17.8"}


def test_a_program_that_is_not_c_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "broken.c").write_text("int f(void) { return ((1; }\n", encoding="utf-8")
    assert [finding.rule for finding in check(CheckedProgram("broken", CORE, (tmp_path / "broken.c",)))] == [
        "syntaxError"
    ]


def test_the_record_is_short_and_has_reasons() -> None:
    record = read_record()
    assert 0 < len(record) <= 20
    for deviation in record:
        assert len(deviation.reason) > 20 and not MENDED.fullmatch(deviation.rule), deviation


@pytest.mark.parametrize("text", ["return x + 1;", "y = z;"])
def test_rows_that_nothing_needs_are_named(text: str) -> None:
    row = Deviation("18.4", r"\+", "strides")
    findings = [Finding("18.4", "a.c", 1, 1, text)]
    assert (unused(findings, [row]) == [row]) == ("+" not in text)
    assert (outside(findings, [row]) == findings) == ("+" not in text)
