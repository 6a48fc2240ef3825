"""The wire protocol: frames that no fault turns into another one, a server that carries out each question once, and
boards that are unplugged, busy or silent."""

from __future__ import annotations

import json
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import serial
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pilotlight as pl
from pilotlight import boards, device, toolchain
from pilotlight.device import line as lines
from pilotlight.device.channel import EndedError, StalledError
from pilotlight.device.frames import ANSWER, ASK, HELLO, LOG, Frame, FrameReader, pack, room, stuff, unpack, unstuff
from pilotlight.device.protocol import Client, Command, RestartedError
from pilotlight.errors import PilotlightError
from pilotlight.toolchain.folder import read_folder
from pilotlight.toolchain.objects import DEVICE_SOURCES, SANITIZE
from support.c_compilers import SANITIZERS
from support.device_lines import Fault, FaultyLine, Restarting, Server, serial_board, server_program
from support.paths import ROOT
from support.tiny_model import FOLDER, Tiny, altered, inputs

MODEL = read_folder(FOLDER)
SIZES = [port.bytes for port in MODEL.outputs]
BODIES = st.binary(max_size=600) | st.integers(0, 1100).map(bytes) | st.integers(0, 1100).map(lambda n: b"\x07" * n)
DEBUG = ["-DPL_STEPS", "-DPL_CYCLES", "-DPL_WATCH_BYTES=48u", "-DPL_WINDOW_BYTES=40u"]
QUICK = settings(max_examples=200, deadline=None)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server with the tiny model, with a buffer as small as on a small board."""
    return server_program(FOLDER, tmp_path_factory.mktemp("server"), 256)


@pytest.fixture(scope="module")
def server(program: Path) -> Iterator[Server]:
    running = Server(program)
    yield running
    running.close()


def run(client: Client, arrays: list[np.ndarray]) -> np.ndarray:
    _, (blob,) = client.infer(0, 0, [a.tobytes() for a in arrays], 0, SIZES)
    return np.frombuffer(blob, np.float32).reshape(2, 4)


# ---- frames ----


def test_the_bytes_of_a_frame() -> None:
    """The layout of pl_protocol.h, byte by byte."""
    body = b"\x02\x02\x05\x01\x04\x03\x02\x01Z"
    check = zlib.crc32(body).to_bytes(4, "little")
    assert 0 not in check
    assert pack(Frame(ASK, 0x0105, 0x01020304, b"Z")) == b"\0" + bytes([14]) + body + check + b"\0"
    assert unpack(b"\x0e" + body + check) == Frame(ASK, 0x0105, 0x01020304, b"Z")


@QUICK
@given(BODIES)
def test_stuffing_leaves_no_zero_and_can_be_undone(body: bytes) -> None:
    assert 0 not in stuff(body)
    assert unstuff(stuff(body)) == body


@QUICK
@given(st.integers(64, 70000))
def test_the_largest_frame_fits_the_buffer(buffer: int) -> None:
    worst = bytes([1]) * room(buffer)
    assert len(pack(Frame(ASK, 0xFFFF, 0xFFFFFFFF, worst))) <= buffer


@QUICK
@given(BODIES, st.binary(max_size=300), st.data())
def test_a_frame_is_found_after_anything(payload: bytes, noise: bytes, data: st.DataObject) -> None:
    """In pieces of any size; what is not a frame is never taken for one."""
    frame = Frame(ANSWER, 7, 99, payload)
    words = noise + pack(frame) + noise[::-1]
    cut = data.draw(st.integers(0, len(words)))
    reader = FrameReader()
    found = [x for part in (words[:cut], words[cut:]) for x in reader.feed(part)]
    assert [x for x in found if x is not None] == [frame]


@QUICK
@given(st.binary(max_size=300), st.data())
def test_a_broken_frame_is_not_accepted(payload: bytes, data: st.DataObject) -> None:
    words = pack(Frame(ANSWER, 7, 99, payload))
    fault = Fault(
        data.draw(st.sampled_from(["flip", "lose", "cut", "noise"])), data.draw(st.integers(0, 1000)),
        data.draw(st.binary(min_size=1, max_size=5)),
    )
    broken = fault.applied(words)
    whole = [x for x in FrameReader().feed(broken) if x is not None]
    assert whole == [] or (words.strip(b"\0") in broken.split(b"\0") and whole[0].payload == payload)


def test_noise_without_an_end_is_forgotten() -> None:
    reader = FrameReader()
    for _ in range(40):
        assert reader.feed(b"\x55" * 65536) == []
    frame = Frame(LOG, 0, 0, b"hello")
    assert reader.feed(pack(frame)) == [None, frame]


# ---- the server ----


FAULTS = st.builds(
    Fault, st.sampled_from(["flip", "lose", "cut", "noise", "double", "swallow", "late"]), st.integers(0, 400),
    st.binary(min_size=1, max_size=6),
)
SOME_FAULTS = st.lists(st.none() | FAULTS, max_size=5)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SOME_FAULTS, SOME_FAULTS)
def test_faults_change_no_result_and_no_state(
    server: Server, to_board: list[Fault | None], from_board: list[Fault | None]
) -> None:
    """The model has a state, so a run that was done twice, or not at all, shows in the next one."""
    client = Client(FaultyLine(server.channel, to_board, from_board), timeout=60.0, patience=0.02)
    client.hello()
    client.reset()
    model = Tiny()
    for seed in range(3):
        arrays = inputs(seed, n=seed + 1)
        np.testing.assert_array_equal(run(client, arrays), model(*(torch.from_numpy(a) for a in arrays)).numpy())


def test_a_question_is_repeated_and_carried_out_once(server: Server) -> None:
    """All answers are lost until the third repetition."""
    lost = [None, None, *[Fault("swallow")] * 3]
    line = FaultyLine(server.channel, [], lost)
    client = Client(line, timeout=60.0, patience=60.0)
    client.hello()
    client.reset()
    client._patience = 0.02  # only now, so that the losses meet the answers to a run
    model, arrays = Tiny(), inputs(3)
    for k in range(2):
        before = line.sent
        want = model(*(torch.from_numpy(a) for a in arrays)).numpy()
        np.testing.assert_array_equal(run(client, arrays), want)
        assert line.sent - before >= (4 if k == 0 else 1)


def test_a_line_that_loses_everything_ends_with_the_timeout(server: Server) -> None:
    client = Client(FaultyLine(server.channel, [Fault("swallow")] * 1000, []), timeout=0.5, patience=0.05)
    begun = time.monotonic()
    with pytest.raises(StalledError):
        client.hello()
    assert time.monotonic() - begun < 30.0


@pytest.mark.parametrize("words", [pack(Frame(LOG, 0, 0, b"still here")), b"\x05noise\0", b"\0", b"x"])
def test_a_board_that_only_talks_ends_with_the_timeout(words: bytes) -> None:
    class Talking:
        reliable = False

        def write(self, data: bytes, timeout: float) -> None: ...

        def read(self, timeout: float) -> bytes:
            return words

    with pytest.raises(StalledError):
        Client(Talking(), timeout=0.2, patience=0.05).hello()


def test_large_tensors_go_in_blocks(tmp_path: Path) -> None:
    """With many zeros and with none, of sizes around those of blocks, over a line with faults."""

    class Sums(torch.nn.Module):
        def forward(self, *xs: torch.Tensor) -> list[torch.Tensor]:
            return [x + 1 for x in xs]

    sizes = (1, 63, 64, 127, 253, 254, 255, 256, 1500)
    samples = [torch.full((n,), -1, dtype=torch.int32) if n % 2 else torch.randn(n) for n in sizes]
    build = pl.compile(pl.capture(Sums(), tuple(samples), "net"), board="host")
    running = Server(server_program(build.write(tmp_path / "net"), tmp_path, 128))
    try:
        to_board = [None, None, Fault("flip", 90), None, Fault("double"), *[None] * 40, Fault("swallow")]
        line = FaultyLine(running.channel, to_board, [None, Fault("cut", 5), *[None] * 90, Fault("lose", 50)])
        client = Client(line, timeout=60.0, patience=0.02)
        client.hello()
        blobs = [x.numpy().tobytes() for x in samples]
        _, outputs = client.infer(0, 0, blobs, 0, [len(b) for b in blobs])
        assert line.sent > 2 * sum(map(len, blobs)) // 128
    finally:
        running.close()
    for x, blob in zip(samples, outputs, strict=True):
        np.testing.assert_array_equal(np.frombuffer(blob, x.numpy().dtype), (x + 1).numpy())


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_board_that_restarts_says_so(program: Path, after: int) -> None:
    line = Restarting(program)
    client = Client(line, timeout=60.0, patience=0.02)
    try:
        client.hello()  # which may be repeated
        line.good = after
        with pytest.raises((RestartedError, EndedError)):
            for _ in range(4):
                run(client, inputs())
        client.hello()
        model = Tiny()
        np.testing.assert_array_equal(run(client, inputs()), model(*(torch.from_numpy(a) for a in inputs())).numpy())
    finally:
        line.close()


def test_a_new_session_ends_the_one_before(server: Server) -> None:
    first, second = (Client(FaultyLine(server.channel, [], []), 60.0, patience=0.05) for _ in range(2))
    first.hello()
    second.hello()
    with pytest.raises(RestartedError):
        first.reset()
    second.reset()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (Command("O", number=1, length=4), "command 1 of a frame: no such input, output or entry point"),
        (Command("O", number=0, length=33), "outside of the tensor"),
        (Command("X"), "unknown command"),
        (Command("F"), "cut short"),
        (Command("R", b"\x01\x00\x01\x00\x00\x00"), "no such input, output or entry point"),
    ],
)
def test_the_server_refuses_by_name(server: Server, command: Command, message: str) -> None:
    client = Client(server.channel, 60.0)
    client.hello()
    with pytest.raises(PilotlightError, match=message) as error:
        client.ask([command])
    assert error.value.kind == "protocol"
    client.reset()  # it goes on


def test_a_board_of_another_version(server: Server) -> None:
    class Newer(FaultyLine):
        def read(self, timeout: float) -> bytes:
            frames = [f for f in FrameReader().feed(super().read(timeout)) if f]
            return b"".join(pack(f._replace(version=9)) for f in frames)

    with pytest.raises(PilotlightError, match="protocol version 9, expected 2"):
        Client(Newer(server.channel, [], []), 60.0).hello()


def test_a_repeated_hello_changes_nothing(server: Server) -> None:
    """It may come late, in the middle of a session."""
    line = FaultyLine(server.channel, [Fault("double")], [])
    client = Client(line, 60.0, patience=0.05)
    client.hello()
    client.reset()
    server.channel.write(pack(Frame(HELLO, 0, client._session)), 1.0)
    model = Tiny()
    for seed in range(2):
        arrays = inputs(seed)
        np.testing.assert_array_equal(run(client, arrays), model(*(torch.from_numpy(a) for a in arrays)).numpy())


def test_lines_of_text_come_between_answers(tmp_path: Path) -> None:
    log = 'PL_STEP(1); extern void pl_log(const char *text); pl_log(*n == 2 ? "two \\xc2\\xb5s" : "");'
    running = Server(server_program(altered(tmp_path / "model", {"PL_STEP(1);": log}), tmp_path, 256))
    said: list[str] = []
    try:
        client = Client(FaultyLine(running.channel, [], []), 60.0, said.append, patience=1.0)
        client.hello()
        run(client, inputs())
        run(client, inputs(n=3))
    finally:
        running.close()
    assert said == ["two µs", ""]


@pytest.mark.skipif(not SANITIZERS, reason="zig has no sanitizers")
@pytest.mark.parametrize("debug", [[], DEBUG], ids=["release", "debug"])
def test_no_frame_makes_the_server_leave_its_buffers(debug: list[str], tmp_path: Path) -> None:
    """`make fuzz-server` does the same with a million frames."""
    gcc = shutil.which("gcc")
    assert gcc
    sources = [ROOT / "tests" / "support" / "fuzz_server.c", *(DEVICE_SOURCES / n for n in ("server.c", "frame.c"))]
    command = [gcc, "-std=c99", "-O1", *SANITIZE, *debug, "-I", DEVICE_SOURCES, *sources, "-o", tmp_path / "fuzz"]
    subprocess.run([str(word) for word in command], check=True)
    done = subprocess.run([str(tmp_path / "fuzz"), "20000", "1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("20000 frames, ") and int(done.stdout.split()[2]) > 4000


# ---- steps ----


class Counted(torch.nn.Module):
    """Layers with a state: how often it was called."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(5, 600), torch.nn.Linear(600, 3)
        self.register_buffer("calls", torch.zeros(1))

    def hidden(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.first(x))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.second(self.hidden(x)) + self.calls


