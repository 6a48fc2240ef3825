"""The arena planner against a byte-for-byte execution and against brute force."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilotlight.errors import PilotlightError
from pilotlight.plan.arena import ArenaPlan, Buffer, Overlap, plan_arena
from pilotlight.plan.bounds import find_bounds


@dataclass(frozen=True)
class Read:
    """Before writing byte k of the output, the step reads bytes k*num//den + shift .. + width of `source`."""

    source: int
    num: int
    den: int
    shift: int
    width: int

    def window(self, k: int, size: int) -> range:
        start = k * self.num // self.den + self.shift
        return range(max(0, min(start, size)), max(0, min(start + self.width, size)))


@dataclass(frozen=True)
class Program:
    """Buffers 0 .. inputs-1 come from outside, every step makes one more and has `scratch` bytes.

    A step writes its output from the first byte to the last, or, where it is of `both` kinds and the plan says so,
    from the last to the first.
    """

    inputs: int
    sizes: tuple[int, ...]
    reads: tuple[tuple[Read, ...], ...]
    scratch: tuple[int, ...]
    outputs: frozenset[int]
    both: frozenset[int] = frozenset()

    def buffers(self) -> list[Buffer]:
        steps = len(self.reads)
        last = {i: i - self.inputs if i >= self.inputs else -1 for i in range(len(self.sizes))}
        for step, reads in enumerate(self.reads):
            last.update((read.source, step) for read in reads)
        last.update((i, steps) for i in self.outputs)
        found = [Buffer(f"b{i}", s, max(i - self.inputs, -1), last[i]) for i, s in enumerate(self.sizes)]
        return found + [Buffer(f"s{t}", s, t, t) for t, s in enumerate(self.scratch)]

    def overlaps(self) -> list[Overlap]:
        """Distances from the definition: unread input must start at or after the end of what is written, or in
        a backward walk end at or before its start."""
        found = []
        for step, reads in enumerate(self.reads):
            out = self.inputs + step
            for read in reads:
                distance, reverse = self.sizes[read.source], -self.sizes[out]
                windows = [read.window(k, self.sizes[read.source]) for k in range(self.sizes[out])]
                for k in range(self.sizes[out] - 1):
                    unread = [window.start for window in windows[k + 1 :] if window]
                    distance = min([distance, *(start - (k + 1) for start in unread)])
                    unread = [window.stop for window in windows[: k + 1] if window]
                    reverse = max([reverse, *(stop - (k + 1) for stop in unread)])
                backward = reverse if step in self.both else None
                found.append(Overlap(f"b{read.source}", f"b{out}", distance, backward))
        return found


def digest(step: int, k: int, values: list[int]) -> int:
    total = step * 131 + k * 31 + 7
    for value in values:
        total = (total * 257 + value + 1) % 65521
    return total % 251


def execute(program: Program, plan: ArenaPlan | None) -> list[list[int]]:
    """The outputs, with every dead byte poisoned after each step. Without a plan nothing is shared."""
    buffers = program.buffers()
    if plan is None:
        starts = list(itertools.accumulate([0, *(b.size for b in buffers)]))
        base = {b.name: start for b, start in zip(buffers, starts[:-1], strict=True)}
        memory = [0] * starts[-1]
    else:
        base, memory = plan.offsets, [0] * plan.size
    backward = plan.backward if plan else frozenset()

    def poison(step: int) -> None:
        alive = [b for b in buffers if b.first <= step < b.last]
        kept = {base[b.name] + k for b in alive for k in range(b.size)}
        for at in set(range(len(memory))) - kept:
            memory[at] = (at * 73 + step * 11 + 3) % 251

    for i in range(program.inputs):
        for k in range(program.sizes[i]):
            memory[base[f"b{i}"] + k] = digest(-1, k, [i])
    for step, reads in enumerate(program.reads):
        poison(step - 1)
        out = program.inputs + step
        for k in range(program.scratch[step]):
            memory[base[f"s{step}"] + k] = 255
        order = range(program.sizes[out])
        for k in reversed(order) if f"b{out}" in backward else order:
            windows = [(base[f"b{r.source}"], r.window(k, program.sizes[r.source])) for r in reads]
            values = [memory[start + at] for start, window in windows for at in window]
            memory[base[f"b{out}"] + k] = digest(step, k, values)
        assert all(memory[base[f"s{step}"] + k] == 255 for k in range(program.scratch[step]))
    poison(len(program.reads) - 1)
    return [[memory[base[f"b{i}"] + k] for k in range(program.sizes[i])] for i in sorted(program.outputs)]


