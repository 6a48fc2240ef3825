"""The compression of packed Python: what zlib unpacks, in fewer bytes than zlib's own."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import pytest

from pilotlight.micropython import deflate as module
from pilotlight.micropython.deflate import deflate

_RANDOM = random.Random(1)
_TEXT = Path(module.__file__).read_bytes()


@pytest.mark.parametrize("data", [
    b"", b"a", b"ab", b"aaaa", b"abcabcabcabcabcab" * 40, bytes(range(256)), bytes(1000),
    b"x" * 259 + b"y" + b"x" * 600, _RANDOM.randbytes(700), bytes(_RANDOM.choices(b"abc", k=2000)),
    _RANDOM.randbytes(300) + _TEXT[:3000],
])
@pytest.mark.parametrize("window", [9, 12])
def test_zlib_gets_the_data_back(data: bytes, window: int) -> None:
    assert zlib.decompress(deflate(data, window), -window) == data


def test_it_is_smaller_than_zlibs_and_keeps_to_the_window() -> None:
    made = deflate(_TEXT, 12)
    compressor = zlib.compressobj(9, zlib.DEFLATED, -12, 9)
    assert zlib.decompress(made, -12) == _TEXT
    assert len(made) < len(compressor.compress(_TEXT) + compressor.flush())
