"""Systems other than this one, as far as they can be imitated: what they do not have is taken away."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilotlight import boards
from support.command_line import call_json
from support.paths import ROOT
from support.programs import path_of

# What Python does not have on Windows, among what Pilotlight uses on Linux.
WITHOUT = """
    import os, select, signal, sys
    for name in ("mkfifo", "getuid", "fork", "killpg", "openpty"):
        delattr(os, name)
    for name in ("SIGHUP", "SIGALRM", "SIGKILL", "setitimer", "pthread_kill"):
        delattr(signal, name)
    del select.poll
    for name in ("fcntl", "termios", "tty", "pty", "resource", "pwd", "grp"):
        sys.modules[name] = None
    import pilotlight.system
    pilotlight.system.WINDOWS = True
    import subprocess
    plain = subprocess.Popen.__init__
    def popen(self, *args, preexec_fn=None, process_group=None, creationflags=0, **kwargs):
        assert preexec_fn is None and process_group is None
        plain(self, *args, **kwargs)
    subprocess.Popen.__init__ = popen
"""
NET = """
    import torch
    from torch import nn
    def net():
        torch.manual_seed(0)
        return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)), (torch.rand(1, 1, 8, 8),)
"""


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """A program on such a system, after libraries that have parts of their own for each were loaded."""
    libraries = "import click, filelock, platformdirs, rich.console, serial.tools.list_ports, tempfile, torch.export\n"
    text = libraries + textwrap.dedent(WITHOUT) + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "USERNAME": "me"})


def test_a_model_runs_where_nothing_is_posix(tmp_path: Path) -> None:
    """In a folder with spaces and a name that is not ASCII, from a file with the line ends of Windows."""
    folder = tmp_path / "mein Ordner für Modelle"
    folder.mkdir()
    (folder / "netz é.py").write_bytes(textwrap.dedent(NET).replace("\n", "\r\n").encode())
    done = run(folder, """
        from pilotlight.cli import main
        def code_of(*args):
            try:
                main(list(args))
            except SystemExit as end:
                return end.code or 0
        codes = [
            code_of("run", "netz é.py:net", "--toolchain", "zig"),
            code_of("run", "netz é.py:net", "--toolchain", "zig", "--board", "host"),
            code_of("compile", "netz é.py:net", "-o", "aus gabe"),
        ]
        sys.exit(codes != [0, 0, 0])
    """)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("match") == 2, done.stdout
    assert "instructions" in done.stdout
    assert (folder / "aus gabe" / "net.c").exists()


def test_what_needs_posix_says_so(tmp_path: Path) -> None:
    done = run(tmp_path, """
        from pilotlight.cli import main
        sys.exit(main(["repl"]))
    """)
    assert done.returncode == 2
    assert "MicroPython needs a POSIX system, and this is Windows" in done.stderr and "WSL" in done.stderr


# What not every system has, and the two places that may use it: the second is refused by name on Windows.
PLACES = ("system.py", "micropython")
POSIX_MODULES = {"fcntl", "termios", "tty", "pty", "resource", "pwd", "grp", "posix", "select"}
POSIX_NAMES = {
    "sys": ("platform",),
    "os": ("name", "uname", "fork", "forkpty", "kill", "killpg", "getuid", "geteuid", "getpgid", "setsid", "mkfifo",
           "openpty", "symlink", "link", "chmod", "chown", "umask", "nice", "wait", "waitpid", "set_blocking",
           "O_NONBLOCK"),
    "signal": ("SIGHUP", "SIGALRM", "SIGKILL", "SIGQUIT", "setitimer", "alarm", "pthread_kill"),
}
POSIX_METHODS = ("symlink_to", "hardlink_to", "chmod", "owner")
POSIX_OPTIONS = ("shell", "preexec_fn", "process_group", "start_new_session")


def without_encoding(call: ast.Call) -> bool:
    """Text whose bytes would depend on the system."""
    given = {word.arg for word in call.keywords}
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
    if name == "write_text":
        return not {"encoding", "newline"} <= given
    if name in ("run", "Popen", "check_output") and not {"text", "universal_newlines"} & given:
        return False
    opened = name == "open" and any(text in ("r", "w", "a", "x", "r+", "w+", "a+") for text in texts)
    return (name in ("read_text", "run", "Popen", "check_output") or opened) and "encoding" not in given


def unportable(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines and what is wrong there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = {node.module} if isinstance(node, ast.ImportFrom) else {alias.name for alias in node.names}
            yield from ((node.lineno, f"import {name}") for name in modules & POSIX_MODULES)
        elif isinstance(node, ast.Attribute):
            module = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in POSIX_NAMES.get(module, POSIX_METHODS):
                yield node.lineno, f"{module}.{node.attr}"
        elif isinstance(node, ast.Constant) and str(node.value).startswith(("/tmp", "/dev/")):
            yield node.lineno, str(node.value)
        elif isinstance(node, ast.keyword) and node.arg in POSIX_OPTIONS:
            yield node.value.lineno, f"{node.arg}="
        elif isinstance(node, ast.Call) and without_encoding(node):
            yield node.lineno, f"{ast.unparse(node.func)}() without encoding= or newline="


def test_only_one_place_asks_for_the_system() -> None:
    source = ROOT / "src" / "pilotlight"
    places = [source / name for name in PLACES]
    found = []
    for path in source.rglob("*.py"):
        named = any(place == path or place in path.parents for place in places)
        on_board = source / "micropython" / "python" in path.parents
        if not on_board:
            problems = unportable(ast.parse(path.read_text(encoding="utf-8")))
            found += [f"{path.name}:{line}: {what}" for line, what in problems if not named or "encoding" in what]
    assert found == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("import fcntl", "import fcntl"), ("from pty import spawn", "import pty"), ("os.kill(1, 9)", "os.kill"),
        ("path.symlink_to(other)", "path.symlink_to"), ("open('/dev/null', 'rb')", "/dev/null"),
        ("run(args, shell=True)", "shell="), ("path.read_text()", "path.read_text() without"),
        ("path.write_text(text, encoding='utf-8')", "path.write_text() without"),
        ("path.open('w')", "path.open() without"), ("run(args, text=True)", "run() without"),
    ],
)
def test_what_is_not_portable_is_found(line: str, what: str) -> None:
    assert [shown.startswith(what) for _, shown in unportable(ast.parse(line))] == [True]


@pytest.mark.parametrize(("compiler", "emulator"), [("zig", "unicorn"), ("gcc", "qemu")])
def test_paths_with_spaces_and_names_that_are_not_ascii(
    compiler: str, emulator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model, the cache with the C and the image, and the page."""
    if compiler == "gcc":
        path_of("arm-none-eabi-gcc")
        path_of("qemu-system-arm")
    folder = tmp_path / "Ünï côde folder"
    folder.mkdir()
    model, page, cache = folder / "nétz ☃.py", folder / "séite.html", folder / "c a c h é"
    model.write_text(textwrap.dedent(NET), encoding="utf-8")
    monkeypatch.setenv("PILOTLIGHT_CACHE", str(cache))
    tools = ["--toolchain", compiler, "--emulator", emulator]
    result = call_json("run", f"{model}:net", *tools, "--report", page)
    assert result["match"] and result["instructions"] > 1000
    assert result["made"]["versions"]["emulator"].startswith(emulator)
    assert "nétz ☃.py" in page.read_text(encoding="utf-8")
    assert list(cache.glob("count_*.so"))


def test_folders_of_boards_are_separated_as_the_system_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pathsep", ";")
    monkeypatch.setenv("PILOTLIGHT_BOARDS", f"C:/one;{tmp_path}")
    text = (ROOT / "src" / "pilotlight" / "boards" / "pico.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(text.replace('name = "pico"', 'name = "mine"'), encoding="utf-8")
    assert boards.load("mine").name == "mine"