@pytest.mark.parametrize("name", ["host", "mps2-an386", "riscv32-virt"])
def test_what_a_step_leaves_can_be_read_in_a_debug_build(name: str, tmp_path: Path) -> None:
    """More than is kept in one run; runs before and after it go on as if it had not been."""
    board, x = boards.load(name), torch.randn(1, 5)
    build = pl.compile(pl.capture(Counted(), (x,), "net"), board=name)
    folder = build.write(tmp_path / "net")
    buffers = json.loads((folder / "metadata.json").read_text())["buffers"]
    hidden = max((b for b in buffers if b["bytes"] == 2400), key=lambda b: b["first"])
    info = toolchain.build_model(folder, board, tmp_path / "work", debug=True)
    model = Counted()
    with torch.no_grad(), device.open(board, info, count=False) as dev:
        for _ in range(2):
            np.testing.assert_allclose(dev.run([x.numpy()])[0], model(x).numpy(), rtol=1e-5, atol=1e-5)
            got = dev.intermediate([x.numpy()], hidden["first"], hidden["offset"], 2400)
            np.testing.assert_allclose(np.frombuffer(got, np.float32), model.hidden(x)[0].numpy(), rtol=1e-5, atol=1e-5)
        with pytest.raises(PilotlightError, match="no such input, output or entry point"):
            dev.intermediate([x.numpy()], 99, 0, 4)
    with (
        device.open(board, build.runnable_info, count=False) as release,
        pytest.raises(PilotlightError, match=f"the server on {name} cannot look into a run"),
    ):
        release.intermediate([x.numpy()], 0, 0, 4)


