"""Whether a result is PyTorch's: decided element by element, from PyTorch in float32 and in float64.

Integers and booleans must equal PyTorch's in float32, or in float64 where the two disagree. Where PyTorch leaves open
which of several equal elements an index names (OPEN_TIES), any of them will do, each once. NaN and infinities must be
where PyTorch has them. Where PyTorch's own answer changes when views become contiguous tensors of the same values (the
median of an expanded tensor is read from memory that nobody wrote), the answer for the contiguous ones is right as
well. A finite float is right when it is

- within 4 units in the last place of PyTorch's float32 result, or
- no further from float64 than eight times PyTorch's own distance, plus 4 units in the last place, plus 16 units
  in the last place of the terms it is made of.

A Fourier transform makes every element of all terms, those that are 0 for reasons of symmetry too: they are as large as
the largest.

How large those terms are is measured: the inputs are moved by a relative 2^-32, up and down, and the smaller of
the two changes of the result, divided by 2^-32, is the size of the terms. (The smaller: a result that jumps, such
as floor at an integer, jumps in one direction only, and the terms do not excuse a jump.)
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from conformance.cases import Case
from pilotlight.graph.ports import as_complex, as_floats

ULPS = 4.0
TIMES_OWN = 8.0
TERM_ULPS = 16.0
NUDGE = 2.0**-32
PAIRS = 4
TRANSFORMS = ("fft", "stft", "istft")
OPEN_TIES = ("sort", "argsort", "msort", "topk", "kthvalue", "mode", "median", "nanmedian")


class Truth:
    """PyTorch's answers for one case."""

    def __init__(self, case: Case):
        self.case = case
        self.single = case.call(_clones(case.leaves()))
        self.exact = self._wide(case.leaves())
        if self.exact is None or [e.shape for e in self.exact] != [s.shape for s in self.single]:
            self.exact = self.single

    def differs(self, outputs: Sequence[torch.Tensor]) -> str | None:
        """What is wrong with these outputs, or None."""
        problem = self._differs(outputs)
        plain = self.case.contiguous() if problem is not None else None
        if plain is not None and Truth(plain)._differs(outputs) is None:
            return None  # PyTorch contradicts itself
        return problem

    def _differs(self, outputs: Sequence[torch.Tensor]) -> str | None:
        terms: list[torch.Tensor] | None = None
        for number, (got, single) in enumerate(zip(outputs, self.single, strict=True)):
            assert self.exact is not None
            exact = self.exact[number]
            what = f"output {number}: "
            if got.shape != single.shape or got.dtype != single.dtype:
                return f"{what}{got.dtype}{list(got.shape)} instead of {single.dtype}{list(single.shape)}"
            got, single, exact = as_floats(got), as_floats(single), as_floats(exact)
            bad = _unlike(got, single, exact, None)
            if bad.any() and single.is_floating_point():
                terms = terms or self._terms()
                bad = _unlike(got, single, exact, terms[number])
            if bad.any() and self._tied(got, single):
                continue
            if bad.any():
                at = tuple(int(i) for i in bad.nonzero()[0])
                return (f"{what}{int(bad.sum())} of {bad.numel()} elements differ, the first at {list(at)}: "
                        f"got {got[at].item()!r}, PyTorch has {single[at].item()!r}, in float64 {exact[at].item()!r}")
        return None

    def _tied(self, got: torch.Tensor, single: torch.Tensor) -> bool:
        """Whether indices name elements of equal value along some axis, as many different ones as PyTorch's."""
        if single.dtype != torch.int64 or self.case.operator not in OPEN_TIES or self.case.kwargs.get("stable"):
            return False
        x = next(x for x in self.case.operands() if isinstance(x, torch.Tensor))
        for axis in range(x.dim()):
            kept = [i.unsqueeze(axis) if i.dim() == x.dim() - 1 else i for i in (got, single)]
            if any(i.dim() != x.dim() or bool(((i < 0) | (i >= x.shape[axis])).any()) for i in kept):
                continue
            others = [(a, b) for d, (a, b) in enumerate(zip(kept[0].shape, x.shape, strict=True)) if d != axis]
            if any(a != b for a, b in others):
                continue
            ours, theirs = (x.gather(axis, i) for i in kept)
            same = (ours == theirs) | (ours.isnan() & theirs.isnan())
            once = kept[0].sort(axis).values.diff(dim=axis).ne(0).all()
            if bool(same.all()) and bool(once):
                return True
        return False

    def _wide(self, leaves: Sequence[Any]) -> list[torch.Tensor] | None:
        try:
            with _default_dtype(torch.float64):
                wide = {id(x): _widen(x) for x in leaves}
                return self.case.call(_clones([wide[id(x)] for x in leaves]))
        except Exception:  # an operator without float64 is judged by float32
            return None

    def _terms(self) -> list[torch.Tensor]:
        """The size of what each output element is made of."""
        assert self.exact is not None
        sizes = [torch.zeros(as_floats(x).shape, dtype=torch.float64) for x in self.exact]
        generator = torch.Generator().manual_seed(0)
        transform = self.case.operator.partition(".")[0] in TRANSFORMS
        leaves = [x.double() if transform and isinstance(x, torch.Tensor) and not _is_float(x) else x
                  for x in self.case.leaves()]  # whole numbers are moved as floats
        for _ in range(PAIRS):
            signs = [
                torch.randint(0, 2, as_floats(x).shape, generator=generator).double() * 2 - 1 if _is_float(x) else None
                for x in leaves
            ]
            up, down = (
                self._wide([x if s is None else _moved(x, way * NUDGE * s)
                            for x, s in zip(leaves, signs, strict=True)])
                for way in (1, -1)
            )
            if up is None or down is None or len(up) != len(sizes):
                continue
            for k, (a, b, e) in enumerate(zip(up, down, self.exact, strict=True)):
                if a.shape == b.shape == e.shape:
                    a, b, e = as_floats(a), as_floats(b), as_floats(e)
                    least = torch.minimum((a.double() - e.double()).abs(), (b.double() - e.double()).abs())
                    sizes[k] = torch.maximum(sizes[k], least.nan_to_num(0.0, 0.0) / NUDGE)
        if transform:
            return [size.amax().expand(size.shape) if size.numel() else size for size in sizes]
        return sizes


