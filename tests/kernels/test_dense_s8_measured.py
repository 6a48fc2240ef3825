"""Kernels that only measurements choose, each on several shapes: the C twins on the host, apart and at the distance,
and the assembly on boards, byte for byte."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pilotlight.codegen.target import Target
from pilotlight.kernels.assembly.instructions import Core, Function, Quad
from pilotlight.kernels.blocks import assembly, dispatch
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.dsp.blocks.order import mixed
from pilotlight.kernels.layers import Int8Layer
from pilotlight.kernels.mve.order import scheduled
from pilotlight.kernels.pack_f32 import Conv2dShape, LinearShape
from pilotlight.kernels.registry import candidates
from support import dense_s8_board as board
from support import dense_s8_cases as dense
from support import dense_s8_tflm as tflm
from support.c_compilers import compile_c, defined_symbols
from support.families import DSP, HELIUM, Registered

ROWS = [LinearShape(1, i, o).as_conv2d() for i, o in ((4, 6), (20, 17), (64, 8), (132, 31), (256, 22))]
WHOLE_ROWS = [LinearShape(1, i, o).as_conv2d() for i, o in ((16, 8), (48, 24), (352, 16), (368, 8))]
CONVOLUTIONS = [
    Conv2dShape(1, 2, 5, 8, 2, 5, 4, 1, 1),
    Conv2dShape(1, 3, 7, 24, 3, 7, 13, 1, 1),
    Conv2dShape(1, 5, 9, 3, 5, 9, 6, 3, 3, top=1, left=1),
    Conv2dShape(1, 7, 8, 24, 4, 4, 7, 3, 3, 2, 2, 1, 1),  # more steps than are written out
    Conv2dShape(2, 3, 6, 20, 3, 6, 18, 2, 3, 1, 1, 1, 1, groups=2),
    Conv2dShape(1, 2, 4, 368, 2, 4, 5, 1, 1),
]
POINTS = [
    Conv2dShape(1, h, w, ic, -(-h // s), -(-w // s), oc, 1, 1, s, s)
    for h, w, ic, oc, s in ((2, 5, 8, 4, 1), (3, 3, 13, 7, 1), (1, 6, 70, 5, 1), (5, 9, 20, 14, 2), (1, 2, 3, 12, 1))
]
SQUARES = [
    Conv2dShape(1, h, w, ic, h, w, oc, 3, 3, top=1, left=1)
    for h, w, ic, oc in ((4, 8, 8, 4), (5, 6, 20, 7), (3, 5, 32, 8))
]
THREES = [
    Conv2dShape(1, h, w, c, (h - 1) // s + 1, (w - 1) // s + 1, c, 3, 3, s, s, 1, 1, groups=c)
    for h, w, c, s in ((5, 5, 8, 1), (4, 12, 6, 1), (5, 7, 12, 2), (3, 8, 5, 1))
]
DEPTHWISE = [
    Conv2dShape(1, 4, 6, c, 4, 6, c, kh, kw, top=1, left=1, groups=c)
    for c, kh, kw in ((16, 3, 3), (40, 3, 3), (37, 3, 2), (31, 1, 3), (64, 2, 2))
]


@dataclass(frozen=True)
class Form:
    """The kernels of a core whose names have these parts."""

    core: Registered
    parts: tuple[str, ...]
    shapes: tuple[Conv2dShape, ...]


Case = tuple[Int8Layer, np.ndarray, Candidate]


@dataclass(frozen=True)
class Chosen:
    """The kernel of each of some layers."""

    every: list[Case]

    def plan(self, layer: Int8Layer) -> Candidate:
        return next(kernel for known, _, kernel in self.every if known is layer)


@cache
def cases(form: Form) -> list[Case]:
    """Layers rounded once and twice, as far as there is such a kernel for them: one of several."""
    drawn = [(dense.random_layer, n + k) for n in range(len(form.shapes)) for k in (0, 1)]
    drawn += [(tflm.tflm_layer, n) for n in range(len(form.shapes))]
    found = []
    for number, (draw, seed) in enumerate(drawn):
        layer, x = draw(seed, form.shapes[number // 2 if draw is dense.random_layer else seed])
        offered = candidates(layer, Target(form.core.isa, measured=True))
        kernels = [kernel for kernel in offered if set(form.parts) <= set(kernel.name.split("."))]
        found += [(layer, x, kernels[number % len(kernels)])] if kernels else []
    return found


FORMS = [
    *(Form(DSP, ("row", order, filters), tuple(ROWS)) for order in ("chain", "mixed") for filters in ("f6", "f8")),
    *(Form(DSP, ("quad", order), tuple(CONVOLUTIONS)) for order in ("chain", "mixed")),
    *(Form(DSP, ("point", *order), tuple(POINTS)) for order in ((), ("mixed",))),
    *(Form(DSP, (form, "mixed"), tuple(SQUARES)) for form in ("winograd", "unfold")),
    *(Form(DSP, ("depthwise", "pairs", rows), tuple(THREES)) for rows in ("r1", "r2")),
    Form(HELIUM, ("row", "ahead"), tuple(WHOLE_ROWS)),
    Form(HELIUM, ("conv", "ahead"), tuple(CONVOLUTIONS)),
    Form(HELIUM, ("depthwise", "passes"), tuple(DEPTHWISE)),
]


@pytest.mark.parametrize("core", [DSP, HELIUM], ids=["dsp", "mve"])
def test_twins_equal_the_reference(core: Registered, tmp_path: Path) -> None:
    """Forward and backward, apart and as near as each kernel allows."""
    forms = [form for form in FORMS if form.core is core]
    assert all(len({layer.shape for layer, *_ in cases(form)}) >= 3 for form in forms)
    every = [(f"case_{i}", *case) for i, case in enumerate(case for form in forms for case in cases(form))]
    text = dispatch({name for *_, kernel in every for name in kernel.micro}, "test")
    for reverse in (False, True):
        some = [case for case in every if not reverse or case[3].reverse is not None]
        source = dense.source([(name, kernel) for name, _, _, kernel in some], text, reverse)
        (tmp_path / str(reverse)).mkdir()
        library = ctypes.CDLL(str(dense.build(tmp_path / str(reverse), source, "-O0")))
        for name, layer, x, kernel in some:
            for distance in {kernel.reverse} if reverse else {None, kernel.distance}:
                got = dense.run(library, name, kernel, layer, x, distance)
                assert np.array_equal(got, dense.reference(layer, x)), (kernel.name, layer.shape, distance)


@pytest.mark.parametrize(("core", "machine"), [(DSP, board.M4), (HELIUM, board.M55)], ids=["dsp", "mve"])
def test_assembly_equals_the_reference_on_the_board(core: Registered, machine: board.Machine, tmp_path: Path) -> None:
    every = [case for form in FORMS if form.core is core for case in cases(form)]
    for part, planned in enumerate(board.fill(Chosen(every), [case[:2] for case in every], machine)):
        (tmp_path / str(part)).mkdir()
        failed = board.boot(machine, board.build(tmp_path / str(part), machine, planned))
        assert failed == 0, planned[failed - 1][2:] if failed <= len(planned) else "fault"


def test_blocks_of_long_rows_assemble(tmp_path: Path) -> None:
    """Also where an instruction cannot go back over all inputs."""
    for inputs in (4080, 4112):
        layer, _ = dense.random_layer(2, LinearShape(1, inputs, 8).as_conv2d())
        names = {name for kernel in candidates(layer, Target(HELIUM.isa, measured=True)) for name in kernel.micro}
        text, stack = assembly(names, "net")
        (tmp_path / "net.S").write_text(text)
        compile_c([*board.M55.compiler, "-c", str(tmp_path / "net.S"), "-o", str(tmp_path / "net.o")], tmp_path)
        assert defined_symbols(tmp_path / "net.o") == set(stack)


def test_what_depends_on_another_instruction_stays_behind_it() -> None:
    f = Function("")
    f.lines("ldr r2, [r0], #4\nsmlad r4, r2, r3, r4\nldr r2, [r0], #8\nsxtb16 r3, r3\nsmlad r5, r2, r3, r5")
    order = [f.body.index(instruction) for instruction in mixed(f.body)]
    assert sorted(order) == list(range(5))
    assert order.index(0) < order.index(1) < order.index(2) < order.index(4)
    assert order.index(1) < order.index(3) < order.index(4)


def test_vectors_that_are_independent_overlap() -> None:
    f = Function("")
    f.lines("vldrb.8 q0, [r0]\nvldrb.8 q1, [r1]\nvmullb.s8 q0, q0, q1\nvadd.i16 q2, q2, q0\nvldrb.8 q3, [r2], #16")
    order = scheduled(f.body)
    assert [i.operands[0] for i in order] == [Quad(0), Quad(1), Quad(0), Quad(3), Quad(2)]
    f.lines("vstrb.8 q2, [r2]\nvqmovnb.s16 q3, q2\nadd r2, r2, r3")
    places = [f.body.index(i) for i in scheduled(f.body)]
    assert places.index(4) < places.index(5) < places.index(7) and places.index(3) < places.index(6)
    assert f.body[7].operands[0] == Core(2)
