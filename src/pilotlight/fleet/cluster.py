"""Work on a Dask cluster: workers may come and go, be slow, or be wrong.

Dask gives what a lost worker had to another one. Here is added: a piece that takes far longer than the others is also
given to a second worker, and the first answer counts; one that a worker fails at is tried elsewhere; a doubtful answer
is looked at by a second worker, and where the two do not agree the first worker is reported.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self, TypeVar

from pilotlight.errors import PilotlightError
from pilotlight.fleet.attempt import Attempt, attempt
from pilotlight.system import load_package

distributed = load_package("distributed", None, "for --dask")

Item = TypeVar("Item")
Result = TypeVar("Result")
Note = Callable[[str], None]

PATIENCE = 10.0  # seconds for the scheduler to answer
ATTEMPTS = 3  # workers that may fail at a piece
SLOW, SLOW_SECONDS = 5.0, 20.0  # times the usual time, and at least so many seconds, before a second worker is asked
_TICK = 0.5  # seconds between looks at the workers
_AHEAD = 2  # pieces for each worker: one to work on, one that waits


@dataclass
class _Piece:
    """One item on its way."""

    item: Any
    begun: float
    attempts: int = 1
    doubted: Any = None  # the first answer, where a second is asked for
    doubted_at: str = ""  # who gave it
    avoid: set[str] = field(default_factory=set)
    futures: list[Any] = field(default_factory=list)


def _attempt(function: Callable[[Any], Any], item: Any) -> Attempt:
    """What a worker does."""
    return replace(attempt(function, item), worker=distributed.get_worker().address)


class Cluster:
    """The workers of the scheduler at an address such as tcp://farm:8786."""

    def __init__(self, address: str, note: Note = print):
        self.note = note
        try:
            self._client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise PilotlightError(
                f"no Dask scheduler answers at {address}", hint="start one: dask scheduler; see docs/fleet.md",
                kind="no-cluster",
            ) from error
        self._seen: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def spread(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, until: float | None = None,
        needs: Mapping[str, float] | None = None, doubtful: Callable[[Result], bool] | None = None,
        failed: Callable[[Item, Exception], None] | None = None,
    ) -> Iterator[tuple[Item, Result]]:
        """See `Workers`."""
        self._look(needs)
        work = _Spread(self, function, needs, doubtful, failed)
        try:
            yield from work.run(iter(items), until)
        finally:
            work.stop()

    def workers(self, needs: Mapping[str, float] | None = None) -> set[str]:
        """The addresses of those that have what is needed."""
        known = self._client.scheduler_info(n_workers=-1)["workers"]
        return {
            address for address, worker in known.items()
            if all(worker.get("resources", {}).get(name, 0) >= amount for name, amount in (needs or {}).items())
        }

    def _look(self, needs: Mapping[str, float] | None) -> set[str]:
        """The workers now; says which have gone since the last look."""
        now = self.workers(needs)
        for address in sorted(self._seen - now):
            self.note(f"worker {address} is gone; others do its work")
        if not now and (self._seen or needs):
            wanted = f" with {', '.join(needs)}" if needs else ""
            self.note(f"no worker{wanted} is there; waiting for one")
        self._seen = now or self._seen & now
        return now


