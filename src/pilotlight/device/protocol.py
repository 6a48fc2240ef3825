"""The computer's side of the wire protocol; csrc/device/pl_protocol.h defines and explains it."""

from __future__ import annotations

import json
import secrets
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pilotlight.device.channel import Channel, StalledError
from pilotlight.device.frames import ANSWER, ASK, HELLO, LOG, REFUSE, VERSION, Frame, FrameReader, pack, room
from pilotlight.errors import PilotlightError

_FACTS = struct.Struct("<11I")
_PART = struct.Struct("<BHII")  # of INPUT, LOAD, CODE, OUTPUT, SAVE and VIEW
_RUN = struct.Struct("<BHI")
_MARKS = struct.Struct("<3I")
_TRAILER = struct.Struct("<HB")
COUNTS_STEPS = 4  # a feature
_NOT_MEASURED = 0xFFFFFFFF
_STATUS = {
    1: "no such input, output or entry point", 2: "outside of the tensor", 3: "unknown command",
    4: "the command is cut short", 5: "a change after a read", 17: "it came out of order", 21: "unknown kind of frame",
}
_NO_SESSION, _GARBLED, _TOO_LONG = 16, 19, 20
_WINDOW = 32  # frames on the way at once where none is lost
_LARGEST_ANSWER = 1 << 15
_HASTY = 8  # repetitions of a frame before the line is given time


class RestartedError(Exception):
    """The board has started over since the session began."""


class Facts(NamedTuple):
    """What a board says first."""

    buffer: int
    features: int
    build_id: int
    arena: int
    state: int
    entries: int
    inputs: int
    outputs: int
    lines: int
    watch: int  # bytes of the arena that can be kept in a run; 0 in a release build
    window: int  # bytes of RAM that code can be loaded into; 0 unless built in


class Marks(NamedTuple):
    """Bytes of stack and cycles of the core; None where they are not measured."""

    stack: int | None
    deepest_stack: int | None
    cycles: int | None


class Command(NamedTuple):
    """Changes come before reads. A transfer is sent or read in blocks, with one number for all of them."""

    kind: str
    arguments: bytes = b""
    number: int = 0
    data: bytes | None = None  # of a transfer to the board
    length: int | None = None  # of a read, where it is known


@dataclass
class _Question:
    """The commands of one frame, and how many bytes of the answer belong to which of all commands."""

    payload: bytearray = field(default_factory=bytearray)
    reads: list[tuple[int, int | None]] = field(default_factory=list)
    answer: int = 0


