"""The generated folder: clean C for every compiler and core, nothing undefined, nothing static, metadata complete."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest
import torch
from elftools.elf.elffile import ELFFile
from torch import nn

import pilotlight as pl
from pilotlight.compiler import Build, to_memory
from support.c_compilers import STRICT, compile_c, undefined_symbols
from support.compiled import zoo_build, zoo_graph
from support.programs import path_of
from zoo import ZOO

ARM = "arm-none-eabi-"
RISCV = ["-march=rv32imac", "-mabi=ilp32", "-misa-spec=2.2", "-ffreestanding"]  # Debian's has no stdint.h otherwise
CORES = {
    "cortex-m0": (ARM, ["-mcpu=cortex-m0", "-mthumb", "-mfloat-abi=soft"]),
    "cortex-m3": (ARM, ["-mcpu=cortex-m3", "-mthumb", "-mfloat-abi=soft"]),
    "cortex-m4": (ARM, ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]),
    "cortex-m7": (ARM, ["-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"]),
    "cortex-m33": (ARM, ["-mcpu=cortex-m33", "-mthumb", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"]),
    "cortex-m55": (ARM, ["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"]),
    "rv32imac": ("riscv64-unknown-elf-", RISCV),
    "x86-64": ("", []),
}
BOARD_OF = {
    "cortex-m4": "mps2-an386", "cortex-m7": "mps2-an500", "cortex-m33": "mps2-an505", "cortex-m55": "mps3-an547",
}
FREESTANDING = {"stdbool.h", "stddef.h"}  # headers of the compiler's own: types and macros, no code
# Together they use every family of operators: dense, depthwise, pooling, recurrent, attention, norms, indices.
REPRESENTATIVE = ["kws", "several", "bilstm", "gru", "bert_tiny", "gpt", "unet", "tcn", "mobilenet_v3"]


def folder_of(build: Build, path: Path) -> Path:
    return build.write(path / build.name)


def build_for(name: str, core: str) -> Build:
    return pl.compile(zoo_graph(name), board=BOARD_OF.get(core, "host"))


@pytest.mark.parametrize("core", CORES)
def test_clean_under_strict_warnings(core: str, tmp_path: Path) -> None:
    """Each core at one level of optimization, so that all levels come up; the warnings depend on both."""
    prefix, flags = CORES[core]
    level = ["-O2", "-Os", "-O3"][list(CORES).index(core) % 3]
    for name in REPRESENTATIVE:
        folder = folder_of(build_for(name, core), tmp_path)
        for source in (f"{name}.c", "example_main.c"):
            compile_c([f"{prefix}gcc", *flags, *STRICT, level, "-c", source, "-o", "x.o"], folder)


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-Os", "-O3"])
def test_clean_at_every_level(level: str, tmp_path: Path) -> None:
    prefix, flags = CORES["cortex-m4"]
    folder = folder_of(build_for("several", "cortex-m4"), tmp_path)
    for marks in ([], ["-DPILOTLIGHT_MARKS"]):
        compile_c([f"{prefix}gcc", *flags, *STRICT, level, *marks, "-c", "several.c", "-o", "x.o"], folder)


@pytest.mark.parametrize("name", [n for n in ZOO if n not in REPRESENTATIVE])
def test_the_rest_of_the_zoo_is_clean_on_the_host(name: str, tmp_path: Path) -> None:
    folder = folder_of(zoo_build(name), tmp_path)
    compile_c(["gcc", *STRICT, "-O3", "-c", f"{name}.c", "-o", "x.o"], folder)


def test_header_and_example_are_cplusplus(tmp_path: Path) -> None:
    for name in ("several", "gpt"):
        folder = folder_of(zoo_build(name), tmp_path)
        (folder / "main.cpp").write_text((folder / "example_main.c").read_text())
        compile_c(["g++", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "main.cpp", "-o", "x.o"], folder)
        compile_c(["gcc", "-O1", "-c", *build_sources(folder)], folder)
        objects = [f"{Path(s).stem}.o" for s in build_sources(folder)]
        compile_c(["g++", "x.o", *objects, "-o", "program"], folder)


def build_sources(folder: Path) -> list[str]:
    return list(json.loads((folder / "metadata.json").read_text())["sources"])


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4", "cortex-m55", "rv32imac", "x86-64"])
def test_nothing_undefined_and_nothing_static(core: str, tmp_path: Path) -> None:
    """The folder links with libgcc alone and brings neither .data nor .bss."""
    prefix, flags = CORES[core]
    for name in REPRESENTATIVE:
        folder = folder_of(build_for(name, core), tmp_path)
        entry = ["-nostdlib", "-static", f"-Wl,-e,{name}_run", f"-Wl,-u,{name}_weights,-u,{name}_reset"]
        whole = ["-std=c99", "-O2", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-Wl,--build-id=none"]
        compile_c([f"{prefix}gcc", *flags, *whole, *entry, *build_sources(folder), "-lgcc", "-o", "alone.elf"], folder)
        assert not undefined_symbols(folder / "alone.elf")
        with (folder / "alone.elf").open("rb") as file:
            for section in ELFFile(file).iter_sections():
                if section["sh_flags"] & 1 and section["sh_size"]:  # writable
                    assert section.name.startswith((".got", ".eh_frame")), f"{name}: {section.name}"


@pytest.mark.parametrize("name", REPRESENTATIVE)
def test_no_library_call_but_arithmetic(name: str, tmp_path: Path) -> None:
    """What the compiler adds by itself for a core without a floating point unit: libgcc's arithmetic, no more."""
    folder = folder_of(zoo_build(name), tmp_path)
    prefix, flags = CORES["cortex-m0"]
    compile_c([f"{prefix}gcc", *flags, "-std=c99", "-O3", "-ffreestanding", "-c", f"{name}.c", "-o", "x.o"], folder)
    calls = undefined_symbols(folder / "x.o")
    assert not {call for call in calls if not re.fullmatch(r"__aeabi_\w+|__gnu_thumb1_case_\w+|__clz[sd]i2", call)}
    assert not {call for call in calls if "mem" in call}


