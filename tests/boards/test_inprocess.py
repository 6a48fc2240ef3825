"""The emulator in this process and the compiler from PyPI: the same bytes and counts as QEMU, with GCC and with zig."""

from __future__ import annotations

import platform
import re
import resource
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

import pilotlight as pl
from pilotlight import boards, device, toolchain
from pilotlight.device.counts import Counts
from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.measure.estimate import load_table
from pilotlight.toolchain import lines, zig
from pilotlight.toolchain.disassembly import Disassembly, disassemble
from pilotlight.toolchain.find import find
from pilotlight.toolchain.flow import flow_of
from pilotlight.toolchain.sizes import functions
from support.tiny_model import EMULATED, FOLDER, Tiny, altered, inputs

BOTH = [name for name in EMULATED if boards.load(name).in_process]


def built(name: str, work: Path, compiler: str | None = None, folder: Path = FOLDER) -> toolchain.BuildInfo:
    return toolchain.build_model(folder, boards.load(name), work, compiler=compiler, harness=True)


def opened(build: toolchain.BuildInfo, emulator: str, timeout: float = 60.0) -> device.Device:
    return device.open(build.board, build, timeout, emulator=emulator)


def seen(counts: Counts | None) -> tuple[object, object]:
    """All that was counted; the emulators cut straight code into different blocks."""
    assert counts is not None
    executed: dict[tuple[int, int], int] = {}
    for s in counts.segments:
        executed[s.step, s.address] = executed.get((s.step, s.address), 0) + s.times * s.instructions
    return counts.runs, sum(executed.values())


def test_the_emulators_have_every_kind_of_core() -> None:
    cores = {boards.load(name).cpu for name in BOTH}
    assert cores >= {"cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"}
    assert "riscv32-virt" in BOTH and "mps3-an547" not in BOTH


@pytest.mark.parametrize("compiler", ["gcc", "zig"])
@pytest.mark.parametrize("name", BOTH)
def test_both_emulators_agree_on_an_image(name: str, compiler: str, tmp_path: Path) -> None:
    """Bytes, instructions of every step, and the deepest stack; with state, over several runs and a reset."""
    build = built(name, tmp_path, compiler)
    found = []
    for emulator in ("qemu", "unicorn"):
        with opened(build, emulator) as dev:
            assert dev.emulator is not None and dev.emulator.startswith(emulator[:4])
            model, outputs = Tiny(), []
            for seed in range(3):
                arrays = inputs(seed, n=seed + 1)
                (got,) = dev.run(arrays)
                np.testing.assert_array_equal(got, model(*(torch.from_numpy(a) for a in arrays)).numpy())
                outputs.append(got.tobytes())
            dev.reset()
            outputs.append(dev.run(inputs())[0].tobytes())
        found.append((outputs, seen(dev.counts), dev.stack))
    assert found[0] == found[1]
    assert build.stack is not None and found[0][2] <= build.stack


def test_a_closed_emulator_leaves_no_thread(tmp_path: Path) -> None:
    build = built("mps2-an386", tmp_path)
    before = threading.active_count()
    with opened(build, "unicorn") as dev:
        dev.run(inputs())
        assert threading.active_count() == before + 1
    assert threading.active_count() == before


@pytest.mark.parametrize("name", ["nucleo-wb55rg", "pico", "pico2", "esp32-c3"])
def test_boards_without_an_emulator_run_with_their_own_memories(name: str, tmp_path: Path) -> None:
    build = built(name, tmp_path)
    with opened(build, "unicorn") as dev:
        (got,) = dev.run(inputs())
    np.testing.assert_array_equal(got, Tiny()(*(torch.from_numpy(a) for a in inputs())).numpy())


