"""The files of a compiled model."""

from __future__ import annotations

from typing import Any

from pilotlight.compiler import Image


def file_rows(build: Image) -> list[dict[str, Any]]:
    name = build.name
    what = {
        f"{name}.h": "the interface: shapes and meaning of every input and output",
        f"{name}.c": "the model",
        f"{name}_weights.c": "the weights",
        f"{name}_weights.S": "the weights, included from the .bin",
        f"{name}_weights.bin": "the weights as bytes",
        f"{name}_kernels.S": "inner loops in assembly",
        f"{name}.pilotlight.cmake": "how CMake builds it",
        f"toolchain-{build.board.name}.cmake": "the board's compiler and flags, for CMake",
        f"{name}_metadata.json": "sizes, inputs, outputs and operators, for programs",
        f"{name}_example_main.c": "how to call it",
        "metadata.json": "sizes, inputs, outputs and operators, for programs",
        "CMakeLists.txt": "builds the models in this folder as libraries",
        "example_main.c": "how to call it",
    }
    return [
        {"file": file, "bytes": len(content.encode() if isinstance(content, str) else content),
         "what": what.get(file, "called by the model" if file.endswith((".c", ".h", ".S")) else "")}
        for file, content in (build.written or build.module.files).items()
    ]
