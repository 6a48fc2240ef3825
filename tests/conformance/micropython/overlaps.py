"""Calls that write to memory which they read, or to one element twice: PyTorch's rules are the truth.

Where it raises a RuntimeError, MicroPython must. Where it computes what it computes without the overlap, MicroPython
computes that or refuses. What PyTorch computes otherwise depends on the order in which it goes, and does not count.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from torch.utils import _pytree as pytree

from conformance.cases import Verdict
from conformance.micropython.samples import FEW, SEED, Sample, Samples, Skipped, build
from conformance.micropython.text import DTYPES
from conformance.micropython.verdict import Run, decode, is_known

DTYPE = "float32"
_CRASHING = ("nn.functional.avg_pool3d", "narrow_copy")  # PyTorch itself writes outside of such a result


def overlaps(samples: Samples, operator: str) -> Iterator[Sample | Skipped]:
    """Calls of an operator with out= or self over one of its arguments, or over itself."""
    op = samples.table[operator]
    if torch.float32 not in op.dtypes or operator in _CRASHING:
        return
    torch.manual_seed(0)
    number = 0
    for sample in islice(op.sample_inputs("cpu", torch.float32, requires_grad=False), 1 if samples.limit else FEW):
        args, kwargs = (sample.input, *sample.args), dict(sample.kwargs)
        calls = [(op.op, "out", c) for c in _with_out(op.op, args, kwargs)] if op.supports_out else []
        if op.inplace_variant is not None and isinstance(sample.input, torch.Tensor):
            calls += [(op.inplace_variant, "in place", c) for c in _in_place(args, kwargs)]
        for function, form, (how, given, keywords) in calls:
            case = build(operator, DTYPE, number, f"{form} {how}", function, given, keywords)
            if case is not None:
                yield case
                number += 1


Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def _plain(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.layout == torch.strided and x.numel() > 1 and x.dtype in DTYPES


def _with_out(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Call]:
    try:
        torch.default_generator.manual_seed(SEED)
        result = function(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    except Exception:
        return
    if not _plain(result):
        return
    yield "expanded", args, {**kwargs, "out": torch.ones((), dtype=result.dtype).expand(result.shape)}
    leaves, spec = pytree.tree_flatten((args, kwargs))
    for k, x in enumerate(leaves):
        if _plain(x) and x.dtype == result.dtype:
            for how, read, written in _pairs(x, result.shape):
                given, keywords = pytree.tree_unflatten([*leaves[:k], read, *leaves[k + 1 :]], spec)
                yield f"{how} argument {k}", given, {**keywords, "out": written}


def _in_place(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Call]:
    self, *rest = args
    if not _plain(self):
        return
    yield "expanded", (self.flatten()[0].clone().expand(self.shape), *rest), kwargs
    leaves, spec = pytree.tree_flatten((rest, kwargs))
    for k, x in enumerate(leaves):
        if _plain(x) and x.dtype == self.dtype:
            for how, read, written in _pairs(x, self.shape):
                written = written if how == "same" else written.copy_(self) if not _meets(read, written) else written
                given, keywords = pytree.tree_unflatten([*leaves[:k], read, *leaves[k + 1 :]], spec)
                yield f"{how} argument {k}", (written, *given), keywords


def _meets(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def _pairs(x: torch.Tensor, shape: torch.Size) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    """A copy of x, and a tensor of another shape over its memory: the same, the other way round, one element off."""
    count = shape.numel()
    if x.shape == shape:
        read = x.detach().clone(memory_format=torch.contiguous_format)
        yield "same", read, read.view(shape)
        order = tuple(reversed(range(x.dim())))
        turned = read.view(tuple(reversed(shape))).permute(order)
        if turned.stride() != read.stride():
            yield "transposed", read, turned
    base = torch.ones(max(x.numel(), count) + 1, dtype=x.dtype)
    read = base[1 : 1 + x.numel()].view(x.shape)
    read.copy_(x.detach())
    yield "shifted", read, base[:count].view(shape)


def judge_overlaps(cases: Sequence[Sample | Skipped], known: set[str], run: Run) -> list[Verdict]:
    """`pass`, `refused`, `wrong`; `outside` where PyTorch's answer is left to chance."""
    verdicts: list[Verdict] = []
    waiting: list[tuple[Sample, torch.Tensor | None]] = []
    for case in cases:
        if isinstance(case, Skipped) or case.random or case.unwritten:
            continue
        if not all(is_known(name, known) for name in case.names):
            continue
        try:
            args, kwargs = copy.deepcopy((case.args, case.kwargs))
            result: torch.Tensor | None = case.function(*args, **kwargs)[0]
        except RuntimeError:
            result = None
        except Exception:  # nothing to do with memory
            continue
        if result is not None and not _same(result, case):
            verdicts.append(Verdict(case, "outside", "PyTorch's answer depends on its order"))
            continue
        waiting.append((case, result))
    answers = run([case.line for case, _ in waiting])
    for number, (case, result) in enumerate(waiting):
        verdicts.append(_verdict(case, result, answers[number]))
    return verdicts


def _same(result: torch.Tensor, case: Sample) -> bool:
    """Whether it is what comes out where no memory is shared."""
    apart = pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, (case.args, case.kwargs))
    try:
        plain = case.function(*apart[0], **apart[1])[0]
    except Exception:
        return False
    return plain.shape == result.shape and torch.allclose(plain.double(), result.double(), 1e-4, 1e-4, equal_nan=True)


def _verdict(case: Sample, result: torch.Tensor | None, answer: str) -> Verdict:
    status, _, rest = answer.partition(" ")
    form = f"({case.form}) "
    if status == "error":
        return Verdict(case, "refused", f"{form}{rest[:80]}") if result is not None else Verdict(case, "pass")
    if status != "ok":
        return Verdict(case, "wrong", f"{form}{answer}")
    if result is None:
        return Verdict(case, "wrong", f"{form}computes where PyTorch raises")
    got = decode(rest.partition("c:")[0])[0]
    same = got.shape == result.shape and torch.allclose(got.double(), result.double(), 1e-3, 1e-3, equal_nan=True)
    return Verdict(case, "pass" if same else "wrong", "" if same else f"{form}another result than PyTorch's")
