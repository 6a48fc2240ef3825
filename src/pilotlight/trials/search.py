"""All candidates of a model's layers, measured until they are through, time is up, or the user has seen enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pilotlight.codegen.target import Target
from pilotlight.compiler import Build
from pilotlight.fleet import LocalWorkers, Workers
from pilotlight.options import Options
from pilotlight.programs import ProgramBuild
from pilotlight.selection import Offers
from pilotlight.trials.image import Batch, Measurement, Trial, alone, run_batch
from pilotlight.trials.window import TOO_LARGE, WindowTrials
from pilotlight.tune.costs import Costs
from pilotlight.tune.layers import TunableLayer, tunable_layers

MOST = 32  # candidates in an image
TURN = 8  # of a layer, before the next layer has its turn
BEST = 8  # kernels of a layer that a board times, besides the usual one


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    seconds: float | None = None
    trials: int | None = None


@dataclass(frozen=True)
class Failure:
    layer: str
    kernel: str
    why: str


@dataclass
class Search:
    """The layers of a build, and what is known about their kernels."""

    build: Build | ProgramBuild
    costs: Costs
    measured: int = 0  # now; others were known before
    seconds: float = 0.0
    layers: list[TunableLayer] = field(init=False)

    def __post_init__(self) -> None:
        offers = Offers(Target.of(self.build.board, measured=True))
        self.layers = [layer for graph in self.build.lowered_graphs for layer in tunable_layers(graph, offers)]

    def run(
        self, limits: Limits, workers: Workers | None = None, progress: Callable[[Search], None] | None = None
    ) -> None:
        """Measure what is not known yet, by default in this process; `progress` is called after each image."""
        begun = time.monotonic()
        until = None if limits.seconds is None else begun + limits.seconds
        work = workers or LocalWorkers()
        for _, found in work.spread(run_batch, self.batches(limits.trials), until=until, doubtful=has_failures):
            for one in found:
                self.costs.add(one.key, one.name, one.cost)
            self.measured += len(found)
            self.seconds = time.monotonic() - begun
            if progress is not None:
                progress(self)

    def time(self, board: WindowTrials, progress: Callable[[int, int], None] | None = None, best: int = BEST) -> None:
        """Time the usual kernel and the best ones of each layer on the board itself."""
        layers = list(self.by_key.values())
        for done, layer in enumerate(layers, 1):
            found = {name: cost for name, cost in self.costs.layers.get(layer.key, {}).items() if cost.failure is None}
            names = sorted(found, key=lambda name: (name != self.default(layer), found[name].value))[: best + 1]
            known = [Measurement(layer.key, name, found[name]) for name in names]
            for one in board.measure(Trial(layer.key, alone(layer.node), tuple(names)), known):
                if one.cost.failure != TOO_LARGE:  # of the window, which says nothing about flash
                    self.costs.add(one.key, one.name, one.cost)
            if progress is not None:
                progress(done, len(layers))
        self.costs.board = self.build.board.name

    @property
    def by_key(self) -> dict[str, TunableLayer]:
        """Layers that are the same are measured once."""
        return {layer.key: layer for layer in self.layers}

    @property
    def left(self) -> int:
        """Candidates that have not been measured."""
        return sum(len(self._unknown(layer)) for layer in self.by_key.values())

    @property
    def total(self) -> int:
        return sum(len(layer.offered) for layer in self.by_key.values())

    def default(self, layer: TunableLayer) -> str:
        """The kernel that is used without measurements."""
        return self.build.choices[layer.node].candidate.name

    def kernels(self, build: Build | ProgramBuild) -> list[str]:
        """What the layers have in a build of the same model."""
        found = {
            (graph.name, node.output.name): build.choices[node].candidate.name
            for graph in build.lowered_graphs for node in graph.nodes if node in build.choices
        }
        at = {node: (graph.name, node.output.name) for graph in self.build.lowered_graphs for node in graph.nodes}
        return [found[at[layer.node]] for layer in self.layers]

    def best(self) -> tuple[int, int]:
        """What the layers take that have been measured: with their usual kernels, and with their best ones."""
        usual = best = 0
        for layer in self.layers:
            found = self.costs.of(layer.key)
            known = found.get(self.default(layer))
            if known is not None and known.failure is None:
                usual += known.value
                best += min(cost.value for cost in found.values() if cost.failure is None)
        return usual, best

    def failures(self) -> list[Failure]:
        return [
            Failure(key, kernel, cost.failure) for key in self.by_key
            for kernel, cost in self.costs.of(key).items() if cost.failure is not None
        ]

    def batches(self, most: int | None) -> Iterator[Batch]:
        """At first every layer's usual kernel, then some others of each layer, those first that take longest."""
        left = self.left if most is None else most
        layers = sorted(self.by_key.values(), key=self._work, reverse=True)
        usual = [(layer, [name for name in self._unknown(layer) if name == self.default(layer)]) for layer in layers]
        others = [(layer, [name for name in self._unknown(layer) if name != self.default(layer)]) for layer in layers]
        rounds = range(0, max((len(names) for _, names in others), default=0), TURN)
        turns = [(layer, names[at : at + TURN]) for at in rounds for layer, names in others]
        trials: list[Trial] = []
        room = self._room()
        for layer, names in (*usual, *turns):
            for name in names[:left]:
                candidate = layer.candidate(name)
                assert candidate is not None
                if trials and (sum(len(t.names) for t in trials) == MOST or room < candidate.flash):
                    yield self._batch(trials)
                    trials, room = [], self._room()
                _add(trials, layer, name)
                room -= candidate.flash
            left -= len(names[:left])
        if trials:
            yield self._batch(trials)

    def _batch(self, trials: list[Trial]) -> Batch:
        options = self.build.options
        kept = Options(
            options.optimize, weights_in=options.weights_in, arena_in=options.arena_in, toolchain=options.toolchain,
            emulator=options.emulator,
        )
        return Batch(self.build.board, kept, tuple(trials))

    def _unknown(self, layer: TunableLayer) -> list[str]:
        known = self.costs.of(layer.key)
        return [candidate.name for candidate in layer.offered if candidate.name not in known]

    def _work(self, layer: TunableLayer) -> int:
        """Of all layers that are the same, as it is estimated."""
        times = sum(other.key == layer.key for other in self.layers)
        return times * max(candidate.instructions or 0 for candidate in layer.offered)

    def _room(self) -> int:
        """Bytes of constants in an image, with room for code."""
        board, options = self.build.board, self.build.options
        return board.memory(board.placement(options.weights_in, options.arena_in).weights).size // 2


def has_failures(found: list[Measurement]) -> bool:
    """Whether a candidate was dropped: the computer that measured it may be to blame."""
    return any(one.cost.failure is not None for one in found)


def _add(trials: list[Trial], layer: TunableLayer, name: str) -> None:
    if trials and trials[-1].key == layer.key:
        trials[-1] = Trial(layer.key, trials[-1].graph, (*trials[-1].names, name))
    else:
        trials.append(Trial(layer.key, alone(layer.node), (name,)))
