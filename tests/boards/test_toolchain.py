"""Building a model: sizes that agree with other tools, memories that hold it, errors that say what to do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from pilotlight import boards, device, toolchain
from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.toolchain import zig
from pilotlight.toolchain.find import compiler
from pilotlight.toolchain.folder import read_folder
from pilotlight.toolchain.objects import DEVICE_SOURCES
from pilotlight.toolchain.ports import ports_header
from pilotlight.toolchain.sizes import symbols
from support.c_compilers import compile_c
from support.tiny_model import EMULATED, FOLDER, REAL, altered, inputs

COMPILED = [name for name in (*EMULATED, *REAL) if not boards.load(name).toolchain.startswith("xtensa")]


def berkeley(size: str, elf: Path) -> tuple[int, int, int]:
    """text, data and bss as binutils counts them."""
    line = subprocess.run([size, str(elf)], capture_output=True, text=True, check=True).stdout.splitlines()[1]
    text, data, bss = line.split()[:3]
    return int(text), int(data), int(bss)


@pytest.mark.parametrize("name", COMPILED)
def test_sizes_agree_with_binutils(name: str, tmp_path: Path) -> None:
    build = toolchain.build_model(FOLDER, boards.load(name), tmp_path, compiler="gcc")
    assert build.toolchain and build.model_image
    size = build.toolchain.command[0].removesuffix("gcc") + "size"
    text, data, bss = berkeley(size, build.model_image)
    assert build.sizes.code is not None
    assert build.sizes.code + build.sizes.weights == text
    assert (data, bss, build.sizes.static) == (0, 0, 0)
    assert build.sizes.weights - build.sizes.tables == 48
    if build.image:
        assert build.sizes.total == berkeley(size, build.image)[0]


def test_library_functions_are_code_and_tables_are_weights(tmp_path: Path) -> None:
    """Dividing floats pulls a library function in on a core without hardware; a table stays weights."""
    soft, hard = (
        toolchain.build_model(FOLDER, boards.load(name), tmp_path / name)
        for name in ("mps2-an385", "mps2-an386")
    )
    assert soft.sizes.weights == hard.sizes.weights == 48
    assert soft.sizes.code and hard.sizes.code and soft.sizes.code > 2 * hard.sizes.code
    table = "static const int32_t table[8] = {3, 1, 4, 1, 5, 9, 2, 6};\nvoid tiny_run("
    folder = altered(tmp_path / "table", {"void tiny_run(": table, "*n, y);": "*n + table[*n & 7], y);"})
    # the header declares tiny_run too: keep the table out of it
    (folder / "tiny.h").write_text((FOLDER / "tiny.h").read_text())
    build = toolchain.build_model(folder, boards.load("mps2-an386"), tmp_path / "with_table")
    assert (build.sizes.tables, build.sizes.weights) == (32, 80)


def test_optimizing_for_size_changes_the_code(tmp_path: Path) -> None:
    board = boards.load("nucleo-wb55rg")
    speed = toolchain.build_model(FOLDER, board, tmp_path / "speed", compiler="gcc").sizes.code
    size = toolchain.build_model(FOLDER, board, tmp_path / "size", optimize="size", compiler="gcc").sizes.code
    assert speed and size and size < speed
    with pytest.raises(PilotlightError, match="optimize is speed or size"):
        toolchain.build_model(FOLDER, board, tmp_path, optimize="more")


def test_labels_do_not_change_the_code(tmp_path: Path) -> None:
    """The image that is counted holds the same instructions as the one users build."""
    toolchain.build_model(FOLDER, boards.load("mps2-an386"), tmp_path)
    texts = []
    for group in ("model", "marks"):
        with (tmp_path / group / "tiny.c.o").open("rb") as file:
            texts.append(ELFFile(file).get_section_by_name(".text.tiny_run").data())
    assert texts[0] == texts[1] and texts[0]


def test_without_a_compiler_code_is_null_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    build = toolchain.build_model(FOLDER, boards.load("esp32-s3"), tmp_path)
    assert (build.sizes.code, build.sizes.total, build.stack) == (None, None, None)
    assert build.sizes.weights == 48
    assert "xtensa-esp32s3-elf-gcc" in (build.sizes.reason or "")
    assert {use.name: use.used for use in build.memory} == {"flash": 48, "ram": 112, "psram": 0}


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("mps2-an386", "gcc-arm-none-eabi"),
        ("riscv32-virt", "gcc-riscv64-unknown-elf"),
        ("host", "gcc"),
    ],
)
def test_missing_compiler_names_the_package(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(zig, "program", lambda: None)
    with pytest.raises(MissingToolError) as error:
        toolchain.build_model(FOLDER, boards.load(name), tmp_path)
    assert (error.value.hint or "").endswith(f"apt-get install {package}")


def test_compiler_error_is_its_first_line(tmp_path: Path) -> None:
    folder = altered(tmp_path / "model", {"PL_STEP(1);": "PL_STEP(1) oops;"})
    with pytest.raises(PilotlightError, match=r"failed: .*tiny\.c:\d+:\d+: error: ") as error:
        toolchain.build_model(folder, boards.load("mps2-an386"), tmp_path / "work")
    assert error.value.kind == "compiler"


def test_undefined_function_is_named(tmp_path: Path) -> None:
    folder = altered(tmp_path / "model", {"PL_STEP(1);": "PL_STEP(1); extern void missing(void); missing();"})
    with pytest.raises(PilotlightError, match=r"undefined (reference to `|symbol: )missing"):
        toolchain.build_model(folder, boards.load("mps2-an386"), tmp_path / "work")


@pytest.mark.parametrize("name, figures", [("netduinoplus2", True), ("netduinoplus2", False), ("nucleo-wb55rg", True)])
def test_arena_too_large_names_the_memory_and_the_bytes(name: str, figures: bool, tmp_path: Path) -> None:
    """One byte is not enough to tell: the arena alone fills the memory, the rest is what exceeds it."""
    board = boards.load(name)
    room = board.memory("ram").size
    folder = altered(
        tmp_path / "model", {"TINY_ARENA_SIZE 96u": f"TINY_ARENA_SIZE {room}u"}, arena_bytes=room
    )
    with pytest.raises(PilotlightError, match=r"exceeds ram by [\d,]+ bytes") as error:
        toolchain.build_model(folder, board, tmp_path / "work", figures=figures)
    assert error.value.kind == "does-not-fit"
    assert error.value.where == f"board {name}"


def test_an_image_without_figures_has_the_stack_of_one_with_them(tmp_path: Path) -> None:
    board = boards.load("mps2-an386")
    whole, alone = (
        toolchain.build_model(FOLDER, board, tmp_path / str(figures), figures=figures) for figures in (True, False)
    )
    assert alone.stack == whole.stack and alone.sizes.code is None and alone.model_image is None
    assert whole.image and alone.image
    tops = [symbols(image)["pl_stack_top"] for image in (whole.image, alone.image)]
    assert tops[0] == tops[1]
    runs = []
    for build in (whole, alone):
        with device.open(board, build, count=False) as dev:
            runs.append([y.tobytes() for y in dev.run(inputs())])
    assert runs[0] == runs[1]


@pytest.mark.parametrize("compiler", ["gcc", "zig"])
def test_weights_too_large_at_link(compiler: str, tmp_path: Path) -> None:
    board = boards.load("microbit")
    room = board.memory("flash").size
    folder = altered(
        tmp_path / "model", {"TINY_WEIGHTS_SIZE 48u": f"TINY_WEIGHTS_SIZE {room}u"}, weights_bytes=room
    )
    with pytest.raises(PilotlightError, match=r"exceeds flash by [\d,]+ bytes") as error:
        toolchain.build_model(folder, board, tmp_path / "work", compiler=compiler)
    assert error.value.kind == "does-not-fit" and error.value.where == "board microbit"


def test_without_check_a_real_board_gives_its_figures(tmp_path: Path) -> None:
    board = boards.load("nucleo-wb55rg")
    room = board.memory("ram").size
    folder = altered(
        tmp_path / "model", {"TINY_ARENA_SIZE 96u": f"TINY_ARENA_SIZE {room}u"}, arena_bytes=room
    )
    build = toolchain.build_model(folder, board, tmp_path / "work", check=False)
    (ram,) = [use for use in build.memory if use.name == "ram"]
    assert build.stack
    assert ram.over == 16 + build.stack
    fits = toolchain.build_model(folder, board, tmp_path / "work2", arena_in="sram2", check=False)
    assert next(use for use in fits.memory if use.name == "sram2").used == room + 16


def test_without_check_an_emulated_board_gives_its_figures_but_no_image(tmp_path: Path) -> None:
    board = boards.load("netduinoplus2")
    room = board.memory("ram").size
    folder = altered(
        tmp_path / "model", {"TINY_ARENA_SIZE 96u": f"TINY_ARENA_SIZE {room}u"}, arena_bytes=room
    )
    build = toolchain.build_model(folder, board, tmp_path / "work", check=False)
    assert build.image is None
    assert build.sizes.code and build.sizes.harness is None
    with pytest.raises(PilotlightError, match="there is no image of tiny"):
        device.open(board, build)


def test_unknown_start_up_is_an_error_of_the_board_file(tmp_path: Path) -> None:
    file = tmp_path / "microbit.toml"
    text = (Path(boards.__file__).parent / "microbit.toml").read_text()
    file.write_text(text.replace('startup = "cortex-m"', 'startup = "avr"'))
    with pytest.raises(PilotlightError, match="unknown start-up 'avr'") as error:
        toolchain.build_model(FOLDER, boards.load(file), tmp_path / "work")
    assert (error.value.kind, error.value.where) == ("bad-board", str(file))


@pytest.mark.parametrize("name", ["mps2-an386", "mps2-an505", "mps3-an547"])
def test_weights_and_arena_in_a_named_memory(name: str, tmp_path: Path) -> None:
    board = boards.load(name)
    other = "sram" if name == "mps3-an547" else "psram"
    moved = toolchain.build_model(FOLDER, board, tmp_path / "moved", weights_in=other, arena_in=other)
    stays = toolchain.build_model(FOLDER, board, tmp_path / "stays")
    assert next(use for use in moved.memory if use.name == other).used == 48 + 96 + 16
    outputs = []
    for build in (moved, stays):
        with device.open(board, build) as dev:
            outputs.append(dev.run(inputs())[0])
    assert (outputs[0] == outputs[1]).all()


_INCBIN = (
    '.section .rodata.tiny_weights, "a"\n.balign 16\n.globl tiny_weights\ntiny_weights:\n.incbin "tiny_weights.bin"\n'
)


def test_weights_by_incbin_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large weights come as an assembly file that names a binary file beside it."""
    source = (FOLDER / "tiny_weights.c").read_text()
    blob = bytes(int(word, 16) for word in source.replace(",", " ").split() if word.startswith("0x"))
    folder = altered(tmp_path / "model", files={"tiny_weights.S": _INCBIN})
    (folder / "tiny_weights.bin").write_bytes(blob)
    (folder / "tiny_weights.c").write_text("typedef int nothing;\n")
    monkeypatch.chdir(tmp_path)
    board = boards.load("mps2-an386")
    build = toolchain.build_model("model", board, "work")
    assert build.sizes.weights == 48
    plain = toolchain.build_model(FOLDER, board, "plain")
    with device.open(board, build) as dev, device.open(board, plain) as other:
        assert (dev.run(inputs())[0] == other.run(inputs())[0]).all()


