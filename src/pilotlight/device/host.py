"""This computer as a device: the model in a process of its own, so that a crash stays there."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pilotlight.cache import scratch_folder
from pilotlight.device.channel import StreamChannel
from pilotlight.device.device import Device
from pilotlight.device.process import start, stop, tail
from pilotlight.errors import PilotlightError
from pilotlight.toolchain import BuildInfo


class HostDevice(Device):
    counts_reason = "instructions are counted on emulated boards"

    def __init__(self, build: BuildInfo, timeout: float):
        super().__init__(build.folder, build.board.name, timeout)
        self.build = build
        if build.image is None:
            raise PilotlightError("the build has no program to run", kind="not-runnable")
        self._folder = scratch_folder("device-")
        self._log = Path(self._folder.name) / "output.txt"
        self._printed = ""
        self._process = start(
            [str(build.image)], build.workdir, self._log, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdin and self._process.stdout
        self._channel = StreamChannel(self._process.stdout, self._process.stdin)
        self._client = self._new_client(self._channel)
        self._greet_or_close()

    def _output(self) -> str:
        return self._words(self._printed)

    def _shut(self) -> None:
        stop(self._process)
        self._channel.close()
        self._printed = tail(self._log, lines=40) or self._printed
        self._folder.cleanup()
