"""What all devices share: arrays in, arrays out, and errors that say what the board last did."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

from pilotlight.device.channel import Channel, EndedError, StalledError
from pilotlight.device.counts import Counts
from pilotlight.device.protocol import COUNTS_STEPS, Client, Marks, RestartedError
from pilotlight.errors import PilotlightError
from pilotlight.toolchain import FolderPort, ModelFolder

_STEPS_AT_ONCE = 32

Array = np.ndarray[Any, np.dtype[Any]]


class OtherModelError(PilotlightError):
    """The device answers, and holds a model that is not the one that was built."""

    def __init__(self, found: int, expected: int):
        super().__init__(
            f"the board holds another model: its build id is {found:08x}, not {expected:08x}",
            hint="compile and build the model again", kind="protocol",
        )


class Device:
    """A board with a model on it, booted once and good for many runs. Use it as a context manager.

    stack is the deepest painted stack so far, counts the instructions of all runs so far; both stay after
    close. counts_reason says why there are no counts. log has the lines of text that the board sent.
    """

    stack: int | None = None
    counts: Counts | None = None
    counts_reason: str | None = None
    emulator: str | None = None  # its name and version
    _stays = False  # after it is closed

    def __init__(self, model: ModelFolder, name: str, timeout: float):
        self.model = model
        self.name = name
        self.timeout = timeout
        self.calls: list[int] = []  # the entry point of each run
        self.log: list[str] = []
        self._client: Client | None = None

    def run(self, inputs: Sequence[Array], fill: int | None = None, entry: int = 0) -> list[Array]:
        """One inference of an entry point; arrays in metadata's c_shape. `fill` first overwrites the whole arena."""
        ports = self.model.entries[entry]
        if len(inputs) != len(ports.inputs):
            raise PilotlightError(
                f"{self.model.name} has {len(ports.inputs)} inputs, got {len(inputs)}", kind="wrong-input"
            )
        blobs = [_bytes_of(port, array) for port, array in zip(ports.inputs, inputs, strict=True)]
        first_input, first_output, _ = self.model.before(entry)
        sizes = [port.bytes for port in ports.outputs]
        with self._talk() as client:
            marks, outputs = client.infer(entry, first_input, blobs, first_output, sizes, fill)
        self.calls.append(entry)
        self.stack = marks.deepest_stack
        self._collect()
        return [
            np.frombuffer(blob, port.dtype).reshape(port.c_shape)
            for port, blob in zip(ports.outputs, outputs, strict=True)
        ]

    @property
    def runs(self) -> int:
        return len(self.calls)

    def entry_counts(self, entry: int) -> Counts | None:
        """The counts of one entry point's runs."""
        if self.counts is None:
            return None
        first = self.model.before(entry)[2]
        return self.counts.of_entry(self.calls, entry, first, len(self.model.entries[entry].ops))

    def reset(self) -> None:
        """The model's state starts over."""
        with self._talk() as client:
            client.reset()

    def marks(self) -> Marks:
        """Stack and cycles of the last run, and the deepest stack, as the board measured them."""
        with self._talk() as client:
            return client.marks()

    def step_cycles(self, entry: int = 0) -> list[int] | None:
        """Cycles of each step in the last run of an entry point, as the board counted them; None where it does not."""
        first, count = self.model.before(entry)[2], len(self.model.entries[entry].ops)
        with self._talk() as client:
            if not client.facts.features & COUNTS_STEPS:
                return None
            pieces = range(first, first + count, _STEPS_AT_ONCE)
            return [n for at in pieces for n in client.steps(at, min(_STEPS_AT_ONCE, first + count - at))]

    @property
    def watch_bytes(self) -> int:
        """How many bytes of what a step leaves can be read in one run; 0 in a release build."""
        with self._talk() as client:
            return client.facts.watch

    def save_state(self) -> bytes:
        """The model's state as it is now."""
        with self._talk() as client:
            return client.save_state()

    def load_state(self, state: bytes) -> None:
        """The model goes on from a state that was saved."""
        expected = self.model.state_bytes
        if len(state) != expected:
            raise PilotlightError(
                f"{self.model.name} has {expected} bytes of state, got {len(state)}",
                hint="give what save_state of the same model returned", kind="wrong-input",
            )
        with self._talk() as client:
            client.load_state(state)

    def intermediate(
        self, inputs: Sequence[Array], step: int, offset: int, length: int, entry: int = 0
    ) -> bytes:
        """Bytes of the arena as a step of a run leaves them; the state stays as it was. Steps are numbered over all
        entry points. Only in a debug build, where a run keeps a piece of them: it takes as many runs as pieces."""
        blobs = [_bytes_of(port, x) for port, x in zip(self.model.entries[entry].inputs, inputs, strict=True)]
        parts = []
        with self._talk() as client:
            if not client.facts.watch:
                raise PilotlightError(
                    f"the server on {self.name} cannot look into a run", hint="build it with debug=True", kind="usage"
                )
            state = client.save_state()
            for at in range(0, length, client.facts.watch):
                part = min(client.facts.watch, length - at)
                client.watch(step, offset + at, part)
                client.infer(entry, self.model.before(entry)[0], blobs, 0, [])
                self.calls.append(entry)
                parts.append(client.view(part))
                client.load_state(state)
        return b"".join(parts)

    def call(self, code: bytes, argument: int = 0) -> int:
        """Loads position-independent code of the board's core into its RAM and calls it as `uint32_t f(uint32_t)`. Only
        in a build with a window for it, as debug builds for boards have."""
        self.load_code(code)
        return self.call_code(argument)[0]

    @property
    def window_bytes(self) -> int:
        """How much code can be loaded."""
        with self._talk() as client:
            return client.facts.window

    def load_code(self, code: bytes) -> None:
        """The same in two steps: code into RAM, ..."""
        with self._talk() as client:
            if len(code) > client.facts.window:
                raise PilotlightError(
                    f"{self.name} has {client.facts.window} bytes of RAM for code, got {len(code)}",
                    hint="build it with debug=True, or with a larger PL_WINDOW_BYTES", kind="usage",
                )
            client.load(code)

    def call_code(self, argument: int = 0, offset: int = 0) -> tuple[int, int | None]:
        """... and its call at an offset, as often as wanted: the result, and the cycles where the board counts them."""
        with self._talk() as client:
            return client.call(argument, offset)

    def wait_longer(self, timeout: float) -> None:
        """How long an answer may take from now on."""
        self.timeout = timeout
        if self._client is not None:
            self._client.wait_longer(timeout)

    def close(self) -> None:
        """Ends the board; safe to call twice."""
        if self._client is not None and not self._stays:
            with contextlib.suppress(StalledError, EndedError, RestartedError, PilotlightError):
                self._client.leave()
        self._client = None
        self._shut()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:  # it may be in the middle of an answer: do not wait for its goodbye
            self._client = None
        self.close()

    def _new_client(self, channel: Channel) -> Client:
        return Client(channel, self.timeout, self.log.append)

    def _greet(self) -> None:
        """The board must hold the model that was built."""
        expected = self.model.build_id
        with self._talk() as client:
            facts = client.hello()
        if facts.build_id != expected:
            self.close()
            raise OtherModelError(facts.build_id, expected)

    def _greet_or_close(self) -> None:
        try:
            self._greet()
        except BaseException:  # it may be in the middle of an answer
            self._client = None
            self.close()
            raise

    @contextlib.contextmanager
    def _talk(self) -> Iterator[Client]:
        if self._client is None:
            raise PilotlightError(f"{self.name} is closed", kind="board-closed")
        try:
            yield self._client
        except StalledError:
            self._fail(self._hung)
        except EndedError:
            self._fail(self._crashed)
        except RestartedError:
            self._fail(self._restarted)

    def _fail(self, reason: Callable[[], PilotlightError]) -> None:
        """Ends the board first: its last words come when it stops."""
        self._client = None
        self._shut()
        raise reason()

    def _hung(self) -> PilotlightError:
        return PilotlightError(
            f"{self.name} did not answer for {self.timeout:g} s{self._position()}{self._last_words()}",
            where=f"board {self.name}, run {len(self.calls) + 1}",
            hint="a slow model needs a longer timeout",
            kind="board-hangs",
        )

    def _crashed(self) -> PilotlightError:
        return PilotlightError(
            f"{self.name} stopped by itself{self._position()}{self._last_words()}",
            where=f"board {self.name}, run {len(self.calls) + 1}",
            kind="board-crashed",
        )

    def _restarted(self) -> PilotlightError:
        return PilotlightError(
            f"{self.name} restarted by itself{self._last_words()}",
            where=f"board {self.name}, run {len(self.calls) + 1}",
            kind="board-crashed",
        )

    def _words(self, printed: str) -> str:
        """What the board printed and sent last."""
        return "\n".join([text for text in (printed.strip(), *self.log[-20:]) if text])

    def _last_words(self) -> str:
        words = self._output()
        return f"; its last output:\n{words}" if words else "; it printed nothing"

    def _position(self) -> str:
        """Where in the model it was, when that is known."""
        return ""

    def _output(self) -> str:
        raise NotImplementedError

    def _shut(self) -> None:
        raise NotImplementedError

    def _collect(self) -> None:
        """Takes over figures that are gathered elsewhere."""


def _bytes_of(port: FolderPort, array: Array) -> bytes:
    if array.dtype != port.dtype or array.shape != port.c_shape:
        raise PilotlightError(
            f"input {port.name}: expected {port.dtype} {port.c_shape}, got {array.dtype} {array.shape}",
            kind="wrong-input",
        )
    return np.ascontiguousarray(array).tobytes()