TIMES_THREE = struct.pack("<3H", 0x2103, 0x4348, 0x4770)  # movs r1, #3; muls r0, r1; bx lr
ADD_FIVE = struct.pack("<2H", 0x3005, 0x4770)  # adds r0, #5; bx lr
RISCV_ADD_FIVE = struct.pack("<2I", 0x00550513, 0x00008067)  # addi a0, a0, 5; ret
RISCV_SUB_ONE = struct.pack("<2I", 0xFFF50513, 0x00008067)  # addi a0, a0, -1; ret


@pytest.mark.parametrize(
    ("name", "emulator", "codes"),
    [
        ("mps2-an386", "qemu", {TIMES_THREE: 21, ADD_FIVE: 12}), ("microbit", "qemu", {TIMES_THREE: 21, ADD_FIVE: 12}),
        ("mps2-an386", "unicorn", {TIMES_THREE: 21, ADD_FIVE: 12}),
        ("riscv32-virt", "qemu", {RISCV_ADD_FIVE: 12, RISCV_SUB_ONE: 6}),
    ],
)
def test_code_is_loaded_and_called(name: str, emulator: str, codes: dict[bytes, int], tmp_path: Path) -> None:
    board = boards.load(name)
    folder = pl.compile(pl.capture(torch.nn.ReLU(), (torch.randn(6),), "net"), board=name).write(tmp_path / "net")
    x = np.array([-1, 2, -3, 4, -5, 6], np.float32)
    info = toolchain.build_model(folder, board, tmp_path / "work", debug=True)
    with device.open(board, info, count=False, emulator=emulator) as dev:
        for _ in range(2):
            assert {code: dev.call(code, 7) for code in codes} == codes
        np.testing.assert_array_equal(dev.run([x])[0], np.maximum(x, 0))
        with pytest.raises(PilotlightError, match=f"{name} has 1024 bytes of RAM for code, got 1025"):
            dev.call(bytes(1025))
    release = toolchain.build_model(folder, board, tmp_path / "release")
    with device.open(board, release, count=False, emulator=emulator) as dev:
        with pytest.raises(PilotlightError, match=f"{name} has 0 bytes of RAM for code"):
            dev.call(TIMES_THREE)
        with dev._talk() as client, pytest.raises(PilotlightError, match="unknown command"):
            client.load(TIMES_THREE)


