"""What to say when a model is too large, for a board or for a budget: which tensors make it so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pilotlight import boards
from pilotlight.boards import Board, Placement
from pilotlight.graph import Node
from pilotlight.ops.describe import describe_op
from pilotlight.options import Options
from pilotlight.plan import Plan
from pilotlight.toolchain import BuildInfo

_NAMED = 6  # tensors that a message lists


def describe_buffers(plan: Plan) -> dict[str, str]:
    """Every buffer of the arena in the user's words: an input, a layer's result or its scratch memory."""
    words = {port.value.name: f"input {port.name}" for port in plan.graph.inputs}
    for node in plan.steps:
        for value in node.outputs:
            words.setdefault(value.name, _layer(node))
        scratch = plan.scratch_name(node)
        if scratch is not None:
            words[scratch] = f"scratch memory of {_layer(node)}"
    return {buffer.name: words.get(buffer.name, buffer.name) for buffer in plan.buffers}


def _layer(node: Node) -> str:
    return f"{describe_op(node)} ({node.place})"


def peak_text(plan: Plan) -> str:
    """The step that needs the most bytes, and what is alive then."""
    step, words = plan.arena.peak_step, describe_buffers(plan)
    inside = 0 <= step < len(plan.steps)
    at = f"step {step}, {_layer(plan.steps[step])}," if inside else "the inputs and outputs"
    lines = [(buffer.size, words[buffer.name]) for buffer in plan.peak() if buffer.size]
    return (
        f"the arena of {plan.arena.size:,} bytes peaks at {at} when these are alive "
        f"(they share bytes where the kernel allows it):\n{_list(lines)}"
    )


def weights_text(plan: Plan) -> str:
    """The layers with the most weights."""
    rows = ((sum(v.bytes for v in dict.fromkeys(n.inputs) if v.is_constant), _layer(n)) for n in plan.steps)
    return f"most of the weights:\n{_list(sorted((row for row in rows if row[0]), key=lambda row: -row[0]))}"


def _list(rows: Iterable[tuple[int, str]]) -> str:
    rows = list(rows)
    lines = [f"    {size:>11,} bytes  {text}" for size, text in rows[:_NAMED]]
    if len(rows) > _NAMED:
        rest = rows[_NAMED:]
        lines.append(f"    {sum(size for size, _ in rest):>11,} bytes  in {len(rest)} more")
    return "\n".join(lines)


def overflow_text(overflows: Mapping[str, int], plan: Plan, place: Placement) -> str:
    """What overflows the board's memories."""
    text = ""
    if place.arena in overflows:
        text += f"\n  {peak_text(plan)}"
    if place.weights in overflows and place.weights != place.arena:
        text += f"\n  {weights_text(plan)}"
    return text


def other_places(
    overflows: Mapping[str, int], metadata: Mapping[str, Any], board: Board, place: Placement
) -> list[str]:
    """Memories of this board and other boards with room for a model."""
    arena, weights = metadata["arena_bytes"] + metadata["state_bytes"], metadata["weights_bytes"]
    ways = []
    for option, at, need, kinds in (
        ("arena", place.arena, arena, ("ram",)), ("weights", place.weights, weights, ("flash", "ram"))
    ):
        other = [m.name for m in board.memories if m.name != at and m.kind in kinds and m.size >= need]
        if at in overflows and other:
            ways.append(f"put the {option} into another memory with --{option}-in {' or '.join(other)}")
    larger = []
    for candidate in boards.all_boards():
        if not candidate.is_host and candidate.name != board.name:
            where = candidate.placement()
            room = candidate.memory(where.arena).size - arena, candidate.memory(where.weights).size - weights
            if min(room) > 0:
                larger.append((sum(room), candidate.name))
    if larger:
        names = ", ".join(name for _, name in sorted(larger)[:4])
        ways.append(f"choose a board with room for the arena and the weights, such as {names}")
    return ways


@dataclass(frozen=True)
class Excess:
    """A limit set by the user that is exceeded or cannot be checked: the text before and after its name."""

    before: str
    option: str  # the field of Options
    after: str
    hint: str
    kind: str

    def text(self, option: str) -> str:
        return f"{self.before}{option}{self.after}"


def over_budget(options: Options, info: BuildInfo, plan: Plan) -> Excess | None:
    """The user's limits: RAM is arena, state, static and stack; flash is code and weights, wherever they are."""
    for what, name, limit, parts in (
        ("RAM", "max_ram", options.max_ram, info.ram), ("flash", "max_flash", options.max_flash, info.flash)
    ):
        if limit is None:
            continue
        known = {part: size for part, size in parts.items() if size is not None and (size or part != "weights")}
        missing = [part for part, size in parts.items() if size is None]
        reason = f"the {' and the '.join(missing)} size is unknown, because {info.sizes.reason or info.stack_reason}"
        need = sum(known.values())
        if need > limit:
            listed = ", ".join(f"{part} {size:,}" for part, size in known.items())
            details = peak_text(plan) if what == "RAM" else weights_text(plan)
            return Excess(
                f"the model needs {need:,} bytes of {what} ({listed}{f'; {reason}' if missing else ''}), "
                f"{need - limit:,} more than the {limit:,} that ", name, f" allows\n  {details}",
                "make the model smaller, or allow more", "over-budget",
            )
        if missing:
            return Excess("", name, f" cannot be checked: {reason}", "check it for a board whose compiler is installed",
                          "unknown-size")
    return None
