"""Words of the packed stream that are bytes of their own."""

from __future__ import annotations

from pathlib import Path

from pilotlight.micropython import words as module
from pilotlight.micropython.words import choose, encode, table

_TEXT = Path(module.__file__).read_bytes() * 3


def _expand(text: bytes, made: bytes) -> bytes:
    """As the device does it."""
    words, word = [], b""
    for byte in made:
        word += bytes([byte & 127])
        if byte > 127:
            words.append(word)
            word = b""
    assert not word
    return b"".join(words[byte - 128] if byte > 127 else bytes([byte]) for byte in text)


def test_the_text_comes_back_from_fewer_bytes() -> None:
    words = choose(_TEXT)
    small = encode(_TEXT, words)
    assert words and len(words) == len(set(words)) <= 128
    assert len(small) + len(table(words)) < len(_TEXT)
    assert _expand(small, table(words)) == _TEXT
    assert small.count(b"\n") == _TEXT.count(b"\n")


def test_a_short_text_has_no_words() -> None:
    assert choose(b"return input") == [] and table([]) == b""
    assert encode(b"return input", []) == b"return input"