def test_cycles_of_each_step(tmp_path: Path) -> None:
    """With a counter that goes on by ten at each look."""
    x = torch.randn(1, 5)
    folder = pl.compile(pl.capture(Counted(), (x,), "net"), board="host").write(tmp_path / "net")
    (tmp_path / "clock.c").write_text(
        '#include "pl_io.h"\nuint32_t pl_io_cycles(void) { static uint32_t now = 0xFFFFFFF0u; return now += 10u; }\n'
    )
    step = ["-DPL_CYCLES", "-DPL_STEPS", "-include", str(DEVICE_SOURCES / "pl_step.h"), str(DEVICE_SOURCES / "steps.c")]
    running = Server(server_program(folder, tmp_path, 256, *step, str(tmp_path / "clock.c")))
    count = len(read_folder(folder).ops)
    try:
        client = Client(running.channel, 60.0)
        assert client.hello().features == 2 | 4
        marks, _ = client.infer(0, 0, [x.numpy().tobytes()], 0, [12])
        assert count > 1 and client.steps(0, count) == [10] * count
        assert client.steps(1, 1) == [10]
        assert marks.cycles == 10 * (2 * count + 4)
        with pytest.raises(PilotlightError, match="no such"):
            client.steps(1, count)
    finally:
        running.close()


