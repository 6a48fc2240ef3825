"""What eager PyTorch gives for a model over several calls, and whether a compiled one agrees.

The user's own module is run: built again for every sequence of calls, in float32 and in float64, and for copies of the
inputs that are moved by one unit in the last place. No graph of ours is involved.

Float: over the finite elements the largest distance from float64 is at most eight times float32's own (the largest over
the inputs and seven moved copies) plus 4e-6 of the largest result. An element that is infinite or NaN in eager PyTorch
is compared separately: it has to be the same infinity, or NaN. Integers and booleans are equal to what PyTorch gives
for the inputs or for a moved copy. Before anything is called wrong, 32 more copies are tried: a result that jumps (a
comparison, a rounding) may jump for one of them.

Quantized: signal over noise in decibels, the noise being the distance from float64.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Sequence

import torch
from torch.utils import _pytree as pytree

from fuzz.program import Call, Loaded, tensors
from pilotlight.graph.ports import as_floats

Outputs = list[torch.Tensor]
TIMES_OWN, OF_LARGEST, COPIES, MORE_COPIES = 8.0, 4e-6, 7, 32


def eager(
    make: Callable[[], torch.nn.Module], calls: Sequence[Call], dtype: torch.dtype = torch.float32
) -> list[Outputs]:
    """The tensors in the results, call after call."""
    before = torch.get_default_dtype()
    module = make().to(dtype)
    torch.set_default_dtype(dtype)
    results = []
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for call in calls:
                args, kwargs = pytree.tree_map(lambda x: _cast(copy.deepcopy(x), dtype), call)
                results.append([t.clone() for t in tensors(module(*args, **kwargs))])
    finally:
        torch.set_default_dtype(before)
    return results


def _cast(x: object, dtype: torch.dtype) -> object:
    return x.to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() else x


def _wide(x: torch.Tensor) -> torch.Tensor:
    """In float64; complex numbers as pairs."""
    return as_floats(x).double()


def moved(calls: Sequence[Call], seed: int) -> list[Call]:
    """Every float one step up or down in the last place."""
    generator = torch.Generator().manual_seed(seed)

    def move(x: object) -> object:
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            return x
        up = torch.rand(x.shape, generator=generator) < 0.5
        far = torch.full_like(x, torch.inf)
        return torch.where(up, torch.nextafter(x, far), torch.nextafter(x, -far))

    return [pytree.tree_map(move, call) for call in calls]


class Truth:
    def __init__(self, loaded: Loaded, calls: Sequence[Call]):
        self.loaded, self.calls = loaded, list(calls)
        self.exact = eager(loaded.model, self.calls, torch.float64)
        self.single = eager(loaded.model, self.calls)
        self.copies: list[tuple[list[Outputs], list[Outputs]]] = []
        self.more(COPIES)

    def more(self, count: int) -> None:
        for _ in range(count):
            calls = moved(self.calls, 7919 + len(self.copies))
            self.copies.append((eager(self.loaded.model, calls, torch.float64), eager(self.loaded.model, calls)))

    def differs(self, got: list[Outputs]) -> str | None:
        """What is wrong with these results, or None."""
        found = self._differs(got)
        if found is not None and len(self.copies) <= COPIES and not found.startswith("shape"):
            self.more(MORE_COPIES)
            found = self._differs(got)
        return found

    def _differs(self, got: list[Outputs]) -> str | None:
        for number, (ours, single) in enumerate(zip(got, self.single, strict=True)):
            if [(t.shape, t.dtype) for t in ours] != [(t.shape, t.dtype) for t in single]:
                return f"shape or dtype in call {number}: {_forms(ours)} instead of {_forms(single)}"
        for k in range(len(self.single[0])):
            whole = not self.single[0][k].is_floating_point() and not self.single[0][k].is_complex()
            found = self._integers(k, got) if whole else self._floats(k, got)
            if found is not None:
                return f"output {k}: {found}"
        return None

    def _floats(self, k: int, got: list[Outputs]) -> str | None:
        pairs = [(_wide(s[k]), _wide(e[k])) for s, e in zip(self.single, self.exact, strict=True)]
        own, largest = _own(pairs), max(float(_finite(s, e, e).abs().max()) for s, e in pairs)
        for wide, narrow in self.copies:
            own = max(own, _own([(_wide(s[k]), _wide(e[k])) for s, e in zip(narrow, wide, strict=True)]))
        limit = TIMES_OWN * own + OF_LARGEST * largest
        for call, (single, exact) in enumerate(pairs):
            value = _wide(got[call][k])
            finite = single.isfinite() & exact.isfinite()
            apart = ~finite & ~(_same(value, single) | _same(value, exact))
            far = finite & ~((value - exact).abs() <= limit)
            for bad, why in (
                (apart, "not the infinity or NaN of PyTorch"),
                (far, f"further than {limit:.3g} from float64"),
            ):
                if bool(bad.any()):
                    at = tuple(int(i) for i in bad.nonzero()[0])
                    return (
                        f"{int(bad.sum())} of {bad.numel()} elements {why} in call {call}, the first at {list(at)}: "
                        f"got {float(value[at])!r}, "
                        f"PyTorch has {float(single[at])!r}, in float64 {float(exact[at])!r}"
                    )
        return None

    def _integers(self, k: int, got: list[Outputs]) -> str | None:
        for call, row in enumerate(got):
            known = [self.single[call][k], self.exact[call][k]] + [c[call][k] for pair in self.copies for c in pair]
            right = torch.zeros(row[k].shape, dtype=torch.bool)
            for candidate in known:
                right |= candidate == row[k]
            if not bool(right.all()):
                at = tuple(int(i) for i in (~right).nonzero()[0])
                return (
                    f"{int((~right).sum())} of {right.numel()} integers differ in call {call}, "
                    f"the first at {list(at)}: got {row[k][at].item()}, "
                    f"PyTorch has {self.single[call][k][at].item()}"
                )
        return None

    def noise(self, got: list[Outputs]) -> list[float]:
        """Per output: the sum of squared distances from float64; for integers how many differ."""
        result = []
        for k, first in enumerate(self.exact[0]):
            rows = [(e[k].double(), g[k].double()) for e, g in zip(self.exact, got, strict=True)]
            if first.is_floating_point():
                result.append(sum(float((e - g).square().nan_to_num(torch.inf).sum()) for e, g in rows))
            else:
                result.append(float(sum(int((e != g).sum()) for e, g in rows)))
        return result

    def signal(self) -> list[float]:
        """Per output: the sum of squares, and of squares around the mean (what the noise must be small against)."""
        result = []
        for k, first in enumerate(self.exact[0]):
            values = torch.cat([e[k].double().flatten() for e in self.exact])
            result.append(
                float((values - values.mean()).square().sum()) if first.is_floating_point() else float(values.numel())
            )
        return result


def power(outputs: list[Outputs], k: int) -> float:
    """The sum of squares of an output over all calls."""
    return sum(float(row[k].double().square().sum()) for row in outputs)


def decibels(signal: float, noise: float) -> float:
    if noise == 0:
        return 200.0
    return 10 * math.log10(signal / noise) if signal > 0 and math.isfinite(noise) else -200.0


def _own(pairs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> float:
    return max(float(_finite(single, exact, single - exact).abs().max()) for single, exact in pairs)


def _finite(single: torch.Tensor, exact: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Values where both are finite, 0 elsewhere."""
    return torch.where(single.isfinite() & exact.isfinite(), values, torch.zeros_like(values))


def _same(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a == b) | (a.isnan() & b.isnan())


def _forms(outputs: Outputs) -> str:
    return ", ".join(f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in outputs)