@st.composite
def programs(draw: st.DrawFn, steps: int, size: int = 40) -> Program:
    inputs = draw(st.integers(1, 2))
    sizes = [draw(st.integers(1, size)) for _ in range(inputs)]
    all_reads, scratch = [], []
    for step in range(draw(st.integers(1, steps))):
        earlier = st.integers(max(0, inputs + step - 4), inputs + step - 1)
        sources = draw(st.lists(earlier, min_size=1, max_size=3, unique=True))
        numbers = st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(-4, 6), st.integers(1, 5))
        all_reads.append(tuple(Read(source, *draw(numbers)) for source in sources))
        sizes.append(draw(st.integers(0, size)))
        scratch.append(draw(st.sampled_from([0, 0, 0, 3, 20])))
    others = draw(st.sets(st.integers(0, len(sizes) - 1), max_size=2))
    both = draw(st.sets(st.integers(0, len(all_reads) - 1)))
    return Program(
        inputs, tuple(sizes), tuple(all_reads), tuple(scratch), frozenset({len(sizes) - 1, *others}), frozenset(both)
    )


def permitted(overlaps: list[Overlap], old: str, new: str, apart: int) -> bool:
    """Whether `new` may start `apart` bytes after `old`: backward only where it is the step's single pair."""
    of_step = [o for o in overlaps if o.output == new]
    return any(
        apart <= o.distance or (len(of_step) == 1 and o.reverse is not None and apart >= o.reverse)
        for o in of_step
        if o.input == old
    )


def check(buffers: list[Buffer], overlaps: list[Overlap], plan: ArenaPlan, align: int) -> None:
    """The contract, pair by pair."""
    by_name = {b.name: b for b in buffers}
    assert plan.offsets.keys() == by_name.keys()
    assert plan.size == max((plan.offsets[b.name] + b.size for b in buffers), default=0)
    assert all(offset >= 0 and offset % align == 0 for offset in plan.offsets.values())
    for a, b in itertools.permutations(buffers, 2):
        if a.first <= b.last and b.first <= a.last and a.size and b.size:
            at_a, at_b = plan.offsets[a.name], plan.offsets[b.name]
            apart = at_a + a.size <= at_b or at_b + b.size <= at_a
            sharing = a.first < a.last == b.first and permitted(overlaps, a.name, b.name, at_b - at_a)
            sharing |= b.first < b.last == a.first and permitted(overlaps, b.name, a.name, at_a - at_b)
            assert apart or sharing, (a, b, plan)


