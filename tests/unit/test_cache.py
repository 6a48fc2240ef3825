"""Kept files survive interruption, and dead processes leave nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pilotlight import boards, cache, device, toolchain
from pilotlight.device.plugin import build_plugin
from pilotlight.device.protocol import Client
from pilotlight.errors import PilotlightError
from support.tiny_model import FOLDER


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTLIGHT_CACHE", str(tmp_path / "cache"))


def test_a_plugin_that_was_cut_short_is_built_again() -> None:
    plugin = build_plugin()
    whole = plugin.read_bytes()
    plugin.write_bytes(whole[: len(whole) // 2])
    assert build_plugin() == plugin and plugin.read_bytes() == whole
    plugin.write_bytes(b"")
    assert build_plugin().read_bytes() == whole


def test_what_is_kept_is_made_once_by_one(tmp_path: Path) -> None:
    calls: list[Path] = []

    def make(file: Path) -> None:
        calls.append(file)
        time.sleep(0.05)
        file.write_text("made")

    target = tmp_path / "kept" / "file.so"
    threads = [threading.Thread(target=cache.once, args=(target, make)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1 and target.read_text() == "made" and cache.is_whole(target)


def test_a_failure_keeps_nothing(tmp_path: Path) -> None:
    def fail(file: Path) -> None:
        file.write_text("half")
        raise ValueError

    with pytest.raises(ValueError):
        cache.once(tmp_path / "file", fail)
    assert not cache.is_whole(tmp_path / "file")
    assert cache.once(tmp_path / "file", lambda file: file.write_text("whole")).read_text() == "whole"


HOLD = """
import os, time
from pilotlight.cache import scratch_folder
folder = scratch_folder("work-")
if os.fork() == 0:
    os._exit(0)  # the lock is not the child's to give back
os.wait()
print(folder.name, flush=True)
time.sleep(600)
"""


def holding() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def test_folders_of_the_dead_are_removed_and_those_of_the_living_are_not() -> None:
    (killed, left), (living, used) = holding(), holding()
    try:
        killed.kill()
        killed.wait()
        assert left.is_dir() and used.is_dir()
        cache.remove_dead(left.parent.parent)
        assert not left.parent.exists() and used.is_dir()
    finally:
        for process in (killed, living):
            process.kill()
            process.wait()
            assert process.stdout
            process.stdout.close()
    with cache.scratch_folder("next-"):  # the next start
        assert not used.parent.exists()


COMMAND = """
import signal, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may have been started with nohup
from pilotlight import boards, cache
from pilotlight.cli import main
def slow():
    folder = cache.scratch_folder("work-")
    print(folder.name, flush=True)
    time.sleep(600)
boards.known_boards = slow
main(["boards"])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_command_cleanly(number: signal.Signals) -> None:
    command = [sys.executable, "-c", COMMAND]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    folder = Path(process.stdout.readline().strip())
    assert folder.is_dir()
    process.send_signal(number)
    _, said = process.communicate()
    assert process.returncode == 128 + number and said == f"error: stopped by {number.name}\n"
    assert not folder.parent.exists()


def test_an_error_does_not_wait_for_the_boards_goodbye(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may never come: Ctrl-C would take as long as the timeout."""
    host = boards.load("host")
    build = toolchain.build_model(FOLDER, host, tmp_path / "work")
    monkeypatch.setattr(Client, "leave", lambda self: pytest.fail("the board is asked to end"))
    with pytest.raises(KeyboardInterrupt), device.open(host, build):
        raise KeyboardInterrupt


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PILOTLIGHT_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with cache.scratch_folder("work-") as folder:
        assert Path(folder).parent.parent.parent == tmp_path
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    with pytest.raises(PilotlightError, match="there is no folder to work in") as caught:
        cache.scratch_folder("work-")
    assert caught.value.kind == "file" and "PILOTLIGHT_CACHE" in (caught.value.hint or "")


def test_the_cache_may_be_named_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulator that loads what is in it runs in another folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PILOTLIGHT_CACHE", "a cache")
    assert cache.cache_folder() == tmp_path / "a cache"


def test_the_cache_is_where_the_system_keeps_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PILOTLIGHT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / "pilotlight"
