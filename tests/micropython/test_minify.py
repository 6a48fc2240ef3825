"""The minifier of packed Python: the same results from fewer bytes."""

from __future__ import annotations

from typing import Any

from pilotlight.micropython.minify import minify

SOURCE = '''
"""A module."""
import math
from functools import reduce as fold

_LIMIT = (1.0, 0.5, 1e-05)
count = 7


class Shape(dict):
    """A class."""
    sides = 4

    def __init__(self, width, height=2, *more, unit="a b = c"):
        super().__init__()
        assert width
        self.width, self.height = width, height
        self.more, self.unit = more, unit

    @property
    def area(self) -> float:
        total = self.width * self.height
        return total * 1.0

    def __getitem__(self, index):
        return (index, self.width) if index in b"ab" else None


def _helper(value, factor, offset=1):
    for k in range(3):
        if k == factor:
            continue
        value += k if k else -offset
    return value


def outer(first, *rest, **named):
    global count
    count = count + 1
    text = "a  'quoted' , text = (x, y)"
    table = {key: [item for item in rest if item != value] for key, value in named.items()}
    total = 0

    def add(amount):
        nonlocal total
        total += amount
        return (total, amount)

    class Inner:
        text = 3

        def get(self):
            return self.text

    try:
        add(_helper(first, 1, offset=2))
        raise ValueError(text)
    except ValueError as error:
        message = str(error)
    pick = lambda left, right=5: (left, right, *rest)
    number = not first if rest else - first
    return message, table, total, pick(1), Inner().get(), fold(lambda a, b: a - b, rest, 0), math.floor(2.50), number


def nothing():
    return None
'''


def results(source: str) -> list[Any]:
    names: dict[str, Any] = {}
    exec(source, names)
    shape = names["Shape"](3, unit="u")
    return [
        names["outer"](4, 1, 2, x=1, y=2), names["count"], names["nothing"](), names["_LIMIT"],
        shape.area, shape[97], shape[1], shape.unit, shape.height, shape.sides, names["Shape"](1).unit,
    ]


def test_it_computes_the_same() -> None:
    small = minify(SOURCE)
    assert results(small) == results(SOURCE)
    assert len(small) < 0.75 * len(SOURCE)


def test_names_that_others_use_stay() -> None:
    small = minify(SOURCE)
    assert "def outer(first,*" in small
    assert "height=2," in small and "unit='a b = c'" in small
    assert "offset=1" in small and "def _helper(value" not in small
    assert "(amount)" in small and "total" not in small and '"""' not in small


def test_statements_of_a_module_begin_without_a_margin() -> None:
    lines = minify(SOURCE).splitlines()
    assert [line.split("(")[0] for line in lines if line[0] != " "][:5] == [
        "import math", "from functools import reduce as fold", "_LIMIT=1.,.5,1e-5", "count=7", "class Shape",
    ]
