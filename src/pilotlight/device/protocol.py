"""The computer's side of the wire protocol; csrc/device/pl_protocol.h defines and explains it."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from pilotlight.device.channel import Channel
from pilotlight.errors import PilotlightError

VERSION = 1
_HEADER = struct.Struct("<BBBBI")
_HELLO = struct.Struct("<5I")
_STATUS = {1: "no such input, output or entry point", 2: "wrong length", 3: "unknown question"}
STACK_UNKNOWN = 0xFFFFFFFF
_AT_ONCE = 256


class Client:
    """Asks a board's server; answers are checked. StalledError and EndedError pass through."""

    def __init__(self, channel: Channel, timeout: float):
        self._channel = channel
        self._timeout = timeout

    def hello(self) -> tuple[int, int, int, int]:
        """Arena and state bytes, number of inputs and outputs of the model on the board."""
        version, *facts = _HELLO.unpack(self._receive(ord("H"), 0)[1])
        if version != VERSION:
            raise PilotlightError(
                f"the board speaks protocol version {version}, expected {VERSION}",
                hint="build the image again",
                kind="protocol",
            )
        arena, state, inputs, outputs = facts
        return arena, state, inputs, outputs

    def inputs(self, first: int, data: Sequence[bytes]) -> None:
        """The bytes of inputs with consecutive numbers."""
        self._ask_all("I", first, data)

    def outputs(self, first: int, count: int) -> list[bytes]:
        """The bytes of outputs with consecutive numbers."""
        return self._ask_all("O", first, [b""] * count)

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
        return self._ask_all(kind, index, [data])[0]

    def _ask_all(self, kind: str, first: int, data: Sequence[bytes]) -> list[bytes]:
        """Answers to questions with consecutive numbers. Some are sent at once: they or their answers have no more than
        a header, which fits into the buffer of any line."""
        answers = []
        for start in range(0, len(data), _AT_ONCE):
            part = list(enumerate(data[start : start + _AT_ONCE], first + start))
            headers = [_HEADER.pack(ord(kind), index % 256, 0, index // 256, len(blob)) for index, blob in part]
            questions = [x for header, (_, blob) in zip(headers, part, strict=True) for x in (header, blob)]
            self._channel.write(b"".join(questions), self._timeout)
            answers += [self._receive(ord(kind), index) for index, _ in part]
        for index, (status, _) in enumerate(answers, first):
            if status:
                reason = _STATUS.get(status, status)
                raise PilotlightError(f"the board refused {kind}{index}: {reason}", kind="protocol")
        return [blob for _, blob in answers]

    def _receive(self, kind: int, index: int) -> tuple[int, bytes]:
        """Status and data."""
        header = self._channel.read(_HEADER.size, self._timeout)
        got_kind, low, status, high, length = _HEADER.unpack(header)
        if (got_kind, low + 256 * high) != (kind, index):
            raise PilotlightError(
                f"expected an answer to {chr(kind)}{index}, got {header!r}",
                hint="something else writes on the line to the board",
                kind="protocol",
            )
        return status, self._channel.read(length, self._timeout)
