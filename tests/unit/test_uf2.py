"""UF2 files: what is written is read again, and what is wrong is named."""

from __future__ import annotations

import struct

import pytest

from pilotlight.device.flashing.uf2_file import BLOCK, PAYLOAD, read_uf2, uf2_blocks
from pilotlight.errors import PilotlightError
from pilotlight.toolchain.program import LoadedPart

FAMILY = 0xE48BFF59


def _data() -> bytes:
    return uf2_blocks([LoadedPart(0x10000000, bytes(range(200)) * 3), LoadedPart(0x10010080, b"end")], FAMILY)


def _changed(data: bytes, block: int, at: int, value: int) -> bytes:
    place = block * BLOCK + at
    return data[:place] + struct.pack("<I", value) + data[place + 4 :]


def test_what_was_written():
    image = read_uf2(_data())
    assert image.family == FAMILY
    found = [(part.address, len(part.data)) for part in image.parts]
    assert found == [(0x10000000, 3 * PAYLOAD), (0x10010000, PAYLOAD)]
    assert image.bytes_at(0x10000000, 600) == bytes(range(200)) * 3
    assert image.bytes_at(0x10010080, 4) == b"end\0" and image.bytes_at(0x100002FF, 2) is None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "0 bytes"),
        (_data()[:-1], "2,047 bytes"),
        (_data()[:-BLOCK], "number 0 of 4, and there are 3"),
        (_changed(_data(), 1, 0, 1), "block 1 does not begin and end as one"),
        (_changed(_data(), 2, BLOCK - 4, 1), "block 2 does not begin and end as one"),
        (_changed(_data(), 1, 8, 0), "block 1 names no family"),
        (_changed(_data(), 1, 12, 0x10000000), "two are for one address"),
        (_changed(_data(), 1, 12, 0x10000001), "overlap"),
        (_changed(_data(), 1, 16, 477), "block 1 has 477 bytes"),
        (_changed(_data(), 1, 20, 3), "block 1 says that it is number 3"),
        (_changed(_data(), 3, 28, 1), "several families"),
    ],
)
def test_what_is_wrong(data, reason):
    with pytest.raises(PilotlightError, match=reason) as error:
        read_uf2(data)
    assert error.value.kind == "broken-file"
