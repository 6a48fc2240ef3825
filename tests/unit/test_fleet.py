"""Work that is spread over processes and over a cluster: nothing is lost, nothing counts twice, whatever workers do."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilotlight.errors import PilotlightError
from pilotlight.fleet import LocalWorkers, chosen_workers
from pilotlight.fleet import cluster as dask
from support import fleet_work

distributed = pytest.importorskip("distributed")
COUNT = 14


@pytest.fixture(scope="module")
def farm() -> Iterator[distributed.LocalCluster]:
    """Two processes."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50,
    ) as cluster:
        yield cluster


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def cluster(farm: distributed.LocalCluster, notes: list[str]) -> Iterator[dask.Cluster]:
    with dask.Cluster(farm.scheduler_address, notes.append) as cluster:
        deadline = time.monotonic() + 30
        while len(cluster.workers()) < 2 and time.monotonic() < deadline:  # one was killed
            time.sleep(0.1)
        yield cluster


def test_processes_here_give_each_item_once(tmp_path: Path) -> None:
    items = [(tmp_path, number) for number in range(5)]
    found = dict(LocalWorkers(1).spread(fleet_work.square, items))
    assert found == {item: item[1] ** 2 for item in items}
    assert list(LocalWorkers(1).spread(fleet_work.square, items, until=time.monotonic())) == []
    with LocalWorkers(2) as workers, pytest.raises(ValueError, match="nobody can do"):
        list(workers.spread(fleet_work.never, [1, 2]))
    lost: list[int] = []
    assert not list(LocalWorkers(1).spread(fleet_work.never, [1, 2], failed=lambda item, error: lost.append(item)))
    assert lost == [1, 2]


def test_this_process_works_while_others_start_and_does_a_single_piece_itself(tmp_path: Path) -> None:
    items = [(tmp_path, number) for number in range(40)]
    with LocalWorkers(2) as workers:
        assert list(workers.spread(fleet_work.square, items[:0])) == []
        assert list(workers.spread(fleet_work.square, items[:1])) == [(items[0], 0)]
        assert list(workers.spread(fleet_work.square, items, until=time.monotonic())) == []
        assert workers._pool is None and (tmp_path / "0").read_text() == f"{os.getpid()}\n"
        found = list(workers.spread(fleet_work.square, items[1:]))
        assert sorted(found) == [(item, item[1] ** 2) for item in items[1:]]
        began = [int((tmp_path / f"{number}").read_text()) for number in range(1, 40)]  # each once
        assert os.getpid() in began and len(set(began)) > 1
        again = tmp_path / "again"
        again.mkdir()
        list(workers.spread(fleet_work.square, [(again, number) for number in range(6)]))
        assert os.getpid() not in {int(file.read_text()) for file in again.iterdir()}  # they have started


def test_an_error_comes_back_from_another_process_with_its_hint() -> None:
    with LocalWorkers(2) as workers, pytest.raises(PilotlightError, match="gcc-nowhere") as caught:
        list(workers.spread(fleet_work.misses_a_tool, [1, 2]))  # a single piece is not worth a process
    assert caught.value.hint and caught.value.kind == "missing-tool"


def test_a_worker_that_is_killed_loses_nothing_and_nothing_counts_twice(
    cluster: dask.Cluster, tmp_path: Path, notes: list[str]
) -> None:
    items = [(tmp_path, number) for number in range(COUNT)]
    found: list[tuple[tuple[Path, int], int]] = []
    killed = 0
    for item, result in cluster.spread(fleet_work.square, items):
        found.append((item, result))
        if len(found) == 3:
            running = [path for path in tmp_path.iterdir() if (tmp_path, int(path.name)) not in dict(found)]
            killed = int(running[0].read_text().split()[0])
            os.kill(killed, signal.SIGKILL)
    assert sorted(found) == [(item, item[1] ** 2) for item in items]
    assert killed and any("is gone; others do its work" in note for note in notes)
    begun = [line for number in range(COUNT) for line in (tmp_path / str(number)).read_text().split()]
    assert len(begun) > COUNT and len(set(begun)) > 1  # what was lost in the middle was begun again


def test_what_one_worker_cannot_do_another_one_does(cluster: dask.Cluster, tmp_path: Path, notes: list[str]) -> None:
    items = [(tmp_path, number) for number in range(4)]
    assert dict(cluster.spread(fleet_work.fail_in_one_process, items)) == {item: item[1] for item in items}
    assert any("failed: ValueError: this computer is broken; another one is asked" in note for note in notes)


def test_a_wrong_answer_is_noticed_and_its_worker_named(
    cluster: dask.Cluster, tmp_path: Path, notes: list[str]
) -> None:
    items = [(tmp_path, number) for number in range(4)]
    found = dict(cluster.spread(fleet_work.wrong_in_one_process, items, doubtful=lambda result: result < 0))
    assert found == {item: item[1] for item in items}
    assert any("gave a wrong answer; that of" in note for note in notes)


def test_what_nobody_can_do_ends_in_its_error(cluster: dask.Cluster) -> None:
    with pytest.raises(ValueError, match="nobody can do 7"):
        list(cluster.spread(fleet_work.never, [7]))
    lost: list[int] = []
    assert not list(cluster.spread(fleet_work.never, [8], failed=lambda item, error: lost.append(item)))
    assert lost == [8]


def test_a_board_is_where_a_worker_says_it_is(notes: list[str]) -> None:
    with distributed.LocalCluster(
        n_workers=1, processes=False, dashboard_address=":0", resources={"nucleo-wb55rg": 1}, silence_logs=50
    ) as bench, chosen_workers(1, bench.scheduler_address, notes.append) as workers:
        assert isinstance(workers, dask.Cluster)
        found = workers.spread(abs, [-1, -2], needs={"nucleo-wb55rg": 1})
        assert sorted(found) == [(-2, 2), (-1, 1)] and not notes
        assert workers.workers({"pico": 1}) == set()


def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "PATIENCE", 0.5)
    with pytest.raises(PilotlightError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9"):
        dask.Cluster("tcp://127.0.0.1:9")
    with pytest.raises(PilotlightError, match="no Dask scheduler answers at nonsense"):
        dask.Cluster("nonsense://x")


def test_a_slow_worker_is_not_waited_for(
    cluster: dask.Cluster, tmp_path: Path, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask, "SLOW_SECONDS", 0.5)
    items = [(tmp_path, number) for number in range(8)]
    begun = time.monotonic()
    found = list(cluster.spread(fleet_work.slow_in_one_process, items))
    assert sorted(found) == [(item, item[1]) for item in items] and time.monotonic() - begun < 6
    assert any("is slow; another one is asked as well" in note for note in notes)
