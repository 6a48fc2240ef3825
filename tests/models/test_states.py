"""Buffers that a model changes: carried from run to run, reset, updated in place where that is possible."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import pilotlight as pl
from pilotlight.compiler import Build
from support.compiled import Library, Tensors, assert_matches, rows_of, zoo_build
from support.poison import Watch


class Stateful(nn.Module):
    """Names the buffers with their starting values."""

    def __init__(self, **buffers: torch.Tensor):
        super().__init__()
        for name, value in buffers.items():
            self.register_buffer(name, value)


class Counter(Stateful):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.n.add_(1)
        return x * self.n


class DelayLine(Stateful):
    """`last` is overwritten by a computation while its old value moves on to `older`, read by nothing else."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + self.older
        self.older.copy_(self.last)
        self.last.copy_(torch.tanh(x) + self.last)
        return y


class Swap(Stateful):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        old = self.a.clone()
        self.a.copy_(self.b)
        self.b.copy_(old)
        return x + self.a - 2.0 * self.b


class Rotate(Stateful):
    """Three states, each the next one's old value plus something."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b, c = self.a.clone(), self.b.clone(), self.c.clone()
        self.a.copy_(b + x)
        self.b.copy_(c * 0.5)
        self.c.copy_(a)
        return a + 2.0 * b + 3.0 * c


class ReturnsState(Stateful):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        before = self.total.clone()
        self.total.add_(x)
        return self.total, before, self.total[1:]


class ReadsOldValueLater(Stateful):
    """The update is in the middle; after it the old value is still needed."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        old = self.h.clone()
        self.h.copy_(torch.sigmoid(x + old))
        y = self.h * 3.0
        return y.flip(0) + old.cumsum(0)


class WritesByIndex(Stateful):
    def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        self.table[at] = x
        self.table[:, 1] += 0.5
        return self.table.sum(0) + self.table[at][0]


class RingBuffer(Stateful):
    """A window that slides by one: a shifted copy over itself."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.window.copy_(torch.cat([self.window[1:], x[None]]))
        return self.window.mean(0)


class StreamingConv(Stateful):
    """A causal convolution that keeps its past samples, channels first."""

    def __init__(self) -> None:
        super().__init__(past=torch.zeros(1, 4, 6))
        self.conv = nn.Conv1d(4, 5, 3, dilation=3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # (1, 4, 2)
        whole = torch.cat([self.past, x], dim=2)
        self.past.copy_(whole[:, :, -6:])
        return F.relu(self.conv(whole))


class StateFromInput(Stateful):
    """The next state is the input itself, and a constant goes into another one."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x - self.before
        self.before.copy_(x)
        self.flag.fill_(1)
        return y * self.flag


