"""UF2: a program in blocks of 512 bytes, each with its address and the family of chips that it is for.

https://github.com/microsoft/uf2 describes the format.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from pilotlight.toolchain.program import LoadedPart

_HEAD = struct.Struct("<8I")
_STARTS, _END = (0x0A324655, 0x9E5D5157), 0x0AB16F30
_FAMILY_PRESENT = 0x2000
PAYLOAD = 256  # bytes of a block; boot loaders write whole pages of so many
_ROOM = 476


def uf2_blocks(parts: Iterable[LoadedPart], family: int) -> bytes:
    """Pages that any part touches, in the order of their addresses; what no part fills is zero."""
    pages: dict[int, bytearray] = {}
    for part in parts:
        for k, byte in enumerate(part.data, part.address):
            pages.setdefault(k // PAYLOAD, bytearray(PAYLOAD))[k % PAYLOAD] = byte
    blocks = []
    for number, (page, data) in enumerate(sorted(pages.items())):
        head = _HEAD.pack(*_STARTS, _FAMILY_PRESENT, page * PAYLOAD, PAYLOAD, number, len(pages), family)
        blocks.append(head + data.ljust(_ROOM, b"\0") + struct.pack("<I", _END))
    return b"".join(blocks)
