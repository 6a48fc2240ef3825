"""What to say when a model is too large, for a board or for a budget: which tensors make it so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pilotlight import boards
from pilotlight.errors import DoesNotFitError, MissingToolError, PilotlightError
from pilotlight.graph import Node
from pilotlight.ops.describe import describe_op
from pilotlight.plan import Plan
from pilotlight.toolchain import BuildInfo

if TYPE_CHECKING:
    from pilotlight.compiler import Build

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
    """The step that needs most, and what is alive then."""
    step, words = plan.arena.peak_step, describe_buffers(plan)
    inside = 0 <= step < len(plan.steps)
    at = f"step {step}, {_layer(plan.steps[step])}," if inside else "the inputs and outputs"
    lines = [(buffer.size, words[buffer.name]) for buffer in plan.peak() if buffer.size]
    return (
        f"the arena of {plan.arena.size:,} bytes peaks at {at} when these are alive "
        f"(they share bytes where the kernel allows it):\n{_list(lines)}"
    )


def weights_text(plan: Plan) -> str:
    """The layers with most weights."""
    rows = ((sum(v.bytes for v in dict.fromkeys(n.inputs) if v.is_constant), _layer(n)) for n in plan.steps)
    return f"most of the weights:\n{_list(sorted((row for row in rows if row[0]), key=lambda row: -row[0]))}"


def _list(rows: Iterable[tuple[int, str]]) -> str:
    rows = list(rows)
    lines = [f"    {size:>11,} bytes  {text}" for size, text in rows[:_NAMED]]
    if len(rows) > _NAMED:
        rest = rows[_NAMED:]
        lines.append(f"    {sum(size for size, _ in rest):>11,} bytes  in {len(rest)} more")
    return "\n".join(lines)


class BudgetError(PilotlightError):
    """A limit of the user's own that is not held, or cannot be checked. `info` is what was measured."""

    def __init__(self, before: str, option: str, after: str, build: Build, info: BuildInfo, hint: str, kind: str):
        self.option, self.build, self.info = option, build, info
        self._around = before, after
        super().__init__(f"{before}{option}{after}", where=f"board {build.board.name}", hint=hint, kind=kind)

    def name_option(self, typed: str) -> None:
        """On the command line the option is called as it was typed."""
        before, after = self._around
        self.message = f"{before}{typed}{after}"
        self.args = (self.message,)


def explain_overflow(error: DoesNotFitError, build: Build) -> DoesNotFitError:
    """A linker knows bytes only; the plan knows whose they are."""
    board, place = build.board, build.board.placement(build.options.weights_in, build.options.arena_in)
    if place.arena in error.overflows:
        error.message += f"\n  {peak_text(build.plan)}"
    if place.weights in error.overflows and place.weights != place.arena:
        error.message += f"\n  {weights_text(build.plan)}"
    error.where = error.where or f"board {board.name}"
    error.build = build
    error.hint = "; ".join([*other_places(error, build), "make the model smaller"])
    error.args = (error.message,)
    return error


def overflow_of(build: Build, info: BuildInfo) -> DoesNotFitError | None:
    """The error of a build that was not checked, if it does not fit."""
    overflows = {use.name: use.over for use in info.memory if use.over}
    return explain_overflow(DoesNotFitError(overflows), build) if overflows else None


def other_places(error: DoesNotFitError, build: Build) -> list[str]:
    """Memories of this board and other boards with room for it."""
    meta = build.module.metadata
    arena, weights = meta["arena_bytes"] + meta["state_bytes"], meta["weights_bytes"]
    place = build.board.placement(build.options.weights_in, build.options.arena_in)
    ways = []
    for option, at, need, kinds in (
        ("arena", place.arena, arena, ("ram",)), ("weights", place.weights, weights, ("flash", "ram"))
    ):
        other = [m.name for m in build.board.memories if m.name != at and m.kind in kinds and m.size >= need]
        if at in error.overflows and other:
            ways.append(f"put the {option} into another memory with --{option}-in {' or '.join(other)}")
    larger = []
    for board in boards.all_boards():
        if not board.is_host and board.name != build.board.name:
            where = board.placement()
            room = board.memory(where.arena).size - arena, board.memory(where.weights).size - weights
            if min(room) > 0:
                larger.append((sum(room), board.name))
    if larger:
        names = ", ".join(name for _, name in sorted(larger)[:4])
        ways.append(f"choose a board with room for the arena and the weights, such as {names}")
    return ways


def check_budget(build: Build) -> None:
    """The user's own limits: RAM is arena, state, static and stack; flash is code and weights, wherever they are."""
    options, info = build.options, measured(build)
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
            details = peak_text(build.plan) if what == "RAM" else weights_text(build.plan)
            raise BudgetError(
                f"the model needs {need:,} bytes of {what} ({listed}{f'; {reason}' if missing else ''}), "
                f"{need - limit:,} more than the {limit:,} that ", name, f" allows\n  {details}", build, info,
                "make the model smaller, or allow more", "over-budget",
            )
        if missing:
            raise BudgetError("", name, f" cannot be checked: {reason}", build, info,
                              "check it for a board whose compiler is installed", "unknown-size")


def measured(build: Build) -> BuildInfo:
    """Also of what does not fit the board, or cannot be compiled here."""
    try:
        return build.info
    except (DoesNotFitError, MissingToolError):
        return build.build_for(build.board, check=False, need_compiler=False)