@pytest.mark.parametrize(("name", "board"), [("kws", "mps2-an386"), ("gpt", "mps2-an386"), ("several", "mps2-an505")])
def test_marks_add_no_byte(name: str, board: str, tmp_path: Path) -> None:
    """Counted and shipped images run the same instructions."""
    build = pl.compile(zoo_graph(name), board=board)
    folder = folder_of(build, tmp_path)
    texts = []
    for marks in ([], ["-DPILOTLIGHT_MARKS"]):
        flags = [*build.board.flags, "-std=c99", "-O2", "-ffp-contract=off", "-ffreestanding", *marks]
        compile_c([f"{ARM}gcc", *flags, "-c", f"{name}.c", "-o", "x.o"], folder)
        with (folder / "x.o").open("rb") as file:
            elf = ELFFile(file)
            texts.append({s.name: s.data() for s in elf.iter_sections() if s["sh_flags"] & 4})
            labels = [s.name for s in elf.get_section_by_name(".symtab").iter_symbols() if "_step_" in s.name]
        steps = {re.sub(r"\..*", "", label) for label in labels}
        assert steps == ({op["label"] for op in build.module.metadata["ops"]} if marks else set())
    assert texts[0] == texts[1]


def test_several_models_in_one_program(tmp_path: Path) -> None:
    """Same operators, same kernels, no clash of names; each gives what it gives alone."""
    names = ["mlp", "several", "ad"]
    lines, calls = ["#include <stdio.h>"], []
    sources, includes = [], []
    for name in names:
        build = zoo_build(name)
        folder = folder_of(build, tmp_path)
        sources += [str(folder / s) for s in build_sources(folder)]
        includes += ["-I", str(folder)]
        up = name.upper()
        lines += [f'#include "{name}.h"', f"static uint8_t arena_{name}[{up}_ARENA_SIZE] {up}_ALIGNED;"]
        body = [f"    const {name}_t {name} = {{{up}_WEIGHTS, arena_{name}, 0}};"]
        (port,) = [build.lowered.inputs[0]]
        data = [to_memory(p, x).ravel() for p, x in zip(build.lowered.inputs, load_inputs(name), strict=True)]
        for row, values in zip(build.module.metadata["inputs"], data, strict=True):
            numbers = ", ".join(f"{float(v)!r}f" for v in values)
            lines.append(f"static const float data_{row['c_name']}[] = {{{numbers}}};")
            body.append(f"    for (int i = 0; i < {values.size}; i++) {row['c_name']}(&{name})[i] = "
                        f"data_{row['c_name']}[i];")
        out = build.module.metadata["outputs"][0]
        body += [f"    {name}_run(&{name});", f'    printf("%.9g\\n", (double){out["c_name"]}(&{name})[0]);']
        calls += body
        assert port.shape
    (tmp_path / "main.c").write_text("\n".join([*lines, "int main(void)", "{", *calls, "    return 0;", "}", ""]))
    compile_c(["gcc", "-std=c99", "-O2", "-ffp-contract=off", *includes, "main.c", *sources, "-o", "three"], tmp_path)
    printed = subprocess.run([str(tmp_path / "three")], capture_output=True, text=True, check=True).stdout.split()
    for name, number in zip(names, printed, strict=True):
        y = zoo_build(name).run(*load_inputs(name))
        first = (y[0] if isinstance(y, tuple) else y).flatten()[0]
        assert float(number) == float(f"{float(first):.9g}")