class Mixed(torch.nn.Module):
    """Convolution, softmax, an integer mean and a recurrent layer: floats in software on cores without a unit."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = torch.nn.Conv2d(1, 3, 3, padding=1)
        self.rnn = torch.nn.GRU(8, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.softmax(torch.tanh(self.conv(x)), -1)
        return self.rnn(y[0])[0], (y * 100).to(torch.int64).sum()


@pytest.mark.parametrize("name", ["microbit", "mps2-an385", "mps2-an386", "riscv32-virt"])
def test_zig_and_gcc_give_the_same_bytes(name: str) -> None:
    model = Mixed().eval()
    x = torch.randn(1, 1, 8, 8)
    graph = pl.capture(model, (x,), "mixed")
    want = model(x)
    found = []
    for compiler in ("gcc", "zig"):
        with pl.compile(graph, board=name, toolchain=compiler, emulator="unicorn").open() as running:
            outputs = running(x)
        torch.testing.assert_close(outputs[0], want[0], rtol=1e-5, atol=1e-6)
        found.append([y.numpy().tobytes() for y in outputs])
    assert found[0] == found[1]


@pytest.mark.parametrize("name", BOTH)
def test_the_library_reads_instructions_as_objdump_does(name: str, tmp_path: Path) -> None:
    """What the stack bound and the cycle estimate use of them."""
    image = built(name, tmp_path).image
    tools = find(boards.load(name))
    assert image is not None
    one, other = disassemble(tools, image), disassemble(replace(tools, objdump=None), image)
    flow, table = flow_of(image), load_table("cortex-m4")
    assert flow is not None

    def read(code: Disassembly) -> dict[int, object]:
        inside = {i.address: i for i in code.instructions if i.mnemonic}
        rule = table.rule if name != "riscv32-virt" else lambda i: None
        return {a: (flow.step(i), rule(i)) for a, i in inside.items()}

    left, right = read(one), read(other)
    known = functions(image)
    setting = [known[f] for f in ("pl_reset", "pl_trap") if f in known]  # they load the stack pointer
    assert left.keys() <= right.keys()
    differ = [a for a in left if left[a] != right[a] and not any(s <= a < s + size for s, size in setting)]
    assert [hex(a) for a in differ] == []


def test_a_board_that_hangs_times_out(tmp_path: Path) -> None:
    folder = altered(tmp_path / "model", {"PL_STEP(1);": 'PL_STEP(1); while (*n == 99) { __asm__ volatile(""); }'})
    with opened(built("mps2-an386", tmp_path / "work", folder=folder), "unicorn", timeout=5.0) as dev:
        dev.run(inputs())
        with pytest.raises(PilotlightError, match="did not answer for 5 s") as error:
            dev.run(inputs(n=99))
    assert error.value.kind == "board-hangs" and "step 1 (scale, second, tiny.py:4)" in error.value.message


def test_ctrl_c_stops_a_run(tmp_path: Path) -> None:
    folder = altered(tmp_path / "model", {"PL_STEP(1);": 'PL_STEP(1); while (*n == 99) { __asm__ volatile(""); }'})
    build = built("mps2-an386", tmp_path / "work", folder=folder)
    main = threading.main_thread().ident
    assert main is not None

    def press() -> None:
        time.sleep(0.5)
        signal.pthread_kill(main, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a worker of the tests ignores it
    try:
        with pytest.raises(KeyboardInterrupt), opened(build, "unicorn", timeout=60.0) as dev:
            threading.Thread(target=press).start()
            dev.run(inputs(n=99))
    finally:
        signal.signal(signal.SIGINT, before)


FAULTS = {
    "write": ("*(volatile int32_t *)0xDEAD0000u = *n;", "writes 0xdead0000, where the board has no such memory"),
    "read": ("*n = *(volatile int32_t *)0x7EAD0000u;", "reads 0x7ead0000, where the board has no such memory"),
    "flash": ("*(volatile int32_t *){flash}u = *n;", "writes to flash {flash}"),
    "trap": ("__builtin_trap();", " is no instruction of this core"),
}


@pytest.mark.parametrize(
    ("name", "compiler", "fault"),
    [*((name, "gcc", fault) for name in ("microbit", "mps2-an386", "riscv32-virt") for fault in FAULTS),
     ("mps2-an386", "zig", "write"), ("riscv32-virt", "zig", "read"), ("riscv32-virt", "zig", "trap")],
)
def test_a_fault_says_what_and_where(name: str, compiler: str, fault: str, tmp_path: Path) -> None:
    """Step, function and line: the fault has a line of its own, between others that work."""
    code, message = (text.replace("{flash}", f"{boards.load(name).memory('flash').base + 64:#010x}")
                     for text in FAULTS[fault])
    folder = altered(tmp_path / "model", {"PL_STEP(2);": f"PL_STEP(2);\n*n += 1;\n{code}\n*n -= 1;\n"})
    line = (folder / "tiny.c").read_text().splitlines().index(code) + 1
    build = built(name, tmp_path / "work", compiler, folder)
    with opened(build, "unicorn") as dev, pytest.raises(PilotlightError, match="stopped by itself") as error:
        dev.run(inputs())
    assert error.value.kind == "board-crashed"
    text = error.value.message
    where = rf"pc=0x[0-9a-f]+ \(tiny_run\+0x[0-9a-f]+, tiny\.c:{line}\)"
    assert re.search(rf"in step 2 \(accumulate, sum, tiny\.py:5\), {where}; .*\nfault: {where}", text), text
    assert message in text


ASSEMBLY = """\
    .syntax unified
    .section .text.unused, "ax"
    .global unused
    .type unused, %function
unused:
    {first}
    {first}
    {end}
    .size unused, . - unused
    .section .text.wild, "ax"
    .global wild
    .type wild, %function
