"""PyTorch's answer against MicroPython's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch

from conformance.cases import Case, Verdict
from conformance.judge import Truth
from conformance.micropython.samples import Sample, Skipped, with_elements
from conformance.micropython.text import DTYPES, outside

REFUSALS = ("TypeError", "NotImplementedError", "RuntimeError", "AttributeError")
_BY_NAME = {name: dtype for dtype, name in DTYPES.items()}
Run = Callable[[Sequence[str]], dict[int, str]]


def decode(text: str) -> list[torch.Tensor]:
    """The tensors and numbers of an answer."""
    found = []
    for token in text.split():
        kind, _, rest = token.partition(":")
        if kind == "t":
            name, sizes, data = rest.split(":")
            shape = tuple(int(n) for n in sizes.split(",") if n)
            flat = torch.frombuffer(bytearray.fromhex(data), dtype=_BY_NAME[name]) if data else torch.zeros(
                0, dtype=_BY_NAME[name])
            found.append(flat.reshape(shape))
        elif kind == "b":
            found.append(torch.tensor(rest == "1"))
        elif kind == "i":
            found.append(torch.tensor(int(rest)))
        elif kind == "f":
            found.append(torch.frombuffer(bytearray.fromhex(rest), dtype=torch.float64)[0].float())
    return found


def _results(sample: Sample, text: str) -> list[torch.Tensor]:
    """What the call gave, then its arguments as it left them; `c:N` goes before the N-th if it was changed."""
    results, *rest = text.split("c:")
    changed = {int(part.partition(" ")[0]): decode(part.partition(" ")[2])[0] for part in rest}
    given = with_elements(sample.leaves())
    numbers = {key: number for number, key in enumerate(dict.fromkeys(id(x) for x in given))}
    return [*decode(results), *(changed.get(numbers[id(x)], x) for x in given)]


def _verdict(sample: Sample, truth: Truth, answer: str) -> Verdict:
    status, _, rest = answer.partition(" ")
    form = f"({sample.form}) " if sample.form else ""
    if status == "error":
        name, _, message = rest.partition(" ")
        return Verdict(sample, "refused" if name in REFUSALS else "wrong", f"{form}{name}: {message}")
    if status == "died":
        return Verdict(sample, "wrong", f"{form}died {rest}")
    got = _results(sample, rest)
    if len(got) != len(truth.single):
        return Verdict(sample, "wrong", f"{form}{len(got)} results instead of {len(truth.single)}")
    if sample.unwritten:
        for a, b in zip(got, truth.single, strict=True):
            if a.shape != b.shape or a.dtype != b.dtype:
                return Verdict(sample, "wrong", f"{form}{a.dtype}{list(a.shape)} instead of {b.dtype}{list(b.shape)}")
        return Verdict(sample, "pass")
    if sample.random and _close(got, truth.single):
        return Verdict(sample, "pass")
    difference = truth.differs(got)
    return Verdict(sample, "pass") if difference is None else Verdict(sample, "wrong", f"{form}{difference}")


def _truth(sample: Sample) -> Truth | Verdict:
    try:
        truth = Truth(sample)
    except Exception as error:  # PyTorch itself refuses
        return Verdict(sample, "raises", type(error).__name__)
    for tensor in truth.single:
        reason = outside(tensor)
        if reason is not None and tensor.dtype != torch.float64:
            return Verdict(sample, "outside", reason)
        if tensor.dtype == torch.float64:
            return Verdict(sample, "outside", "dtype float64")
    if not truth.single:
        return Verdict(sample, "no-tensor")
    if sample.form == "expanded" and not sample.random and not _near(truth.single, _apart(sample)):
        return Verdict(sample, "outside", "PyTorch has another answer for the same elements in one piece")
    if sample.random and not _near(truth.single, truth.exact or []):
        truth.exact = truth.single  # other numbers are drawn for float64
    return truth


def _apart(sample: Sample) -> list[torch.Tensor]:
    """The results with every element in a place of its own."""
    pieces = {id(x): x.clone(memory_format=torch.contiguous_format) for x in sample.inputs()}
    return sample.call([pieces.get(id(x), x) for x in sample.leaves()])


def _near(single: Sequence[torch.Tensor], exact: Sequence[torch.Tensor]) -> bool:
    return all(torch.allclose(s.double(), e.double(), 1e-2, 1e-2, equal_nan=True)
               for s, e in zip(single, exact, strict=True))


def _close(got: Sequence[torch.Tensor], single: Sequence[torch.Tensor]) -> bool:
    """Random numbers, whose terms cannot be measured: as near as rounding of the largest allows."""
    def near(a: torch.Tensor, b: torch.Tensor) -> bool:
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if not b.is_floating_point() or not b.numel():
            return torch.equal(a, b)
        return bool(((a - b).double().abs() <= 16 * torch.finfo(b.dtype).eps * b.double().abs().max()).all())

    return all(near(a, b) for a, b in zip(got, single, strict=True))


def judge(samples: Iterable[Sample | Skipped], known: set[str], run: Run) -> list[Verdict]:
    """A verdict for every sample; those that are not covered do not run."""
    verdicts: list[Verdict] = []
    waiting: list[tuple[Sample, Truth]] = []
    for sample in samples:
        if isinstance(sample, Skipped):
            verdicts.append(Verdict(_placeholder(sample), "outside", sample.reason))
            continue
        missing = [name for name in sample.names if not is_known(name, known)]
        if missing:
            verdicts.append(Verdict(sample, "missing", missing[0]))
            continue
        truth = _truth(sample)
        if isinstance(truth, Verdict):
            verdicts.append(truth)
        else:
            waiting.append((sample, truth))
    answers = run([sample.line for sample, _ in waiting])
    for number, (sample, truth) in enumerate(waiting):
        verdicts.append(_verdict(sample, truth, answers[number]))
    return verdicts


def judge_errors(samples: Iterable[Sample | Skipped], known: set[str], run: Run) -> list[Verdict]:
    """Calls that PyTorch refuses: `pass` with its type of exception, `other` with another, `wrong` without one."""
    covered = [s for s in samples if isinstance(s, Sample) and all(is_known(name, known) for name in s.names)
               and getattr(_truth(s), "outcome", "") == "raises"]
    answers = run([sample.line for sample in covered])
    verdicts = []
    for number, sample in enumerate(covered):
        status, _, rest = answers[number].partition(" ")
        assert sample.error is not None
        if status == "error":
            same = sample.error is Exception or rest.partition(" ")[0] == sample.error.__name__
            verdicts.append(Verdict(sample, "pass" if same else "other", "" if same else f"{rest} instead of "
                                    f"{sample.error.__name__}"))
        else:
            verdicts.append(Verdict(sample, "wrong", f"no {sample.error.__name__}: {answers[number][:80]}"))
    return verdicts


def is_known(name: str, known: set[str]) -> bool:
    """Operator signs and indexing are part of every build."""
    last = name.removesuffix(".__get__").rpartition(".")[2]
    return last.startswith("__") or name.removesuffix(".__get__") in known


def _placeholder(skipped: Skipped) -> Case:
    return Case(skipped.operator, skipped.dtype, -1, lambda: None, (), {})
