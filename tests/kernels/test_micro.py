"""The generator of micro-kernels: simulated on the host, and on emulated boards against the C twin."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from pilotlight.errors import PilotlightError
from pilotlight.kernels.assembly.instructions import AsmInstruction, Float, Registers
from pilotlight.kernels.assembly.simulator import SimulatorError
from pilotlight.kernels.fpu import assembly, dispatch
from pilotlight.kernels.fpu.arguments import MAC
from pilotlight.kernels.fpu.blocks import generate
from pilotlight.kernels.fpu.names import Block, parse
from pilotlight.kernels.fpu.simulator import FpuSimulator
from pilotlight.kernels.pack_f32 import Shape
from support import dense_cases as dense
from support import micro_board
from support.c_compilers import compile_c, defined_symbols, undefined_symbols

ARGUMENTS, X, W, BIAS, Y = 0x1000, 0x100000, 0x200000, 0x300000, 0x400000
BLOCKS = sorted(dense.ALL_BLOCKS)


def simulate(block: Block, fused: bool, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random call: what the function stores, the exact sums, and the bound of a rounded sum."""
    rng = np.random.default_rng(seed)
    p, f, depthwise = block.pixels, block.filters, block.kind == "dw"
    rows, cols, groups, blocks = (int(n) for n in rng.integers(1, 4, 4))
    rows = 0 if seed % 7 == 6 else rows
    channels = f * blocks if depthwise else int(rng.integers(1, 10))
    gap, below = int(rng.integers(0, 3)), int(rng.integers(0, 3))  # unused columns and rows of weights
    gap = 0 if p == 2 else gap
    height, width = rows + 1, cols + p * groups + 1
    x = rng.standard_normal((height, width, channels), np.float32)
    deep = 1 if depthwise else channels
    w = rng.standard_normal((blocks, rows + below, cols + gap, deep, f), np.float32)
    bias = rng.standard_normal((blocks, f), np.float32) if seed % 3 else None
    relu = seed % 2
    y_pixel = f * blocks + int(rng.integers(0, 3))
    fields = {
        "x": X, "w": W, "bias": 0 if bias is None else BIAS, "y": Y, "rows": rows, "cols": cols,
        "len": channels,
        "x_col": channels if depthwise else 0, "x_row": (width - cols) * channels, "x_pixel": channels,
        "w_row": gap * deep, "w_block": below * (cols + gap) * deep, "y_pixel": y_pixel, "blocks": blocks,
        "groups": groups, "relu": relu,
    }  # fmt: skip
    simulator = FpuSimulator()
    simulator.place(ARGUMENTS, struct.pack("<16I", *(fields[name] for name in MAC.fields)))
    simulator.place(X, x)
    simulator.place(W, w)
    simulator.place(BIAS, np.zeros(1, np.float32) if bias is None else bias)
    simulator.place(Y, np.full((p * groups - 1) * y_pixel + f * blocks, 77, np.float32))
    simulator.call(generate(block, fused), ARGUMENTS)
    got = np.array([simulator.floats(Y)[q * y_pixel : q * y_pixel + f * blocks] for q in range(p * groups)])
    used = w[:, :rows, :cols].astype(np.float64)
    sums, sizes = [], []
    for q in range(p * groups):
        window = x[:rows, q : q + cols].astype(np.float64)
        if depthwise:
            split = window.reshape(rows, cols, blocks, f)
            products = np.einsum("rcbf,brcf->brcf", split, used[:, :, :, 0])[:, :, :, None]
        else:
            products = window[None, ..., None] * used
        first = 0 if bias is None else bias
        sums.append((products.sum((1, 2, 3)) + first).ravel())
        sizes.append((np.abs(products).sum((1, 2, 3)) + np.abs(first)).ravel())
    want = np.array(sums)
    terms = rows * cols * deep + 1
    bound = (8 + 2 * np.sqrt(terms)) * 2.0**-24 * np.array(sizes)
    return got, np.maximum(want, 0) if relu else want, bound


@pytest.mark.parametrize("fused", [False, True], ids=["separate", "fused"])
@pytest.mark.parametrize("name", BLOCKS)
def test_simulated_block_matches_float64(name: str, fused: bool) -> None:
    for seed in range(14):
        got, want, bound = simulate(parse(name), fused, seed)
        assert np.all(np.abs(got - want) <= bound), seed


@pytest.mark.parametrize("machine", micro_board.MACHINES, ids=lambda m: m.qemu)
def test_assembly_equals_its_twin_on_the_board(machine: micro_board.Machine, tmp_path: Path) -> None:
    """Bit for bit where multiply and add are separate, within the kernels' bound where they are fused."""
    shapes: list[Shape] = [dense.random_shape(np.random.default_rng(seed)) for seed in range(100)]
    image = micro_board.build(tmp_path, machine, shapes)
    failed = micro_board.boot(machine, image)
    assert failed == 0, shapes[failed - 1] if failed <= len(shapes) else "fault"