class _Spread:
    """One call of `spread`."""

    def __init__(
        self, cluster: Cluster, function: Callable[[Any], Any], needs: Mapping[str, float] | None,
        doubtful: Callable[[Any], bool] | None, failed: Callable[[Any, Exception], None] | None,
    ):
        self.cluster, self.function, self.needs = cluster, function, dict(needs or {})
        self.doubtful, self.failed = doubtful, failed
        self.pieces: list[_Piece] = []
        self.times: list[float] = []

    def run(self, waiting: Iterator[Any], until: float | None) -> Iterator[tuple[Any, Any]]:
        over = False
        while True:
            there = self.cluster._look(self.needs)
            while not over and len(self.pieces) < _AHEAD * max(1, len(there)):
                over = until is not None and time.monotonic() >= until
                item = next(waiting, self) if not over else self
                if item is self:
                    over = True
                else:
                    self._submit(_Piece(item, time.monotonic()))
            if not self.pieces:
                return
            for piece, future in self._ended():
                yield from self._taken(piece, future)
            self._help_slow(there)

    def stop(self) -> None:
        self.cluster._client.cancel([future for piece in self.pieces for future in piece.futures])
        self.pieces = []

    def _submit(self, piece: _Piece) -> None:
        """Give a piece to a worker that it may go to."""
        others = self.cluster.workers(self.needs) - piece.avoid
        where = {"workers": sorted(others)} if piece.avoid and others else {}
        piece.futures.append(self.cluster._client.submit(
            _attempt, self.function, piece.item, pure=False, resources=self.needs or None, **where))
        if piece not in self.pieces:
            self.pieces.append(piece)

    def _ended(self) -> list[tuple[_Piece, Any]]:
        futures = [future for piece in self.pieces for future in piece.futures]
        try:
            with self.cluster._client.as_current():
                distributed.wait(futures, timeout=_TICK, return_when="FIRST_COMPLETED")
        except TimeoutError:
            return []
        found = []
        for piece in list(self.pieces):
            future = next((future for future in piece.futures if future.done()), None)
            if future is not None:
                found.append((piece, future))
        return found

    def _taken(self, piece: _Piece, future: Any) -> Iterator[tuple[Any, Any]]:
        """What a worker answered: a result, an error, or something that another one should look at."""
        if future.status == "finished":
            made = future.result()
        else:  # Dask itself gave up
            made = Attempt(error=future.exception() or RuntimeError(f"the piece was {future.status}"))
        result, worker = made.result, made.worker
        if made.error is not None:
            piece.futures.remove(future)
            self._failed(piece, made.error, worker)
            return
        if piece.doubted is not None:
            if self.doubtful is not None and not self.doubtful(result):
                self.cluster.note(f"worker {piece.doubted_at} gave a wrong answer; that of {worker} counts")
        elif self.doubtful is not None and self.doubtful(result) and self.cluster.workers(self.needs) - {worker}:
            piece.doubted, piece.doubted_at = result, worker
            piece.avoid.add(worker)
            self._again(piece)
            return
        self._drop(piece)
        self.times.append(time.monotonic() - piece.begun)
        yield piece.item, result

    def _failed(self, piece: _Piece, error: Exception, worker: str) -> None:
        if piece.futures:
            return  # a second worker is at it
        lethal = isinstance(error, distributed.KilledWorker)  # Dask has asked several
        if piece.doubted is None and piece.attempts < ATTEMPTS and not lethal:
            self.cluster.note(f"worker {worker or '?'} failed: {type(error).__name__}: {error}; another one is asked")
            piece.attempts += 1
            piece.avoid |= {worker} - {""}
            self._again(piece)
            return
        self._drop(piece)
        if self.failed is None:
            raise error
        self.failed(piece.item, error)

    def _again(self, piece: _Piece) -> None:
        self.cluster._client.cancel(piece.futures)
        piece.futures = []
        piece.begun = time.monotonic()
        self._submit(piece)

    def _drop(self, piece: _Piece) -> None:
        """Nothing more is wanted of a piece."""
        self.pieces.remove(piece)
        self.cluster._client.cancel([future for future in piece.futures if not future.done()])

    def _help_slow(self, there: set[str]) -> None:
        """A second worker for what takes far longer than usual, if one is idle."""
        if len(self.times) < 3 or len(self.pieces) >= len(there):
            return
        limit = max(SLOW_SECONDS, SLOW * statistics.median(self.times))
        for piece in self.pieces:
            if len(piece.futures) == 1 and time.monotonic() - piece.begun > limit:
                at = self._processing(piece.futures[0])
                self.cluster.note(f"worker {at or '?'} is slow; another one is asked as well")
                piece.avoid |= {at} - {""}
                self._submit(piece)

    def _processing(self, future: Any) -> str:
        """Who is at it."""
        now = self.cluster._client.processing()
        return next((worker for worker, keys in now.items() if future.key in keys), "")
