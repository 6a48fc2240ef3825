"""A kernel that brings its own C and assembly: through the generated folder, the build, the host and a board."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.codegen.target import Target
from pilotlight.kernels import registry
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.pack_f32 import LinearShape
from pilotlight.kernels.portable.dense_f32 import FloatLayer

HEADER = """#ifndef OWN_H
#define OWN_H
#include <stdint.h>
typedef struct {
    int32_t n, i, o;
} own_t;
void own_linear(const own_t *s, const float *x, const float *w, const float *bias, float *y);
float own_dot(const float *a, const float *b, int32_t count);
#endif
"""
SOURCE = """#include "own.h"
void own_linear(const own_t *s, const float *x, const float *w, const float *bias, float *y)
{
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t o = 0; o < s->o; o++) {
            y[n * s->o + o] = own_dot(x + n * s->i, w + o * s->i, s->i) + bias[o];
        }
    }
}
"""
DOT = """#include "own.h"
float own_dot(const float *a, const float *b, int32_t count)
{
    float sum = 0.0f;
    for (int32_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}
"""
ASSEMBLY = """    .syntax unified
    .thumb
    .fpu fpv4-sp-d16
    .section .text.own_dot, "ax"
    .global own_dot
    .type own_dot, %function
own_dot:
    push {r4, lr}
    vsub.f32 s0, s0, s0
1:  vldmia r0!, {s1}
    vldmia r1!, {s2}
    vmla.f32 s0, s1, s2
    subs r2, r2, #1
    bne 1b
    pop {r4, pc}
    .size own_dot, . - own_dot
"""


def own(layer: FloatLayer, target: Target) -> Iterator[Candidate]:
    s = layer.shape
    if not isinstance(s, LinearShape):
        return
    dot = {"own_dot.S": ASSEMBLY} if target.float_assembly else {"own_dot.c": DOT}
    yield Candidate(
        name="own.linear", headers=(), driver="own_linear", ctype="own_t",
        table=lambda backward: {"n": s.n, "i": s.i, "o": s.o},
        pack=lambda: (np.asarray(layer.w, np.float32), np.asarray(layer.bias, np.float32)),
        instructions=1, files={"own.h": HEADER, "own.c": SOURCE, **dot},
        stack={"own_dot": 8} if target.float_assembly else {},
    )


@pytest.fixture
def offered() -> Iterator[None]:
    """Chosen by its estimate."""
    registry.offers(FloatLayer)(own)
    yield
    registry.withdraw(own)


class Net(nn.Module):
    """Two linear layers of the kernel, between them one that stays ours; rows that are not contiguous."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.conv, self.last = nn.Linear(6, 10), nn.Conv1d(3, 3, 3, padding=1), nn.Linear(10, 4, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.tanh(self.first(x.transpose(1, 2)))
        return self.last(self.conv(y))


@pytest.mark.parametrize("board", ["host", "mps2-an386"])
def test_a_kernel_with_files_of_its_own(board: str, offered: None, tmp_path: Path) -> None:
    torch.manual_seed(1)
    net, x = Net().eval(), torch.randn(1, 6, 3)
    build = pl.compile(pl.capture(net, (x,), "net"), board=board)
    chosen = {choice.candidate.name for choice in build.selection.values()}
    assert chosen == {"own.linear", "portable.conv2d" if board == "host" else "fpu.conv2d"}
    build.write(tmp_path)
    part = "own_dot.c" if board == "host" else "own_dot.S"
    assert {"own.h", "own.c", part} <= {file.name for file in tmp_path.iterdir()}
    assert set(build.module.metadata["sources"]) >= {"own.c", part, "net.c"}
    assert "own.c" in (tmp_path / "net.pilotlight.cmake").read_text()
    assert '#include "own.h"' in (tmp_path / "net.c").read_text()
    with build.open() as running, torch.no_grad():
        for scale in (1.0, -3.0):
            torch.testing.assert_close(running(scale * x), net(scale * x), rtol=1e-5, atol=1e-5)
    if board != "host":
        assert build.info.stack is not None and build.info.stack > 0  # the assembly's stack is counted


def test_files_that_clash_are_refused(offered: None) -> None:
    graph = pl.capture(nn.Linear(3, 2).eval(), (torch.zeros(1, 3),), "net")
    registry.withdraw(own)

    @registry.offers(FloatLayer)
    def other(layer: FloatLayer, target: Target) -> Iterator[Candidate]:
        for candidate in own(layer, target):
            yield replace(candidate, files={"net.c": "int x;"})

    try:
        with pytest.raises(pl.PilotlightError, match=r"a kernel brings a file called net\.c"):
            pl.compile(graph)
    finally:
        registry.withdraw(other)
