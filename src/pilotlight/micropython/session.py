"""Running scripts: on this computer as a process, on an emulated board through MicroPython's raw REPL."""

from __future__ import annotations

import contextlib
import functools
import os
import select
import shutil
import signal
import subprocess
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

from pilotlight.boards import Board
from pilotlight.device.process import start, stop, tail
from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.micropython import cache

TIMEOUT = 60.0  # seconds of silence
HOST_HEAP = 64 << 20
_REBOOT = b"MPY: soft reboot"
_RAW, _FRIENDLY, _INTERRUPT, _END = b"\x01", b"\x02", b"\x03", b"\x04"
_PROMPT = b"raw REPL; CTRL-B to exit\r\n>"
# The script runs under its own name and as the main program; its exit code is read afterwards.
_RUN = """\
import sys
sys.argv[:] = {arguments!r}
_code = None
try:
    exec(compile({text!r}, {name!r}, "exec"), {{"__name__": "__main__", "__file__": {name!r}}})
except SystemExit as _end:
    _code = _end.args[0] if _end.args else 0
"""
Sink = Callable[[bytes], object]


def run_on_host(
    program: Path, arguments: tuple[str, ...], heap: int | None = None, sinks: tuple[Sink, Sink] | None = None
) -> int:
    """Run MicroPython on this process's terminal, or capture what it prints; returns its exit code."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the script, which decides how to end
    try:
        restore = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        command = [str(program), "-X", f"heapsize={heap or HOST_HEAP}", *arguments]
        history = {"PILOTLIGHT_HISTORY": str(cache.folder()), **os.environ}
        done = subprocess.run(command, preexec_fn=restore, capture_output=sinks is not None, env=history)
        for sink, data in zip(sinks or (), (done.stdout, done.stderr), strict=False):
            sink(data)
        code = done.returncode
    finally:
        signal.signal(signal.SIGINT, before)
    return 128 - code if code < 0 else code


class BoardSession:
    """One boot of an emulated board at its raw prompt; what is printed is passed on as it comes."""

    def __init__(self, board: Board, firmware: Path, timeout: float = TIMEOUT):
        self.board = board
        self.timeout = timeout
        self._rest = b""  # read after the last mark
        self._log = firmware.parent / f"emulator-{os.getpid()}.log"
        self._process = start(emulator_command(board, firmware), firmware.parent, self._log, subprocess.PIPE,
                              subprocess.PIPE, own_group=True)
        try:
            self._send(b"\r" + _INTERRUPT + _RAW)
            self._until(_PROMPT, lambda data: None)
        except BaseException:
            self.close()
            raise

    def execute(self, code: str, out: Sink, err: Sink) -> bool:
        """Run some lines; returns whether they ended without an exception."""
        self._send(code.encode() + _END)
        self._until(b"OK", lambda data: None)
        self._until(_END, lambda data: out(data))
        failed = False

        def on_error(data: bytes) -> None:
            nonlocal failed
            failed = True
            err(data)

        self._until(_END, on_error)
        return not failed

    def run(self, script: Path, arguments: tuple[str, ...], out: Sink, err: Sink) -> int:
        """Run a script; returns the exit code that the host's MicroPython would give."""
        trace: list[bytes] = []
        source = script.read_text(encoding="utf-8")
        text = _RUN.format(text=source, name=script.name, arguments=[script.name, *arguments])
        with self._passing_interrupts():
            fine = self.execute(text, out, trace.append)
        if not fine:
            lines = b"".join(trace).splitlines(keepends=True)
            err(b"".join(line for line in lines if b'File "<stdin>"' not in line))
            return 1
        self._until(b">", lambda data: None)
        answer: list[bytes] = []
        self.execute("print(_code)", answer.append, lambda data: None)
        code = b"".join(answer).strip().decode()
        if code in ("None", ""):
            return 0
        if code.lstrip("-").isdigit():
            return int(code) & 255
        err(code.encode() + b"\n")
        return 1

    def interrupt(self) -> None:
        """Send what Ctrl-C sends at the board's own prompt."""
        self._send(_INTERRUPT)

    def close(self) -> None:
        stop(self._process)
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                stream.close()
        self._log.unlink(missing_ok=True)

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the reader reports why
            view = memoryview(data)
            while view:
                view = view[self._process.stdin.write(view) :]

    def _until(self, mark: bytes, sink: Sink) -> None:
        """Pass on what comes before a mark, with this computer's line ends."""
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        held = self._rest
        self._rest = b""
        heard = time.monotonic()
        while True:
            before, found, after = held.partition(mark)
            # The data so far may end with the start of a mark or of a line end.
            keep = 0 if found else _overlap(before, mark)
            ready = before[: len(before) - keep]
            if not found and ready.endswith(b"\r"):
                ready, keep = ready[:-1], keep + 1
            if ready:
                sink(ready.replace(b"\r\n", b"\n"))
            if found:
                self._rest = after
                return
            held = before[len(before) - keep :]
            while not select.select([fd], [], [], 0.2)[0]:
                if time.monotonic() - heard > self.timeout:
                    raise PilotlightError(
                        f"{self.board.name} has printed nothing for {self.timeout:g} seconds",
                        hint="give it more with --timeout SECONDS", kind="timeout",
                    )
            data = os.read(fd, 65536)
            heard = time.monotonic()
            if not data:
                said = tail(self._log)
                raise PilotlightError(
                    f"the emulator of {self.board.name} ended" + (f": {said}" if said else ""), kind="emulator",
                )
            held += data

    @contextlib.contextmanager
    def _passing_interrupts(self) -> Iterator[None]:
        """Ctrl-C goes to the board, wherever in this program it is caught."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, lambda *_: self.interrupt())
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _overlap(data: bytes, mark: bytes) -> int:
    """How many bytes at the end of some data are the start of a mark."""
    return next((n for n in range(min(len(mark) - 1, len(data)), 0, -1) if data.endswith(mark[:n])), 0)


def emulator_command(board: Board, firmware: Path) -> list[str]:
    """The emulator with the board's serial line on its standard input and output."""
    emulator = board.emulator
    assert emulator is not None
    program = shutil.which(emulator.program)
    if program is None:
        raise MissingToolError(emulator.program, emulator.package, f"to run {board.name}")
    options = ["-display", "none", "-monitor", "none", "-serial", "stdio", "-semihosting"]
    return [program, "-machine", emulator.machine, *emulator.args, *options, "-kernel", str(firmware)]