@pytest.mark.parametrize("compiler", ["gcc", "zig"])
def test_other_weights_in_the_same_folder_are_noticed(compiler: str, tmp_path: Path) -> None:
    """zig keeps objects, and does not look into files that .incbin names."""
    folder = altered(tmp_path / "model", files={"tiny_weights.S": _INCBIN})
    (folder / "tiny_weights.c").write_text("typedef int nothing;\n")
    board = boards.load("mps2-an386")
    for byte in (b"\x11", b"\x22"):
        (folder / "tiny_weights.bin").write_bytes(byte * 48)
        build = toolchain.build_model(folder, board, tmp_path / "work", compiler=compiler)
        assert build.image is not None and byte * 48 in build.image.read_bytes()


DEBUG = ["-DPL_STEPS", "-DPL_CYCLES", "-DPL_WATCH_BYTES=64u", "-DPL_WINDOW_BYTES=64u"]


@pytest.mark.parametrize("debug", [[], DEBUG], ids=["release", "debug"])
@pytest.mark.parametrize("name", ["host", "microbit", "mps2-an386", "riscv32-virt"])
def test_device_sources_have_no_warnings(name: str, debug: list[str], tmp_path: Path) -> None:
    board = boards.load(name)
    (tmp_path / "pl_ports.h").write_text(ports_header(read_folder(FOLDER)))
    strict = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-pedantic", "-std=c99", "-O2"]
    include = ["-I", str(DEVICE_SOURCES), "-I", str(tmp_path), "-I", str(FOLDER)]
    bare = [] if board.is_host else ["-ffreestanding", "-DPL_BARE"]
    others = {"io_host.c", "count_plugin.c", "count_blocks.c"} if bare else {"io_semihosting.c", "fault.c"}
    for source in sorted(DEVICE_SOURCES.glob("*.c")):
        if source.name in others or (
            source.name == "fault_cortex_m.c" and board.toolchain != "arm-none-eabi"
        ):
            continue
        target = ["-c", str(source), "-o", str(tmp_path / "out.o")]
        compile_c([compiler(board), *board.flags, *strict, *bare, *debug, *include, *target], tmp_path)


