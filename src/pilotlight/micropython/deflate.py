"""A raw deflate stream that takes seconds to make and is smaller than zlib's: matches are chosen by what they cost.

Costs are the entropies of the previous choice, so that a few rounds are made. Where the text changes, a block with
codes of its own begins if that is worth its header.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from math import log2

_ROUNDS = 6
_LONGEST, _END = 258, 256
_LENGTH_BASE = (*range(3, 11), 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258)
_LENGTH_BITS = (*(0,) * 8, *(k // 4 for k in range(4, 24)), 0)
_DISTANCE_BITS = (0, 0, *(k // 2 for k in range(28)))
_DISTANCE_BASE = (1, *(1 + sum(1 << bits for bits in _DISTANCE_BITS[:k]) for k in range(1, 30)))
_ORDER = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)  # of the lengths of the lengths' codes


def _code_of(base: tuple[int, ...], most: int) -> list[int]:
    return [max((k for k, first in enumerate(base) if first <= n), default=0) for n in range(most + 1)]


_LENGTH_CODE = _code_of(_LENGTH_BASE, _LONGEST)
Step = tuple[int, int]  # a length and a distance; a byte of its own is (1, 0)
Costs = tuple[list[float], list[float], list[float]]  # of bytes, lengths, distances
Match = tuple[int, int]  # a length and the smallest distance at which it is there


class Deflate:
    """The compression of one text."""

    def __init__(self, data: bytes, window: int) -> None:
        self.data = data
        self.distance_code = _code_of(_DISTANCE_BASE, 1 << window)
        self.matches = self._find(1 << window)

    def _find(self, reach: int) -> list[list[Match]]:
        """At every byte the matches that are longer than all nearer ones."""
        data, before = self.data, defaultdict[bytes, list[int]](list)
        found: list[list[Match]] = []
        for at in range(len(data)):
            here: list[Match] = []
            longest = 2
            most = min(_LONGEST, len(data) - at)
            places = before[data[at : at + 3]]
            for place in reversed(places):
                if at - place > reach or longest >= most:
                    break
                if data[place : place + longest + 1] == data[at : at + longest + 1]:
                    length = longest + 1
                    while length < most and data[place + length] == data[at + length]:
                        length += 1
                    longest = length
                    here.append((length, at - place))
            places.append(at)
            found.append(here)
        return found

    def run(self) -> bytes:
        bounds = [0, len(self.data)]
        plain = [(1, 0)] * len(self.data)
        costs = [self._costs(0, plain)]
        best = b""
        for number in range(_ROUNDS):
            blocks = [self._cheapest(*ends, cost) for ends, cost in zip(pairwise(bounds), costs, strict=True)]
            if number == _ROUNDS // 2:
                bounds = self._split(0, blocks[0])
                blocks = [self._cheapest(first, end, costs[0]) for first, end in pairwise(bounds)]
            costs = [self._costs(first, steps) for first, steps in zip(bounds, blocks, strict=False)]
            made = self._stream(bounds, blocks)
            best = made if not best or len(made) < len(best) else best
        return best

    def _counts(self, at: int, steps: list[Step]) -> tuple[Counter[int], Counter[int]]:
        """How often a block has each code; there is at least one distance."""
        symbols, distances = Counter({_END: 1}), Counter[int]()
        for length, distance in steps:
            if distance:
                symbols[257 + _LENGTH_CODE[length]] += 1
                distances[self.distance_code[distance]] += 1
            else:
                symbols[self.data[at]] += 1
            at += length
        return symbols, distances or Counter({0: 1})

    def _costs(self, at: int, steps: list[Step]) -> Costs:
        symbols, distances = (_entropies(counts) for counts in self._counts(at, steps))
        lengths = [symbols[257 + code] + _LENGTH_BITS[code] for code in _LENGTH_CODE]
        return symbols[:256], lengths, [distances[code] + _DISTANCE_BITS[code] for code in self.distance_code]

    def _cheapest(self, first: int, end: int, costs: Costs) -> list[Step]:
        """The steps from one byte to another that cost least."""
        byte_costs, length_costs, distance_costs = costs
        total = [0.0] + [float("inf")] * (end - first)
        last: list[Step] = [(1, 0)] * (end - first + 1)
        for at in range(first, end):
            base, here = total[at - first], at - first
            cost = base + byte_costs[self.data[at]]
            if cost < total[here + 1]:
                total[here + 1], last[here + 1] = cost, (1, 0)
            shorter = 2
            for longest, distance in self.matches[at]:
                so_far = base + distance_costs[distance]
                for length in range(shorter + 1, min(longest, end - at) + 1):
                    cost = so_far + length_costs[length]
                    if cost < total[here + length]:
                        total[here + length], last[here + length] = cost, (length, distance)
                shorter = longest
        steps, here = [], end - first
        while here:
            steps.append(last[here])
            here -= last[here][0]
        return steps[::-1]

    # ---- blocks

    def _split(self, at: int, steps: list[Step]) -> list[int]:
        """The ends of the blocks that are worth it, found by halving."""
        whole = self._size(at, steps)
        tries = sorted({len(steps) * k // 24 for k in range(1, 24)} - {0})
        sums = [at]
        for length, _ in steps:
            sums.append(sums[-1] + length)
        sizes = {k: self._size(at, steps[:k]) + self._size(sums[k], steps[k:]) for k in tries}
        k = min(sizes, key=sizes.__getitem__, default=0)
        if not k or sizes[k] >= whole:
            return [at, sums[-1]]
        return self._split(at, steps[:k])[:-1] + self._split(sums[k], steps[k:])

    def _size(self, at: int, steps: list[Step]) -> int:
        """Bits of a block."""
        symbols, distances = self._counts(at, steps)
        lengths = _lengths(symbols, 15), _lengths(distances, 15)
        extra = sum(_LENGTH_BITS[code - 257] * n for code, n in symbols.items() if code > _END)
        extra += sum(_DISTANCE_BITS[code] * n for code, n in distances.items())
        body = sum(lengths[0][code] * n for code, n in symbols.items())
        body += sum(lengths[1][code] * n for code, n in distances.items())
        return body + extra + sum(bits for _, bits in _header(*lengths))

    def _stream(self, bounds: list[int], blocks: list[list[Step]]) -> bytes:
        bits = [item for k, (at, steps) in enumerate(zip(bounds, blocks, strict=False))
                for item in self._block(at, steps, k + 1 == len(blocks))]
        value, used, made = 0, 0, bytearray()
        for more, count in bits:
            value |= more << used
            used += count
            while used >= 8:
                made.append(value & 255)
                value >>= 8
                used -= 8
        return bytes(made) + (bytes([value]) if used else b"")

    def _block(self, at: int, steps: list[Step], final: bool) -> Iterator[tuple[int, int]]:
        symbols, distances = (_lengths(counts, 15) for counts in self._counts(at, steps))
        yield (4 | final, 3)
        yield from _header(symbols, distances)
        codes, far = _codes(symbols), _codes(distances)
        for length, distance in steps:
            if distance:
                code = _LENGTH_CODE[length]
                yield codes[257 + code]
                yield (length - _LENGTH_BASE[code], _LENGTH_BITS[code])
                code = self.distance_code[distance]
                yield far[code]
                yield (distance - _DISTANCE_BASE[code], _DISTANCE_BITS[code])
            else:
                yield codes[self.data[at]]
            at += length
        yield codes[_END]


def deflate(data: bytes, window: int) -> bytes:
    """The stream; matches reach `window` bits back."""
    return Deflate(data, window).run() if data else b"\x03\x00"


# ---- Huffman codes

def _entropies(counts: Counter[int]) -> list[float]:
    """Bits of each code; one that was not used is taken for rare."""
    total = log2(sum(counts.values()))
    return [total - log2(counts[code]) if counts[code] else total + 1 for code in range(286)]


def _lengths(counts: Counter[int], most: int) -> list[int]:
    """Bits of each code, none longer than `most`, by packages of the two cheapest."""
    coins = sorted((n, (code,)) for code, n in counts.items())
    lengths = [0] * (max(counts) + 1)
    if len(coins) == 1:
        lengths[coins[0][1][0]] = 1
        return lengths
    packages: list[tuple[int, tuple[int, ...]]] = []
    for _ in range(most):
        row = list(heapq.merge(coins, packages))
        packages = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(row[::2], row[1::2], strict=False)]
    for _, codes in packages[: len(coins) - 1]:
        for code in codes:
            lengths[code] += 1
    return lengths


def _codes(lengths: list[int]) -> list[tuple[int, int]]:
    """(value, bits) of each code, the first bit lowest."""
    made, value, last = [(0, 0)] * len(lengths), 0, 0
    for bits, code in sorted((bits, code) for code, bits in enumerate(lengths) if bits):
        value <<= bits - last
        made[code] = (int(f"{value:0{bits}b}"[::-1], 2), bits)
        value, last = value + 1, bits
    return made


def _header(symbols: list[int], distances: list[int]) -> list[tuple[int, int]]:
    """(value, bits) of what tells the lengths of a block's codes."""
    runs = list(_runs(symbols + distances))
    lengths = _lengths(Counter(code for code, _, _ in runs), 7)
    lengths += [0] * (19 - len(lengths))
    codes = _codes(lengths)
    used = max(k for k, code in enumerate(_ORDER) if lengths[code]) + 1
    made = [(len(symbols) - 257, 5), (len(distances) - 1, 5), (used - 4, 4)]
    made += [(lengths[code], 3) for code in _ORDER[:used]]
    for code, value, bits in runs:
        made += [codes[code], (value, bits)]
    return made


def _runs(lengths: list[int]) -> Iterator[tuple[int, int, int]]:
    """Lengths with what follows of the same: (code, extra value, extra bits)."""
    at = 0
    while at < len(lengths):
        length, count = lengths[at], 1
        while at + count < len(lengths) and lengths[at + count] == length and count < 138:
            count += 1
        if length == 0 and count > 2:
            yield (18, count - 11, 7) if count > 10 else (17, count - 3, 3)
        elif length and count > 3:
            count = min(count, 7)
            yield length, 0, 0
            yield 16, count - 4, 2
        else:
            count = 1
            yield length, 0, 0
        at += count
