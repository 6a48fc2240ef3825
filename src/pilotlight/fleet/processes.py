"""Work on the processes of this computer."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import chain, islice
from multiprocessing.context import BaseContext
from types import TracebackType
from typing import Any, Self, TypeVar

from pilotlight.fleet.attempt import Attempt, attempt
from pilotlight.system import LINUX

Item = TypeVar("Item")
Result = TypeVar("Result")
_IN_FLIGHT = 2  # pieces for each process: one to work on, one that waits


def usable_cores() -> int:
    """How many processes can work at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalWorkers:
    """Processes of this computer, which are started once; a single one is this process.

    Processes take seconds to start, most of it for PyTorch: where the system can, one is started that loads what the
    work needs, and the others are copies of it. Meanwhile this process works too.
    """

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
        running: dict[Future[Attempt], Item] = {}
        if self._pool is None:
            first = list(_next(waiting, until, max(2, self.jobs)))
            if len(first) > 1:
                self._pool = ProcessPoolExecutor(self.jobs, _context(function), _begin_worker)
                running = self._submit(function, first)
            else:  # not worth a process
                waiting = chain(first, waiting)
            while not any(future.done() for future in running) and (here := list(_next(waiting, until, 1))):
                yield from _taken(here[0], attempt(function, here[0]), failed)
        while True:
            room = _IN_FLIGHT * self.jobs - len(running)
            running |= self._submit(function, _next(waiting, until, room))
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield from _taken(running.pop(future), future.result(), failed)

    def _submit(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> dict[Future[Attempt], Item]:
        pool = self._pool
        return {} if pool is None else {pool.submit(attempt, function, item): item for item in items}

    def _end(self, at_once: bool) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        for process in list(getattr(pool, "_processes", {}).values()) if at_once else ():
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def _next(waiting: Iterator[Item], until: float | None, most: int) -> Iterator[Item]:
    """The next pieces, if there are some and time is left."""
    if until is None or time.monotonic() < until:
        yield from islice(waiting, most)


def _taken(
    item: Item, made: Attempt, failed: Callable[[Item, Exception], None] | None
) -> Iterator[tuple[Item, Any]]:
    if made.error is None:
        yield item, made.result
    elif failed is None:
        raise made.error
    else:
        failed(item, made.error)


def _context(function: Callable[..., object]) -> BaseContext:
    """How processes are started: on Linux as copies of one that has loaded the module of the work."""
    if not LINUX:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    module = getattr(getattr(function, "func", function), "__module__", None)
    context.set_forkserver_preload([module] if module not in (None, "__main__") else [])
    return context


def _begin_worker() -> None:
    """One core is enough for each, and they end when they are told to, not by the terminal's Ctrl-C."""
    os.environ["OMP_NUM_THREADS"] = "1"
    if "torch" in sys.modules:  # of the process that this one is a copy of
        sys.modules["torch"].set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
