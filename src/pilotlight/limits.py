"""What to say when a model is too large, for a board or for a budget: which tensors make it so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pilotlight import boards
from pilotlight.emit.describe import describe_op
from pilotlight.errors import DoesNotFitError, PilotlightError
from pilotlight.graph import Node
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


def explain_overflow(error: DoesNotFitError, build: Build) -> DoesNotFitError:
    """A linker knows bytes only; the plan knows whose they are."""
    board, place = build.board, build.board.placement(build.options.weights_in, build.options.arena_in)
    if place.arena in error.overflows:
        error.message += f"\n  {peak_text(build.plan)}"
    if place.weights in error.overflows and place.weights != place.arena:
        error.message += f"\n  {weights_text(build.plan)}"
    error.where = error.where or f"board {board.name}"
    error.hint = _way_out(error, build)
    error.args = (error.message,)
    return error


def overflow_of(build: Build, info: BuildInfo) -> DoesNotFitError | None:
    """The error of a build that was not checked, if it does not fit."""
    overflows = {use.name: use.over for use in info.memory if use.over}
    return explain_overflow(DoesNotFitError(overflows), build) if overflows else None


def _way_out(error: DoesNotFitError, build: Build) -> str:
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
    return "; ".join([*ways, "or make the model smaller"])


def check_budget(build: Build) -> None:
    """The user's own limits: RAM is arena, state, static and stack; flash is code and weights."""
    options, meta = build.options, build.module.metadata
    planned = {"arena": meta["arena_bytes"], "state": meta["state_bytes"]}
    if options.max_ram is not None and sum(planned.values()) > options.max_ram:
        raise _over("RAM", "max_ram", options.max_ram, planned, build)
    if options.max_flash is not None and meta["weights_bytes"] > options.max_flash:
        raise _over("flash", "max_flash", options.max_flash, {"weights": meta["weights_bytes"]}, build)
    info = build.info
    ram = {**planned, "static": info.sizes.static, "stack": info.stack}
    flash = {"code": info.sizes.code, "weights": info.sizes.weights}
    for what, name, limit, parts in (
        ("RAM", "max_ram", options.max_ram, ram), ("flash", "max_flash", options.max_flash, flash)
    ):
        if limit is None:
            continue
        known = {part: size for part, size in parts.items() if size is not None}
        if sum(known.values()) > limit:
            raise _over(what, name, limit, known, build)
        if len(known) < len(parts):
            missing = ", ".join(part for part in parts if part not in known)
            raise PilotlightError(
                f"{name} cannot be checked: the {missing} size is unknown, because "
                f"{info.sizes.reason or info.stack_reason}",
                where=f"board {build.board.name}", hint="check it for a board whose compiler is installed",
                kind="unknown-size",
            )


def _over(what: str, name: str, limit: int, parts: dict[str, int], build: Build) -> PilotlightError:
    total = sum(parts.values())
    details = peak_text(build.plan) if what == "RAM" else weights_text(build.plan)
    return PilotlightError(
        f"the model needs {total:,} bytes of {what} ({', '.join(f'{k} {v:,}' for k, v in parts.items())}), "
        f"{total - limit:,} more than the {limit:,} that {name} allows\n  {details}",
        where=f"board {build.board.name}",
        hint="make the model smaller, or allow more",
        kind="over-budget",
    )