def load_inputs(name: str) -> list[torch.Tensor]:

    return zoo_graph(name).truth.example


def test_large_weights_come_by_incbin(tmp_path: Path) -> None:
    net = nn.Linear(600, 500).eval()
    build = pl.compile(pl.capture(net, (torch.randn(1, 600),), "wide"))
    files = build.module.files
    assert "wide_weights.c" not in files
    assert build.module.metadata["sources"] == ["wide.c", "wide_weights.S"]
    assert len(files["wide_weights.bin"]) == build.module.metadata["weights_bytes"] > 1 << 20
    x = torch.randn(1, 600)
    torch.testing.assert_close(build.run(x), net(x), rtol=1e-4, atol=1e-5)
    small = pl.compile(pl.capture(nn.Linear(60, 50), (torch.randn(1, 60),), "narrow"))
    assert "narrow_weights.c" in small.module.files
    folder = folder_of(build, tmp_path)
    (folder / "wide_weights.S").read_text()
    compile_c([f"{ARM}gcc", *CORES["cortex-m4"][1], "-I.", "-c", "wide_weights.S", "-o", "w.o"], folder)


@pytest.mark.parametrize("name", ["kws", "gpt", "wide"])
def test_cmake_project_builds_and_runs(name: str, tmp_path: Path) -> None:
    build = zoo_build(name) if name in ZOO else pl.compile(
        pl.capture(nn.Linear(600, 500).eval(), (torch.randn(1, 600),), "wide"))
    folder = folder_of(build, tmp_path)
    cmake = path_of("cmake")
    subprocess.run([cmake, "-S", folder, "-B", tmp_path / "out"], check=True, capture_output=True)
    subprocess.run([cmake, "--build", tmp_path / "out"], check=True, capture_output=True)
    done = subprocess.run([tmp_path / "out" / f"{name}_example"], capture_output=True)
    assert done.returncode in (0, 1)


def test_example_is_short_and_complete(tmp_path: Path) -> None:
    for name in ("kws", "gpt", "several"):
        text = str(zoo_build(name).module.files["example_main.c"])
        assert len(text.splitlines()) <= 30
        for word in (f"{name}_reset(&model)", f"{name}_run(&model)", f"{name.upper()}_ARENA_SIZE"):
            assert word in text


