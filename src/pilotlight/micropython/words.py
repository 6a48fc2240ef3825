"""Words that a text has often, each written as one byte: a window then holds more of the text."""

from __future__ import annotations

import re
from collections import Counter

_FIRST, _MOST = 128, 128  # bytes that ASCII leaves free
_CANDIDATE = re.compile(rb"[ .,(=]?[A-Za-z_]{2,}[ (.,=]?|[^A-Za-z\x80-\xff\n ]{2,4}")
_WORD = re.compile(rb"[A-Za-z_]{3,}")


def choose(text: bytes) -> list[bytes]:
    """The words to write as bytes, in the order in which they are to be replaced."""
    assert text.isascii()
    counts = Counter(_CANDIDATE.findall(text)) + Counter(_WORD.findall(text))
    scores = {word: _score(word, count) for word, count in counts.items()}
    words: list[bytes] = []
    while scores and len(words) < _MOST:
        best = max(scores, key=scores.__getitem__)
        now = _score(best, text.count(best))
        if now >= scores[best]:
            del scores[best]
            if now <= 0:
                break
            text = text.replace(best, bytes([_FIRST + len(words)]))
            words.append(best)
        else:
            scores[best] = now
    return words


def _score(word: bytes, count: int) -> float:
    """About how many bytes of the compressed text a word saves: less for each of its letters than for the first."""
    return 0.2 * count * (len(word) - 1) ** 0.9 - len(word)


def encode(text: bytes, words: list[bytes]) -> bytes:
    for k, word in enumerate(words):
        text = text.replace(word, bytes([_FIRST + k]))
    return text


def table(words: list[bytes]) -> bytes:
    """The words one after the other, the last letter of each with its highest bit set."""
    return b"".join(word[:-1] + bytes([word[-1] | 128]) for word in words)
