"""Work on the processes of this computer."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_IN_FLIGHT = 2  # pieces for each process: one to work on, one that waits


def usable_cores() -> int:
    """How many processes can work at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalWorkers:
    """Processes of this computer; a single one is this process."""

    def __init__(self, jobs: int = 1):
        self.jobs = jobs

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
        with _processes(self.jobs) as pool:
            running: dict[Future[Result], Item] = {}
            while True:
                room = _IN_FLIGHT * self.jobs - len(running)
                if until is None or time.monotonic() < until:
                    running |= {pool.submit(function, item): item for item in islice(waiting, room)}
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    item, why = running.pop(future), future.exception()
                    if why is None:
                        yield item, future.result()
                    elif failed is None or not isinstance(why, Exception):
                        raise why
                    else:
                        failed(item, why)


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
