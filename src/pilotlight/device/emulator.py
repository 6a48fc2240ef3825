"""An emulated board: QEMU, two named pipes, and the counting plugin."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from pilotlight.boards import Emulator
from pilotlight.device.channel import PipeChannel
from pilotlight.device.device import Device
from pilotlight.device.process import start, stop, tail
from pilotlight.device.protocol import Client
from pilotlight.device.where import describe_address, describe_fault
from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.measure.counts import labels_text, read_counts, step_count
from pilotlight.measure.plugin import FIRST_VERSION, build_plugin, refuses_plugins, wanted_version
from pilotlight.toolchain import BuildInfo
from pilotlight.toolchain.sizes import symbols

_PIPES = ("to_board", "from_board")


class EmulatedDevice(Device):
    def __init__(self, build: BuildInfo, timeout: float, count: bool):
        super().__init__(build, timeout)
        emulator = build.board.emulator
        if emulator is None or build.image is None:
            raise PilotlightError(f"{build.board.name} is not an emulated board", kind="not-runnable")
        self._image = build.image
        self._program = shutil.which(emulator.program)
        if self._program is None:
            raise MissingToolError(emulator.program, emulator.package, f"to run {build.board.name}")
        self._symbols = symbols(build.image)
        self._folder = tempfile.TemporaryDirectory(prefix="pilotlight-")
        self._work = Path(self._folder.name)
        self._log, self._uart, self._out = (self._work / n for n in ("output.txt", "uart.txt", "counts.txt"))
        for pipe in _PIPES:
            os.mkfifo(self._work / pipe)
        # Both ends are opened here too: opening then never waits, whichever side comes first.
        self._fds = [os.open(self._work / pipe, os.O_RDWR | os.O_NONBLOCK) for pipe in _PIPES]
        self._words = ""
        self._plugin: Path | None = self._prepare_plugin() if count else None
        if not count:
            self.counts_reason = "counting was switched off"
        self._boot(emulator)

    def _prepare_plugin(self) -> Path | None:
        try:
            plugin = build_plugin()
        except MissingToolError as error:
            self.counts_reason = error.message
            return None
        name = self.build.name
        (self._work / "labels.txt").write_text(
            labels_text(name, step_count(name, self._symbols), self._symbols)
        )
        return plugin

    def _boot(self, emulator: Emulator) -> None:
        """Starts the emulator; when it refuses the plugin, with another version of it, then without."""
        version = FIRST_VERSION
        while True:
            self._start(emulator)
            try:
                self._greet()
                return
            except PilotlightError:
                other = wanted_version(self._words)
                if self._plugin and other not in (None, version):
                    assert other is not None
                    version, self._plugin = other, build_plugin(other)
                elif self._plugin and (other is not None or refuses_plugins(self._words)):
                    self._plugin = None
                    self.counts_reason = f"{emulator.program} does not take the counting plugin"
                else:
                    self._remove()
                    raise
            except BaseException:
                self.close()
                raise

    def _start(self, emulator: Emulator) -> None:
        args = [str(self._program), "-machine", emulator.machine, *emulator.args, "-kernel", str(self._image)]
        args += ["-display", "none", "-monitor", "none", "-serial", f"file:{self._uart}"]
        args += ["-semihosting-config", "enable=on,target=native"]
        if self._plugin:
            args += ["-plugin", f"{self._plugin},labels=labels.txt,out={self._out.name}"]
        self._process = start(args, self._work, self._log)
        to_board, from_board = self._fds
        channel = PipeChannel(from_board, to_board, lambda: self._process.poll() is None)
        self._client = Client(channel, self.timeout)

    def _collect(self) -> None:
        if self._plugin and self._out.exists():
            self.counts = read_counts(self._out)

    def _position(self) -> str:
        if self.counts and self.counts.stopped:
            step, address = self.counts.stopped
            return f" in {describe_address(self.build, self._image, address)}, step {step}"
        return ""

    def _output(self) -> str:
        return describe_fault(self.build, self._image, self._words)

    def _shut(self) -> None:
        stop(self._process)
        self._words = "\n".join(text for text in (tail(self._uart), tail(self._log)) if text) or self._words
        self._collect()

    def close(self) -> None:
        super().close()
        self._remove()

    def _remove(self) -> None:
        for fd in self._fds:
            os.close(fd)
        self._fds = []
        self._folder.cleanup()
