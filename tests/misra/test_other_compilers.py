"""Generated C and the server's are clean with GCC and clang, and C++17 too."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import pilotlight as pl
from misra.programs import BOARDS, graph_of, streamed_graph
from pilotlight.toolchain.folder import read_folder
from pilotlight.toolchain.objects import DEVICE_SOURCES
from pilotlight.toolchain.ports import ports_header
from support.c_compilers import compile_c

WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror"]
SERVER = ("server.c", "frame.c", "model.c", "io_host.c", "fault.c", "steps.c")
OPTIONS = ["-DPL_STEPS", "-DPL_CYCLES", "-DPL_WATCH_BYTES=48u", "-DPL_WINDOW_BYTES=40u"]
COMPILERS = {
    "gcc": ["gcc", "-std=c99", *WARNINGS],
    "clang": [sys.executable, "-m", "ziglang", "cc", "-std=c99", *WARNINGS, "-Wno-unused-function"],
    "c++17": ["g++", "-std=c++17", "-x", "c++", "-Wall", "-Wextra", "-Werror"],
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """kws in float and in int8, with all that the server needs to know about them."""
    made = []
    for mode in ("float", "int8"):
        build = pl.compile(graph_of("kws", mode), board=BOARDS["cortex-m4"])
        folder = build.write(tmp_path_factory.mktemp(mode) / "kws")
        (folder / "pl_ports.h").write_text(ports_header(read_folder(folder)), encoding="utf-8")
        made.append(folder)
    return made


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Samples of one number and of several."""
    builds = [pl.compile(streamed_graph(channels), board=BOARDS["cortex-m4"]) for channels in (1, 3)]
    return [build.write(tmp_path_factory.mktemp("stream") / "x") for build in builds]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_model_that_streams_is_clean(compiler: str, streams: list[Path]) -> None:
    for folder in streams:
        for source in ("stream.c", "example_main.c"):
            compile_c([*COMPILERS[compiler], "-O2", "-c", source, "-o", "x.o"], folder)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_model_and_the_server_are_clean(compiler: str, folders: list[Path]) -> None:
    for folder in folders:
        for source in ("kws.c", "example_main.c"):
            compile_c([*COMPILERS[compiler], "-O2", "-c", source, "-o", "x.o"], folder)
    for source in SERVER:
        command = [*COMPILERS[compiler], *OPTIONS, f"-I{DEVICE_SOURCES}", f"-I{folders[1]}", "-c"]
        compile_c([*command, str(DEVICE_SOURCES / source), "-o", "x.o"], folders[1])
