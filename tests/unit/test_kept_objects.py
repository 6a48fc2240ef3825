"""Objects that were compiled before: taken again if nothing has changed, never if something has."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from pilotlight import boards, toolchain
from pilotlight.toolchain import kept
from pilotlight.toolchain.command import run
from pilotlight.toolchain.find import find
from pilotlight.toolchain.kept import KeptObject
from pilotlight.toolchain.objects import Unit, compile_units
from support.tiny_model import FOLDER

HOST = boards.load("host")


class Work:
    """A source that includes a header of its own folder and one of a searched folder."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch):
        self.path, self.patch = path, monkeypatch
        for folder in ("source", "searched", "work"):
            (path / folder).mkdir(parents=True)
        self.write("source/a.c", '#include "a.h"\n#include <stdint.h>\n#if 0\n#include "no.h"\n#endif\n'
                   "int32_t f(void) { return A + B; }\n")
        self.write("source/a.h", '#include "b.h"\n#define A 1\n')
        self.write("searched/b.h", "#define B 2\n")
        self.flags = ["-O1", "-iquote", str(path / "searched")]

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8")

    def compiles(self) -> bool:
        """Whether the compiler was called for it."""
        calls: list[Sequence[str]] = []

        def called(args: Sequence[str], cwd: Path | None = None) -> str:
            calls.append(args)
            return run(args, cwd)

        self.patch.setattr("pilotlight.toolchain.objects.run", called)
        unit = Unit(self.path / "source" / "a.c", "model/a.c.o", tuple(self.flags))
        compile_units(find(HOST), HOST, self.path / "work", [unit])
        return bool(calls)

    def object(self) -> bytes:
        return (self.path / "work" / "model" / "a.c.o").read_bytes()


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    monkeypatch.setenv("PILOTLIGHT_CACHE", str(tmp_path / "cache"))
    made = Work(tmp_path / "here", monkeypatch)
    assert made.compiles()
    return made


def test_the_same_source_is_compiled_once(work: Work, tmp_path: Path) -> None:
    first = work.object()
    assert not work.compiles() and work.object() == first
    other = Work(tmp_path / "elsewhere", work.patch)
    assert not other.compiles() and other.object() == first


@pytest.mark.parametrize("name, text", [
    ("source/a.c", '#include "a.h"\nint f(void) { return A - B; }\n'),
    ("source/a.h", '#include "b.h"\n#define A 7\n'),
    ("searched/b.h", "#define B 9\n"),
    ("source/b.h", "#define B 5\n"),  # found before the other
])
def test_a_changed_file_is_seen(work: Work, name: str, text: str) -> None:
    first = work.object()
    work.write(name, text)
    assert work.compiles() and work.object() != first


def test_changed_flags_are_seen(work: Work) -> None:
    work.flags.append("-DUNUSED=1")
    assert work.compiles()
    work.flags += ["-include", str(work.path / "first.h")]
    work.write("first.h", "#define FIRST 1\n")
    assert work.compiles() and not work.compiles()
    work.write("first.h", "#define FIRST 2\n")
    assert work.compiles()


def test_another_compiler_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int a;\n", encoding="utf-8")
    program = tmp_path / "cc"
    program.write_text("one", encoding="utf-8")
    paths = []
    for text in ("one", "another"):
        program.write_text(text, encoding="utf-8")
        kept._compiler.cache_clear()
        paths.append(KeptObject([str(program)], [], tmp_path / "a.c")._path)
    assert paths[0] != paths[1]


def test_what_an_assembly_file_brings_in_is_seen(tmp_path: Path) -> None:
    (tmp_path / "w.S").write_text('.section .rodata\n  .incbin "w.bin"\n', encoding="utf-8")
    paths = []
    for content in (b"\0", b"\1"):
        (tmp_path / "w.bin").write_bytes(content)
        paths.append(KeptObject([sys.executable], [], tmp_path / "w.S")._path)
    assert paths[0] != paths[1]


def test_a_damaged_object_is_compiled_again(work: Work, tmp_path: Path) -> None:
    first = work.object()
    (stored,) = [path for path in (tmp_path / "cache" / "objects").glob("*/*") if path.is_file()]
    for content in (stored.read_bytes()[:-3], b"", stored.read_bytes()[:-1] + b"?"):
        stored.write_bytes(content)
        assert work.compiles() and work.object() == first


def test_without_a_cache_everything_is_compiled(work: Work, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    work.patch.setenv("PILOTLIGHT_CACHE", str(tmp_path / "file" / "cache"))
    assert work.compiles() and work.compiles()


def test_a_large_object_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTLIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "_LARGEST", 10)
    work = Work(tmp_path / "here", monkeypatch)
    assert work.compiles() and work.compiles() and not (tmp_path / "cache" / "objects").exists()


def test_the_oldest_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_MOST_BYTES", 250)
    monkeypatch.setattr(kept, "_LOOK_EVERY", 2)
    monkeypatch.setattr(kept, "_stored", 0)
    for age, name in enumerate(("new", "used", "old")):
        path = tmp_path / "ab" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(100))
        os.utime(path, (1e9 - age, 1e9 - age))
    kept._make_room(tmp_path)
    assert sorted(path.name for path in (tmp_path / "ab").iterdir()) == ["new", "used"]


def test_the_stack_frames_are_kept_with_the_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build from kept objects has the figures of the first one."""
    monkeypatch.setenv("PILOTLIGHT_CACHE", str(tmp_path / "cache"))
    board = boards.load("mps2-an386")
    builds = [toolchain.build_model(FOLDER, board, tmp_path / name) for name in ("first", "second")]
    assert builds[0].stack and builds[0].stack == builds[1].stack and builds[0].sizes == builds[1].sizes
