"""The integer operators: C against the numpy reference byte for byte, on the host and on every emulated core, and
the reference against the float operator between dequantize and quantize."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import pilotlight as pl
from pilotlight.fixed import rhmul
from pilotlight.graph import Graph, Quant
from pilotlight.ops.attention.int8 import make_qattention
from pilotlight.ops.conv_transpose.int8 import make_qconv_transpose2d
from pilotlight.ops.matmul.int8 import make_qmatmul
from pilotlight.ops.norm.int8 import make_qnorm
from pilotlight.ops.pointwise.div_int8 import make_qdiv
from pilotlight.ops.pointwise.int8 import make_qadd, make_qmul
from pilotlight.ops.pointwise.scale_int8 import make_qscale
from pilotlight.ops.recurrent.int8 import make_qgru, make_qlstm
from pilotlight.ops.reduce.int8 import make_qmean
from pilotlight.ops.resize.bicubic_int8 import make_qbicubic2d
from pilotlight.ops.resize.int8 import make_qresize2d
from pilotlight.ops.scan.int8 import make_qcumsum
from pilotlight.ops.softmax.int8 import inverse
from pilotlight.ops.softmax.log_int8 import make_qlog_softmax
from pilotlight.ops.spec import NodeSpec
from support import q_cases, q_more_cases
from support.c_compilers import SANITIZERS, compile_c
from support.portable_kernels import FOLDER, pointer
from support.q_cases import Case, dequantized, expected, graph_of, quantized
from support.q_checks import (
    BOARDS,
    assert_bytes,
    assert_near_float,
    cases_of,
    check_board,
    check_large,
    check_mutation_is_found,
    check_overflow_is_refused,
    check_watched,
    rows_of,
    snr,
)

MAKERS = {**q_cases.MAKERS, **q_more_cases.MAKERS}


@pytest.mark.parametrize("name", MAKERS)
def test_reference_is_near_float(name: str) -> None:
    for seed, case in enumerate(cases_of(MAKERS, name, 60)):
        assert_near_float(case, seed)


@pytest.mark.parametrize("case", [*q_cases.large(), *q_more_cases.large()], ids=lambda case: case.spec.op)
def test_large_sizes(case: Case) -> None:
    check_large(case)


@pytest.mark.parametrize("name", MAKERS)
def test_c_is_the_reference(name: str, tmp_path: Path) -> None:
    check_watched(cases_of(MAKERS, name, 24), tmp_path, more=20)


MUTATIONS = {
    "matmul": ("(uint32_t)bits >> 31", "(uint32_t)bits >> 31 & 0u"),
    "mean": ("(uint32_t)acc <<", "(uint32_t)(acc + 1) <<"),
    "softmax": ("inverse.r * 16384", "inverse.r * 16383"),
    "norm": ("inverse.r * 16384", "inverse.r * 16383"),
    "lstm": ("* (v & 255)) + 128", "* (v & 255))"),
    "gru": ("* fresh) + 32768", "* fresh)"),
    "resize": ("2048 - t", "2047 - t"),
    "attention": ("inverse.r * 16384", "inverse.r * 16383"),
    "group_norm": ("inverse.r * 16384", "inverse.r * 16383"),
    "log_softmax": ("-760608807", "-750608807"),
    "lines": ("(d < 0) ? below", "(d < 1) ? above"),
    "cumsum": ("- zero;", "- zero + 1;"),
    "div": ("? under : 1)) + s->c", "? under : 1))"),
    "bicubic": ("line = 2", "line = 0"),
    "masked_softmax": ("inverse.r * 16384", "inverse.r * 16383"),
    "biased_attention": ("pl_rhmul(b * s->up", "pl_rhmul(b + 1"),
    "cosine_similarity": ("zz += b * b", "zz += a * b"),
    "log_mel": ("28761u", "28561u"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_one_wrong_constant_is_found(name: str, tmp_path: Path) -> None:
    check_mutation_is_found(cases_of(MAKERS, name, 24), *MUTATIONS[name], tmp_path)


Batch = tuple[Graph, list[list[torch.Tensor]], list[list[torch.Tensor]]]


@cache
def batches(names: tuple[str, ...], room: int) -> list[Batch]:
    """Eight cases per operator with 63 inputs each and the outputs to expect, in models of at most `room` bytes of
    inputs and outputs and of no more of them than a board's protocol can number."""
    groups: list[list[Case]] = []
    taken = ports = 0
    for case in (case for name in names for case in cases_of(MAKERS, name, 8, seed=7)):
        alone = graph_of([case])
        both = [p.value for p in (*alone.inputs, *alone.outputs)]
        size = sum(v.elements * v.dtype.size + 16 for v in both)
        if not groups or taken + size > room or ports + len(both) > 255:
            groups.append([])
            taken = ports = 0
        groups[-1].append(case)
        taken, ports = taken + size, ports + len(both)
    made = []
    for cases in groups:
        graph, rows = graph_of(cases), rows_of(cases, seed=3, more=58)
        made.append((graph, rows, [expected(graph, row) for row in rows]))
    return made


