"""An emulated board: QEMU, two named pipes, and the counting plugin."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from pilotlight.boards import Emulator
from pilotlight.cache import scratch_folder
from pilotlight.device.channel import PipeChannel
from pilotlight.device.counts import CountsFile, labels_text
from pilotlight.device.device import Device
from pilotlight.device.plugin import FIRST_VERSION, build_plugin, refuses_plugins, wanted_version
from pilotlight.device.process import start, stop, tail
from pilotlight.device.where import describe_step, name_addresses
from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.installed import named_version
from pilotlight.system import open_pipe
from pilotlight.toolchain import BuildInfo

_PIPES = ("to_board", "from_board")  # also in csrc/device/io_semihosting.c
_LOG, _UART, _LABELS, _COUNTS = "output.txt", "uart.txt", "labels.txt", "counts.txt"


class EmulatedDevice(Device):
    """Everything of one boot lives in a temporary folder and is gone after it."""

    def __init__(self, build: BuildInfo, timeout: float, count: bool):
        super().__init__(build.folder, build.board.name, timeout)
        self.build = build
        emulator = build.board.emulator
        if emulator is None or build.image is None:
            raise PilotlightError(f"there is no image of {build.name} to boot", kind="not-runnable")
        program = shutil.which(emulator.program)
        if program is None:
            raise MissingToolError(emulator.program, emulator.package, f"to run {build.board.name}")
        self.emulator = named_version(emulator.program)
        self._image = build.image
        self._printed = ""
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._plugin = self._first_plugin(count)
        self._boot(program, emulator)

    def _first_plugin(self, count: bool) -> Path | None:
        if not count:
            self.counts_reason = "counting was switched off"
            return None
        try:
            return build_plugin()
        except MissingToolError as error:
            self.counts_reason = error.message
        except OSError as error:
            self.counts_reason = f"the instruction counter cannot be stored: {error}"
        return None

    def _boot(self, program: str, emulator: Emulator) -> None:
        """Starts the emulator; if it refuses the plugin, tries another version of it, then none."""
        version = FIRST_VERSION
        while True:
            self._start(program, emulator)
            try:
                self._greet()
                return
            except PilotlightError:
                other = wanted_version(self._printed)
                if self._plugin and other is not None and other != version:
                    version, self._plugin = other, build_plugin(other)
                elif self._plugin and (other is not None or refuses_plugins(self._printed)):
                    self._plugin = self.counts = None
                    self.counts_reason = f"{program} does not take the counting plugin"
                else:
                    raise
            except BaseException:
                self._client = None
                self.close()
                raise

    def _start(self, program: str, emulator: Emulator) -> None:
        self._folder = scratch_folder("device-")
        self._work = Path(self._folder.name)
        self._counts_file = CountsFile(self._work / _COUNTS)
        self._fds = [open_pipe(self._work / pipe) for pipe in _PIPES]
        args = [program, "-machine", emulator.machine, *emulator.args, "-kernel", str(self._image)]
        args += ["-display", "none", "-monitor", "none", "-serial", f"file:{_UART}"]
        args += ["-semihosting-config", "enable=on,target=native"]
        if self._plugin:
            labels = labels_text(self.build.folder, self._image)
            (self._work / _LABELS).write_text(labels, encoding="utf-8", newline="\n")
            args += ["-plugin", f"{self._plugin},labels={_LABELS},out={_COUNTS}"]
        self._process = start(args, self._work, self._work / _LOG)
        to_board, from_board = self._fds
        channel = PipeChannel(from_board, to_board, lambda: self._process.poll() is None)
        self._client = self._new_client(channel)

    def _collect(self) -> None:
        if self._plugin and self._folder:
            self.counts = self._counts_file.read()

    def _position(self) -> str:
        """The counting plugin knows in which step it stopped."""
        if self.counts and self.counts.stopped:
            step, address = self.counts.stopped
            return (
                f" in {describe_step(self.build, step)}, {name_addresses(self._image, f'pc={address:#010x}')}"
            )
        return ""

    def _output(self) -> str:
        return name_addresses(self._image, self._words(self._printed))

    def _shut(self) -> None:
        if self._folder is None:
            return
        stop(self._process)
        self._collect()
        self._printed = "\n".join(text for name in (_UART, _LOG) if (text := tail(self._work / name)))
        for fd in self._fds:
            os.close(fd)
        self._folder.cleanup()
        self._folder = None
