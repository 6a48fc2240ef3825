"""Indexing and assignment under MicroPython: the same results and errors as PyTorch's for the same source text."""

from __future__ import annotations

import random
import re
import warnings

import pytest
import torch

from support.micropython_scripts import output

PRELUDE = """
def show(t):
    return '%s %s %s' % (list(t.shape), str(t.dtype), t.tolist())

def attempt(number, function):
    try:
        print(number, function())
    except Exception as error:
        print(number, type(error).__name__, str(error).split('\\n')[0])
"""


def _run(lines: list[str]) -> tuple[list[str], list[str]]:
    """What PyTorch says to each line, without the tensor that its expand names, and what MicroPython says."""
    script = PRELUDE + "\n".join(lines) + "\n"
    mine = output(f"import torch\n{script}").splitlines()
    theirs: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(script, {"torch": torch, "print": lambda *parts: theirs.append(" ".join(map(str, parts)))})
    return [re.sub(r"expand\([^:]*\): ", "expand: ", line) for line in theirs], mine


def _item(chance: random.Random, size: int) -> str:
    """One item of an index, now and then out of bounds."""
    reach = size + (1 if chance.random() < 0.03 else 0)

    def number() -> int:
        return chance.randrange(-reach, reach) if reach else 0

    def bound() -> str:
        return chance.choice(("", str(chance.randrange(-size - 2, size + 3))))

    match chance.randrange(12):
        case 0 | 1:
            return str(number())
        case 2 | 3 | 4:
            return f"{bound()}:{bound()}:{chance.choice(('', '1', '2', '3'))}"
        case 5:
            return ":"
        case 6:
            return "None"
        case 7:
            return "..."
        case 8:
            return chance.choice(("True", "False", f"torch.tensor({number()})", "torch.tensor(True)"))
        case 9:
            return str([number() for _ in range(chance.randrange(3))])
        case 10:
            dtype = chance.choice(("int64", "int64", "int32"))
            values = [number() for _ in range(2)]
            return f"torch.tensor({chance.choice((values, [values], [[values[0]], [values[1]]]))}, dtype=torch.{dtype})"
        case _:
            return f"torch.tensor({[chance.random() < 0.6 for _ in range(size)]}, dtype=torch.bool)"


def _shape(chance: random.Random) -> list[int]:
    return [chance.choice((1, 2, 3, 4) if chance.random() < 0.95 else (0,)) for _ in range(chance.randrange(1, 5))]


def _expression(chance: random.Random, shape: list[int]) -> str:
    items = []
    dims = iter(shape)
    for _ in range(chance.randrange(1, len(shape) + 2)):
        item = _item(chance, next(dims, 2))
        if item in ("None", "True", "False") and chance.random() < 0.6:
            item = ":"
        items.append(item)
    if items.count("...") > 1:
        items = [i for i in items if i != "..."] or [":"]
    return ", ".join(items)


def _made(chance: random.Random, shape: list[int], dtype: str) -> str:
    count = 1
    for size in shape:
        count *= size
    made = f"torch.arange({count}).reshape({shape}).to(torch.{dtype})"
    return made + chance.choice(("", "", ".mT.contiguous().mT") if len(shape) > 1 else ("",))


@pytest.mark.parametrize("seed", range(4))
def test_random_reads(seed: int) -> None:
    chance = random.Random(seed)
    lines = []
    for number in range(600):
        shape = _shape(chance)
        dtype = chance.choice(("int64", "float32", "uint8", "bool", "float16"))
        made = _made(chance, shape, dtype)
        lines.append(f"attempt({number}, lambda: show({made}[{_expression(chance, shape)}]))")
    for line, theirs, mine in zip(lines, *_run(lines), strict=True):
        assert mine == theirs, line


@pytest.mark.parametrize("seed", range(4))
def test_random_assignments(seed: int) -> None:
    chance = random.Random(100 + seed)
    lines = []
    for number in range(400):
        shape = _shape(chance)
        dtype = chance.choice(("int64", "float32", "int8", "bool"))
        index = _expression(chance, shape)
        value = chance.choice((
            "7", "-1.5", "True", f"torch.tensor(5).to(torch.{dtype})", f"torch.ones(1, 1).to(torch.{dtype})",
            "torch.arange(2)", f"(t[{index}] * 0 + 9).to(torch.{dtype})", f"torch.arange(3).to(torch.{dtype})",
        ))
        lines.append(
            f"def change():\n    t = {_made(chance, shape, dtype)}\n    t[{index}] = {value}\n    return show(t)\n"
            f"attempt({number}, change)"
        )
    theirs_all, mine_all = _run(lines)
    for line, theirs, mine in zip(lines, theirs_all, mine_all, strict=True):
        assert mine == theirs, line