@pytest.mark.parametrize("name", [name for name in COMPILED if boards.load(name).toolchain == "arm-none-eabi"])
def test_zig_knows_what_a_core_has(name: str, tmp_path: Path) -> None:
    """Kernels look at these macros: without one, another core's code would be right and slow."""
    board = boards.load(name)
    found = toolchain.find(board, "zig")
    (tmp_path / "none.c").write_text("")
    command = [*found.command, *found.flags(board), "-dM", "-E", "none.c"]
    macros = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert ("__ARM_FEATURE_DSP " in macros) == ("dsp" in board.isa)
    assert ("__ARM_FEATURE_MVE " in macros) == ("mve" in board.isa)
    assert ("__ARM_FP " in macros) == ("fpu32" in board.isa)


def test_sanitizers_are_for_the_host(tmp_path: Path) -> None:
    with pytest.raises(PilotlightError, match="sanitizers run on the host only"):
        toolchain.build_model(FOLDER, boards.load("mps2-an386"), tmp_path, sanitize=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is not a compiled model"),
        ("{", "metadata.json cannot be used"),
        ('{"name": "tiny"}', "metadata.json cannot be used: KeyError"),
    ],
)
def test_a_folder_that_is_not_a_model(text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "metadata.json").write_text(text)
    with pytest.raises(PilotlightError, match=message) as error:
        read_folder(tmp_path)
    assert error.value.kind == "bad-folder"


@pytest.mark.parametrize("name", ["host", "mps2-an386", "riscv32-virt"])
def test_a_loop_does_not_become_a_call_of_a_library(name: str, tmp_path: Path) -> None:
    """GCC would call memmove, which nothing brings."""
    loop = "for (int32_t i = 0; i < *n; i++) { y[i] = y[i + 4]; }"
    folder = altered(tmp_path / "model", {"PL_STEP(1);": f"PL_STEP(1); {loop}"})
    build = toolchain.build_model(folder, boards.load(name), tmp_path / "work", compiler="gcc")
    assert build.image and build.model_image
