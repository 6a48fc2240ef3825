"""The computer's side of the wire protocol; csrc/device/pl_protocol.h defines and explains it."""

from __future__ import annotations

import struct

from pilotlight.device.channel import Channel
from pilotlight.errors import PilotlightError

VERSION = 1
_HEADER = struct.Struct("<BBBBI")
_HELLO = struct.Struct("<5I")
_STATUS = {1: "no such input, output or entry point", 2: "wrong length", 3: "unknown question"}
STACK_UNKNOWN = 0xFFFFFFFF


class Client:
    """Asks a board's server; answers are checked. StalledError and EndedError pass through."""

    def __init__(self, channel: Channel, timeout: float):
        self._channel = channel
        self._timeout = timeout

    def hello(self) -> tuple[int, int, int, int]:
        """Arena and state bytes, number of inputs and outputs of the model on the board."""
        version, *facts = _HELLO.unpack(self._answer(ord("H"), 0))
        if version != VERSION:
            raise PilotlightError(
                f"the board speaks protocol version {version}, expected {VERSION}",
                hint="build the image again",
                kind="protocol",
            )
        arena, state, inputs, outputs = facts
        return arena, state, inputs, outputs

    def input(self, index: int, data: bytes) -> None:
        self._ask("I", index, data)

    def output(self, index: int) -> bytes:
        return self._ask("O", index)

    def fill(self, value: int) -> None:
        self._ask("F", value)

    def reset(self) -> None:
        self._ask("Z")

    def run(self, entry: int = 0) -> int | None:
        """Bytes of stack the run of an entry point touched, None where that cannot be measured."""
        (stack,) = struct.unpack("<I", self._ask("R", entry))
        return None if stack == STACK_UNKNOWN else stack

    def quit(self) -> None:
        self._ask("Q")

    def _ask(self, kind: str, index: int = 0, data: bytes = b"") -> bytes:
        self._channel.write(_HEADER.pack(ord(kind), index % 256, 0, index // 256, len(data)) + data, self._timeout)
        return self._answer(ord(kind), index)

    def _answer(self, kind: int, index: int) -> bytes:
        header = self._channel.read(_HEADER.size, self._timeout)
        got_kind, low, status, high, length = _HEADER.unpack(header)
        if (got_kind, low + 256 * high) != (kind, index):
            raise PilotlightError(
                f"expected an answer to {chr(kind)}{index}, got {header!r}",
                hint="something else writes on the line to the board",
                kind="protocol",
            )
        if status:
            raise PilotlightError(
                f"the board refused {chr(kind)}{index}: {_STATUS.get(status, status)}", kind="protocol"
            )
        return self._channel.read(length, self._timeout)
