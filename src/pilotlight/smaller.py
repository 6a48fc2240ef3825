"""What a model that is too large would need if compiled differently: each way is planned and measured."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pilotlight.capture.reference import variations
from pilotlight.compiler import BudgetError, Build, compile
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph
from pilotlight.quantize import quantize
from pilotlight.toolchain import BuildInfo

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Way:
    """`options` as typed; the bytes that are known, which without a compiler is not all of them."""

    options: str
    ram: int
    flash: int
    exact: bool
    over: dict[str, int]  # by how much it still exceeds a memory or a budget

    def __str__(self) -> str:
        known = "needs" if self.exact else "needs at least"
        need = f"{self.options} {known} {self.ram:,} bytes of RAM and {self.flash:,} of flash"
        left = " and ".join(f"{name} by {by:,} bytes" for name, by in self.over.items())
        return f"{need}, which still exceeds {left}" if left else f"{need}, which fits" if self.exact else need


@dataclass(frozen=True)
class Alternative:
    """Another way to compile a model; `together`: two of the others at once, for when neither is enough."""

    options: str
    optimize: str
    mode: str | None
    together: bool = False


def candidates(build: Build) -> list[Alternative]:
    """Alternatives to the build that was too large, the slowest last."""
    chosen, int8 = build.options.optimize, "--quantize int8 --calibrate FILE.npz"
    found = []
    if build.graph.quantization is None:
        found.append(Alternative(int8, chosen, "int8"))
        found.append(Alternative("--quantize weights-int4", chosen, "weights-int4"))
    if chosen != "ram":
        found.append(Alternative("--optimize ram", "ram", None))
        if build.graph.quantization is None:
            found.append(Alternative(f"{int8} --optimize ram", "ram", "int8", together=True))
    return found


def smaller_ways(build: Build) -> Iterator[tuple[Alternative, Way | None]]:
    """What each candidate needs; None if it does not reduce the excess, or is not needed.

    The sizes of an int8 model do not depend on the calibration data, so variations of the example inputs will do.
    """
    now, samples = _way("", build), variations(build.graph.truth.example, 2)
    enough = False
    for candidate in candidates(build):
        if candidate.together and enough:
            yield candidate, None
            continue
        try:
            graph = quantize(build.graph, samples, candidate.mode) if candidate.mode else build.graph
            way = _way(candidate.options, _compiled(build, graph, candidate.optimize))
        except (PilotlightError, NotImplementedError, RuntimeError, ValueError) as error:
            _LOG.debug("%s: %s", candidate.options, error)  # this model cannot be compiled this way
            yield candidate, None
            continue
        enough = enough or not way.over
        yield candidate, way if any(way.over.get(name, 0) < by for name, by in now.over.items()) else None


def _compiled(build: Build, graph: Graph, optimize: str) -> Build:
    try:
        return compile(graph, build.board, name=build.name, options=replace(build.options, optimize=optimize))
    except BudgetError as error:
        assert isinstance(error.build, Build)
        return error.build


def _way(options: str, build: Build) -> Way:
    info = build.measured()
    sizes = [*info.ram.values(), *info.flash.values()]
    return Way(options, _total(info.ram), _total(info.flash), None not in sizes, _over(build, info))


def _over(build: Build, info: BuildInfo) -> dict[str, int]:
    options = build.options
    limits = {"--max-ram": (options.max_ram, info.ram), "--max-flash": (options.max_flash, info.flash)}
    budgets = {name: _total(parts) - limit for name, (limit, parts) in limits.items() if limit is not None}
    memories = {use.name: use.over for use in info.memory}
    return {name: by for name, by in (budgets | memories).items() if by > 0}


def _total(parts: dict[str, int | None]) -> int:
    return sum(size or 0 for size in parts.values())