wild:
    {first}
    {store}
    {end}
    .size wild, . - wild
"""


@pytest.mark.parametrize("compiler", ["gcc", "zig"])
@pytest.mark.parametrize("name", ["mps2-an386", "riscv32-virt"])
def test_a_fault_in_assembly_has_a_line(name: str, compiler: str, tmp_path: Path) -> None:
    """Also next to code that the linker leaves out."""
    arm = {"first": "movs r1, #0", "store": "str r1, [r0]", "end": "bx lr"}
    riscv = {"first": "li a1, 0", "store": "sw a1, 0(a0)", "end": "ret"}
    text = ASSEMBLY.format(**(riscv if name == "riscv32-virt" else arm))
    if name == "riscv32-virt":
        text = text.replace("    .syntax unified\n", "\n")
    call = "PL_STEP(2); extern void wild(uint32_t); wild(0xDEAD0000u);"
    folder = altered(tmp_path / "model", {"PL_STEP(2);": call}, {"tiny_wild.S": text}, asm_stack={"wild": 0})
    build = built(name, tmp_path / "work", compiler, folder)
    message = r"\(wild\+0x\d, tiny_wild\.S:15\) writes 0xdead0000"
    with opened(build, "unicorn") as dev, pytest.raises(PilotlightError, match=message):
        dev.run(inputs())


@pytest.mark.parametrize("compiler", ["gcc", "zig"])
@pytest.mark.parametrize("name", ["mps2-an386", "riscv32-virt"])
def test_line_tables_change_nothing_that_is_loaded(
    name: str, compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes and addresses of every section, symbols, stack bound and sizes."""
    found = []
    for flag in ("-g1", "-g0"):
        monkeypatch.setattr(lines, "COMPILE", flag)
        build = built(name, tmp_path / flag, compiler)
        assert build.image is not None
        found.append((loaded(build.image), functions(build.image), build.stack, build.sizes))
        line = lines.source_line(build.image, functions(build.image)["tiny_run"][0])
        assert line is None if flag == "-g0" else line is not None and line.startswith("tiny.c:")
    assert found[0] == found[1]


def loaded(image: Path) -> list[tuple[str, int, bytes]]:
    with image.open("rb") as file:
        sections = ELFFile(file).iter_sections()
        return [(s.name, s["sh_addr"], s.data()) for s in sections if s["sh_flags"] & SH_FLAGS.SHF_ALLOC]


@pytest.mark.parametrize(
    ("made", "board", "message"),
    [
        ("mps2-an386", "microbit", "of Armv7E-M; cortex-m0, the core of microbit, has only those of Armv6-M"),
        ("mps2-an505", "mps2-an386", "of Armv8-M; cortex-m4, the core of mps2-an386, has only those of Armv7E-M"),
        ("riscv32-virt", "mps2-an386", "of RISC-V; cortex-m4, the core of mps2-an386, has only those of ARM"),
        ("mps2-an386", "riscv32-virt", "of ARM; rv32imac, the core of riscv32-virt, has only those of RISC-V"),
    ],
)
def test_an_instruction_that_the_core_does_not_have(made: str, board: str, message: str, tmp_path: Path) -> None:
    other = boards.load(board)
    with pytest.raises(PilotlightError, match=f"the image has instructions {message}") as error:
        device.open(other, replace(built(made, tmp_path), board=other), emulator="unicorn")
    assert error.value.kind == "wrong-board"


def with_memory(build: toolchain.BuildInfo, name: str, **changes: int) -> toolchain.BuildInfo:
    memories = tuple(replace(m, **changes) if m.name == name else m for m in build.board.memories)
    return replace(build, board=replace(build.board, memories=memories))


def test_an_image_outside_the_memories(tmp_path: Path) -> None:
    build = with_memory(built("mps2-an386", tmp_path), "flash", base=0x1000_0000)
    with pytest.raises(PilotlightError, match="at 0x00000000, outside the memories of mps2-an386"):
        opened(build, "unicorn")


def test_an_image_larger_than_a_memory(tmp_path: Path) -> None:
    build = built("mps2-an386", tmp_path)
    assert build.image is not None
    size = sum(len(data) for _, at, data in loaded(build.image) if at < 0x1000_0000)
    opened(with_memory(build, "flash", size=size + 64), "unicorn").close()
    with pytest.raises(PilotlightError, match=r"bytes at 0x0000\w{4}, \d+ more than flash of") as error:
        opened(with_memory(build, "flash", size=size - 64), "unicorn")
    assert error.value.kind == "wrong-board"


