"""Systems other than this one, as far as they can be imitated: what they do not have is taken away."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from support.paths import ROOT

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
    libraries = "import click, filelock, platformdirs, rich.console, tempfile, torch.export\n"
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


def test_only_one_place_asks_for_the_system() -> None:
    places = [ROOT / "src" / "pilotlight" / name for name in ("system.py", "micropython", "installed.py")]
    for path in (ROOT / "src" / "pilotlight").rglob("*.py"):
        if not any(place == path or place in path.parents for place in places):
            text = path.read_text()
            for word in ("sys.platform", "os.getuid", "os.fork", "preexec_fn", "prctl", "signal.SIGHUP", "SIGALRM"):
                assert word not in text, f"{path.name}: {word} belongs to system.py"