@pytest.mark.parametrize("board", BOARDS)
def test_boards_give_the_same_bytes(board: str) -> None:
    for graph, rows, wanted in batches(tuple(q_cases.MAKERS), 9000 if board == "microbit" else 1 << 20):
        with pl.compile(graph, board=board).open(board, count=False) as running:
            for row, want in zip(rows, wanted, strict=True):
                assert_bytes(graph, want, running.flat(row))


@pytest.mark.parametrize("board", BOARDS)
def test_boards_give_the_same_bytes_in_one_boot(board: str) -> None:
    check_board(q_more_cases.MAKERS, board)


@pytest.mark.parametrize(
    ("board", "name", "old", "new"),
    [
        ("mps2-an386", "mean", "ror #8", "ror #16"),
        ("mps2-an386", "pool", "ssub8", "usub8"),
        ("mps2-an386", "add", "#8, %0, asr #16", "#8, %0, asr #15"),
        ("mps2-an386", "matmul", "smmulr", "smmul"),
        ("mps3-an547", "add", "vshrq_n_s32(v, 16)", "vrshrq_n_s32(v, 16)"),
        ("mps2-an385", "matmul", "(uint32_t)bits >> 31", "(uint32_t)bits >> 31 & 0u"),
        ("riscv32-virt", "matmul", "(uint32_t)bits >> 31", "(uint32_t)bits >> 31 & 0u"),
        ("microbit", "matmul", "+ 0x8000", "+ 0x7f00"),
    ],
)
def test_one_wrong_instruction_is_found_on_boards(board: str, name: str, old: str, new: str) -> None:
    ((graph, rows, wanted),) = batches((name,), 1 << 20)
    build = pl.compile(graph, board=board)
    text = build.module.files["net.c"]
    assert isinstance(text, str) and old in text
    build.module.files["net.c"] = text.replace(old, new)
    with build.open(board, count=False) as running, pytest.raises(AssertionError, match="y"):
        for row, want in zip(rows, wanted, strict=True):
            assert_bytes(graph, want, running.flat(row))


@pytest.mark.parametrize(("kind", "make"), [("LSTM", make_qlstm), ("GRU", make_qgru)])
def test_recurrent_layers_keep_their_signal(kind: str, make: Callable[..., NodeSpec]) -> None:
    """Forty steps of a layer of PyTorch's, with the scales its own ranges ask for."""
    torch.manual_seed(1)
    layer = getattr(torch.nn, kind)(16, 32)
    x = torch.randn(40, 3, 16).clamp(-3, 3)
    with torch.no_grad():
        real = layer(x)[0]
    sx, sy = Quant(6 / 255, 0), Quant(float(real.max() - real.min()) / 255, 0)
    weights = [p.detach().numpy() for p in layer.parameters()]
    spec = make(sx, sy, *weights[:2], np.stack(weights[2:]))
    case = Case(spec, (tuple(x.shape),), (sx,), sy, torch.clone)
    (y, *_) = expected(graph_of([case]), [quantized(x, sx)])
    assert snr(dequantized(y, sy), real) > 33.0


def test_attention_keeps_its_signal() -> None:
    """Four heads of sixteen numbers over fifty keys."""
    torch.manual_seed(2)
    q, k, v = torch.randn(3, 1, 4, 50, 16).clamp(-3, 3)
    real = F.scaled_dot_product_attention(q, k, v)
    s, sy = Quant(6 / 255, 0), Quant(float(real.abs().max()) / 127, 0)
    case = Case(make_qattention(s, s, s, sy, 16, 50, 0.25), (tuple(q.shape),) * 3, (s,) * 3, sy, torch.clone)
    (y,) = expected(graph_of([case]), [quantized(t, s) for t in (q, k, v)])
    assert snr(dequantized(y, sy), real) > 33.0


def compiled(source: str, folder: Path, *form: str) -> ctypes.CDLL:
    """A function `f` that calls a kernel, with undefined behaviour as an error where there are sanitizers."""
    library = folder / f"f{len(form)}.so"
    (folder / "f.c").write_text(source)
    watched = ["-fsanitize=undefined", "-fno-sanitize-recover"] if SANITIZERS else []
    flags = ["-O2", *watched, "-shared", "-fPIC", "-I", str(FOLDER)]
    compile_c(["gcc", *flags, *form, str(folder / "f.c"), "-o", str(library)], folder)
    return ctypes.CDLL(str(library))