def test_negative_nan_survives_relu() -> None:
    block = parse("mac_f32_1x1")
    simulator = FpuSimulator()
    fields = dict.fromkeys(MAC.fields, 1) | {"x": X, "w": W, "bias": 0, "y": Y, "w_block": 0}
    simulator.place(ARGUMENTS, struct.pack("<16I", *(fields[name] for name in MAC.fields)))
    simulator.place(X, np.array([0xFFC00000], np.uint32).view(np.float32))
    simulator.place(W, np.ones(1, np.float32))
    simulator.place(Y, np.zeros(1, np.float32))
    simulator.call(generate(block, fused=False), ARGUMENTS)
    assert np.isnan(simulator.floats(Y)[0])


def test_simulator_faults_on_a_register_that_is_not_restored() -> None:
    function = generate(parse("mac_f32_2x8"), fused=False)
    kept = [i for i in function.body if i.op != "vpop"]
    function.body[:] = kept
    simulator = FpuSimulator()
    fields = dict.fromkeys(MAC.fields, 1) | {"x": X, "w": W, "bias": 0, "y": Y, "w_block": 0, "rows": 0}
    simulator.place(ARGUMENTS, struct.pack("<16I", *(fields[name] for name in MAC.fields)))
    simulator.place(Y, np.zeros(16, np.float32))
    with pytest.raises(SimulatorError, match="restore"):
        simulator.call(function, ARGUMENTS)


@pytest.mark.parametrize("fused", [False, True], ids=["separate", "fused"])
@pytest.mark.parametrize(
    "core",
    [
        ["-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"],
        ["-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=softfp"],
        ["-mcpu=cortex-m55", "-mfloat-abi=hard"],
        ["-mcpu=cortex-m4", "-mfloat-abi=soft"],
        ["-mcpu=cortex-m0"],
    ],
    ids=lambda flags: " ".join(flags),
)
def test_file_assembles_everywhere_and_is_empty_without_the_hardware(
    core: list[str], fused: bool, tmp_path: Path
) -> None:
    text, stack = assembly(dense.ALL_BLOCKS, "net", fused)
    (tmp_path / "net_kernels.S").write_text(text)
    files = [str(tmp_path / "net_kernels.S"), "-o", str(tmp_path / "net.o")]
    compile_c(["arm-none-eabi-gcc", *core, "-mthumb", "-c", *files], tmp_path)
    hardware = "-mfloat-abi=hard" in core or "-mfloat-abi=softfp" in core
    assert defined_symbols(tmp_path / "net.o") == (set(stack) if hardware else set())
    assert not undefined_symbols(tmp_path / "net.o")
    assert ("vfma" in text, "vmul" in text) == (fused, not fused)


@pytest.mark.parametrize(
    ("compiler", "allowed"),
    [
        (["arm-none-eabi-gcc", "-mcpu=cortex-m0"], ("__aeabi_f", "__gnu_thumb1")),
        (["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"], ("test_",)),
        (
            ["riscv64-unknown-elf-gcc", "-march=rv32imac", "-mabi=ilp32"],
            ("__addsf3", "__mulsf3", "__ltsf2", "__gtsf2"),
        ),
    ],
    ids=["cortex-m0", "cortex-m4f", "rv32"],
)
def test_drivers_need_nothing_but_blocks_and_float_routines(
    compiler: list[str], allowed: tuple[str, ...], tmp_path: Path
) -> None:
    """No call of memcpy or the like is left at any level of optimisation."""
    (tmp_path / "dense.c").write_text(dense.source())
    for level in ("-O1", "-O2", "-O3", "-Os"):
        files = [f"-I{dense.PORTABLE}", "-c", str(tmp_path / "dense.c"), "-o", str(tmp_path / "dense.o")]
        compile_c([*compiler, *dense.WARNINGS, "-ffreestanding", level, *files], tmp_path)
        names = undefined_symbols(tmp_path / "dense.o")
        assert all(name.startswith(allowed) for name in names), names


def test_dispatch_holds_only_what_a_model_needs() -> None:
    text = dispatch({"mac_f32_1x8"}, "net")
    assert "net_mac_f32_1x8" in text
    assert "2x8" not in text and "dw_f32" not in text
    assert dispatch(set(), "net") == ""


def test_registers_run_out_with_an_error() -> None:
    with pytest.raises(PilotlightError, match="float registers"):
        Registers().floats(33)
    pool = Registers()
    for _ in range(12):
        pool.core()
    with pytest.raises(PilotlightError, match="core registers"):
        pool.core()


def test_unknown_names_are_refused() -> None:
    with pytest.raises(PilotlightError, match="mac_f32_9x9"):
        parse("mac_f32_9x9")


def test_instructions_render_as_the_assembler_reads_them() -> None:
    assert str(AsmInstruction("vmul.f32", (Float(1), Float(2), Float(3)))) == "    vmul.f32 s1, s2, s3"
