"""Many independent pieces of work: here, on several processes, or on the computers of a Dask cluster.

    for item, result in workers.spread(function, items):     # in the order in which they end
        ...

`LocalWorkers(jobs)` and `fleet.cluster.Cluster(address)` are workers. Each item ends once: with a result, or with an
error, which is raised here unless the caller takes it. Whoever stops listening stops the work.
"""

from pilotlight.fleet.processes import LocalWorkers, usable_cores
from pilotlight.fleet.workers import Workers, chosen_workers

__all__ = ["LocalWorkers", "Workers", "chosen_workers", "usable_cores"]
