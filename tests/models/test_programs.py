"""Several entry points of one module: the same results as its methods called in turns, in one arena, with one state."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import pilotlight as pl
from support.c_compilers import SANITIZERS, STRICT, compile_c


class Memory(nn.Module):
    """`feed` and the module itself change what `ask` reads; `count` is `feed`'s alone."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.out = nn.Linear(6, 5), nn.Linear(5, 3)
        self.register_buffer("total", torch.full((2, 5), 0.5))
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))

    def feed(self, x: torch.Tensor, *, gain: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.total.mul_(0.9).add_(torch.tanh(self.inner(x)) * gain)
        self.count += 1
        return self.total.sum(), self.count * 2

    def ask(self, scale: torch.Tensor) -> dict[str, torch.Tensor]:
        scores = self.out(self.total) * scale
        return {"scores": scores, "best": scores.argmax(1)}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.copy_(x)
        return self.out(x)


ORDER = ("ask", "feed", "feed", "ask", "set", "ask", "feed", "set", "set", "feed", "ask")


def entries(net: Memory | None = None) -> dict[str, Any]:
    torch.manual_seed(4)
    net = net or Memory()
    return {
        "feed": (net.feed, (torch.randn(2, 6),), {"gain": torch.randn(5)}),
        "ask": (net.ask, torch.randn(1)),
        "set": (net, (torch.randn(2, 5),)),
    }


@pytest.fixture(scope="module")
def program() -> Any:
    return pl.capture(entries(), name="recall")


def test_calls_in_any_order_are_the_methods_own(program: Any) -> None:
    """In turns, after a reset, and in an order that nobody planned; with sanitizers."""
    torch.manual_seed(4)
    net = Memory().eval()
    build = pl.compile(program)
    with build.open(sanitize=SANITIZERS) as running, torch.no_grad():
        for start in range(2):
            module = copy.deepcopy(net)
            running.reset()
            for number, name in enumerate(ORDER):
                torch.manual_seed(100 * start + number)
                x, gain, scale, new = torch.randn(2, 6), torch.randn(5), torch.randn(1), torch.randn(2, 5)
                if name == "feed":
                    total, count = running.entry("feed")(x, gain=gain)
                    want, counted = module.feed(x, gain=gain)
                    assert torch.allclose(total, want, atol=1e-5) and torch.equal(count, counted)
                elif name == "ask":
                    scores, best = running.entry("ask")(scale)
                    asked = module.ask(scale)
                    assert torch.allclose(scores, asked["scores"], atol=1e-5) and torch.equal(best, asked["best"])
                else:
                    assert torch.allclose(running.entry("set")(new), module(new), atol=1e-5)


def test_one_arena_one_state_one_set_of_weights(program: Any) -> None:
    build = pl.compile(program)
    meta = build.module.metadata
    assert meta["arena_bytes"] == max(e.plan.arena.size for e in build.entries.values())
    assert [row["name"] for row in meta["entries"]] == ["feed", "ask", "set"]
    assert [row["function"] for row in meta["entries"]] == ["recall_feed_run", "recall_ask_run", "recall_set_run"]
    places = [{s.name: at for s, at in e.plan.state_offsets.items()} for e in build.entries.values()]
    assert places == [{"total": 0, "count": 40}, {"total": 0}, {"total": 0}]
    alone = {name: pl.compile(graph) for name, graph in program.entries.items()}
    weights = {name: one.module.metadata["weights_bytes"] for name, one in alone.items()}
    first = 2 * 5 * 4  # what `total` begins with
    assert meta["weights_bytes"] == weights["feed"] + weights["set"] - first  # `ask` has the weights of `set`
    assert "recall_run" not in str(build.module.files["recall.h"])
    with pytest.raises(pl.PilotlightError, match="there is no entry point 'train'"), build.open() as running:
        running.entry("train")


def test_the_session_compares_every_entry(program: Any) -> None:
    session = pl.run(program, board="host")
    assert session.match and set(session.entries) == {"feed", "ask", "set"}
    assert sum(len(s.outputs) for s in session.entries.values()) == 12
    calls = [("set", torch.randn(2, 5)), ("ask", torch.ones(1)), ("ask", torch.ones(1))]
    some = pl.run(pl.compile(program), calls)
    assert some.match and set(some.entries) == {"ask", "set"} and len(some.entries["ask"].outputs) == 2
    assert not pl.run(replace(program, reference=Wrong(program.reference)), board="host").match


class Wrong:
    """Another truth: that of a module that was fed before."""

    def __init__(self, real: Any):
        self.real = real

    def along(self, order: list[str]) -> Any:
        reference = self.real.along(["feed", *order])

        class Fed:
            stateful = True

            def in_float32(self) -> Any:
                return Late(reference.in_float32())

            def in_float64(self) -> Any:
                return map(Late, reference.in_float64())

        return Fed()


class Late:
    def __init__(self, answers: Any):
        self.answers = answers
        self.reset()

    def reset(self) -> None:
        self.answers.reset()
        self.answers(torch.ones(2, 6), torch.ones(5))

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        found: list[torch.Tensor] = self.answers(*inputs)
        return found


class Picture(nn.Module):
    """One entry point reads the state channels last, another as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)
        self.register_buffer("image", torch.randn(1, 3, 4, 5))

    def blur(self, x: torch.Tensor) -> torch.Tensor:
        self.image.copy_(self.conv(self.image + x))
        return self.image.mean()

    def rows(self, x: torch.Tensor) -> torch.Tensor:
        return self.image.reshape(3, 20) @ x


@pytest.mark.parametrize("optimize", ["speed", "size", "ram"])
def test_a_state_has_one_order_of_dimensions(optimize: str) -> None:
    torch.manual_seed(1)
    net = Picture()
    program = pl.capture({"blur": (net.blur, torch.randn(1, 3, 4, 5)), "rows": (net.rows, torch.randn(20))})
    assert program.name == "picture"
    assert pl.run(program, board="host", optimize=optimize).match
    assert pl.run(program, board="host", torch_layout=True, keep_inputs=True).match


def test_the_files_compile_without_a_warning(program: Any, tmp_path: Path) -> None:
    build = pl.compile(program, name="other")
    folder = build.write(tmp_path / "out")
    assert build.name == "other" and "other_ask_run" in (folder / "other.h").read_text()
    sources = build.module.metadata["sources"]
    compile_c(["gcc", *STRICT, "-fsanitize=address,undefined", "example_main.c", *sources, "-o", "main"], folder)
    assert program.entries["ask"].name == "recall_ask"


def test_on_a_board_each_entry_has_its_counts(program: Any) -> None:
    build = pl.compile(program, "mps2-an386")
    session = build.session()
    assert session.match
    for name, found in session.entries.items():
        profile = found.profile
        assert profile is not None and len(profile.rows) == len(build.entries[name].plan.steps)
        assert profile.instructions == sum(row.instructions for row in profile.rows) > 0
        assert profile.cycles is not None and profile.cycles >= profile.instructions
        assert found.info.stack is not None and (found.painted_stack or 0) <= found.info.stack


class Counting(nn.Module):
    """A number that is no buffer: the other entry point has it as a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))
        self.calls = 1.0

    def up(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1.0
        self.seen.add_(x)
        return x + 1

    def read(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.calls


def another(net: Memory) -> dict[str, Any]:
    return entries(net) | {"more": (Memory().ask, torch.randn(1))}


REFUSED: list[tuple[Callable[[Memory], Any], str]] = [
    (lambda net: {}, "is an empty dictionary"),
    (lambda net: {"a b": (net, torch.randn(2, 5))}, "an entry point called 'a b'"),
    (lambda net: {"_a": (net, torch.randn(2, 5))}, "an entry point called '_a'"),
    (lambda net: {"a": net}, "entry point 'a' of net is a Memory; expected what to call"),
    (lambda net: {"a": (net.ask,)}, "is a tuple of 1"),
    (lambda net: {"a": (lambda x: net.ask(x), torch.randn(1))}, "calls a function; expected a torch.nn.Module"),
    (lambda net: {"a": (torch.relu, torch.randn(1))}, "expected a torch.nn.Module or a method"),
    (lambda net: {"a": (net.ask, (), 3)}, "keyword arguments of type int"),
    (lambda net: {"a": (net.ask, (torch.ones(1), torch.ones(1)))}, r"Memory.ask\(scale"),
    (lambda net: {"a": (net.ask, torch.ones(1)), "A": (net.ask, torch.ones(1))}, "upper and lower case"),
    (another, "'feed' and 'more' of net belong to different modules"),
]


@pytest.mark.parametrize(("made", "text"), REFUSED, ids=[text[:30] for _, text in REFUSED])
def test_what_is_no_entry_point_is_named(made: Callable[[Memory], Any], text: str) -> None:
    with pytest.raises(pl.PilotlightError, match=text):
        pl.capture(made(Memory()), name="net")


def test_what_cannot_be_done_for_several_is_refused(program: Any) -> None:
    with pytest.raises(pl.PilotlightError, match="recall has the entry points feed, ask, set: they are compiled in"):
        pl.quantize(program, mode="weights-int8")
    with pytest.raises(pl.PilotlightError, match="quantizing them is not supported"):
        pl.run(program, quantize="auto", calibration="data.npz")
    with pytest.raises(pl.PilotlightError, match="are calls of them"):
        pl.run(program, [torch.ones(1)], board="host")
    net = Counting()
    with pytest.raises(pl.PilotlightError, match=r"output 0 of read of call 2.*keeps 'calls' as it was"):
        pl.capture({"up": (net.up, torch.ones(1)), "read": (net.read, torch.ones(1))})


class Unsupported(Memory):
    def sorts(self, x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.eigvals(x).real


def test_an_error_says_which_entry_point_it_is_of() -> None:
    net = Unsupported()
    with pytest.raises(pl.PilotlightError) as caught:
        pl.capture({"ask": (net.ask, torch.ones(1)), "sorts": (net.sorts, torch.eye(3))})
    assert "entry point sorts" in str(caught.value.where) and "test_programs.py" in str(caught.value)


class Clash(nn.Module):
    def a(self, b_run: torch.Tensor) -> torch.Tensor:
        return b_run + 1

    def b(self, x: torch.Tensor) -> torch.Tensor:
        return x + 2


def test_names_that_meet_in_c_are_refused() -> None:
    net = Clash()
    program = pl.capture({"a": (net.a, torch.ones(1)), "a_input_b": (net.b, torch.ones(1))})
    with pytest.raises(pl.PilotlightError, match="two functions of clash would be called clash_a_input_b_run"):
        pl.compile(program)
