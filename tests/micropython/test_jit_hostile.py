"""TorchScript archives that are hostile or broken: refused with a sentence, and nothing of the board is reached."""

from __future__ import annotations

from pathlib import Path

from support.hostile_scripts import SCRIPTS, changed, plain, source
from support.micropython_scripts import run_script

TRY = "import torch\ntry:\n    {call}('m.pt')\nexcept RuntimeError as e:\n    print(e)\n"
READ = """
import io, torch
for k in range({count}):
    with open('%d.pt' % k, 'rb') as file:
        data = file.read()
    said = []
    for where in (data, io.BytesIO(data), '%d.pt' % k):
        stage = 'load'
        try:
            m = torch.jit.load(where)
            stage = 'call'
            m(torch.ones(2))
            said.append('no error')
        except RuntimeError as error:
            said.append(stage + ' ' + str(error).replace(chr(10), ' '))
    print(said[0] if said[0] == said[1] == said[2] else said)
"""


def test_every_hostile_archive_is_refused_with_its_sentence(tmp_path: Path) -> None:
    for k, (data, _, _) in enumerate(SCRIPTS.values()):
        (tmp_path / f"{k}.pt").write_bytes(data)
    done = run_script(READ.format(count=len(SCRIPTS)), cwd=tmp_path, heap="16m")
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert len(said) == len(SCRIPTS)
    for (name, (_, text, at_call)), line in zip(SCRIPTS.items(), said, strict=True):
        if text:
            start = "call " if at_call else "load the file cannot be loaded: "
            assert line.startswith(start) and text in line, f"{name}: {line}"
    assert not (tmp_path / "hacked").exists()


def test_the_place_of_what_is_refused(tmp_path: Path) -> None:
    number = source().splitlines().index(source().rstrip().splitlines()[-1]) + 1
    (tmp_path / "m.pt").write_bytes(SCRIPTS["import"][0])
    done = run_script(TRY.format(call="torch.jit.load"), cwd=tmp_path)
    assert f"hostile_scripts.py:{number}: import is none of TorchScript's words, so this" in done.stdout, done.stdout


def test_an_archive_that_ends_or_is_damaged_anywhere_is_refused(tmp_path: Path) -> None:
    """In its compressed code too: whatever a damaged byte gives is checked like all code."""
    (tmp_path / "m.pt").write_bytes(plain())
    done = run_script("""
import torch
with open('m.pt', 'rb') as file:
    data = bytearray(file.read())
fine = []
for size in range(0, len(data), 3):
    try:
        torch.jit.load(memoryview(data)[:size])
        fine.append(size)
    except RuntimeError:
        pass
start = data.find(b'.py') + 3
for k in range(start, start + 150):
    old = data[k]
    for new in (0, 255, old ^ 1, old ^ 16):
        data[k] = new
        try:
            torch.jit.load(data)(torch.ones(2))
        except Exception as error:
            if not isinstance(error, (RuntimeError, torch.jit.Error, TypeError, AttributeError, NameError)):
                raise
    data[k] = old
print(fine, torch.jit.load(data)(torch.ones(2)).tolist())
""", cwd=tmp_path, heap="8m")
    assert done.stdout == "[] [2.0, 2.0]\n", done.stderr


def test_code_that_is_not_compressed_runs_too(tmp_path: Path) -> None:
    (tmp_path / "m.pt").write_bytes(changed({}, method=0))
    done = run_script("import torch\nprint(torch.jit.load('m.pt')(torch.ones(2)).tolist())\n", cwd=tmp_path)
    assert done.stdout == "[2.0, 2.0]\n", done.stderr


def test_torch_load_says_what_to_use(tmp_path: Path) -> None:
    (tmp_path / "m.pt").write_bytes(plain())
    done = run_script(TRY.format(call="torch.load"), cwd=tmp_path)
    assert done.stdout.strip().endswith("this is one, use torch.jit.load")
