"""The module itself is the truth: a model that torch.export captures differently is refused, with the reason."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.capture.eager import Eager
from pilotlight.errors import PilotlightError
from pilotlight.session import run_session
from support.compiled import check

X = torch.tensor([1.0, 2.0, 3.0])


class Stateful(nn.Module):
    """A function of the module and its input, with a buffer `h` and what else is given."""

    def __init__(self, function: Callable[..., Any], **attributes: Any):
        super().__init__()
        self.register_buffer("h", torch.zeros(3))
        self.function = function
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self, x)


def rebinds(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    old = self.h
    self.h = self.h + x
    return old, self.h


def counts(self: Any, x: torch.Tensor) -> torch.Tensor:
    self.calls += 1
    return x * self.calls


def counts_late(self: Any, x: torch.Tensor) -> torch.Tensor:
    self.calls += 1
    return x * 2 if self.calls < 4 else x * 3


def appends(self: Any, x: torch.Tensor) -> torch.Tensor:
    self.seen.append(x)
    return torch.stack(self.seen).sum(0)


def keeps_a_tensor(self: Any, x: torch.Tensor) -> torch.Tensor:
    self.plain = self.plain + x
    return self.plain


REFUSED: dict[str, tuple[Stateful, str, str]] = {
    "a buffer bound anew": (Stateful(rebinds), "output 0 of call 1", "old = self.h.clone(), then self.h.copy_("),
    "a number that counts": (Stateful(counts, calls=0), "'calls'", "self.register_buffer('calls'"),
    "a number that counts for long": (Stateful(counts_late, calls=0), "output 0 of call 4", "register_buffer"),
    "a list that grows": (Stateful(appends, seen=[]), "'seen'", "self.register_buffer('seen'"),
    "a tensor that is no buffer": (Stateful(keeps_a_tensor, plain=torch.zeros(3)), "'plain'", "register_buffer"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_program_that_departs_from_the_module_is_refused(case: tuple[Stateful, str, str]) -> None:
    module, what, hint = case
    with pytest.raises(PilotlightError) as caught:
        pl.capture(module, (X,))
    assert caught.value.kind == "capture" and what in caught.value.message and hint in (caught.value.hint or "")


def rewritten(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    old = self.h.clone()
    self.h.copy_(self.h + x)
    return old, self.h


def rebinds_alone(self: Any, x: torch.Tensor) -> torch.Tensor:
    self.h = self.h * 0.5 + x
    return self.h * 2


def counts_for_itself(self: Any, x: torch.Tensor) -> torch.Tensor:
    self.calls += 1
    return x + 1


def returns_what_it_changes(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    before = self.h
    self.h.add_(x)
    return before, self.h * 2


SAME = {"the hint of a buffer bound anew": rewritten, "bound anew, its old value not returned": rebinds_alone,
        "counted but not used": counts_for_itself, "returned and then changed": returns_what_it_changes}


@pytest.mark.parametrize("function", SAME.values(), ids=SAME)
def test_what_torch_export_keeps_is_compiled_and_compared_with_the_module(function: Callable[..., Any]) -> None:
    check(Stateful(function, calls=0), (X,), runs=5)


def test_the_same_tensor_as_two_inputs_stays_two_inputs() -> None:
    """torch.export alone would read one of them twice."""
    class Two(nn.Module):
        def forward(self, pair: tuple[torch.Tensor, torch.Tensor], z: torch.Tensor) -> torch.Tensor:
            return pair[0] * 2 + pair[1] * 3 + z * 5

    build = pl.compile(pl.capture(Two(), ((X, X), X)))
    y = build.run((X, X + 1), X + 2, on="host")
    assert torch.equal(y, X * 2 + (X + 1) * 3 + (X + 2) * 5)


def test_the_module_stays_as_it_is() -> None:
    module = Stateful(returns_what_it_changes, inner=nn.Dropout())
    module.train()
    graph = pl.capture(module, (X,))
    assert module.training and module.inner.training and torch.equal(module.h, torch.zeros(3))
    module.h.fill_(7.0)  # nor does the captured model follow it
    assert torch.equal(graph.truth.in_float32()(X)[0], X) and float(graph.states[0].initial.max()) == 0.0


def test_a_module_that_cannot_be_copied_is_named() -> None:
    module = Stateful(lambda self, x: x + 1, lock=threading.Lock())
    with pytest.raises(PilotlightError, match=r"copy\.deepcopy says: cannot pickle") as caught:
        pl.capture(module, (X,))
    assert caught.value.where == "Stateful.lock" and ".pt2" in (caught.value.hint or "")


def test_a_weight_that_was_computed_can_be_copied() -> None:
    layer = nn.utils.weight_norm(nn.Linear(3, 2))
    check(layer, (X,))


def test_hidden_state_is_refused() -> None:
    seen: list[int] = []

    def counts_outside(self: Any, x: torch.Tensor) -> torch.Tensor:
        seen.append(1)
        return x * len(seen)

    with pytest.raises(PilotlightError, match="called again with the same inputs"):
        pl.capture(Stateful(counts_outside), (X,))


def names_its_type(self: Any, x: torch.Tensor) -> torch.Tensor:
    scale = torch.ones(3, dtype=torch.float32) / 3
    scale += torch.tensor([0.1, 0.2, 0.3])
    return (x.to(torch.float32) * scale).float() + torch.arange(3) / 7 + self.table[0]


def controls(self: Any, x: torch.Tensor) -> torch.Tensor:
    y: torch.Tensor = torch.cond(x.sum() > 0, lambda v: v / 3, lambda v: v / 7, (x,))
    return y


@pytest.mark.parametrize("function", [names_its_type, controls])
def test_in_float64_every_operator_is(function: Callable[..., Any]) -> None:
    """Also where the module names float32: float32's rounding shows next to it."""
    eager = Eager(Stateful(function, table=[torch.full((3,), 0.1)]), (X / 3,))
    (exact,), (single,) = eager.start(torch.float64)(X / 3), eager.start()(X / 3)
    assert exact.dtype == torch.float64 and 0 < float((exact - single).abs().max()) < 1e-6


def counts_to_ten(self: Any, x: torch.Tensor) -> torch.Tensor:
    self.calls += 1
    return x * 2 if self.calls < 10 else x * 3


def test_a_departure_after_capture_has_looked_is_told_with_the_mismatch() -> None:
    build = pl.compile(pl.capture(Stateful(counts_to_ten, calls=0), (X,), "net"))
    rows = [[X + k] for k in range(12)]
    session = run_session(build, rows)
    assert not session.match and "output 0 of call 10 is not what the module itself gives" in session.warnings[0]
    assert run_session(build, rows[:9]).warnings == []
