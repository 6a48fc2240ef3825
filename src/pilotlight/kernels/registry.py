"""Which kernels there are for a layer on a core: generators of candidates, registered by instruction set.

    @offers(Int8Layer, needs={"thumb2", "dsp"})
    def conv(layer: Int8Layer, target: Target) -> Iterator[Candidate]: ...

The first candidate of the first generator is the usual kernel; the others are there to be chosen instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from pilotlight.codegen.target import Target
from pilotlight.kernels.candidate import Candidate

Offer = Callable[[Any, Target], Iterable[Candidate]]
OfferFunction = TypeVar("OfferFunction", bound=Offer)


@dataclass(frozen=True)
class CandidateGenerator:
    """A function that gives candidates for one type of layer, on cores with some features and without others."""

    layer: type
    needs: frozenset[str]
    without: frozenset[str]
    offer: Offer


_GENERATORS: list[CandidateGenerator] = []


def offers(
    layer: type, needs: Collection[str] = (), without: Collection[str] = (), usual: bool = False
) -> Callable[[OfferFunction], OfferFunction]:
    """Register a generator; `needs` and `without` are features that a board's TOML file may have in `isa`. What a
    `usual` one offers goes before everything that was registered until then."""

    def add(offer: OfferFunction) -> OfferFunction:
        generator = CandidateGenerator(layer, frozenset(needs), frozenset(without), offer)
        _GENERATORS.insert(0 if usual else len(_GENERATORS), generator)
        return offer

    return add


def withdraw(offer: Offer) -> None:
    """Remove a generator."""
    _GENERATORS[:] = [generator for generator in _GENERATORS if generator.offer is not offer]


def candidates(layer: object, target: Target) -> list[Candidate]:
    """What is offered for a layer on a core, in the order in which generators were registered."""
    return [
        candidate
        for generator in _GENERATORS
        if type(layer) is generator.layer and generator.needs <= target.isa and not generator.without & target.isa
        for candidate in generator.offer(layer, target)
    ]
