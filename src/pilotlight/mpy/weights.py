"""The weights file: a header that ties it to the build, the constants, and a description of inputs and outputs.

    0   "PLWT", format (u32), build (8 bytes), bytes of constants (u32), bytes of description (u32)
    24  CRC-32 of all after the header (u32), 0 (u32)
    32  constants, a multiple of 16 bytes, then the description as JSON

All numbers are little-endian. The module has the same header and refuses others.
"""

from __future__ import annotations

import struct
import zlib

MAGIC, FORMAT = b"PLWT", 1
ALIGNMENT = 16


def padded(constants: bytes) -> bytes:
    return constants + bytes(-len(constants) % ALIGNMENT)


def weights_file(build: bytes, constants: bytes, about: bytes) -> bytes:
    """`constants` as `padded` gives them."""
    rest = constants + about
    return MAGIC + struct.pack("<I8sIIII", FORMAT, build, len(constants), len(about), zlib.crc32(rest), 0) + rest
