"""Discrete Fourier transforms in C: fft_f32.h, rfft_f32.h and irfft_f32.h for powers of two, *_any_f32.h for others.

The length, or half of it for real rows of an even length, is taken apart into radices: 4 as often as possible, then 2,
3 and 5; any other prime is a stage of its own, which multiplies as often as it has points.
"""

from __future__ import annotations

import math

import numpy as np

from pilotlight.codegen.step import Fields
from pilotlight.codegen.target import Target
from pilotlight.kernels.candidate import Array, Candidate
from pilotlight.kernels.estimate import Rate, float_rate
from pilotlight.kernels.layers import TransformLayer
from pilotlight.kernels.registry import offers

STAGES = 16  # PL_FFT_STAGES: the least length with more is 3 ** 17
FPU_RATE = Rate(2.2, 14)  # of a float multiplication and of a float that is loaded or written


@offers(TransformLayer)
def transform(layer: TransformLayer, target: Target) -> list[Candidate]:
    """The kernel of any length."""
    halved = layer.kind != "fft" and layer.n % 2 == 0
    points = layer.n // 2 if halved else layer.n
    radices = radices_of(points)
    odd = layer.kind != "fft" and not halved
    plain = set(radices) <= {2, 4} and not odd
    scratch = 0 if plain else 8 * (max([1, *(r for r in radices if r > 5)]) + (layer.n if odd else 0))
    kernel = layer.kind + ("" if plain else "_any")

    multiplications = round(layer.rows * points * sum(map(_cost, radices)))
    moved = layer.rows * 4 * points
    return [
        Candidate(
            name=f"portable.{layer.kind}",
            headers=(f"{kernel}_f32",),
            ctype="pl_fft_t",
            table=lambda reverse: fields(layer, points, radices),
            driver=f"pl_{layer.kind}_odd_f32" if odd else f"pl_{kernel}_f32",
            pack=lambda: constants(layer, radices, first=not plain),
            scratch=scratch,
            scratch_type="float",
            instructions=float_rate(target, FPU_RATE).total(multiplications, moved),
            hint=layer.kind,
        )
    ]


def constants(layer: TransformLayer, radices: list[int], first: bool) -> tuple[Array, ...]:
    """What a kernel reads: factors of the stages, turns, and of real rows the window."""
    tables = [stage_factors(radices, first)]
    if layer.kind != "fft" and layer.n % 2 == 0:
        tables.append(turns(layer.n))
    if layer.kind == "rfft":
        window = 1.0 if layer.window is None else layer.window.astype(np.float64)
        tables.append(np.atleast_1d(layer.scale * window))
    return tuple(table.astype(np.float32) for table in tables)


def fields(layer: TransformLayer, points: int, radices: list[int]) -> Fields:
    """The table of a kernel."""
    steps = [points // math.prod(radices[: k + 1]) for k in range(len(radices))]
    return {
        "batch": layer.batch, "frames": layer.frames, "x_batch": layer.x_batch, "x_frame": layer.x_frame,
        "x_point": layer.x_point, "w_point": int(layer.window is not None), "n": layer.n, "bins": layer.bins,
        "points": points, "inverse": int(layer.inverse), "scale": float(layer.scale), "stages": len(radices),
        "radix": _numbers(radices), "step": _numbers(steps),
    }


def _numbers(items: list[int]) -> str:
    return "{" + ", ".join(map(str, items or [1])) + "}"


def radices_of(points: int) -> list[int]:
    """The radix of each stage, the first one first: primes that multiply to `points`, with 4 for two of 2."""
    found, rest = [], points
    for radix in (4, 2, 3, 5):
        while rest % radix == 0:
            found.append(radix)
            rest //= radix
    divisor = 7
    while rest > 1:
        if divisor * divisor > rest:
            divisor = rest
        while rest % divisor == 0:
            found.append(divisor)
            rest //= divisor
        divisor += 2
    return found


def _cost(radix: int) -> float:
    """Multiplications for each point of a stage."""
    return {2: 2, 3: 4, 4: 3, 5: 5.6}.get(radix, 4 + radix)


def turned(numerators: Array, denominator: int) -> Array:
    """Cosine and -sine of parts of a turn."""
    angles = 2 * np.pi * (numerators % denominator) / denominator
    return np.stack([np.cos(angles), -np.sin(angles)], axis=-1).reshape(-1)


def stage_factors(radices: list[int], first: bool) -> Array:
    """What each stage multiplies with: for each of `span` points its radix - 1 factors, after cosine and sine of the
    parts of a turn for a radix above 5. Without `first` the first stage, which multiplies with 1, has none."""
    parts, span = [np.zeros(0)], 1
    for number, radix in enumerate(radices):
        if radix > 5:
            parts.append(turned(-np.arange(radix), radix))
        if first or number:
            parts.append(turned(np.outer(np.arange(span), np.arange(1, radix)).reshape(-1), span * radix))
        span *= radix
    return np.concatenate(parts if len(parts) > 1 else [np.ones(1)])  # a constant is never empty


def turns(n: int) -> Array:
    """Cosine and -sine of k / n turns, k = 0 to n / 4."""
    return turned(np.arange(n // 4 + 1), n)
