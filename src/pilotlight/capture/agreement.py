"""Does the exported program do what the module does, call after call?

torch.export runs a module once and does not see what that changes: a number that counts calls is a constant in the
program, and a buffer that is bound to a new tensor gives its new value under its old name too. Such a model is
refused, with what to write instead.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.export import ExportedProgram

from pilotlight.capture.eager import Eager
from pilotlight.capture.reference import ExportedAnswers, example_inputs, one_thread, variations
from pilotlight.capture.sequence import SequenceAnswers
from pilotlight.errors import PilotlightError
from pilotlight.graph import Answers, Graph
from pilotlight.graph.lengths import at_lengths, every_length, vary_lengths
from pilotlight.graph.ports import as_floats
from pilotlight.graph.program import mixed

CALLS = 8  # of a module that changes something; one that changes nothing is called twice
TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-5}  # of the largest element; both must be exceeded
DEPTH = 6  # how deep nested objects are compared

Outputs = list[torch.Tensor]


def check_agreement(eager: Eager, functional: ExportedProgram, graph: Graph) -> None:
    """Refuse a model whose functionalized program, which the graph is made from, differs from the module."""
    names = [port.name for port in graph.outputs if not port.is_size]
    example = example_inputs(functional)
    rows = [example, *vary_lengths(graph.inputs, variations(example, CALLS - 1))]
    with one_thread():
        _check_lengths(eager, functional, graph, example)
        first = eager.start()(*rows[0])
        module = eager.start()
        bound = dict(module.module.named_buffers())
        want = [module(*rows[0])]
        if not all(map(_same, want[0], first)):
            raise _random()
        changed = list(_changes(eager.original, module.module))
        want += _calls(module, rows[1:CALLS if changed else 2])
        rows = rows[: len(want)]
        program = ExportedAnswers(functional)
        got = [program(*row) for row in rows]
        place = departure(got, want)
        if place is None or _agree_in_float64(eager, functional, rows):
            return
    call, output = place
    rebound = [n for n, b in module.module.named_buffers() if n in bound and b is not bound[n] and n in changed]
    raise _departed(call, names[output] if output < len(names) else str(output), changed, rebound)


def _check_lengths(eager: Eager, functional: ExportedProgram, graph: Graph, example: Outputs) -> None:
    """Refuse a program that differs from the module at some length; torch.export traces it at one of them."""
    for lengths in every_length(graph.inputs):
        row = at_lengths(graph.inputs, example, lengths)
        want = [eager.start()(*row)]
        try:
            same = departure([ExportedAnswers(functional)(*row)], want) is None
        except Exception:  # the program cannot be run at all
            same = False
        if not same and not _agree_in_float64(eager, functional, [row]):
            shown = ", ".join(f"{graph.inputs[k].name} {n}" for k, n in lengths.items())
            raise PilotlightError(
                f"the exported program is not what the module computes at another length ({shown}): torch.export "
                "captured what it does at that of the example",
                hint="let nothing but shapes depend on the length: no if, no number made from it", kind="capture",
            )


def check_entries(
    eagers: Mapping[str, Eager], functional: Mapping[str, ExportedProgram], graphs: Mapping[str, Graph]
) -> None:
    """Refuse a program whose entry points, called in turns, depart from the module's: one changes what another has
    for a constant."""
    order = mixed(list(eagers), CALLS)
    seen: Counter[str] = Counter()
    rows = []
    for name in order:
        ports, example = graphs[name].inputs, eagers[name].example
        rows.append([example, *vary_lengths(ports, variations(example, CALLS))][seen[name]])
        seen[name] += 1
    with one_thread():
        answers = {name: eager.start() for name, eager in eagers.items()}
        want = _calls(SequenceAnswers(order, answers), rows)
        program = SequenceAnswers(order, {name: ExportedAnswers(p) for name, p in functional.items()})
        place = departure([program(*row) for row in rows[: len(want)]], want)
    if place is None:
        return
    call, output = place
    names = [port.name for port in graphs[order[call]].outputs if not port.is_size]
    eager = eagers[order[0]]
    changed = list(_changes(eager.original, answers[order[0]].module))
    buffers = dict(eager.original.named_buffers())
    raise _departed(call, f"{names[output]} of {order[call]}", [n for n in changed if n not in buffers], [])


def _calls(module: Answers, rows: list[Outputs]) -> list[Outputs]:
    """As many calls as the module allows: it may refuse inputs other than its example."""
    results = []
    with contextlib.suppress(PilotlightError):
        for row in rows:
            results.append(module(*row))
    return results


def _agree_in_float64(eager: Eager, functional: ExportedProgram, rows: list[Outputs]) -> bool:
    """Rounding may make the two differ in float32; if they differ in float64 too, the computation differs."""
    try:
        exact = eager.start(torch.float64)
        want = [exact(*row) for row in rows]
        program = ExportedAnswers(functional, torch.float64)
        got = [program(*row) for row in rows]
    except Exception:  # either may hold an operator that has no float64
        return False
    return departure(got, want, torch.float64) is None


def departure(
    got: list[Outputs], want: list[Outputs], dtype: torch.dtype = torch.float32
) -> tuple[int, int] | None:
    """The first call and output that differ by more than rounding."""
    for call, (left, right) in enumerate(zip(got, want, strict=True)):
        if len(left) != len(right):
            return call, min(len(left), len(right))
        for output, (g, w) in enumerate(zip(left, right, strict=True)):
            if not _close(g, w, TOLERANCE[dtype]):
                return call, output
    return None


def _close(got: torch.Tensor, want: torch.Tensor, tolerance: float) -> bool:
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    got, want = as_floats(got), as_floats(want)
    if not want.is_floating_point():
        return torch.equal(got, want)
    if want.dtype in (torch.float16, torch.bfloat16):
        tolerance = max(tolerance, 4 * torch.finfo(want.dtype).eps)
    got, want = got.double(), want.double()
    finite = want.isfinite()
    if not _equal(got[~finite], want[~finite]) or not bool(got[finite].isfinite().all()):
        return False
    got, want = got[finite], want[finite]
    return not want.numel() or float((got - want).abs().max()) <= tolerance * float(want.abs().max())


def _changes(before: nn.Module, after: nn.Module) -> Iterator[str]:
    """Buffers, parameters and attributes that a call has changed, by their paths."""
    parts = dict(after.named_modules())
    for path, part in before.named_modules():
        other = parts.get(path)
        if other is None:
            continue
        for store in (lambda m: vars(m), lambda m: m._buffers, lambda m: m._parameters):
            old, new = store(part), store(other)
            for name in dict.fromkeys([*old, *new]):
                hidden = name in ("_buffers", "_parameters", "_modules") or name.startswith("_forward")
                if not hidden and not _same(old.get(name), new.get(name)):
                    yield f"{path}.{name}" if path else name


def _same(left: Any, right: Any, depth: int = DEPTH) -> bool:
    """Equal as far as can be told; objects are compared by their attributes, functions and modules are not compared."""
    if left is right or depth == 0:
        return True
    if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
        return type(left) is type(right) and _equal(left, right)
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        return np.array_equal(left, right)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(_same(a, b, depth - 1) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(left[k], right[k], depth - 1) for k in left)
    if isinstance(left, int | float | complex | str | bytes | set):
        return bool(left == right) or left != left
    held = getattr(left, "__dict__", None)
    if not isinstance(held, dict) or isinstance(left, nn.Module | type) or callable(left):
        return True
    return _same(held, right.__dict__, depth - 1)


def _equal(left: torch.Tensor, right: torch.Tensor) -> bool:
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if hasattr(left, "__tensor_flatten__"):  # a tensor made of others, such as torchao's integers with their scales
        return all(_equal(getattr(left, name), getattr(right, name)) for name in left.__tensor_flatten__()[0])
    return bool(((left == right) | ((left != left) & (right != right))).all())


def _random() -> PilotlightError:
    return PilotlightError(
        "the model gives a different result when it is called again with the same inputs and the same state: it "
        "draws random numbers or keeps state outside the module; a compiled model can do neither",
        hint="take the random numbers as an input; keep values that last between calls in a registered buffer",
        kind="capture",
    )


def _departed(call: int, output: str, changed: list[str], rebound: list[str]) -> PilotlightError:
    """What differs, why, and what to write."""
    what = f"output {output} of call {call + 1} is not what the module itself gives: torch.export "
    attributes = [name for name in changed if name not in rebound]
    if rebound:
        name = rebound[0].rpartition(".")[2]
        what += f"takes the new value of the buffer {rebound[0]!r}, which is bound to another tensor, for its old one"
        hint = f"keep the old value as a copy and write into the buffer: old = self.{name}.clone(), then " \
               f"self.{name}.copy_(...) where it says self.{name} = ..."
    elif attributes:
        name = attributes[0].rpartition(".")[2]
        what += f"keeps {attributes[0]!r} as it was at the first call, and the module changes it"
        hint = f"keep values that last between calls in a buffer and write into it: " \
               f"self.register_buffer({name!r}, torch.zeros(...)), then self.{name}.copy_(...)"
    else:
        what += "captured another computation"
        hint = "compare module(x) with torch.export.export(module, (x,)).module()(x), and rewrite the part " \
               "that differs"
    return PilotlightError(what, hint=hint, kind="capture")
