"""Files that are broken or hostile: each is refused with a sentence, and the next one is read."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pilotlight.micropython.build import unix_binary
from support import fuzz_files
from support.hostile_files import ARCHIVES, SAFETENSORS, pickled, saved
from support.micropython_scripts import run_script

READ = """
import io, torch
from safetensors.torch import load_file
for folder, count, load in (('pt', {archives}, torch.load), ('st', {safetensors}, load_file)):
    for k in range(count):
        with open('%s/%d' % (folder, k), 'rb') as file:
            data = file.read()
        said = []
        for source in (data, io.BytesIO(data)):
            try:
                load(source)
                said.append('no error')
            except RuntimeError as error:
                said.append(str(error))
        print(said[0] if said[0] == said[1] else said)
"""


def test_every_hostile_file_is_refused_with_its_sentence(tmp_path: Path) -> None:
    for folder, files in (("pt", ARCHIVES), ("st", SAFETENSORS)):
        (tmp_path / folder).mkdir()
        for k, (data, _) in enumerate(files.values()):
            (tmp_path / folder / str(k)).write_bytes(data)
    done = run_script(READ.format(archives=len(ARCHIVES), safetensors=len(SAFETENSORS)), cwd=tmp_path, heap="8m")
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    named = [*ARCHIVES.items(), *SAFETENSORS.items()]
    assert len(said) == len(named)
    for (name, (_, text)), line in zip(named, said, strict=True):
        assert line.startswith("the file cannot be loaded: ") and text in line, f"{name}: {line}"


@pytest.mark.parametrize("kind", ["pt", "st"])
def test_a_file_that_ends_anywhere_is_refused(kind: str, tmp_path: Path) -> None:
    good = SAFETENSORS["a gap"][0] if kind == "st" else saved({"w": torch.arange(5), "b": [1.5, "x"]})
    (tmp_path / "good").write_bytes(good)
    done = run_script(f"""
import torch
from safetensors.torch import load
load = torch.load if {kind!r} == 'pt' else load
with open('good', 'rb') as file:
    data = memoryview(file.read())
fine = []
for size in range(len(data)):
    try:
        load(data[:size])
        fine.append(size)
    except RuntimeError:
        pass
print(fine)
""", cwd=tmp_path, heap="4m")
    assert done.stdout == "[]\n", done.stderr


def test_what_is_odd_but_harmless_loads(tmp_path: Path) -> None:
    (tmp_path / "loop").write_bytes(pickled(b"]q\x00h\x00a."))  # a list in itself
    (tmp_path / "deep").write_bytes(pickled(b"N" + b"\x85" * 20000 + b"."))
    (tmp_path / "memo").write_bytes(pickled(b"K\x07r\xff\xff\xff\x7fj\xff\xff\xff\x7f\x86."))
    done = run_script("""
import gc, torch
loop = torch.load('loop')
print(loop[0] is loop, torch.load('memo'))
deep = torch.load('deep')
gc.collect()
try:
    print(deep)
except RuntimeError as error:
    print(error)
""", cwd=tmp_path, heap="8m")
    lines = done.stdout.splitlines()
    assert lines[0] == "True (7, 7)" and lines[-1].endswith("maximum recursion depth exceeded"), done.stderr


def test_mutated_files_under_sanitizers(tmp_path: Path) -> None:
    """The first of the files of `make fuzz-files`."""
    counts = fuzz_files.write_corpus(tmp_path)
    said, failed = fuzz_files.run(unix_binary(sanitize=True), tmp_path, counts, 0, 1000)
    assert not failed and said["loaded"] > 10
