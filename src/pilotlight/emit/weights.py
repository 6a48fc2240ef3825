"""The constants of a model as one block of bytes, reached by offsets from its base."""

from __future__ import annotations

import hashlib

import numpy as np

from pilotlight.graph import Value

INCBIN_FROM = 1 << 20  # bytes: above this, C source for the weights would be slow to compile


class Weights:
    """Collects constants as steps ask for them; equal bytes are stored once."""

    def __init__(self) -> None:
        self._parts: list[bytes | memoryview] = []  # memory of the constants themselves: large ones exist once
        self._offsets: dict[tuple[int, int, bytes], int] = {}
        self.size = 0

    def offset(self, value: Value) -> int:
        assert value.data is not None
        return self.add(np.ascontiguousarray(value.data), value.align)

    def add(self, array: np.ndarray, least: int = 4) -> int:
        """The offset of an array's bytes, aligned for its element type and for word loads."""
        align = max(least, array.itemsize)
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        key = (align, data.nbytes, hashlib.sha256(data).digest())
        if key not in self._offsets:
            gap = -self.size % align
            self._parts += [bytes(gap), data]
            self._offsets[key] = self.size + gap
            self.size += gap + data.nbytes
        return self._offsets[key]

    def blob(self) -> bytes:
        return b"".join(self._parts)


def c_array(name: str, blob: bytes) -> str:
    """The block as C source, sixteen bytes per line."""
    rows = [", ".join(f"{byte}" for byte in blob[i : i + 24]) for i in range(0, len(blob), 24)]
    body = ",\n    ".join(rows)
    return (
        f"/* The constants of {name}; generated. */\n"
        f'#include "{name}.h"\n\n'
        f"const uint8_t {name}_weights[{name.upper()}_WEIGHTS_SIZE] {name.upper()}_ALIGNED = {{\n    {body}\n}};\n"
    )


def incbin_source(name: str) -> str:
    """Assembly that brings in NAME_weights.bin as it is."""
    return (
        f"/* The constants of {name}: NAME_weights.bin as it is; generated.\n"
        f" * Build with this folder in the include path. */\n"
        f"    .section .rodata.{name}_weights, \"a\"\n"
        f"    .global {name}_weights\n"
        f"    .balign 16\n"
        f"{name}_weights:\n"
        f'    .incbin "{name}_weights.bin"\n'
        f"    .size {name}_weights, . - {name}_weights\n"
        "#if defined(__linux__) && defined(__ELF__)\n"
        '    .section .note.GNU-stack, "", %progbits\n'
        "#endif\n"
    ).replace("NAME_weights.bin", f"{name}_weights.bin")
