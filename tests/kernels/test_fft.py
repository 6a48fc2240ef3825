"""Fourier transforms: kernels of any length against float64, and models with complex tensors against PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.capture import capture
from pilotlight.codegen.target import Target
from pilotlight.compiler import compile as compile_graph
from pilotlight.errors import PilotlightError
from pilotlight.graph import FLOAT32, Graph, Port, Value
from pilotlight.graph.builder import Builder
from pilotlight.graph.ports import as_floats
from pilotlight.kernels.portable.fft_f32 import radices_of
from pilotlight.measure.compare import Truth
from pilotlight.passes.pipeline import optimize
from support.c_compilers import SANITIZERS

LENGTHS = (1, 2, 3, 4, 6, 7, 8, 15, 22, 30, 32, 49, 64, 100, 121, 256, 400)


class Kernels:
    """A graph of transforms without a model: what each gives, and what float64 gives."""

    def __init__(self) -> None:
        self.graph = Graph("transforms")
        self.build = Builder(self.graph)
        self.inputs: list[torch.Tensor] = []
        self.truth: list[tuple[torch.Tensor, torch.Tensor]] = []  # with the sums of absolute products

    def input(self, tensor: torch.Tensor) -> Value:
        value = self.graph.fresh("x", FLOAT32, tensor.shape)
        self.graph.inputs.append(Port(value.name, value, value.shape))
        self.inputs.append(tensor)
        return value

    def output(self, value: Value, truth: torch.Tensor, sums: torch.Tensor) -> None:
        self.graph.outputs.append(Port(str(len(self.graph.outputs)), value, value.shape))
        self.truth.append((as_floats(truth), sums))

    def add(self, n: int) -> None:
        """Every transform of n points, of rows of two dimensions."""
        points, bins = torch.randn(2, 3, n, 2), torch.randn(2, 3, n // 2 + 1, 2)
        real, wide = torch.randn(2, 3, n), torch.view_as_complex(points.double())
        for inverse in (False, True):
            y = self.build.node("fft", [self.input(points)], inverse=inverse, scale=0.5)
            truth = torch.fft.ifft(wide, norm="forward") if inverse else torch.fft.fft(wide)
            self.output(y, truth * 0.5, 0.5 * points.double().abs().sum((-1, -2)))
        window = torch.rand(n)
        for full in (False, True):
            x = self.input(real)
            weights = [self.build.constant(window)] if full else []
            y = self.build.node("rfft", [x, *weights], full=full, scale=2.0)
            exact = real.double() * (window.double() if full else 1.0)
            truth = torch.fft.fft(exact) if full else torch.fft.rfft(exact)
            self.output(y, truth * 2.0, 2.0 * exact.abs().sum(-1))
        y = self.build.node("irfft", [self.input(bins)], n=n, scale=1.0 / n)
        truth = torch.fft.irfft(torch.view_as_complex(bins.double()), n)
        self.output(y, truth, 2.0 * bins.double().abs().sum((-1, -2)) / n)


def test_every_length_is_as_near_to_float64_as_sums_are() -> None:
    torch.manual_seed(1)
    kernels = Kernels()
    for n in LENGTHS:
        kernels.add(n)
    outputs = compile_graph(kernels.graph, board="host").run(*kernels.inputs, on="host", sanitize=SANITIZERS)
    assert len(outputs) == len(kernels.truth)
    for number, (y, (truth, sums)) in enumerate(zip(outputs, kernels.truth, strict=True)):
        n = LENGTHS[number // 5]
        allowed = (8 + 2 * math.sqrt(n)) * 2.0**-24 * sums.reshape(*sums.shape, *[1] * (truth.dim() - sums.dim()))
        assert y.shape == truth.shape and bool(((y - truth).abs() <= allowed).all()), f"transform {number} of {n}"


@pytest.mark.parametrize(("points", "radices"), [(1, []), (2, [2]), (512, [4, 4, 4, 4, 2]), (480, [4, 4, 2, 3, 5]),
                                                 (1001, [7, 11, 13]), (997, [997]), (50, [2, 5, 5])])
def test_radices(points: int, radices: list[int]) -> None:
    assert radices_of(points) == radices


class Function(nn.Module):
    def __init__(self, function: Callable[..., object]):
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> object:
        return self.function(*inputs)


def matches(function: Callable[..., object], *inputs: torch.Tensor) -> Graph:
    """Compile, run on the host and compare with the module; returns the captured graph."""
    graph = capture(Function(function), inputs)
    build = compile_graph(graph, board="host")
    got = build.run(*inputs, on="host", sanitize=SANITIZERS)
    outputs = [got] if isinstance(got, torch.Tensor) else list(got)
    rows = Truth(graph.truth, [list(inputs)]).compare([outputs], [p.name for p in graph.outputs])
    assert all(row.match for row in rows), [(row.name, row.max_abs_error, row.limit) for row in rows if not row.match]
    return graph


def test_a_short_time_transform_reads_frames_where_the_signal_is() -> None:
    def spectrum(x: torch.Tensor) -> torch.Tensor:
        return torch.stft(x, 64, 16, window=torch.hann_window(64), return_complex=True).abs()

    graph = optimize(matches(spectrum, torch.randn(2, 256)).clone())
    (node,) = [n for n in graph.nodes if n.op == "rfft"]
    assert len(node.inputs) == 2 and node.attrs["reads"][0].strides[-2:] == (16, 1)
    assert not [n for n in graph.nodes if n.op in ("as_strided", "mul")]


def test_kernels_are_chosen_by_length() -> None:
    graph = Graph("chosen")
    build = Builder(graph)
    from pilotlight import ops

    names = []
    for n in (64, 60, 15):
        build.node("rfft", [graph.fresh("x", FLOAT32, (n,))], full=False, scale=1.0)
        (candidate,) = ops.get("rfft").candidates(graph.nodes[-1], Target())
        names.append(candidate.driver)
    assert names == ["pl_rfft_f32", "pl_rfft_any_f32", "pl_rfft_odd_f32"]


def test_complex_tensors_in_and_out_with_state_and_parts_written_in_place() -> None:
    class Averaging(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.zeros(3, 5, dtype=torch.complex64))
            self.turn = nn.Parameter(torch.polar(torch.ones(5), torch.linspace(0, 3, 5)))

        def forward(self, z: torch.Tensor) -> tuple[torch.Tensor, ...]:
            self.mean.mul_(0.5).add_(z * self.turn)
            y = self.mean.clone()
            y.real.add_(1.0)
            other = y.conj()
            other.imag.mul_(2.0)
            return y, other.mH @ y, other.imag, self.mean.T.conj().abs()

    torch.manual_seed(4)
    rows = [torch.randn(3, 5, dtype=torch.complex64) for _ in range(3)]
    build = compile_graph(capture(Averaging(), (rows[0],)), board="host")
    torch.manual_seed(4)
    truth = Averaging()
    with build.open("host", sanitize=SANITIZERS) as running, torch.no_grad():
        for z in (*rows[:2], rows[2].conj()):
            for got, want in zip(running(z), truth(z), strict=True):
                torch.testing.assert_close(got, want.resolve_conj(), rtol=1e-5, atol=1e-5)


def test_a_real_tensor_is_its_own_real_part() -> None:
    def parts(x: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.real(x * 3) * 2, k.real + 1, torch.resolve_conj(x.conj())

    matches(parts, torch.randn(3), torch.tensor([2, -1]))


class OfOne(nn.Module):
    """Operators that number dimensions, on a number that has none."""

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        at = torch.tensor([0])
        other = torch.tensor([3 + 4j])
        return [
            x.index_select(0, at), x.index_select(-1, at[0]),
            x.index_copy(0, at, other), x.index_copy(0, at[0], other[0]),
            x.flip(0), x.flip([-1]), x.unfold(0, 1, 1), x.sum(0), x.cumsum(-1), x.transpose(0, -1), x.squeeze(0),
            x.unsqueeze(-1), x.index_fill(0, at, 2.0),
        ]


def test_a_complex_number_has_no_dimension_of_its_parts() -> None:
    x = torch.tensor(1.5 - 2j, dtype=torch.complex64)
    want = OfOne()(x)
    got = pl.run(pl.capture(OfOne(), (x,)), board="host").outputs[0]
    for number, (a, b) in enumerate(zip(got, want, strict=True)):
        assert a.shape == b.shape and torch.equal(a, b), number


@pytest.mark.parametrize(("function", "words"), [
    (lambda z: torch.tanh(z), "torch.tanh is not supported for complex tensors"),
    (lambda z: torch.linalg.eig(z.real[None] * z.real[:, None])[0], "torch.linalg.eig"),
    (lambda z: torch.cond(z.real.sum() > 0, lambda x: x * 2, lambda x: x * 3, (z,)), "torch.cond"),
    (lambda z: z.to(torch.complex128).abs(), "complex128"),
    (lambda z: z[z.real > 0].sum(), "Tensor.sum"),
    (lambda z: z.view(torch.float32), "Tensor.view"),
    (lambda z: 2**z, "torch.pow"),
    (lambda z: z.real[0] ** (1 + 2j), "torch.exp(torch.complex(z.abs().log(), z.angle()) * p)"),
])
def test_what_is_not_supported_is_named_as_it_was_written(function: Callable[..., object], words: str) -> None:
    with pytest.raises(PilotlightError) as caught:
        capture(Function(function), (torch.randn(4, dtype=torch.complex64),))
    assert words in str(caught.value) and "test_fft.py" in str(caught.value)


def test_powers_and_what_is_written_for_those_that_are_refused() -> None:
    def powers(z: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        p = 0.5 - 2j
        return (z ** (2 + 0j), x ** (2 + 0j), x ** (1 + 0j), torch.polar(z.abs() ** 0.5, z.angle() * 0.5),
                torch.exp(torch.complex(z.abs().log(), z.angle()) * p),
                torch.exp(torch.complex(x.abs().log(), x.angle()) * p))

    z, x = torch.randn(4, dtype=torch.complex64), torch.randn(4)
    want = (z ** (2 + 0j), x ** (2 + 0j), x ** (1 + 0j), z**0.5, z ** (0.5 - 2j), x ** (0.5 - 2j))
    torch.testing.assert_close(powers(z, x), want)
    matches(powers, z, x)


@pytest.mark.parametrize(("function", "words"), [
    (lambda z, x: nn.functional.linear(torch.fft.rfft(x)[..., :2], x[:, :2]), "torch.nn.functional.linear"),
    (lambda z, x: z @ x.t(), "Tensor.matmul"),
    (lambda z, x: torch.addmm(x, x, z), "torch.addmm"),
    (lambda z, x: x.index_add(0, torch.tensor([0]), z[:1]), "Tensor.index_add"),
    (lambda z, x: z.index_fill(0, torch.tensor([0]), x[0, 0]), "Tensor.index_fill"),
    (lambda z, x: x.select_scatter(z[0], 0, 1) * 2, "Tensor.select_scatter"),
])
def test_what_takes_complex_tensors_alone_refuses_real_ones(function: Callable[..., object], words: str) -> None:
    with pytest.raises(PilotlightError, match="expected both to be complex") as caught:
        capture(Function(function), (torch.randn(3, 3, dtype=torch.complex64), torch.randn(3, 3)))
    assert words in str(caught.value) and "x.to(torch.complex64)" in str(caught.value)


def test_a_sum_of_complex_numbers_as_a_real_one_is_refused() -> None:
    with pytest.raises(PilotlightError, match=r"Tensor.sum .*it gives float32\[\], the lowering gives complex64\[\]"):
        capture(Function(lambda z: z.sum(dtype=torch.float32)), (torch.randn(3, dtype=torch.complex64),))
