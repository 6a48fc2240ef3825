"""Tasks and the buffers that flow between them: what running a task costs, given what has run before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pilotlight.plan.bounds import Pair, round_up, step_saving
from pilotlight.plan.buffers import Overlap, pairs_of_step


@dataclass(frozen=True)
class Task:
    """A step whose place in the order is open: the buffers it reads and writes, by name.

    An overlap counts when the task is the last to use its input. Names without a size (constants, state)
    take no memory, but their reads and writes keep their order all the same.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    scratch: int = 0
    overlaps: tuple[Overlap, ...] = ()


class Flow:
    """Tasks by number, buffers by number, in the order in which they were given."""

    def __init__(
        self,
        tasks: Sequence[Task],
        sizes: Mapping[str, int],
        inputs: Collection[str],
        outputs: Collection[str],
        before: Iterable[tuple[int, int]],
        align: int,
    ):
        names = list(dict.fromkeys(name for t in tasks for name in (*t.inputs, *t.outputs)))
        written = {name for t in tasks for name in t.outputs}
        number = {name: b for b, name in enumerate(names)}
        self.size = [
            round_up(sizes.get(name, 0), align) if name in written or name in inputs else 0 for name in names
        ]
        self.given = [name in inputs for name in names]  # alive before the first task
        self.kept = [name in outputs for name in names]  # alive after the last one
        self.uses = [tuple(dict.fromkeys(number[name] for name in (*t.inputs, *t.outputs))) for t in tasks]
        self.writes = [{number[name] for name in t.outputs} for t in tasks]
        self.scratch = [round_up(t.scratch, align) for t in tasks]
        self.pairs: list[list[Pair]] = []
        for t in tasks:
            pairs = []
            for o in pairs_of_step(t.overlaps):
                sizes_of = self.size[number[o.input]], self.size[number[o.output]]
                pairs.append(Pair(o.input, o.output, *sizes_of, o.distance, o.reverse).aligned(align))
            self.pairs.append(pairs)
        self.number = number
        self.users: list[list[int]] = [[] for _ in names]
        for task, uses in enumerate(self.uses):
            for b in uses:
                self.users[b].append(task)
        self.after = _dependencies(self, before)  # tasks that must run before each task

    def __len__(self) -> int:
        return len(self.uses)


def _dependencies(flow: Flow, before: Iterable[tuple[int, int]]) -> list[set[int]]:
    """Reads stay after the write they saw and before the next one; writes of one buffer keep their order."""
    after: list[set[int]] = [set() for _ in range(len(flow))]
    for b, users in enumerate(flow.users):
        writer = -1
        readers: list[int] = []
        for task in users:
            if writer >= 0:
                after[task].add(writer)
            if b in flow.writes[task]:
                after[task].update(readers)
                writer, readers = task, []
            else:
                readers.append(task)
    for early, late in before:
        after[late].add(early)
    return after


class Region:
    """Some tasks that follow one another in an order, with everything before and after them fixed.

    Which of them have run is a bit mask; the cost of a task depends on that mask alone.
    """

    def __init__(self, flow: Flow, tasks: Sequence[int], place: Sequence[int], live: int):
        """`tasks` in their present order, `place` of every task in the whole order, `live` bytes on entry."""
        self.flow, self.tasks, self.live = flow, list(tasks), live
        start, stop = place[tasks[0]], place[tasks[-1]] + 1
        local = {task: k for k, task in enumerate(tasks)}
        self.after = [sum(1 << local[e] for e in flow.after[task] if e in local) for task in tasks]
        self.unlocks: list[list[int]] = [[] for _ in tasks]
        for k, task in enumerate(tasks):
            for early in flow.after[task]:
                if early in local:
                    self.unlocks[local[early]].append(k)
        self.users: dict[int, int] = {}
        self.enders: list[dict[int, int]] = [{} for _ in tasks]  # buffers that may die at a task: other users
        self.makers: list[dict[int, int]] = [{} for _ in tasks]  # buffers that may be born there: other users
        for b in dict.fromkeys(b for task in tasks for b in flow.uses[task]):
            inside = [local[task] for task in flow.users[b] if task in local]
            self.users[b] = sum(1 << k for k in inside)
            places = [place[task] for task in flow.users[b]]
            born_before = flow.given[b] or min(places) < start
            lives_on = flow.kept[b] or max(places) >= stop
            for k in inside:
                if not lives_on:
                    self.enders[k][b] = self.users[b] & ~(1 << k)
                if not born_before and b in flow.writes[tasks[k]]:
                    self.makers[k][b] = self.users[b] & ~(1 << k)
        self.known: list[dict[int, tuple[int, int]]] = [{} for _ in tasks]

    def cost(self, k: int, done: int) -> tuple[int, int]:
        """(bytes needed besides those alive, change of the bytes alive) of running task k after `done`."""
        key, to_do = 1, ~done
        for others in self.enders[k].values():
            key = key * 2 + (not others & to_do)
        for others in self.makers[k].values():
            key = key * 2 + (not others & done)
        found = self.known[k].get(key)
        if found is None:
            found = self.known[k][key] = self._cost(k, done)
        return found

    def _cost(self, k: int, done: int) -> tuple[int, int]:
        flow, task = self.flow, self.tasks[k]
        dying = {b for b, others in self.enders[k].items() if not others & ~done}
        new = {b for b, others in self.makers[k].items() if not others & done}
        allocated, freed = sum(flow.size[b] for b in new), sum(flow.size[b] for b in dying)
        pairs = [
            pair
            for pair in flow.pairs[task]
            if flow.number[pair.input] in dying - new and flow.number[pair.output] in new
        ]
        saved = step_saving(pairs) if pairs else 0
        return allocated + flow.scratch[task] - saved, allocated - freed

    def walk(self, order: Iterable[int]) -> tuple[list[int], list[int]]:
        """For tasks run in this (local) order: the bytes needed at each, and those alive before it."""
        done, live = 0, self.live
        needs, before = [], []
        for k in order:
            extra, change = self.cost(k, done)
            needs.append(live + extra)
            before.append(live)
            live += change
            done |= 1 << k
        return needs, before