def test_rounded_high_multiply_in_every_form(tmp_path: Path) -> None:
    """The long multiply and the 16-bit pieces, at the corners and in between."""
    source = '#include "rhmul.h"\nvoid f(const int32_t *a, const int32_t *b, int32_t *y, int n)' \
        "{ for (int i = 0; i < n; i++) y[i] = pl_rhmul(a[i], b[i]); }\n"
    rng = np.random.default_rng(4)
    corners = np.array([-(2**31), -(2**31) + 1, -65536, -65535, -1, 0, 1, 32767, 32768, 65535, 2**31 - 1], np.int64)
    pairs = np.concatenate([
        np.stack(np.meshgrid(corners, corners), -1).reshape(-1, 2), rng.integers(-(2**31), 2**31, (200_000, 2))
    ])
    a, b = (np.ascontiguousarray(c.astype(np.int32)) for c in pairs.T)
    y = np.empty_like(a)
    for form in ([], ["-DPL_RHMUL_PIECES"]):
        compiled(source, tmp_path, *form).f(pointer(a), pointer(b), pointer(y), len(a))
        np.testing.assert_array_equal(y, rhmul(a, b))


def test_inverse_of_a_sum_is_that_of_single_halvings(tmp_path: Path) -> None:
    """From 2^bits, the largest exponential alone, to 2^31, for lanes of up to 2^21 elements."""
    source = '#include "q_inverse.h"\nvoid f(const uint32_t *sum, int32_t bits, int32_t *y, int n)' \
        "{ for (int i = 0; i < n; i++) { pl_q_inverse_t v = pl_q_inverse(sum[i], bits);" \
        " y[2 * i] = v.r; y[2 * i + 1] = v.h; } }\n"
    library = compiled(source, tmp_path)
    rng = np.random.default_rng(5)
    for bits in range(10, 25):
        corners = [2**k + d for k in range(bits, 32) for d in (-1, 0, 1)]
        sums = np.array([t for t in corners if 2**bits <= t <= 2**31], np.uint32)
        sums = np.concatenate([sums, np.exp2(rng.uniform(bits, 31, 500)).astype(np.uint32)])
        y = np.empty((len(sums), 2), np.int32)
        library.f(pointer(sums), bits, pointer(y), len(sums))
        halved = [inverse(int(t)) for t in sums]
        assert y.tolist() == [[r, h + 15 - bits] for r, h in halved]


CUBIC = {"mode": "bicubic", "out": (4, 4), "align": False, "scale": (0.5, 0.5), "factors": None}
REFUSED: dict[str, Callable[[], NodeSpec]] = {
    "add": lambda: make_qadd(Quant(100.0, 0), Quant(1.0, 0), Quant(0.001, 0)),
    "mul": lambda: make_qmul(Quant(100.0, 0), Quant(100.0, 0), Quant(0.001, 0)),
    "mean": lambda: make_qmean(Quant(1000.0, 0), Quant(1e-6, 0), (1, 4), (1,)),
    "matmul": lambda: make_qmatmul(Quant(1.0, 0), Quant(1.0, 0), Quant(1e-7, 0), 4096),
    "norm": lambda: make_qnorm(Quant(1.0, 0), Quant(1e-9, 0), 16, 1e-5),
    "transposed": lambda: make_qconv_transpose2d(
        Quant(1.0, 0), Quant(1e-8, 0), np.full((64, 3, 3, 1), 127, np.int8), 1.0, None,
        {"kernel": (3, 3), "stride": (1, 1), "pad": (0, 0), "extra": (0, 0), "dilation": (1, 1), "groups": 1,
         "channels": 1},
    ),
    "log_softmax": lambda: make_qlog_softmax(Quant(1.0, 0), Quant(1e-7, 0), 10, 0),
    "scale": lambda: make_qscale(Quant(1e4, 0), Quant(1e-4, 0), (0, 1), np.ones(3), np.ones(3), np.ones(3)),
    "cumsum": lambda: make_qcumsum(Quant(1000.0, 0), Quant(1e-6, 0), (8,), 0),
    "div": lambda: make_qdiv(Quant(1e4, 0), Quant(1e-4, 0), Quant(1e-3, 0)),
    "bicubic": lambda: make_qbicubic2d(Quant(1000.0, 0), Quant(1e-6, 0), (1, 2, 2, 1), CUBIC),
}


@pytest.mark.parametrize("name", REFUSED)
def test_scales_beyond_32_bits_are_refused(name: str) -> None:
    check_overflow_is_refused(REFUSED[name])


def test_a_long_norm_and_a_bicubic_resize_are_refused() -> None:
    with pytest.raises(pl.PilotlightError, match="70000 numbers"):
        make_qnorm(Quant(1.0, 0), Quant(1.0, 0), 70000, 1e-5)
    with pytest.raises(pl.PilotlightError, match="bicubic"):
        make_qresize2d(Quant(1.0, 0), Quant(1.0, 0), (1, 2, 2, 1), CUBIC)