@settings(deadline=None, max_examples=300)
@given(programs(steps=16), st.sampled_from([1, 4, 16]), st.sampled_from([0, 5_000, 50_000]))
def test_outputs_survive_poisoned_dead_bytes(program: Program, align: int, effort: int) -> None:
    buffers, overlaps = program.buffers(), program.overlaps()
    plan = plan_arena(buffers, overlaps, align=align, effort=effort)
    check(buffers, overlaps, plan, align)
    assert execute(program, plan) == execute(program, None)
    whole = sum(-(-b.size // align) * align for b in buffers)
    assert plan.lower_bound <= plan.size <= plan.no_overlap <= whole
    assert plan == plan_arena(buffers, overlaps, align=align, effort=effort)


def test_the_execution_notices_an_overlap_that_is_one_byte_too_far() -> None:
    window = Read(source=0, num=1, den=1, shift=-1, width=3)
    program = Program(1, (12, 12), ((window,),), (0,), frozenset({1}))
    (overlap,) = program.overlaps()
    assert overlap.distance == -1
    for distance, right in ((-1, True), (0, False)):
        plan = plan_arena(program.buffers(), [Overlap("b0", "b1", distance)], align=1)
        assert plan.size == 12 - distance
        assert (execute(program, plan) == execute(program, None)) is right


def test_the_execution_notices_a_backward_walk_that_is_one_byte_too_near() -> None:
    window = Read(source=0, num=1, den=1, shift=-1, width=3)
    program = Program(1, (12, 12), ((window,),), (0,), frozenset({1}), frozenset({0}))
    (overlap,) = program.overlaps()
    assert (overlap.distance, overlap.reverse) == (-1, 1)
    for reverse, right in ((1, True), (0, False)):
        plan = plan_arena(program.buffers(), [Overlap("b0", "b1", -12, reverse)], align=1)
        assert plan.size == 12 + reverse
        assert plan.backward == {"b1"}
        assert (execute(program, plan) == execute(program, None)) is right


def placeable(buffers: list[Buffer], overlaps: list[Overlap], align: int, limit: int) -> bool:
    """Whether any placement within `limit` bytes exists: step by step, all placements of what is live."""

    def fits(old: Buffer, at_old: int, new: Buffer, at_new: int) -> bool:
        if at_old + old.size <= at_new or at_new + new.size <= at_old:
            return True
        dying = old.first < old.last == new.first
        return dying and permitted(overlaps, old.name, new.name, at_new - at_old)

    reachable: set[frozenset[tuple[Buffer, int]]] = {frozenset()}
    for step in range(-1, max(b.last for b in buffers) + 1):
        reachable = {frozenset((b, at) for b, at in state if b.last >= step) for state in reachable}
        for new in (b for b in buffers if b.first == step):
            reachable = {
                state | {(new, at)}
                for state in reachable
                for at in range(0, limit - new.size + 1, align)
                if all(fits(old, at_old, new, at) for old, at_old in state)
            }
    return bool(reachable)


@settings(deadline=None, max_examples=150)
@given(programs(steps=4, size=5), st.sampled_from([1, 4]))
def test_small_plans_are_the_smallest_there_are(program: Program, align: int) -> None:
    buffers = [b for b in program.buffers() if b.size and b.size <= 5]
    overlaps = [o for o in program.overlaps() if {o.input, o.output} <= {b.name for b in buffers}]
    plan = plan_arena(buffers, overlaps, align=align)
    assert plan.optimal
    assert placeable(buffers, overlaps, align, plan.size)
    assert not placeable(buffers, overlaps, align, plan.size - 1)


def chain(sizes: list[int], distances: list[int]) -> tuple[list[Buffer], list[Overlap]]:
    buffers = [Buffer(f"t{i}", size, i - 1, i) for i, size in enumerate(sizes)]
    return buffers, [Overlap(f"t{i}", f"t{i + 1}", d) for i, d in enumerate(distances)]


def test_a_pointwise_chain_runs_in_place() -> None:
    plan = plan_arena(*chain([4096] * 20, [0] * 19))
    assert plan.size == plan.lower_bound == 4096
    assert plan.no_overlap == 8192


def test_what_no_sharing_would_need_counts_the_alignment() -> None:
    plan = plan_arena([Buffer("x", 20, 0, 0), Buffer("y", 4, 0, 0)])
    assert plan.size == plan.lower_bound == plan.no_overlap == 36


def test_a_growing_chain_moves_down_in_memory() -> None:
    plan = plan_arena(*chain([1024, 2048, 4096, 512], [-1024, -2048, -64]))
    assert plan.size == plan.lower_bound == 4096 + 64
    assert plan.peak_step == 2


def test_a_chain_that_can_walk_both_ways_stays_where_it_is() -> None:
    buffers, overlaps = chain([4096] * 20, [-64] * 19)
    assert plan_arena(buffers, overlaps).size == 4096 + 19 * 64
    plan = plan_arena(buffers, [replace(o, reverse=64) for o in overlaps])
    assert plan.size == plan.lower_bound == 4096 + 64
    assert {f"t{i}" for i in range(1, 20)} - plan.backward != set() != plan.backward


def test_a_step_with_two_pairs_walks_forward() -> None:
    buffers = [Buffer("x", 64, -1, 0), Buffer("y", 64, -1, 0), Buffer("z", 128, 0, 1)]
    overlaps = [Overlap("x", "z", -128, 0), Overlap("y", "z", -128, 0)]
    assert plan_arena(buffers, overlaps).size == 256
    assert plan_arena(buffers, overlaps[:1]).size == 192


def test_concatenation_makes_its_inputs_neighbours() -> None:
    parts = [Buffer(f"p{i}", 1000 * (i + 1), i, 3) for i in range(3)]
    joined = [Overlap(f"p{i}", "joined", -sum(p.size for p in parts[:i])) for i in range(3)]
    plan = plan_arena([*parts, Buffer("joined", 6000, 3, 4)], joined, align=8)
    assert plan.size == plan.lower_bound == 6000


def test_a_residual_block_needs_its_skip_and_one_more() -> None:
    buffers = [
        Buffer("x", 8192, -1, 2),
        Buffer("a", 8192, 0, 1),
        Buffer("b", 8192, 1, 2),
        Buffer("y", 8192, 2, 3),
    ]
    overlaps = [Overlap("a", "b", -512), Overlap("b", "y", 0), Overlap("x", "y", 0)]
    plan = plan_arena(buffers, overlaps)
    assert plan.size == plan.lower_bound == 2 * 8192 + 512


def test_of_two_distances_for_one_pair_the_stricter_counts() -> None:
    buffers, overlaps = chain([64, 64], [0])
    assert plan_arena(buffers, [*overlaps, Overlap("t0", "t1", -16)]).size == 80


def test_an_input_that_lives_on_is_not_overwritten() -> None:
    buffers = [Buffer("x", 64, -1, 2), Buffer("y", 64, 0, 2)]
    assert plan_arena(buffers, [Overlap("x", "y", 0)]).size == 128


def test_two_thousand_buffers_stay_within_the_effort() -> None:
    sizes = [16 * (1 + (i * 7919) % 613) for i in range(2000)]
    buffers = [Buffer(f"t{i}", size, i - 1, min(2000, i + (i * 31) % 9)) for i, size in enumerate(sizes)]
    overlaps = [
        Overlap(f"t{i}", f"t{j}", -16 * (i % 40)) for i in range(2000) for j in range(i + 1, min(i + 9, 2000))
    ]
    plan = plan_arena(buffers, overlaps, effort=1_000_000)
    check(buffers[:300], [o for o in overlaps if int(o.output[1:]) < 300], _part(plan, buffers[:300]), 16)
    assert plan.lower_bound <= plan.size < 1.1 * find_bounds(buffers, (), 16).no_overlap
    assert plan.work <= 1_000_000


def _part(plan: ArenaPlan, buffers: list[Buffer]) -> ArenaPlan:
    offsets = {b.name: plan.offsets[b.name] for b in buffers}
    size = max(offsets[b.name] + b.size for b in buffers)
    return ArenaPlan(offsets, size, 0, 0, 0, "", False, 0, plan.backward)


def test_every_way_of_searching_keeps_the_contract() -> None:
    methods = set()
    for seed in range(6):
        chance = random.Random(seed)
        last = [min(60, i + chance.choice([0, 1, 1, 2, 9])) for i in range(60)]
        buffers = [Buffer(f"t{i}", chance.randint(1, 400), i - 1, last[i]) for i in range(60)]
        ends = [(i, j) for i in range(60) for j in range(i + 1, 60) if last[i] == j - 1]
        overlaps = [
            Overlap(f"t{i}", f"t{j}", chance.choice([-99, -16, 0, 40]), chance.choice([None, 99, 16, -40]))
            for i, j in ends
        ]
        plan = plan_arena(buffers, overlaps, effort=300_000)
        check(buffers, overlaps, plan, 16)
        assert plan.lower_bound <= plan.size <= 1.1 * plan.lower_bound
        methods.add(plan.method)
    assert {"exact", "repair"} <= methods


def test_no_buffers_need_no_arena() -> None:
    assert plan_arena([]).size == 0
    assert plan_arena([Buffer("empty", 0, 0, 1)]).offsets == {"empty": 0}


@pytest.mark.parametrize(
    ("buffers", "overlaps", "message"),
    [
        ([Buffer("a", 1, 0, 1), Buffer("a", 1, 0, 1)], [], "two buffers are named 'a'"),
        ([Buffer("a", 1, 2, 1)], [], "first <= last"),
        ([Buffer("a", 1, 0, 1)], [Overlap("a", "b", 0)], "'b', which is not a buffer"),
    ],
)
def test_nonsense_is_refused(buffers: list[Buffer], overlaps: list[Overlap], message: str) -> None:
    with pytest.raises(PilotlightError, match=message):
        plan_arena(buffers, overlaps)
