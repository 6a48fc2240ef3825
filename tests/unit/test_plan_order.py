"""Reordering against brute force over all orders, and against a symbolic run of the tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilotlight.plan.arena import Buffer, Overlap, plan_arena
from pilotlight.plan.flow import Region
from pilotlight.plan.order import Task, best_order, order_peak


@dataclass(frozen=True)
class Net:
    tasks: tuple[Task, ...]
    sizes: dict[str, int]
    outputs: frozenset[str]
    inputs: frozenset[str] = frozenset({"in"})

    def best(self, before: Sequence[tuple[int, int]] = (), align: int = 1) -> list[int]:
        return best_order(
            self.tasks, self.sizes, inputs=self.inputs, outputs=self.outputs, before=before, align=align
        )

    def peak(self, order: Sequence[int], align: int = 1) -> int:
        return order_peak(
            self.tasks, self.sizes, order, inputs=self.inputs, outputs=self.outputs, align=align
        )


BACKWARD = st.sampled_from([None, None, 30, 5, 0, -3])


@st.composite
def nets(draw: st.DrawFn, most: int, updates: bool = True) -> Net:
    """Tasks that read one to three earlier buffers and make one; with `updates` some rewrite one instead."""
    sizes, tasks = {"in": draw(st.integers(1, 30))}, []
    for i in range(draw(st.integers(2, most))):
        sources = tuple(draw(st.lists(st.sampled_from(sorted(sizes)), min_size=1, max_size=3, unique=True)))
        if updates and draw(st.integers(0, 9)) == 0:
            target = draw(st.sampled_from(sorted(sizes)))
        else:
            target = f"t{i}"
            sizes[target] = draw(st.integers(1, 30))
        overlaps = tuple(
            Overlap(source, target, draw(st.sampled_from([-30, -5, 0, 0, 3])), draw(BACKWARD))
            for source in sources
            if source != target and draw(st.booleans())
        )
        tasks.append(Task(sources, (target,), draw(st.sampled_from([0, 0, 0, 11])), overlaps))
    unused = sizes.keys() - {name for t in tasks for name in t.inputs}
    extra = draw(st.sets(st.sampled_from(sorted(sizes)), max_size=1))
    return Net(tuple(tasks), sizes, frozenset(unused | extra))


def symbolic_run(net: Net, order: Sequence[int]) -> dict[str, object]:
    """What every buffer holds at the end and what every task computed, as nested expressions' hashes."""
    memory: dict[str, object] = {name: name for name in net.inputs}
    for k in order:
        task = net.tasks[k]
        value = hash((k, *(memory[name] for name in task.inputs), *(memory.get(n) for n in task.outputs)))
        memory.update(dict.fromkeys(task.outputs, value), **{f"task {k}": value})
    return memory


@settings(deadline=None, max_examples=300)
@given(nets(most=12))
def test_another_order_computes_the_same_and_never_needs_more(net: Net) -> None:
    given_order = list(range(len(net.tasks)))
    order = net.best()
    assert sorted(order) == given_order
    assert symbolic_run(net, order) == symbolic_run(net, given_order)
    assert order == given_order or net.peak(order) < net.peak(given_order)
    assert order == net.best()


def all_orders(net: Net) -> Iterator[list[int]]:
    """Every order in which each task follows the makers of its inputs."""
    maker = {task.outputs[0]: k for k, task in enumerate(net.tasks)}

    def extend(order: list[int]) -> Iterator[list[int]]:
        if len(order) == len(net.tasks):
            yield order
        for k, task in enumerate(net.tasks):
            if k not in order and all(maker[n] in order for n in task.inputs if n in maker):
                yield from extend([*order, k])

    return extend([])


def lower_bound(net: Net, order: Sequence[int]) -> int:
    """The arena planner's bound for this order."""
    first, last = {"in": -1}, {"in": -1}
    buffers = []
    for step, k in enumerate(order):
        task = net.tasks[k]
        first[task.outputs[0]] = step
        last.update(dict.fromkeys((*task.outputs, *task.inputs), step))
        buffers.append(Buffer(f"scratch {step}", task.scratch, step, step))
    last.update(dict.fromkeys(net.outputs, len(order)))
    buffers += [Buffer(name, size, first[name], last[name]) for name, size in net.sizes.items()]
    return plan_arena(buffers, [o for t in net.tasks for o in t.overlaps], align=1, effort=0).lower_bound