def test_more_memory_than_this_computer_has(tmp_path: Path) -> None:
    """Unicorn alone would end the process."""
    build = with_memory(built("riscv32-virt", tmp_path), "ram", size=0x4000_0000)
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 0x2000_0000, before[1]))
    try:
        with pytest.raises(PilotlightError, match=r"not enough memory to emulate the 1,\d+,\d+,\d+ bytes") as error:
            opened(build, "unicorn")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert error.value.kind == "memory"


def test_memories_that_cannot_be_emulated(tmp_path: Path) -> None:
    build = built("mps2-an386", tmp_path)
    with pytest.raises(PilotlightError, match="memory ram is in a page of 4,096 bytes with another one"):
        opened(with_memory(build, "ram", base=build.board.memory("flash").size - 64), "unicorn")


def test_a_system_without_unicorn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where PyPI has no wheel of it."""
    monkeypatch.setattr(platform, "system", lambda: "Plan 9")
    monkeypatch.setattr(platform, "machine", lambda: "mips")
    monkeypatch.setitem(sys.modules, "unicorn", None)
    with pytest.raises(MissingToolError, match=r"package unicorn cannot be loaded on Plan 9 mips \(.+\); it") as error:
        opened(built("mps2-an386", tmp_path), "unicorn")
    assert error.value.message.endswith("it is needed to run mps2-an386")
    assert error.value.hint == "install it with: pip install unicorn, or apt-get install qemu-system-arm"


def test_a_system_without_capstone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "capstone", None)
    with pytest.raises(MissingToolError, match=r"package capstone cannot be loaded on Linux .*to disassemble") as error:
        built("mps2-an386", tmp_path, "zig")
    assert error.value.hint == "install it with: pip install capstone, or apt-get install gcc-arm-none-eabi"
    built("mps2-an386", tmp_path, "gcc")  # has objdump


def test_a_system_without_zig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of another system, and none at all."""
    alien = tmp_path / "zig"
    alien.write_bytes(b"\xcf\xfa\xed\xfe" + bytes(64))
    alien.chmod(0o755)
    monkeypatch.setattr(zig, "program", lambda: str(alien))
    with pytest.raises(PilotlightError, match=f"^zig does not start on Linux {platform.machine()}: ") as error:
        built("mps2-an386", tmp_path / "work", "zig")
    assert error.value.kind == "missing-tool" and error.value.where == str(alien)
    monkeypatch.setattr(zig, "program", lambda: None)
    with pytest.raises(MissingToolError, match=r"package ziglang cannot be loaded on Linux \w+ \(it has no") as missing:
        built("mps2-an386", tmp_path / "work", "zig")
    assert missing.value.message.endswith("it is needed to build for mps2-an386")
    assert missing.value.hint == "install it with: pip install ziglang, or apt-get install gcc-arm-none-eabi"


def test_helium_needs_qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = built("mps3-an547", tmp_path)
    with pytest.raises(PilotlightError, match="unicorn does not emulate cortex-m55, the core of mps3-an547"):
        opened(build, "unicorn")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingToolError, match="qemu-system-arm was not found; it is needed to run mps3") as error:
        device.open(build.board, build)
    assert error.value.hint == "install it with: apt-get install qemu-system-arm"


def test_without_gcc_and_qemu_everything_still_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is on the PATH; the instruction counter is compiled by zig, too."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("PILOTLIGHT_CACHE", str(tmp_path / "cache"))
    board = boards.load("mps2-an386")
    build = toolchain.build_model(FOLDER, board, tmp_path / "work")
    assert build.toolchain is not None and build.toolchain.kind == "zig"
    with device.open(board, build) as dev:
        (got,) = dev.run(inputs())
    np.testing.assert_array_equal(got, Tiny()(*(torch.from_numpy(a) for a in inputs())).numpy())
    assert dev.counts is not None and dev.counts.totals[0] > 100


def test_no_compiler_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(zig, "program", lambda: None)
    with pytest.raises(MissingToolError, match="arm-none-eabi-gcc was not found") as error:
        toolchain.build_model(FOLDER, boards.load("mps2-an386"), tmp_path)
    assert error.value.hint == "install it with: pip install ziglang, or apt-get install gcc-arm-none-eabi"


def test_a_zig_of_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zig, "version", lambda: "0.13.0")
    with pytest.raises(PilotlightError, match=r"zig 0\.13\.0 is installed, expected 0\.17 or 0\.16") as error:
        built("mps2-an386", tmp_path, "zig")
    assert error.value.hint == "pip install 'ziglang>=0.16,<0.18'"


def test_zig_does_not_know_every_core(tmp_path: Path) -> None:
    with pytest.raises(PilotlightError, match="zig does not compile for esp32s3, the core of esp32-s3"):
        built("esp32-s3", tmp_path, "zig")


def test_gcc_where_it_is_installed() -> None:
    assert find(boards.load("mps2-an386")) == find(boards.load("mps2-an386"), "gcc")
