"""Many independent pieces of work: here, on several processes, or on the computers of a Dask cluster.

    for item, result in spread(function, items, jobs=2):     # in the order in which they end
        ...

A piece that fails raises its error here. Whoever stops listening stops the work.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_IN_FLIGHT = 2  # pieces for each process: one to work on, one that waits


def usable_cores() -> int:
    """How many processes can work at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(
    function: Callable[[Item], Result], items: Iterable[Item], *, jobs: int = 1, until: float | None = None
) -> Iterator[tuple[Item, Result]]:
    """Each item with its result; at the time `until` of time.monotonic() nothing new is begun."""
    waiting = iter(items)
    if jobs <= 1:
        for item in waiting:
            if until is not None and time.monotonic() >= until:
                return
            yield item, function(item)
        return
    with _processes(jobs) as pool:
        running: dict[Future[Result], Item] = {}
        while True:
            while len(running) < _IN_FLIGHT * jobs and (until is None or time.monotonic() < until):
                try:
                    item = next(waiting)
                except StopIteration:
                    break
                running[pool.submit(function, item)] = item
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()


@contextlib.contextmanager
def _processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block, however it is left; Ctrl-C is for the one that waits for them."""
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _ignore_interrupts)
    try:
        yield pool
    except BaseException:
        for process in list(getattr(pool, "_processes", {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
