"""The text of tensors under MicroPython is the text that PyTorch prints, byte for byte."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch

from support.micropython_scripts import output

DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
    torch.float32,
]
SHAPES = [
    (), (1,), (3,), (40,), (0,), (0, 3), (2, 0, 2), (1, 1), (2, 3), (3, 20), (2, 2, 2), (2, 1, 3, 2), (1001,), (40, 30),
    (3, 7, 60), (1, 2000), (12, 11, 10), (7, 7, 7, 3), (26,), (17, 1),
]
VIEWS = ["", ".mT", "[..., ::2]", "[..., 1:]", ".requires_grad_()"]
OPTIONS = [
    "profile='default'", "precision=2", "precision=7", "sci_mode=True", "sci_mode=False", "linewidth=40",
    "threshold=5", "threshold=20, edgeitems=1", "profile='short'", "profile='full'", "linewidth=200, edgeitems=5",
    "precision=0", "threshold=3, edgeitems=0", "precision=10, sci_mode=True", "threshold=float('inf')",
]


@dataclass(frozen=True)
class Case:
    """A tensor by its bytes, and how it is looked at."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    data: bytes
    view: str
    options: str = ""

    def lines(self) -> str:
        prefix = f"torch.set_printoptions({self.options})\n" if self.options else ""
        shape = ", ".join(map(str, self.shape))
        empty = f"torch.zeros(({shape}{',' if self.shape else ''}), dtype={self.dtype})"
        made = f"torch.frombuffer(bytearray({self.data!r}), dtype={self.dtype}).reshape({list(self.shape)})"
        return f"{prefix}print({made if self.data else empty}{self.view})\nprint('---')\n"


def _float_bits(chance: random.Random, style: int) -> float:
    sign = chance.choice((1.0, 1.0, -1.0))
    match style:
        case 0:
            return sign * chance.random()
        case 1:
            return sign * 10 ** chance.uniform(-30, 30)
        case 2:
            return float(chance.randrange(-2000, 2000))
        case 3:
            return sign * chance.choice((0.0, 1.0, 0.5, 0.125, 2.5, 0.00005, 1e-4, 999.95, 1e8, 12345.678))
        case 4:
            return sign * 10 ** chance.uniform(-4, 4)
        case 5:
            return sign * chance.choice((float("nan"), float("inf"), 0.0, 1.0, 3.5))
        case 6:
            return float(chance.randrange(100)) / 8
        case 7:
            return sign * 2.0 ** chance.randrange(-149, 127)
        case _:
            return float(struct.unpack("<f", chance.randbytes(4))[0])


def _data(chance: random.Random, dtype: torch.dtype, count: int) -> bytes:
    if dtype == torch.bool:
        return bytes(chance.choice((0, 1)) if count % 2 else 1 for _ in range(count))
    if not dtype.is_floating_point:
        narrow = chance.choice((1, 7, 63))
        info = torch.iinfo(dtype)
        values = [min(max(chance.getrandbits(narrow) * chance.choice((1, -1)), info.min), info.max)
                  for _ in range(count)]
        return b"".join(v.to_bytes(dtype.itemsize, "little", signed=info.min < 0) for v in values)
    style = chance.randrange(9)
    made = torch.tensor([_float_bits(chance, style) for _ in range(count)], dtype=torch.float64).to(dtype)
    return bytes(made.view(torch.uint8).tolist())


def _cases(seed: int, count: int) -> Iterator[Case]:
    chance = random.Random(seed)
    for number in range(count):
        dtype = chance.choice(DTYPES) if number % 3 else torch.float32
        shape = chance.choice(SHAPES if number % 8 == 0 else SHAPES[:13])
        elements = 1
        for size in shape:
            elements *= size
        allowed = [v for v in VIEWS if ("requires" not in v or dtype.is_floating_point) and
                   (".mT" not in v or len(shape) > 1) and ("..." not in v or shape)]
        options = chance.choice(OPTIONS) if seed % 2 else ""
        yield Case(dtype, shape, _data(chance, dtype, elements), chance.choice(allowed), options)


def _truth(cases: list[Case]) -> str:
    parts = []
    for case in cases:
        if case.options:
            torch.set_printoptions(**eval(f"dict({case.options})"))
        t = torch.zeros(case.shape, dtype=case.dtype)
        if case.data:
            t = torch.frombuffer(bytearray(case.data), dtype=case.dtype).reshape(case.shape)
        parts.append(str(eval("t" + case.view, {"t": t})) + "\n---\n")
    torch.set_printoptions(profile="default")
    return "".join(parts)


@pytest.mark.parametrize("seed", range(6))
def test_random_tensors(seed: int) -> None:
    cases = list(_cases(seed, 400))
    got = output("import torch\n" + "".join(case.lines() for case in cases)).split("---\n")
    wanted = _truth(cases).split("---\n")
    for case, mine, theirs in zip(cases, got, wanted, strict=False):
        assert mine == theirs, case
    assert len(got) == len(wanted)


FIXED = """
print(torch.tensor([1.0, 2.5, float('nan'), float('inf'), -float('inf')]))
print(torch.tensor([0.0, -0.0]), torch.tensor(-0.0), torch.tensor([1e-45, 3.4028235e38]))
print(torch.tensor(16777216.0), torch.tensor(100000000.0), torch.tensor(100000008.0))
print(torch.tensor([0.00005, 0.00015]), torch.tensor([0.5, 1000.0]), torch.tensor([1.0, 1000.0, 0.5]))
print(torch.tensor([True, False]), torch.tensor([True]), torch.tensor(True))
print(torch.tensor([-9223372036854775808, 9223372036854775807]))
print(torch.nn.Parameter(torch.ones(2, 2)))
print(torch.nn.Parameter(torch.ones(2), requires_grad=False))
print([torch.ones(2), torch.tensor(1)], (torch.zeros(1),), {'a': torch.tensor([1, 2])})
print(str(torch.ones(2)), repr(torch.ones(2)), 'x %s y' % torch.tensor(1))
print(torch.ones(2).shape, torch.ones(2).dtype, torch.ones(2).device, torch.ones(()).shape)
print(f'{torch.tensor(0.12345).item():.4f}', '{}'.format(torch.ones(2)))
print(torch.ones(5, dtype=torch.bfloat16).requires_grad_())
print(torch.ones(11, 1, dtype=torch.float16))
"""


def test_fixed_texts(capsys: pytest.CaptureFixture[str]) -> None:
    exec(FIXED, {"torch": torch})
    assert output(f"import torch\n{FIXED}") == capsys.readouterr().out


def test_large_tensor_needs_no_memory_for_its_text() -> None:
    script = """
import gc, torch
t = torch.zeros(1000000, dtype=torch.int8)
gc.collect()
gc.disable()
class Counter:
    def write(self, text):
        pass
before = gc.mem_alloc()
print(t)
print(gc.mem_alloc() - before < 2000)
"""
    assert output(script) == "tensor([0, 0, 0,  ..., 0, 0, 0], dtype=torch.int8)\nTrue\n"