# ---- boards on a line ----


def test_a_serial_board_says_what_it_holds(program: Path) -> None:
    with serial_board(program) as (port, _), pl.connect(port) as dev:
        assert (dev.model.name, dev.model.build_id) == ("tiny", MODEL.build_id)
        x, n = dev.model.inputs
        assert (x.name, x.dtype, x.c_shape, n.name, n.dtype, n.c_shape) == ("x", "float32", (2, 4), "n", "int32", (1,))
        model = Tiny()
        for seed in range(3):
            (got,) = dev.run(inputs(seed))
            np.testing.assert_array_equal(got, model(*(torch.from_numpy(a) for a in inputs(seed))).numpy())


def test_a_board_at_an_address(program: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"tcp://127.0.0.1:{listening.getsockname()[1]}"

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                subprocess.run([str(program)], stdin=connection.fileno(), stdout=connection.fileno(), check=False)

        thread = threading.Thread(target=serve)
        thread.start()
        with pl.connect(address) as dev:
            (got,) = dev.run(inputs())
        thread.join()
    np.testing.assert_array_equal(got, Tiny()(*(torch.from_numpy(a) for a in inputs())).numpy())
    with pytest.raises(PilotlightError, match=f"nothing answers at {address}: ") as error:
        pl.connect(address)
    assert error.value.kind == "board-missing"
    with pytest.raises(PilotlightError, match="expected tcp://HOST:PORT, got tcp://nowhere"):
        pl.connect("tcp://nowhere")


def test_an_emulated_board_is_the_same_device() -> None:
    build = pl.compile(pl.capture(torch.nn.ReLU(), (torch.randn(6),), "net"), board="mps2-an386")
    x = np.array([-1, 2, -3, 4, -5, 6], np.float32)
    with pl.connect("mps2-an386", build) as dev:
        np.testing.assert_array_equal(dev.run([x])[0], np.maximum(x, 0))
    with pytest.raises(PilotlightError, match="mps2-an386 is emulated and needs a model to boot"):
        pl.connect("mps2-an386")


def test_a_board_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PilotlightError, match=r"there is no board on .*/ttyACM7: no such port") as error:
        pl.connect(str(tmp_path / "ttyACM7"))
    assert error.value.kind == "board-missing" and error.value.hint


def test_a_board_whose_port_is_held(program: Path) -> None:
    with (
        serial_board(program) as (port, _), serial.Serial(port, exclusive=True),
        pytest.raises(PilotlightError, match=f"the board on {port} is busy: another program holds the port") as error,
    ):
        pl.connect(port)
    assert error.value.kind == "board-busy"


def test_a_silent_board() -> None:
    with (
        serial_board(None) as (port, _),
        pytest.raises(PilotlightError, match=f"the board on {port} is silent: it did not answer for 0.3 s") as error,
    ):
        pl.connect(port, timeout=0.3)
    assert error.value.kind == "board-hangs"


def test_a_board_that_is_unplugged(program: Path) -> None:
    with serial_board(program) as (port, board), pl.connect(port) as dev:
        dev.run(inputs())
        board.unplug()
        with pytest.raises(PilotlightError, match=f"the board on {port} is gone: the line was closed") as error:
            dev.run(inputs())
        assert error.value.kind == "board-missing"


def test_a_board_that_restarts_in_the_middle(program: Path) -> None:
    with serial_board(program) as (port, board), pl.connect(port) as dev:
        dev.run(inputs())
        board.restart(program)
        with pytest.raises(PilotlightError, match=f"the board on {port} restarted by itself") as error:
            dev.run(inputs())
        assert error.value.kind == "board-crashed"
        with pl.connect(port) as again:
            (got,) = again.run(inputs())
    np.testing.assert_array_equal(got, Tiny()(*(torch.from_numpy(a) for a in inputs())).numpy())