class Client:
    """Asks a board's server; answers are checked. StalledError, EndedError and RestartedError pass through.

    On a line that loses bytes a question is repeated after `patience` seconds, then after twice that, and so on until
    the timeout; the board carries it out once.
    """

    def __init__(
        self, channel: Channel, timeout: float, log: Callable[[str], None] | None = None, patience: float = 1.0
    ):
        self._channel = channel
        self._timeout = timeout
        self._patience = timeout if channel.reliable else patience
        self._log = log or (lambda text: None)
        self._reader = FrameReader()
        self._frames: list[Frame | None] = []
        self._session = 0
        self._sequence = 0
        self._facts: Facts | None = None

    def wait_longer(self, timeout: float) -> None:
        self._timeout = timeout
        self._patience = timeout if self._channel.reliable else self._patience

    def hello(self) -> Facts:
        """Opens a session; also after the board has restarted."""
        self._session, self._sequence = secrets.randbits(32) or 1, 0
        answer = self._exchange([Frame(HELLO, 0, self._session)])[0]
        if len(answer) != _FACTS.size:
            raise _wrong_length(len(answer))
        self._facts = Facts._make(_FACTS.unpack(answer))
        if room(self._facts.buffer) <= _PART.size:
            raise PilotlightError(
                f"the board's buffer has {self._facts.buffer} bytes, too few for a command",
                hint="build it with a larger PL_BUFFER_BYTES", kind="protocol",
            )
        return self._facts

    def infer(
        self, entry: int, first_input: int, inputs: Sequence[bytes], first_output: int, outputs: Sequence[int],
        fill: int | None = None, times: int = 1,
    ) -> tuple[Marks, list[bytes]]:
        """Inputs and outputs of an entry point have consecutive numbers; `outputs` are their bytes."""
        commands = [] if fill is None else [Command("F", bytes([fill]))]
        commands += [Command("I", number=n, data=blob) for n, blob in enumerate(inputs, first_input)]
        commands += [Command("R", _RUN.pack(ord("R"), entry, times)[1:]), Command("M", length=_MARKS.size)]
        commands += [Command("O", number=n, length=length) for n, length in enumerate(outputs, first_output)]
        marks, *blobs = self.ask(commands)
        return self._marks(marks), blobs

    def reset(self) -> None:
        """The model's state starts over."""
        self.ask([Command("Z")])

    def marks(self) -> Marks:
        return self._marks(self.ask([Command("M", length=_MARKS.size)])[0])

    def save_state(self) -> bytes:
        return self.ask([Command("S", length=self.facts.state)])[0]

    def load_state(self, state: bytes) -> None:
        self.ask([Command("L", data=state)])

    def watch(self, step: int, offset: int, length: int) -> None:
        """In the next runs, keep these bytes of the arena as a step leaves them."""
        self.ask([Command("W", _PART.pack(0, step, offset, length)[1:])])

    def view(self, length: int) -> bytes:
        """What was kept."""
        return self.ask([Command("V", length=length)])[0]

    def load(self, code: bytes) -> None:
        """Loads code into the window."""
        self.ask([Command("P", data=code)])

    def call(self, argument: int, offset: int = 0) -> tuple[int, int | None]:
        """Calls what was loaded; its result, and its cycles where they are counted."""
        commands = [Command("K", struct.pack("<II", offset, argument)), Command("U", length=8)]
        result, cycles = struct.unpack("<II", self.ask(commands)[0])
        return result, cycles if self.facts.features & 2 else None

    def steps(self, first: int, count: int) -> list[int]:
        """Cycles of steps in the last run, where the board's build counts them."""
        arguments = struct.pack("<HH", first, count)
        return list(struct.unpack(f"<{count}I", self.ask([Command("C", arguments, length=4 * count)])[0]))

    def describe(self) -> list[list[object]]:
        """The lines of the board's description."""
        lines = self.ask([Command("D", struct.pack("<H", line)) for line in range(self.facts.lines)])
        return [json.loads(text) for text in lines]

    def leave(self) -> None:
        """The server ends."""
        self.ask([Command("Q")])

    @property
    def facts(self) -> Facts:
        assert self._facts is not None, "hello comes first"
        return self._facts

    def _marks(self, data: bytes) -> Marks:
        stack, deepest, cycles = _MARKS.unpack(data)
        has_stack, has_cycles = self.facts.features & 1, self.facts.features & 2
        return Marks(stack if has_stack else None, deepest if has_stack else None, cycles if has_cycles else None)

    def ask(self, commands: Sequence[Command]) -> list[bytes]:
        """The data of each command that reads, in order."""
        read = [c for c in commands if _reads(c)]
        questions = list(self._questions(commands))
        frames = []
        for question in questions:
            self._sequence = (self._sequence + 1) & 0xFFFF
            frames.append(Frame(ASK, self._sequence, self._session, bytes(question.payload)))
        parts: list[list[bytes]] = [[] for _ in read]
        size = _WINDOW if self._channel.reliable else 1
        for at in range(0, len(frames), size):
            answers = self._exchange(frames[at : at + size])
            for question, answer in zip(questions[at : at + size], answers, strict=True):
                self._take(question, answer, parts)
        return [b"".join(pieces) for pieces in parts]

    def _questions(self, commands: Iterable[Command]) -> Iterator[_Question]:
        space = room(self.facts.buffer)
        largest = _LARGEST_ANSWER if self._channel.reliable else space
        question, number = _Question(), 0
        for command in commands:
            reads = _reads(command)
            for head, data, length in _pieces(command, space - _PART.size, largest):
                full = len(question.payload) + len(head) + len(data) > space
                if full or question.answer + (length or 0) > largest or (question.reads and not reads):
                    yield question
                    question = _Question()
                question.payload += head + data
                question.answer += length or 0
                if reads:
                    question.reads.append((number, length))
            number += reads
        if question.payload:
            yield question

    def _take(self, question: _Question, answer: bytes, parts: list[list[bytes]]) -> None:
        """What a frame's commands read goes to its place."""
        if len(answer) < _TRAILER.size:
            raise _wrong_length(len(answer))
        carried_out, status = _TRAILER.unpack(answer[-_TRAILER.size :])
        if status:
            raise PilotlightError(
                f"the board refused command {carried_out + 1} of a frame: {_STATUS.get(status, status)}",
                hint="build the image again", kind="protocol",
            )
        at, end = 0, len(answer) - _TRAILER.size
        for number, length in question.reads:
            if length is None:
                length = int.from_bytes(answer[at : at + 2], "little")
                at += 2
            parts[number].append(answer[at : at + length])
            at += length
        if at != end:
            raise _wrong_length(len(answer))

    def _exchange(self, frames: Sequence[Frame]) -> list[bytes]:
        """The payloads of the answers to frames that are sent at once."""
        deadline = time.monotonic() + self._timeout
        words = b"".join(pack(frame) for frame in frames)
        self._channel.write(words, self._timeout)
        answers = []
        for frame in frames:
            answers.append(self._answer(frame, words, deadline))
            deadline = time.monotonic() + self._timeout
        return answers

    def _answer(self, frame: Frame, words: bytes, deadline: float) -> bytes:
        patience = self._patience
        again = time.monotonic() + patience
        hasty = 0
        while True:
            now = time.monotonic()
            if now >= deadline:
                raise StalledError
            try:
                got = self._next_frame(max(0.0, min(again, deadline) - now))
            except StalledError:
                if time.monotonic() >= deadline:
                    raise
                patience *= 2
            else:
                if got is not None and not _unread(got):
                    if (payload := self._payload(frame, got)) is not None:
                        return payload
                    continue
                hasty += 1
                if self._channel.reliable or hasty > _HASTY:
                    continue
            self._channel.write(words, max(0.0, deadline - time.monotonic()))
            again = time.monotonic() + patience

    def _next_frame(self, timeout: float) -> Frame | None:
        """The next one that is no line of text; None if it cannot be read."""
        deadline = time.monotonic() + timeout
        first = True
        while True:
            while self._frames:
                frame = self._frames.pop(0)
                if frame is None or frame.kind != LOG:
                    return frame
                self._log(frame.payload.decode(errors="replace"))
            left = deadline - time.monotonic()
            if left <= 0 and not first:  # lines of text may come without end
                raise StalledError
            first = False
            self._frames = self._reader.feed(self._channel.read(max(0.0, left)))

    def _payload(self, question: Frame, frame: Frame) -> bytes | None:
        """Of the answer; None for a frame that answers something else."""
        if (frame.sequence, frame.session) != (question.sequence, question.session):
            return None
        if frame.version != VERSION:
            raise PilotlightError(
                f"the board speaks protocol version {frame.version}, expected {VERSION}",
                hint="build the image again", kind="protocol",
            )
        if frame.kind == (HELLO if question.kind == HELLO else ANSWER):
            return frame.payload
        if frame.kind != REFUSE or not frame.payload:
            return None
        why = frame.payload[0]
        if why == _NO_SESSION:
            raise RestartedError
        raise PilotlightError(
            f"the board refused a frame: {_STATUS.get(why, why)}", hint="build the image again", kind="protocol"
        )


def _unread(frame: Frame) -> bool:
    """The board could not read a frame."""
    refused = frame.kind == REFUSE and (frame.sequence, frame.session) == (0, 0)
    return refused and frame.payload in (bytes([_GARBLED]), bytes([_TOO_LONG]))


def _reads(command: Command) -> bool:
    return command.kind in "OSVDMCU"


def _pieces(command: Command, space: int, largest: int) -> Iterator[tuple[bytes, bytes, int | None]]:
    """The command as it is sent, in blocks where it moves much: its words, data to the board, length of the answer."""
    kind = ord(command.kind)
    if command.kind in "ILP":
        data = command.data or b""
        for at in range(0, len(data), space):
            block = data[at : at + space]
            yield _PART.pack(kind, command.number, at, len(block)), block, 0
    elif command.kind in "OSV":
        length = command.length or 0
        for at in range(0, length, largest):
            part = min(largest, length - at)
            yield _PART.pack(kind, command.number, at, part), b"", part
    else:
        yield bytes([kind]) + command.arguments, b"", command.length if _reads(command) else 0


def _wrong_length(count: int) -> PilotlightError:
    return PilotlightError(
        f"the board's answer has {count} bytes, which is not what was asked for", hint="build the image again",
        kind="protocol",
    )
