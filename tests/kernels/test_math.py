"""Our own math functions against PyTorch in float64, over the bit patterns of all floats."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from support.portable_kernels import FOLDER, library, mapped

STEP = 2003  # of the bit patterns: 2.1 million points per function
REFERENCES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "acosh": torch.acosh, "asinh": torch.asinh, "atanh": torch.atanh,
    "acos": torch.acos, "asin": torch.asin, "atan": torch.atan, "cos": torch.cos, "cosh": torch.cosh,
    "erf": torch.erf, "erfc": torch.erfc, "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "log": torch.log,
    "log10": torch.log10, "log1p": torch.log1p, "log2": torch.log2, "sigmoid": torch.sigmoid,
    "sin": torch.sin, "sinh": torch.sinh, "tan": torch.tan, "tanh": torch.tanh, "silu": F.silu,
    "mish": F.mish,
}
EXACT = {
    "abs": torch.abs, "floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc, "round": torch.round,
}
LIMITS = {"exp": 1.5, "log": 2.0, "tanh": 3.0, "erf": 3.0, "sigmoid": 3.0, "sin": 2.0, "cos": 2.0, "erfc": 5.5}
SMALLEST = {"silu": 1e-33, "mish": 1e-33}  # below it a factor is denormal and has fewer bits
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-45, -1e-45,
     1e38, -1e38, 16777216.0, 16777215.0, -16777215.0, 8388609.0, 3.4028235e38, 1.17549435e-38],
    np.float32,
)


def every_float() -> np.ndarray:
    """Floats evenly over the bit patterns, and the corners."""
    bits = np.arange(0, 1 << 32, STEP, dtype=np.uint64).astype(np.uint32)
    return np.concatenate([bits.view(np.float32), SPECIAL])


def ulp(reference: np.ndarray) -> np.ndarray:
    """The distance between floats at a value."""
    exponent = np.floor(np.log2(np.maximum(np.abs(reference), 1e-300)))
    return np.exp2(np.maximum(exponent, -126.0) - 23.0)


def distance(y: np.ndarray, reference: np.ndarray, smallest: float = 0.0) -> np.ndarray:
    """In ulp; where either is not finite they have to be the same (or both beyond the largest float)."""
    with np.errstate(all="ignore"):
        rounded = reference.astype(np.float32)
        finite = np.isfinite(rounded) & np.isfinite(y)
        alike = (y == rounded) | (np.isnan(y) & np.isnan(reference))
        huge = (np.abs(reference) > 3.40282e38) & (np.abs(y) > 3.40282e38)
        edge = huge & (np.sign(y) == np.sign(reference))
        error = np.where(finite, np.abs(y - reference) / ulp(reference), np.where(alike | edge, 0.0, np.inf))
    return np.where(finite & (np.abs(reference) < smallest), 0.0, error)


def stated(name: str) -> float:
    """The bound in the comment above a function."""
    text = (FOLDER / f"{name}_f32.h").read_text()
    found = re.findall(r"at most ([\d.]+) (?:ulp|\* 2\^-24)", text)
    assert len(found) == 1, f"{name}_f32.h states {len(found)} bounds"
    return float(found[0])


@pytest.mark.parametrize("name", REFERENCES)
def test_error_is_within_the_stated_ulp(name: str) -> None:
    x = every_float()
    y = mapped(name, x)
    reference = REFERENCES[name](torch.from_numpy(x).double()).numpy()
    error = distance(y, reference, SMALLEST.get(name, 0.0))
    worst = int(error.argmax())
    assert error[worst] <= stated(name), f"{name}({x[worst]!r}) = {y[worst]!r}, not {reference[worst]!r}"
    assert stated(name) <= LIMITS.get(name, 4.0)
    zero = (reference == 0) & (y == 0)
    assert (np.signbit(y) == np.signbit(reference))[zero].all()


@pytest.mark.parametrize("flags", [(), ("-DPILOTLIGHT_PORTABLE",)], ids=["instruction", "integers"])
def test_sqrt_is_correctly_rounded(flags: tuple[str, ...]) -> None:
    x = every_float()
    y = mapped("sqrt", x, lib=library(*flags))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(y, np.sqrt(x))


@pytest.mark.parametrize("name", EXACT)
def test_rounding_is_exact(name: str) -> None:
    x = every_float()
    y, reference = mapped(name, x), EXACT[name](torch.from_numpy(x)).numpy()
    np.testing.assert_array_equal(y, reference)
    numbers = ~np.isnan(x)
    assert (np.signbit(y) == np.signbit(reference))[numbers].all()


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh"])
def test_gelu_is_within_the_stated_part_of_x(name: str) -> None:
    x = every_float()
    x = x[np.isnan(x) | (np.abs(x) > 1e-30)]
    approximate = "tanh" if name == "gelu_tanh" else "none"
    reference = F.gelu(torch.from_numpy(x).double(), approximate=approximate).numpy()
    y = mapped(name, x)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(y - reference) / (np.abs(x.astype(np.float64)) * 2.0**-24)
    finite = np.isfinite(x)
    assert error[finite].max() <= stated(name)
    np.testing.assert_array_equal(mapped(name, np.float32([np.inf, -np.inf, np.nan])), [np.inf, np.nan, np.nan])


def pairs() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(7)
    count = 500_000
    corner = np.meshgrid(SPECIAL, SPECIAL)
    bits = rng.integers(0, 1 << 32, (2, count), dtype=np.uint64).astype(np.uint32).view(np.float32)
    sets = [
        (corner[0].ravel().copy(), corner[1].ravel().copy()),
        (bits[0].copy(), bits[1].copy()),
        (np.exp(rng.normal(0, 3, count)), rng.normal(0, 8, count)),
        (1 + rng.normal(0, 1e-3, count), rng.normal(0, 3e4, count)),
        (rng.normal(0, 30, count), rng.integers(-12, 12, count)),
    ]
    return [(a.astype(np.float32), b.astype(np.float32)) for a, b in sets]


def test_pow_has_the_stated_error_and_the_corners_of_c() -> None:
    for a, b in pairs():
        with np.errstate(all="ignore"):
            reference = np.power(a.astype(np.float64), b.astype(np.float64))
        y = mapped("pow", a, b)
        error = distance(y, reference)
        worst = int(error.argmax())
        assert error[worst] <= stated("pow"), f"pow({a[worst]!r}, {b[worst]!r}) = {y[worst]!r}"
        zero = (reference == 0) & (y == 0)
        assert (np.signbit(y) == np.signbit(reference))[zero].all()


def test_fmod_is_exact() -> None:
    for a, b in pairs():
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(mapped("fmod", a, b), np.fmod(a, b))


def test_remainder_has_the_sign_of_the_divisor() -> None:
    for a, b in pairs()[2:]:
        reference = torch.remainder(torch.from_numpy(a), torch.from_numpy(b)).numpy()
        np.testing.assert_array_equal(mapped("remainder", a, b), reference)


def test_atan2_keeps_the_quadrant() -> None:
    for a, b in pairs():
        with np.errstate(invalid="ignore"):
            reference = np.arctan2(a.astype(np.float64), b.astype(np.float64))
        y = mapped("atan2", a, b)
        assert distance(y, reference).max() <= stated("atan2")
        assert (np.signbit(y) == np.signbit(reference))[reference == 0].all()


@pytest.mark.parametrize("name", ["max", "min"])
def test_a_nan_wins(name: str) -> None:
    a, b = pairs()[0]
    function = torch.maximum if name == "max" else torch.minimum
    reference = function(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    np.testing.assert_array_equal(mapped(name, a, b), reference)
