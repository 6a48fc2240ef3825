"""What can work, whichever it is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from pilotlight.fleet.processes import LocalWorkers

Item = TypeVar("Item")
Result = TypeVar("Result")
Note = Callable[[str], None]


class Workers(Protocol):
    """Processes here, or a cluster."""

    def spread(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, until: float | None = None,
        needs: Mapping[str, float] | None = None, doubtful: Callable[[Result], bool] | None = None,
        failed: Callable[[Item, Exception], None] | None = None,
    ) -> Iterator[tuple[Item, Result]]:
        """Each item with its result, as they end; at the time `until` of time.monotonic() nothing new is begun.

        `needs` are what a worker must have, such as a board; a result that is `doubtful` is looked at again elsewhere.
        An item that `failed` is given to that function, or else its error is raised.
        """


@contextlib.contextmanager
def chosen_workers(jobs: int, dask: str | None = None, note: Note = print) -> Iterator[Workers]:
    """The cluster whose scheduler is at an address, or processes here; `note` is told what happens to a cluster."""
    if dask is None:
        with LocalWorkers(jobs) as workers:
            yield workers
        return
    from pilotlight.fleet.cluster import Cluster  # needs Dask, which is optional

    with Cluster(dask, note) as cluster:
        yield cluster