def _unlike(
    got: torch.Tensor, single: torch.Tensor, exact: torch.Tensor, terms: torch.Tensor | None
) -> torch.Tensor:
    """Which elements are wrong."""
    if not single.is_floating_point():
        return (got != single) & (got != exact)
    ulp = torch.finfo(single.dtype).eps
    tiny = torch.finfo(single.dtype).smallest_normal * ulp
    g, s, e = got.double(), single.double(), exact.double()
    same = (g == s) | (g.isnan() & s.isnan())
    near = (g - s).abs() <= ULPS * (ulp * s.abs() + tiny)
    allowed = TIMES_OWN * (s - e).abs() + ULPS * (ulp * e.abs() + tiny)
    if terms is not None:
        allowed = allowed + TERM_ULPS * ulp * terms
    right = (g - e).abs() <= allowed
    finite = g.isfinite() & s.isfinite()
    return ~(same | (finite & (near | right)))


def _is_float(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())


def _moved(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    """A tensor whose numbers are moved by a share of them, the parts of complex ones by themselves."""
    moved = as_floats(x).double() * (1 + by)
    return as_complex(moved) if x.is_complex() else moved


def _clones(leaves: Sequence[Any]) -> list[Any]:
    """With strides and the memory around a view: some operators look at them. What is one tensor stays one."""
    copies = {id(x): copy.deepcopy(x) if isinstance(x, torch.Tensor) else x for x in leaves}
    return [copies[id(x)] for x in leaves]


def _widen(x: Any) -> Any:
    if isinstance(x, torch.Tensor) and x.dtype in (torch.float32, torch.float16, torch.bfloat16):
        return x.double()
    if isinstance(x, torch.Tensor) and x.dtype == torch.complex64:
        return x.to(torch.complex128)
    return {torch.float32: torch.float64, torch.complex64: torch.complex128}.get(x, x) if isinstance(
        x, torch.dtype) else x


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