@settings(deadline=None, max_examples=150)
@given(nets(most=6, updates=False))
def test_small_nets_get_the_best_of_all_orders(net: Net) -> None:
    orders = list(all_orders(net))
    assert net.peak(net.best()) == min(lower_bound(net, order) for order in orders)
    assert all(net.peak(order) == lower_bound(net, order) for order in orders[:20])


def branches(count: int, depth: int) -> Net:
    """Parallel branches that widen and then shrink, written breadth first: the worst order there is."""
    tasks, sizes = [], {"in": 64}
    for d in range(depth):
        for b in range(count):
            source = f"{b}.{d - 1}" if d else "in"
            sizes[f"{b}.{d}"] = 16 if d == depth - 1 else 1024
            tasks.append(Task((source,), (f"{b}.{d}",)))
    ends = tuple(f"{b}.{depth - 1}" for b in range(count))
    tasks.append(Task(ends, ("joined",)))
    return Net(tuple(tasks), sizes | {"joined": 16 * count}, frozenset({"joined"}))


@pytest.mark.parametrize(("count", "depth"), [(3, 3), (8, 4), (40, 10), (200, 10)])
def test_branches_run_one_after_the_other(count: int, depth: int) -> None:
    net = branches(count, depth)
    assert net.peak(range(len(net.tasks)), align=16) >= count * 1024
    # Two wide buffers of one branch, the ends of the others, and the input while a branch has yet to start.
    most = max(2048 + 16 * (count - 1), 32 * count)
    assert most - 64 <= net.peak(net.best(align=16), align=16) <= most + 64


def test_a_chain_keeps_its_order() -> None:
    net = branches(1, 30)
    assert net.best(align=16) == list(range(31))


def test_order_constraints_from_outside_are_kept() -> None:
    net = branches(2, 2)
    assert net.best() == [0, 2, 1, 3, 4]
    assert net.best(before=[(1, 2)]) == [1, 3, 0, 2, 4]
    assert net.best(before=[(1, 2), (0, 3)]) == [0, 1, 2, 3, 4]


def test_names_without_a_size_take_no_memory_but_keep_their_order() -> None:
    read, write = Task(("in", "state"), ("a",)), Task(("in",), ("state",))
    net = Net((read, write, Task(("in",), ("b",))), {"in": 10, "a": 10, "b": 1}, frozenset({"a", "b"}))
    order = net.best()
    assert order.index(0) < order.index(1)
    assert net.peak(order) == 21


def test_effort_limits_the_work_on_two_thousand_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    net = branches(200, 10)
    count, cost = 0, Region.cost

    def counted(region: Region, k: int, done: int) -> tuple[int, int]:
        nonlocal count
        count += 1
        return cost(region, k, done)

    monkeypatch.setattr(Region, "cost", counted)
    best_order(net.tasks, net.sizes, inputs=net.inputs, outputs=net.outputs, effort=50_000)
    assert count < 50_000 + 20 * len(net.tasks)


def test_two_regions_of_equal_height_both_have_to_get_better() -> None:
    """The first could be lowered, the second not: then nothing is gained by another order."""
    first = branches(2, 2).tasks
    second = (Task(("joined",), ("wide",)), Task(("wide",), ("out",)))
    sizes = branches(2, 2).sizes | {"0.0": 40, "1.0": 40, "0.1": 1, "1.1": 1, "in": 2, "joined": 1}
    net = Net((*first, *second), sizes | {"wide": 81, "out": 1}, frozenset({"out"}))
    assert net.peak(range(7)) == net.peak([0, 2, 1, 3, 4, 5, 6]) == 82
    assert Net(first, sizes, frozenset({"joined"})).best() == [0, 2, 1, 3, 4]
    assert net.best() == list(range(7))


def test_nothing_to_order() -> None:
    assert best_order([], {}) == []
