"""The transform of real int16 rows in block floating point: `rfft_s16`, (..., n) to int16 pairs (..., n/2 + 1, 2) and
an int32 exponent for each row. Bin k of a row is (y[k, 0] + i·y[k, 1]) · 2^exponent, up to rounding.

n is even, at most 16384, and n/2 has no prime factor but 2, 3 and 5. `a >> b` rounds down, |z|² = re² + im², bits(v) is
the number of binary digits of v, OR the bitwise or over all numbers of a row, W = rint(2^15·e^(-2πi·t)) with at most
2^15 - 1, and `v·W` = (v·W + 2^14) >> 15, real and imaginary part by themselves.

Load: z[j] = x[2j] + i·x[2j+1], b = bits(OR of |z|² + (|z|² >> 9)), u = max((29 - b) >> 1, -1)
    z = z·2^u; where u = -1, (z + 1) >> 1
    exponent = -u, b = b + 2u
Stage, of radix r = 4, 2, 5, 3 in this order as often as it divides what is left of n/2, which can add g = 2, 1, 3, 2
bits; m is what is left after it, s the product of the radices before it:
    k = clamp((b + 1 >> 1) + g - 15, 0, g),  exponent = exponent + k
    y[p, j, q] = W_{mr}^{pj}·t_j of z[0..r-1, p, q], without the product for p = 0, where t is divided by 2^k:
      4: f = k >> 1, h = k + 1 >> 1, s0, s1 = z0 ± z2 >> f, s2, s3 = z1 ± z3 >> f
         t0 = s0 + s2 + h >> h,  t1 = s1 - i·s3 >> h,  t2 = s0 - s2 >> h,  t3 = s1 + i·s3 >> h
      2: t0 = z0 + z1 + k >> k,  t1 = z0 - z1 >> k
      3: t0 = Σz,  t1, t2 = (2^14·z0 - 2^13·(z1 + z2) ∓ i·S·(z1 - z2)) / 2^14,  S = rint(2^14·sin 2π/3)
      5: the same with 2^13: Σ C_{ij}·z_i, C = rint(2^13·e^(-2πi·ij/5));  both / (2^k), half up
    b = bits(OR of |y|² + 2^19)
Bins: k = clamp((b + 1 >> 1) - 14, 0, 1),  exponent = exponent + k
    for 0 < j < n/4: s, d = z[j] ± z[n/2 - j] >> k,  t = W·(d.re + i·s.im), W = -i·e^(-2πi·j/n)
        y[j]       = (s.re + t.re >> 1) + i·(t.im + d.im >> 1)
        y[n/2 - j] = (s.re - t.re >> 1) + i·(t.im - d.im >> 1)
    y[0] = z.re + z.im >> k,  y[n/2] = z.re - z.im >> k of z[0],  y[n/4] = (z.re >> k) + i·(-z.im >> k) of z[n/4]

Magnitudes stay below 2^15: a load leaves them below 2^14.5, a stage multiplies them by at most r / 2^k and adds three
steps of rounding, and where k < g the 2^19 in b keeps 32 steps free for that. So nothing wraps around or saturates.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from pilotlight.codegen.step import Step
from pilotlight.errors import PilotlightError
from pilotlight.graph import INT16, INT32, Node
from pilotlight.graph.operators import Result
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.portable.rfft_s16 import LONGEST, RfftS16Layer, bin_factors, can_transform, stages
from pilotlight.ops.base import register
from pilotlight.ops.chosen import Chosen

Numbers = npt.NDArray[np.int64]
GROWTH = {4: 2, 2: 1, 5: 3, 3: 2}
MARGIN = 1 << 19
FRACTION = {3: 14, 5: 13}  # bits of the constants of a radix


def rfft_s16(x: npt.NDArray[np.int16]) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int32]]:
    """What the kernels give, byte for byte: rows (..., n) to bins (..., n/2 + 1, 2) and exponents (...)."""
    n = x.shape[-1]
    z = x.astype(np.int64).reshape(-1, n // 2, 2)
    z, exponent, bits = _load(z)
    s = 1
    for radix, w in stages(n):
        growth = GROWTH[radix]
        k = np.clip((bits + 1 >> 1) + growth - 15, 0, growth)
        parts = _points(z.reshape(len(z), radix, len(w), s, 2), k[:, None, None, None])
        turned = [parts[0], *(_turned(part, w[:, j]) for j, part in enumerate(parts[1:]))]
        z = np.stack(turned, axis=2).reshape(z.shape)
        bits, exponent, s = _bits(_squares(z) + MARGIN), exponent + k, s * radix
    k = np.clip((bits + 1 >> 1) - 14, 0, 1)
    y = _bins(z, n, k[:, None]).astype(np.int16)
    return y.reshape(*x.shape[:-1], n // 2 + 1, 2), (exponent + k).reshape(x.shape[:-1]).astype(np.int32)


def _load(z: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    squares = _squares(z)
    bits = _bits(squares + (squares >> 9))
    up = np.maximum((29 - bits) >> 1, -1)
    by = up[:, None, None]
    return np.where(by < 0, (z + 1) >> 1, z << np.maximum(by, 0)), -up, bits + 2 * up


def _squares(z: Numbers) -> Numbers:
    return np.asarray((z * z).sum(axis=-1))


def _bits(squares: Numbers) -> Numbers:
    return np.array([int(v).bit_length() for v in np.bitwise_or.reduce(squares, axis=1)], np.int64)


def _times_i(z: Numbers) -> Numbers:
    return np.stack([-z[..., 1], z[..., 0]], axis=-1)


def _product(z: Numbers, w: npt.NDArray[np.int16]) -> Numbers:
    by = w.astype(np.int64)
    return (z * by[..., :1] + _times_i(z) * by[..., 1:] + (1 << 14)) >> 15


def _turned(part: Numbers, w: npt.NDArray[np.int16]) -> Numbers:
    """(rows, m, s, 2) by factors (m, 2), of which the first is 1."""
    return np.concatenate([part[:, :1], _product(part[:, 1:], w[1:, None])], axis=1)


def _points(z: Numbers, k: Numbers) -> list[Numbers]:
    """The transforms of r points, (rows, r, m, s, 2), divided by 2^k."""
    radix = z.shape[1]
    if radix == 2:
        return [(z[:, 0] + z[:, 1] + k) >> k, (z[:, 0] - z[:, 1]) >> k]
    if radix == 4:
        first, second = k >> 1, (k + 1) >> 1
        s0, s1 = (z[:, 0] + z[:, 2]) >> first, (z[:, 0] - z[:, 2]) >> first
        s2, s3 = (z[:, 1] + z[:, 3]) >> first, (z[:, 1] - z[:, 3]) >> first
        return [
            (s0 + s2 + second) >> second, (s1 - _times_i(s3)) >> second, (s0 - s2) >> second,
            (s1 + _times_i(s3)) >> second,
        ]
    results = [_down(z.sum(axis=1), k)]
    one = 1 << FRACTION[radix]
    for j in range(1, radix):
        angles = 2 * np.pi * j * np.arange(radix) / radix
        cosines, sines = np.rint(one * np.cos(angles)).astype(int), np.rint(one * np.sin(angles)).astype(int)
        total = sum(c * z[:, i] - s * _times_i(z[:, i]) for i, (c, s) in enumerate(zip(cosines, sines, strict=True)))
        results.append(_down(np.asarray(total), k + FRACTION[radix]))
    return results


def _down(v: Numbers, k: Numbers) -> Numbers:
    return (v + ((np.int64(1) << k) >> 1)) >> k


def _bins(z: Numbers, n: int, k: Numbers) -> Numbers:
    m = n // 2
    y = np.zeros((len(z), m + 1, 2), np.int64)
    j = np.arange(1, (m + 1) // 2)
    a, b = z[:, j], z[:, m - j]
    s, d = (a + b) >> k[..., None], (a - b) >> k[..., None]
    t = _product(np.stack([d[..., 0], s[..., 1]], axis=-1), bin_factors(n))
    y[:, j] = np.stack([s[..., 0] + t[..., 0], t[..., 1] + d[..., 1]], axis=-1) >> 1
    y[:, m - j] = np.stack([s[..., 0] - t[..., 0], t[..., 1] - d[..., 1]], axis=-1) >> 1
    y[:, [0, m], 0] = np.stack([z[:, 0, 0] + z[:, 0, 1], z[:, 0, 0] - z[:, 0, 1]], axis=-1) >> k
    if m % 2 == 0:
        y[:, m // 2] = z[:, m // 2] * (1, -1) >> k
    return y


@register
class RfftS16(Chosen):
    """x (..., n) int16 to bins (..., n/2 + 1, 2) int16 and exponents (...) int32. No attributes."""

    name = "rfft_s16"
    called = "rfft"

    def infer(self, node: Node) -> Result:
        x = node.inputs[0]
        n = x.shape[-1]
        if not can_transform(n):
            raise PilotlightError(
                f"rfft of int16 rows needs an even length of at most {LONGEST} with no prime factor but 2, 3 and 5; "
                f"got {n}: pad the rows with zeros, for example to {_next(n)}",
                kind="unsupported",
            )
        return [(INT16, (*x.shape[:-1], n // 2 + 1, 2)), (INT32, x.shape[:-1])]

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        y, exponent = rfft_s16(args[0].numpy())
        return torch.from_numpy(y), torch.from_numpy(exponent)

    def describe(self, node: Node) -> str:
        return f"rfft of {node.inputs[0].shape[-1]} points"

    def layer(self, node: Node) -> RfftS16Layer:
        x = node.inputs[0]
        return RfftS16Layer(x.elements // x.shape[-1], x.shape[-1])

    def emit(self, node: Node, c: Step) -> None:
        kernel: Candidate = node.attrs["candidate"]
        c.use(*kernel.headers)
        c.micro |= kernel.micro
        table = c.table(kernel.ctype, kernel.hint, kernel.table(c.reverse))
        x, packed = node.inputs
        results = [c.write(v) for v in node.outputs]
        c.call(kernel.driver, table, c.read(x), c.read(packed), *results, c.scratch(kernel.scratch_type))


def _next(n: int) -> int:
    """The next length that there is a kernel for."""
    return next((longer for longer in range(n + 1, LONGEST + 1) if can_transform(longer)), LONGEST)