class Unchanged(Stateful):
    """Written with its own value, and one that is never read."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.same.copy_(self.same.clone())
        self.unread.copy_(x * 2.0)
        return x + self.same


class Image(Stateful):
    """A feature map as state, which the layout pass would like to turn."""

    def __init__(self) -> None:
        super().__init__(memory=torch.randn(1, 3, 5, 6, generator=torch.Generator().manual_seed(1)))
        self.conv = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.memory.copy_(0.5 * self.memory + torch.tanh(self.conv(x)))
        return self.conv(self.memory).mean(dim=(2, 3))


def start(*shape: int, seed: int = 3) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


X4 = (torch.tensor([0.5, -1.0, 2.0, 0.25]),)
MODELS = {
    "counter": (Counter(n=torch.tensor(0)), X4),
    "counter that starts at 5": (Counter(n=torch.tensor([5])), X4),
    "delay line": (DelayLine(last=torch.zeros(4), older=torch.zeros(4)), X4),
    "delay line, registered the other way": (DelayLine(older=torch.zeros(4), last=torch.zeros(4)), X4),
    "swap": (Swap(a=start(4), b=start(4, seed=4)), X4),
    "rotate": (Rotate(a=start(4), b=start(4, seed=4), c=start(4, seed=5)), X4),
    "rotate, registered the other way": (Rotate(c=start(4), b=start(4, seed=4), a=start(4, seed=5)), X4),
    "returns its state": (ReturnsState(total=start(4)), X4),
    "reads the old value later": (ReadsOldValueLater(h=torch.zeros(4)), X4),
    "writes by index": (WritesByIndex(table=start(3, 4)), (*X4, torch.tensor([2]))),
    "ring buffer": (RingBuffer(window=torch.zeros(5, 4)), X4),
    "streaming convolution": (StreamingConv(), (start(1, 4, 2),)),
    "state from input": (StateFromInput(before=torch.zeros(4), flag=torch.zeros(1)), X4),
    "unchanged and unread": (Unchanged(same=start(4), unread=torch.zeros(4)), X4),
    "image": (Image(), (start(1, 3, 5, 6),)),
}


def steps_of(build: Build) -> list[Tensors]:
    return rows_of(build.graph, 5)


@pytest.mark.parametrize("name", MODELS)
def test_runs_reset_and_repeat(name: str, tmp_path: Path) -> None:
    module, inputs = MODELS[name]
    graph = pl.capture(copy.deepcopy(module).eval(), inputs, "net")
    assert graph.states
    build = pl.compile(graph)
    library = Library(build, tmp_path)
    rows = steps_of(build)
    library.state[:] = 0xFF
    results = []
    for seed in range(2):
        library.reset()
        watch = Watch(library, seed)
        results.append([watch.run(row) for row in rows])
        assert_matches(graph, rows, results[-1])
    for first, second in zip(*results, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_without_reset_the_state_goes_on(tmp_path: Path) -> None:
    build = pl.compile(pl.capture(Counter(n=torch.tensor(0)).eval(), X4, "net"))
    library = Library(build, tmp_path)
    library.reset()
    seen = [float(library.run(list(X4))[0][0]) for _ in range(4)]
    library.reset()
    seen += [float(library.run(list(X4))[0][0]) for _ in range(2)]
    assert seen == [0.5, 1.0, 1.5, 2.0, 0.5, 1.0]


def test_capture_leaves_the_users_buffers_alone() -> None:
    module = Counter(n=torch.tensor(7)).eval()
    pl.compile(pl.capture(module, X4, "net"))
    assert int(module.n) == 7


def test_a_state_of_its_own_counts_as_state_not_as_arena() -> None:
    build = pl.compile(pl.capture(RingBuffer(window=torch.zeros(500, 4)).eval(), X4, "net"))
    assert build.module.metadata["state_bytes"] == 500 * 4 * 4
    assert build.plan.arena.size < 500 * 4 * 4


def test_kv_cache_is_updated_in_place() -> None:
    """Each cache is written by one `put` in state memory; nothing of its size is in the arena or copied."""
    plan = zoo_build("gpt").plan
    caches = [s for s in plan.graph.states if s.name.endswith(("keys", "values"))]
    assert len(caches) == 4
    writers = [node for node in plan.steps if any(plan.locate(v)[0] == "state" for v in node.outputs)]
    in_place = [node for node in writers if node.op == "put"]
    assert len(in_place) == len(caches)
    for node in in_place:
        assert plan.locate(node.inputs[0]) == plan.locate(node.output)
    assert not [node for node in plan.steps if node.op == "copy" and node.output.bytes >= caches[0].value.bytes]
    assert plan.arena.size < caches[0].value.bytes


def test_streaming_net_keeps_its_past_channels_last() -> None:
    """The past is read and written without a single transposition."""
    assert not [node for node in zoo_build("tcn").lowered.nodes if node.op == "permute"]


@pytest.mark.parametrize("name", ["tcn", "gpt"])
def test_refilled_and_reset_two_sequences_are_the_same_bits(name: str) -> None:
    build = zoo_build(name)
    rows = steps_of(build)
    with build.open() as running:
        results = []
        for _ in range(2):
            running.reset()
            results.append([[y.numpy().tobytes() for y in running.flat(row)] for row in rows])
    assert results[0] == results[1]
    assert len({row[0] for row in results[0]}) > 1