@pytest.mark.parametrize("name", ["kws", "gpt", "several", "bilstm"])
def test_metadata_is_complete_and_true(name: str) -> None:
    build = zoo_build(name)
    meta, header = build.module.metadata, str(build.module.files[f"{name}.h"])
    assert json.loads(str(build.module.files["metadata.json"])) == meta
    up = name.upper()
    for macro, value in ((f"{up}_ARENA_SIZE", meta["arena_bytes"]), (f"{up}_STATE_SIZE", meta["state_bytes"]),
                         (f"{up}_WEIGHTS_SIZE", meta["weights_bytes"])):
        assert f"#define {macro} {value}u" in header
    assert re.fullmatch(r"[0-9a-f]{64}", meta["model_sha256"])
    assert {pool: row["bytes"] for pool, row in meta["pools"].items()} == {
        pool: meta[f"{pool}_bytes"] for pool in ("arena", "state", "weights")
    }
    assert meta["arena_lower_bound"] <= meta["arena_bytes"]
    assert set(meta["sources"]) <= set(build.module.files)
    for side, ports in (("inputs", build.lowered.inputs), ("outputs", build.lowered.outputs)):
        for row, port in zip(meta[side], ports, strict=True):
            assert row["c_name"] in header
            assert row["shape"] == list(port.shape)
            assert row["bytes"] == port.value.bytes
            assert row["offset"] + row["bytes"] <= meta["arena_bytes"]
            assert row["offset"] % 16 == 0
    assert [op["index"] for op in meta["ops"]] == list(range(len(build.plan.steps)))
    assert {"label", "op", "module", "source", "macs"} <= set(meta["ops"][0])
    assert sum(op["macs"] for op in meta["ops"]) == meta["macs_executed"]
    source = str(build.module.files[f"{name}.c"])
    assert all(f"PL_STEP({op['index']});" in source for op in meta["ops"])
    assert len(meta["buffers"]) == len(build.plan.buffers)


def test_weights_in_the_folder_are_those_of_the_build(tmp_path: Path) -> None:
    build = zoo_build("mlp")
    numbers = re.findall(r"\b\d+\b", str(build.module.files["mlp_weights.c"]).split("{", 1)[1])
    assert len(numbers) == build.module.metadata["weights_bytes"]


def test_the_hash_tells_models_apart() -> None:
    def digest(seed: int, width: int = 4) -> str:
        torch.manual_seed(seed)
        net = nn.Linear(width, 3).eval()
        return str(pl.compile(pl.capture(net, (torch.zeros(1, width),), "net")).module.metadata["model_sha256"])

    assert digest(0) == digest(0)
    assert len({digest(0), digest(1), digest(0, 5)}) == 3


def test_the_hash_is_the_models_not_the_boards() -> None:
    boards = ("host", "mps2-an386", "riscv32-virt")
    assert len({pl.compile(zoo_graph("mlp"), board=b).module.metadata["model_sha256"] for b in boards}) == 1


def test_the_same_model_gives_the_same_files() -> None:
    first, second = (pl.compile(zoo_graph("several")).module.files for _ in range(2))
    assert {k: hashlib.sha256(str(v).encode()).digest() for k, v in first.items()} == {
        k: hashlib.sha256(str(v).encode()).digest() for k, v in second.items()
    }


def test_no_heap_no_libc_no_static_memory_in_the_source() -> None:
    for name in REPRESENTATIVE:
        source = str(zoo_build(name).module.files[f"{name}.c"])
        assert set(re.findall(r"#include [<\"](.+)[>\"]", source)) <= {f"{name}.h", *FREESTANDING}
        assert not re.search(r"\b(malloc|calloc|free|printf|memcpy|memset|expf|tanhf|sqrtf)\s*\(", source)
        assert not re.search(r"^static (?!const|inline|void|float|int|uint|PL_)", source, re.MULTILINE)


def test_a_name_that_is_a_c_keyword_still_compiles(tmp_path: Path) -> None:
    """Names come before _run, _t and so on; none of these is a keyword."""
    build = pl.compile(pl.capture(nn.ReLU(), (torch.zeros(2),), "int"))
    folder = folder_of(build, tmp_path)
    compile_c(["gcc", *STRICT, "-O2", "-c", f"{build.name}.c", "-o", "x.o"], folder)
