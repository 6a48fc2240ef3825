"""The prompt on this computer, at a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

from support.micropython_scripts import default_binary


def _session(typed: list[bytes], last: bytes, history: Path) -> str:
    """What a terminal shows of a session: all is typed before the prompt appears, Ctrl-D after the last answer."""
    default_binary()
    master, slave = pty.openpty()
    for piece in typed:
        os.write(master, piece)
    process = subprocess.Popen(
        [sys.executable, "-m", "pilotlight", "repl"], stdin=slave, stdout=slave, stderr=slave,
        env={**os.environ, "PILOTLIGHT_HISTORY": str(history)}, start_new_session=True,
    )
    os.close(slave)
    seen, end, left = b"", time.monotonic() + 60, False
    try:
        while time.monotonic() < end:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    seen += os.read(master, 4096)
                except OSError:  # the other end is closed
                    break
            elif not left and b">>> " in seen.partition(last)[2]:
                left = True
                os.write(master, b"\x04")
        assert process.wait(timeout=10) == 0, seen
    finally:
        process.kill()
        os.close(master)
    return seen.decode(errors="replace")


def test_lines_typed_ahead_are_kept_and_ctrl_d_leaves(tmp_path: Path) -> None:
    lines = [b"import torch\r", b"a = torch.arange(4)\r", b"def f(x): return x + 40\r\r\r", b"f(a).sum()\r",
             b"for k in range(2): print('round', k)\r\r\r", b"print(a.tolist(), 'end')\r"]
    seen = _session(lines, b"[0, 1, 2, 3] end", tmp_path)
    for text in ("tensor(166)", "round 0", "round 1"):
        assert text in seen, seen
    # between runs: the last line of this one is the first that the arrow finds in the next
    assert "print(a.tolist(), 'end')" in (tmp_path / ".micropython.history").read_text().splitlines()
    again = _session([b"import torch\r", b"a = torch.ones(2)\r", b"\x1b[A\x1b[A\x1b[A\r"], b"[1.0, 1.0] end", tmp_path)
    assert again.count("print(a.tolist(), 'end')") == 1, again


def test_names_are_completed(tmp_path: Path) -> None:
    seen = _session([b"from torch import nn\r", b"nn.Con\tv2d(1, 1, 3)\r"], b"stride=(1, 1))", tmp_path)
    for text in ("ConstantPad1d", "ConvTranspose2d", "Conv2d(1, 1, kernel_size=(3, 3)"):
        assert text in seen, seen


def test_a_terminal_that_goes_away_ends_the_prompt(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen([default_binary()], stdin=slave, stdout=slave, stderr=slave, env={"HOME": str(tmp_path)})
    os.close(slave)
    seen = b""
    try:
        while b">>> " not in seen:
            seen += os.read(master, 4096)
        os.close(master)
        process.wait(timeout=60)
    finally:
        process.kill()