@contextlib.contextmanager
def open_session(board: Board, firmware: Path, timeout: float = TIMEOUT) -> Iterator[BoardSession]:
    session = BoardSession(board, firmware, timeout)
    try:
        yield session
    finally:
        session.close()


def talk_to(board: Board, firmware: Path) -> int:
    """The board's own prompt on this terminal, or for what is piped in; it ends with the board's soft reboot."""
    log = firmware.parent / f"emulator-{os.getpid()}.log"
    process = start(emulator_command(board, firmware), firmware.parent, log, subprocess.PIPE, subprocess.PIPE,
                    own_group=True)
    assert process.stdin is not None and process.stdout is not None
    keyboard, board_out = sys.stdin.fileno(), process.stdout.fileno()
    before = termios.tcgetattr(keyboard) if os.isatty(keyboard) else None
    sources, seen = [keyboard, board_out], b""
    try:
        if before:
            tty.setraw(keyboard, termios.TCSADRAIN)  # keeps what was typed ahead
        while _REBOOT not in seen:
            ready = select.select(sources, [], [])[0]
            if board_out in ready:
                data = os.read(board_out, 65536)
                if not data:
                    raise PilotlightError(f"the emulator of {board.name} ended: {tail(log)}", kind="emulator")
                seen = seen[-len(_REBOOT) :] + data
                sys.stdout.buffer.write(data if before else data.replace(b"\r\n", b"\n"))
                sys.stdout.flush()
            if keyboard in ready:
                data = os.read(keyboard, 256)
                if not data:  # the end of what is piped in
                    sources.remove(keyboard)
                process.stdin.write(data.replace(b"\n", b"\r") or _INTERRUPT + _END)
    finally:
        if before:
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
        stop(process)
        for stream in (process.stdin, process.stdout):
            stream.close()
        log.unlink(missing_ok=True)
    sys.stdout.write("\n")
    return 0
