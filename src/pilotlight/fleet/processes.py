"""Work on the processes of this computer."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from types import TracebackType
from typing import Self, TypeVar

from pilotlight.fleet.attempt import Attempt, attempt

Item = TypeVar("Item")
Result = TypeVar("Result")
_IN_FLIGHT = 2  # pieces for each process: one to work on, one that waits


def usable_cores() -> int:
    """How many processes can work at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalWorkers:
    """Processes of this computer, which are started once; a single one is this process."""

    def __init__(self, jobs: int = 1):
        self.jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(at_once=error is not None)

    def spread(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, until: float | None = None,
        needs: Mapping[str, float] | None = None, doubtful: Callable[[Result], bool] | None = None,
        failed: Callable[[Item, Exception], None] | None = None,
    ) -> Iterator[tuple[Item, Result]]:
        """See `Workers`. What one process of a computer gives, another one gives too: there are no doubts."""
        waiting = iter(items)
        if self.jobs <= 1:
            for item in waiting:
                if until is not None and time.monotonic() >= until:
                    return
                try:
                    result = function(item)
                except Exception as error:
                    if failed is None:
                        raise
                    failed(item, error)
                    continue
                yield item, result
            return
        try:
            yield from self._spread(function, waiting, until, failed)
        except BaseException:  # or nobody listens any more
            self._end(at_once=True)
            raise

    def _spread(
        self, function: Callable[[Item], Result], waiting: Iterator[Item], until: float | None,
        failed: Callable[[Item, Exception], None] | None,
    ) -> Iterator[tuple[Item, Result]]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.jobs, multiprocessing.get_context("spawn"), _begin_worker)
        running: dict[Future[Attempt], Item] = {}
        while True:
            room = _IN_FLIGHT * self.jobs - len(running)
            if until is None or time.monotonic() < until:
                running |= {self._pool.submit(attempt, function, item): item for item in islice(waiting, room)}
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                item, made = running.pop(future), future.result()
                if made.error is None:
                    yield item, made.result
                elif failed is None:
                    raise made.error
                else:
                    failed(item, made.error)

    def _end(self, at_once: bool) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        for process in list(getattr(pool, "_processes", {}).values()) if at_once else ():
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def _begin_worker() -> None:
    """One core is enough for each, and they end when they are told to, not by the terminal's Ctrl-C."""
    os.environ["OMP_NUM_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