FIXED = [
    "a[0, 0, 0, 0]", "a[1.5]", "a['x']", "a[::0]", "a[::-1]", "a[{}]", "a[[0, 5]]", "a[torch.tensor([1.5])]",
    "a[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]", "torch.tensor(1)[0]", "torch.tensor(1)[None]", "a[[]]",
    "a[[[0, 1], [1, 0]]]", "a[(0, 1),]", "a[range(2)]", "a[torch.tensor([1, 0], dtype=torch.uint8)]",
    "a[torch.tensor([1, 0], dtype=torch.int8)]", "a[a > 5]", "a[:, a[0] > 3]", "a[a[0] > 0]", "a[[None]]", "a[2**40]",
    "a[[[True, False, True], [False, True, True]], 0]", "a[..., [[True] * 4] * 3]",
    "a[[[True] * 2] * 2, 0]", "a[([[True] * 3] * 2,)]", "a[None, [[True] * 3] * 2, :]",
    "a[2**70:]", "a[-2**70:]", "a[torch.tensor(0):torch.tensor(1)]", "a['a':]", "a[[torch.tensor(0), 1]]",
    "a[a[:, :, 0] > 4, 0]", "a[0, :, [0, 1]]", "a[[0, 1], ..., [0, 1]]", "a[[0, 1], None, [0, 1]]", "a[True, [0, 1]]",
    "a.index_put((torch.tensor([0, 0]),), torch.tensor(1), accumulate=True)",
    "torch.zeros(3).index_put_((torch.tensor([0, 0]),), torch.ones(2), accumulate=True)",
    "torch.zeros(3).index_put_((torch.tensor([4]),), torch.tensor([1.]))",
    "torch.zeros(3).index_put_((torch.tensor([0]), torch.tensor([0])), torch.tensor([1.]))",
    "torch.zeros(3).index_put_((torch.tensor([0, 0]),), torch.tensor([1, 2]))",
    "torch.zeros(3, 4).index_put_((torch.tensor([0, 2]), torch.tensor([1, 1])), torch.tensor([5., 6.]))",
]


def test_fixed_reads() -> None:
    lines = ["a = torch.arange(24).reshape(2, 3, 4)"]
    lines += [f"attempt({number}, lambda: show({text}))" for number, text in enumerate(FIXED)]
    for text, theirs, mine in zip(FIXED, *_run(lines), strict=True):
        assert mine == theirs, text


ASSIGNED = [
    ("torch.zeros(2, 3)", "0", "[1, 2, 3]"), ("torch.zeros(2, 3)", "0", "None"), ("torch.zeros(2, 3)", "2", "1"),
    ("torch.zeros(3).to(torch.uint8)", "0", "300"), ("torch.zeros(3).to(torch.uint8)", "0", "-1"),
    ("torch.zeros(3).to(torch.int32)", "0", "1e30"), ("torch.zeros(2, 3)", ":", "torch.ones(2)"),
    ("torch.zeros(2, 3)", "0", "torch.ones(2, 1, 3)"), ("torch.zeros(2, 3)", "[0]", "torch.tensor([1, 2, 3])"),
    ("torch.zeros(2, 3)", "[0, 1], [0, 1]", "torch.ones(3)"),
    ("torch.zeros(2, 3)", "[0, 1], [0, 1]", "torch.ones(2, 1)"),
    ("torch.zeros(2, 3)", "torch.ones(2, 3) > 0", "torch.arange(5.)"), ("torch.arange(6)", "1:", "t[:-1]"),
    ("torch.arange(6)", "[1, 2]", "t[:2]"), ("torch.zeros(0, 2)", "[0]", "5"), ("torch.tensor(1.)", "...", "5"),
    ("torch.arange(6)", "t > 2", "-t[t > 2]"), ("torch.arange(6)", "::2", "t[1::2]"),
    ("torch.zeros(2, 3)", "None, 5", "1"),
]


def test_fixed_assignments() -> None:
    lines = [
        f"def change():\n    t = {made}\n    t[{index}] = {value}\n    return show(t)\nattempt({number}, change)"
        for number, (made, index, value) in enumerate(ASSIGNED)
    ]
    for text, theirs, mine in zip(ASSIGNED, *_run(lines), strict=True):
        assert mine == theirs, text


def test_views_share_elements_and_in_place_operators_keep_identity() -> None:
    script = """
t = torch.zeros(3, 4)
row = t[1]
row += 2
t[:, 0] -= 1
t[2][1:3] = 5
t[0, 0] *= 7
kept = t
t += 1
print(t is kept, t.tolist(), row.tolist(), t[1].data_ptr() == row.data_ptr(), row.storage_offset(), row.stride())
"""
    theirs: list[str] = []
    exec(script, {"torch": torch, "print": lambda *parts: theirs.append(" ".join(map(str, parts)))})
    assert output(f"import torch\n{script}").splitlines() == theirs


def test_masks_that_are_lists_stay_in_bounds() -> None:
    texts = [f"{t}[{', '.join(['[[True] * 3] * 2', *rest])}]" for t in ("torch.arange(3)", "torch.ones(2, 3)")
             for rest in (["None"], ["None", "None"], ["True"], ["..."], ["...", "None"], ["0"], [":"], ["[0]"])]
    lines = "".join(f"attempt({k}, lambda: show({text}))\n" for k, text in enumerate(texts))
    said = output(f"import torch\n{PRELUDE}{lines}").splitlines()
    assert len(said) == len(texts)
