"""UF2: a program in blocks of 512 bytes, each with its address and the family of chips that it is for.

https://github.com/microsoft/uf2 describes the format.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from pilotlight.errors import PilotlightError
from pilotlight.toolchain.program import LoadedPart

_HEAD = struct.Struct("<8I")
_STARTS, _END = (0x0A324655, 0x9E5D5157), 0x0AB16F30
_FAMILY_PRESENT = 0x2000
PAYLOAD = 256  # bytes of a block; boot loaders write whole pages of so many
_ROOM = 476
BLOCK = 512


@dataclass(frozen=True)
class Uf2Image:
    """What a UF2 file holds: parts in the order of their addresses, none next to another."""

    family: int
    parts: tuple[LoadedPart, ...]

    def bytes_at(self, address: int, count: int) -> bytes | None:
        """Bytes of one part; None if no part has all of them."""
        for part in self.parts:
            if part.address <= address and address + count <= part.address + len(part.data):
                return part.data[address - part.address : address - part.address + count]
        return None


def read_uf2(data: bytes) -> Uf2Image:
    """All blocks of one family, each checked; PilotlightError says which is wrong."""
    if not data or len(data) % BLOCK:
        raise _broken(f"it has {len(data):,} bytes, not a number of blocks of {BLOCK}")
    families, pages = set(), {}
    for number, at in enumerate(range(0, len(data), BLOCK)):
        first, second, flags, address, size, own, count, family = _HEAD.unpack_from(data, at)
        if (first, second) != _STARTS or struct.unpack_from("<I", data, at + BLOCK - 4)[0] != _END:
            raise _broken(f"block {number} does not begin and end as one")
        if own != number or count != len(data) // BLOCK:
            raise _broken(f"block {number} says that it is number {own} of {count}, and there are {len(data) // BLOCK}")
        if not flags & _FAMILY_PRESENT:
            raise _broken(f"block {number} names no family of chips")
        if not 0 < size <= _ROOM:
            raise _broken(f"block {number} has {size} bytes, and there is room for {_ROOM}")
        families.add(family)
        pages[address] = data[at + _HEAD.size : at + _HEAD.size + size]
    if len(families) > 1 or len(pages) < len(data) // BLOCK:
        raise _broken("its blocks are for several families, or two are for one address")
    parts: list[LoadedPart] = []
    for address, page in sorted(pages.items()):
        if parts and parts[-1].address + len(parts[-1].data) > address:
            raise _broken(f"blocks overlap at {address:#x}")
        if parts and parts[-1].address + len(parts[-1].data) == address:
            parts[-1] = LoadedPart(parts[-1].address, parts[-1].data + page)
        else:
            parts.append(LoadedPart(address, page))
    return Uf2Image(families.pop(), tuple(parts))


def _broken(reason: str) -> PilotlightError:
    return PilotlightError(f"this is not a UF2 file that can be read: {reason}", kind="broken-file")


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
