"""Element types: each through the whole compiler on the host, compared with PyTorch."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import pilotlight as pl
from pilotlight.errors import PilotlightError
from pilotlight.graph.dtypes import ALL, convert, to_numpy, to_torch
from support.eager import Module, check, flat
from support.portable_kernels import library

HALVES = [torch.float16, torch.bfloat16]

@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(4)


@pytest.mark.parametrize("dtype", [d for d in ALL if d.kind == "h"], ids=str)
def test_halves_are_converted_as_pytorch_does_it(dtype: Any) -> None:
    short = {"float16": "f16", "bfloat16": "bf16"}[dtype.name]
    widen, narrow = (getattr(library(), f"pl_{way}_{short}") for way in ("from", "to"))
    widen.restype, widen.argtypes, narrow.restype, narrow.argtypes = (
        ctypes.c_float, [ctypes.c_uint16], ctypes.c_uint16, [ctypes.c_float]
    )
    bits = torch.arange(65536, dtype=torch.int32).to(torch.uint16)
    exact = bits.view(dtype.torch).float()
    torch.testing.assert_close(torch.tensor([widen(int(b)) for b in bits]), exact, rtol=0, atol=0, equal_nan=True)
    middles = (exact[:-1].double() + exact[1:].double()).float() / 2  # ties go to even
    around = [torch.nextafter(middles, torch.tensor(way)) for way in (torch.inf, -torch.inf)]
    for x in (middles[::3], around[0][1::3], around[1][2::3], 10.0 ** torch.linspace(-45, 38, 5000)):
        got = torch.tensor([narrow(float(v)) for v in x], dtype=torch.int32).to(torch.uint16).view(dtype.torch)
        torch.testing.assert_close(got, x.to(dtype.torch), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_halves(dtype: torch.dtype) -> None:
    def forward(conv: nn.Module, linear: nn.Module, table: nn.Module, x: torch.Tensor, i: torch.Tensor) -> Any:
        return (
            conv(x), linear(x[:, 0, 0]).relu(), x + 1, x * x, F.softmax(x, 1), torch.cat([x, x], 1), x.float(),
            table(i), x.mean(), x.permute(0, 2, 1, 3), F.pad(x, (1, 1), value=2.5), torch.where(x > 0, x, -x), x.sum(1),
            x.int(), x.bool(), torch.gather(x, 1, (x > 0).long()), i.to(dtype), x.sort(1),
            torch.full_like(x, 1.5) + x, x > 0.5, x.to(torch.bfloat16), x.to(torch.float16), x + x.float(), x.amax(1),
            x.index_put((i[:2] % 2,), x[:2] * 2), x.index_put((i[:2] % 2,), x[:2] * 2, accumulate=True),
            x.flip(1)[:, :, ::2], x.exp(), F.gelu(x.clamp(-9, 9)), F.layer_norm(x, (6,)), x.cumsum(1),
            torch.lerp(x, x * 2, 0.25),
        )

    module = Module(forward, nn.Conv2d(3, 4, 3), nn.Linear(6, 5), nn.Embedding(10, 4)).to(dtype)
    x = torch.randn(2, 3, 5, 6).to(dtype)
    x[0, 0, 0] = torch.tensor([torch.inf, -torch.inf, 0.0, -0.0, 6e-8, 300.0]).to(dtype)
    build = check(module, x, torch.arange(5), sanitize=dtype == torch.float16)
    ports = build.module.metadata["inputs"] + build.module.metadata["outputs"]
    assert ports[0]["dtype"] == str(dtype).removeprefix("torch.") and ports[0]["bytes"] == 2 * x.numel()
    assert "the bits of a 16-bit float each" in build.module.files["net.h"]
    assert "static inline uint16_t *net_input_" in build.module.files["net.h"]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_table_of_halves_stays_16_bits_in_flash_and_weights_become_float32(dtype: torch.dtype) -> None:
    table = pl.compile(pl.capture(nn.Embedding(50, 8).to(dtype), (torch.arange(3),), "table"))
    assert table.module.metadata["weights_bytes"] == 50 * 8 * 2
    layer = pl.compile(pl.capture(nn.Linear(8, 16).to(dtype), (torch.randn(1, 8).to(dtype),), "layer"))
    assert layer.module.metadata["weights_bytes"] == (8 * 16 + 16) * 4


def test_halves_on_boards() -> None:
    inputs = (torch.randn(4, 6).half(), torch.randn(4, 6).bfloat16())
    module = Module(lambda linear, x, y: (linear(x), x * y, x.float() + y, F.softmax(y, 1)), nn.Linear(6, 3).half())
    build = pl.compile(pl.capture(module.eval(), inputs, "net"))
    here = flat(build.run(*inputs, on="host"))
    for board in ("mps2-an386", "riscv32-virt"):
        assert all(torch.equal(a, b) for a, b in zip(flat(build.run(*inputs, on=board)), here, strict=True)), board


def test_integers_compute_as_pytorch_does() -> None:
    i, j = torch.randint(-9, 9, (40,)), torch.randint(1, 9, (40,))
    x = torch.randn(40) * 3
    x[:6] = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 1e30])
    check(Module(lambda i, j, x, b, w, s, u, f: (
        i**j, i**2, i**3, i**5, s**3, u**3, i**0.5, i**1.0, 2**j, torch.gcd(i, j), torch.lcm(s, s + 1), i << (j - 3),
        u << 3, i >> (j - 3), u >> u, s >> 1, b + b, b * b, b ^ (i > 3), ~b, ~i, ~u, s.abs(), u.abs(), s * s, w * w,
        w + w, f - f * 7, u - 200, u + 100, i % j, i % -j, u % 7, f % 3, torch.fmod(i, j), f.sign(), u.sign(), b.sign(),
        s.signbit(), u.signbit(), x.signbit(), i.clamp(-2, 3), u.clamp(1, 4), F.hardtanh(i), s + f, u + f, s + x, b + 1,
        b + 1.5, b * x, i / j, u / 2, x > i, u > -1, torch.where(b, i, x), torch.maximum(s, u), i.floor(), u.round(),
        torch.div(i, j, rounding_mode="trunc"), torch.div(s, 3, rounding_mode="floor"), b.square(), x.long(),
        (x * 1e10).int(), (i * 100).to(torch.int8), i.to(torch.uint8), x.sign(), torch.nextafter(x, x.flip(0)),
        torch.hypot(x * 1e20, x), x.erfc(),
        x.lgamma(), x.digamma(), torch.ldexp(x, i), torch.logaddexp(x, x.flip(0)), torch.sub(i, j, alpha=3), i.neg(),
        f.neg(), i.isnan(), x.clamp(min=torch.nan), torch.addcmul(i, i, j, value=2), torch.bitwise_or(s, 5),
        s.square(), i.exp(), u.sqrt(),
    )), i, j, x, i > 0, i.int() * 300_000_000, i.short() * 1000, i.abs().to(torch.uint8), i.to(torch.int8))


def test_integers_are_reduced_scanned_and_ordered() -> None:
    x, i = torch.randn(3, 4, 5), torch.randint(-9, 9, (3, 4, 5))
    x[0, 1, 2] = torch.nan
    check(Module(lambda x, i, s, b, u: (
        x.cumprod(1), x.logcumsumexp(0), x.cummax(2), x.cummin(1), i.cumprod(2), s.cummax(1), b.cumsum(0), b.cummax(1),
        u.cumsum(2), i.sort(dim=2, stable=True), b.sort(dim=1, stable=True), s.sort(dim=0, stable=True), x.median(),
        x.median(1), x.nanmedian(1), x.nanmedian(), i.median(), i.kthvalue(2, 1)[0], x.kthvalue(2, 1), i.topk(2, 1)[0],
        x.mode(1)[0], i.mode(1)[0], s.amax(1), i.prod(1), s.prod(1), u.sum(), b.amax(1), b.amin(1), b.max(1),
        s.min(1)[0], u.argmax(), x.norm(3, 1), x.norm(0, 1), x.norm(-1.5, 1), x.aminmax(), i.all(),
        i.count_nonzero(1), b.prod(1), i @ i.transpose(1, 2), s[0] @ s[0].T, torch.einsum("abc,abd->cd", u, u),
        x[0, 0, 0].sort(), x[0, 0, 0].cummax(0), torch.searchsorted(i.sort(2)[0], i), u.any(1), u.all(),
        torch.bucketize(x, x[1, 1].sort()[0], right=True), torch.bucketize(s, s[0, 0].sort()[0], out_int32=True),
    )), x, i, i.to(torch.int8), i > 0, i.abs().to(torch.uint8))


def test_tensors_without_elements_and_without_dimensions() -> None:
    empty, image, number = torch.empty(0, 3), torch.empty(0, 3, 8, 8), torch.tensor(1.5)
    check(Module(lambda conv, e, im, x, z, i: (
        e + 1, e.sum(), e.sum(0), e.mean(), e.prod(0), e.any(0), e.all(), e.amax(1), torch.cat([e, x]),
        torch.cat([e, e]), e, x[:0], e @ x.T, e.T @ e, F.linear(e, x), conv(im), e.T, e.flip(0),
        F.pad(e, (0, 0, 1, 1), value=2.0), F.softmax(e, 0), F.layer_norm(e, (3,)), e.cumsum(0), e.sort(1), x[i],
        x.index_put((i,), e), e.norm(), e.norm(dim=0), F.max_pool2d(im, 2), F.interpolate(im, scale_factor=2), z + 1,
        z.sum(), z.max(), z.sort(), z.cumsum(0), z.expand(2, 2), F.relu(z), z.argmax(), torch.stack([z, z]), z.int(),
        F.softmax(z, 0), z.mean(), z.prod(), z.any(),
    ), nn.Conv2d(3, 4, 3)), empty, image, torch.randn(2, 3), number, torch.empty(0, dtype=torch.long))


class Doubled(nn.Module):
    """Float64 constants, as those that come from numpy."""

    def __init__(self) -> None:
        super().__init__()
        self.window = nn.Buffer(torch.hann_window(6, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.linspace(0, 1, 6, dtype=torch.float64)
        return x * (self.window * scale).sqrt().float() * torch.tensor(0.1, dtype=torch.float64)


def test_float64_constants_are_folded() -> None:
    check(Doubled(), torch.randn(2, 6))


@pytest.mark.parametrize("function", [lambda x: x * torch.ones(6, dtype=torch.float64), lambda x: x.double().float(),
                                      lambda x: torch.ones(6, dtype=torch.float64)])
def test_float64_results_are_refused(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    with pytest.raises(PilotlightError, match="float64; expected one of float32"):
        pl.capture(Module(function), (torch.randn(2, 6),))


@pytest.mark.parametrize("function", [
    lambda x: (x[:, None] + x[None]).sum(), lambda x: x.expand(2**15, 2**16).contiguous().sum(0),
    lambda x: F.pad(x, (0, 2**33))[:5],
])
def test_tensors_beyond_32_bits_are_refused(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    with pytest.raises(PilotlightError, match=r"bytes; a tensor may have 2,147,483,647"):
        pl.capture(Module(function), (torch.zeros(2**16),))


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_numpy_and_back(dtype: Any) -> None:
    x = torch.tensor([[0, 1], [2, 100]]).to(dtype.torch)
    array = to_numpy(x.T)
    assert array.dtype == dtype.numpy and array.flags["C_CONTIGUOUS"]
    assert torch.equal(to_torch(array), x.T)
    assert torch.equal(to_torch(convert(np.array(2.5), dtype)), torch.tensor(2.5, dtype=torch.float64).to(dtype.torch))