def test_a_board_is_restarted(program: Path, tmp_path: Path) -> None:
    """Its state is lost, and the device goes on."""
    script = tmp_path / "board"
    script.write_text(f"#!/bin/sh\nfor k in 1 2; do {program}; done\n")
    script.chmod(0o755)
    with serial_board(script) as (port, _), device.connect(port) as dev:
        results = [dev.run(inputs())[0] for _ in range(2)]
        dev.restart()
        assert (dev.run(inputs())[0] == results[0]).all() and (results[0] != results[1]).any()


def test_a_connection_in_the_middle_of_a_frame(program: Path) -> None:
    """What the program before left on the line, and what a board prints when it boots."""
    with serial_board(program) as (port, board):
        board.say(b"boot 1.0\r\nready\r\n\0\x05half")
        with serial.Serial(port) as other:
            other.write(pack(Frame(ASK, 5, 77, bytes(range(200))))[:90])
            other.flush()
        with pl.connect(port) as dev:
            (got,) = dev.run(inputs())
    np.testing.assert_array_equal(got, Tiny()(*(torch.from_numpy(a) for a in inputs())).numpy())


def test_a_board_with_another_model_on_a_line(program: Path) -> None:
    build = pl.compile(pl.capture(torch.nn.ReLU(), (torch.randn(6),), "net"), board="host")
    with serial_board(program) as (port, _), pytest.raises(PilotlightError, match="holds another model"):
        pl.connect(port, build)


def test_boards_are_found_by_their_usb_id(monkeypatch: pytest.MonkeyPatch) -> None:
    class Port:
        def __init__(self, name: str, vid: int | None, pid: int | None):
            self.device, self.vid, self.pid = name, vid, pid

    board = boards.load("nucleo-wb55rg")
    others = [Port("/dev/ttyS0", None, None), Port("/dev/ttyUSB0", 0x10C4, 0xEA60)]
    plugged = [*others, Port("/dev/ttyACM1", 0x0483, 0x374B)]
    monkeypatch.setattr(lines.list_ports, "comports", lambda: plugged)
    assert device.port_of(board) == "/dev/ttyACM1"
    plugged.append(Port("/dev/ttyACM0", 0x0483, 0x3752))
    with pytest.raises(PilotlightError, match="may be on any of /dev/ttyACM0, /dev/ttyACM1"):
        device.port_of(board)
    plugged[:] = others
    message = "nucleo-wb55rg is not plugged in: no serial port has the USB id 0483:374b or 0483:3752"
    with pytest.raises(PilotlightError, match=message) as error:
        pl.connect("nucleo-wb55rg")
    assert error.value.kind == "board-missing"


RTT_STAND_IN = """#include <unistd.h>
#define SEGGER_RTT_MODE_BLOCK_IF_FIFO_FULL 2u
static inline int SEGGER_RTT_SetFlagsUpBuffer(unsigned buffer, unsigned flags) { return (int)(buffer + flags) - 2; }
static inline unsigned SEGGER_RTT_Read(unsigned buffer, void *data, unsigned bytes)
{
    const ssize_t got = read((int)buffer, data, bytes < 7u ? bytes : 7u);
    if (got <= 0) { _exit(0); }
    return (unsigned)got;
}
static inline unsigned SEGGER_RTT_Write(unsigned buffer, const void *data, unsigned bytes)
{
    return (unsigned)write((int)buffer + 1, data, bytes);
}
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for RTT is a POSIX one")
def test_the_port_in_the_documentation(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "device-protocol.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    (tmp_path / "SEGGER_RTT.h").write_text(RTT_STAND_IN, encoding="utf-8")
    port = tmp_path / "io_rtt.c"
    port.write_text(f'{text}\n#include "pl_server.h"\nint main(void) {{ pl_serve(); return 0; }}\n', encoding="utf-8")
    server = Server(server_program(FOLDER, tmp_path, 256, port=port))
    try:
        client = Client(server.channel, timeout=60.0)
        client.hello()
        client.reset()
        model, arrays = Tiny(), inputs(3)
        for _ in range(2):
            want = model(*(torch.from_numpy(a) for a in arrays)).numpy()
            np.testing.assert_array_equal(run(client, arrays), want)
    finally:
        server.close()
