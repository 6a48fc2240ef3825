"""Blocks that add their input, few or many of them, as modules of their own."""

from __future__ import annotations

from fuzz.maker import Maker

CONV_BLOCK = """class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.a = nn.Conv2d(channels, channels, 3, padding=1)
        self.b = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        return {out}"""
DENSE_BLOCK = """class DenseBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))"""
BOTTLENECK = """class Inverted(nn.Module):
    def __init__(self, channels, stride=1):
        super().__init__()
        wide = 2 * channels
        self.body = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(inplace=True),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(inplace=True),
            nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        return x + self.body(x)"""


def _blocks(m: Maker) -> bool:
    x = m.float(4, 4)
    dense = x is None or m.chance(0.3)
    x = m.float(2, 3) if dense else x
    if x is None:
        return False
    shape, name = m.value(x).shape, m.layer(m.choice(("blocks", "layers", "stages")))
    count = m.integer(1, 4)
    if dense:
        make, classes = f"DenseBlock({shape[-1]})", [DENSE_BLOCK]
    elif m.chance(0.4):
        make, classes = f"Inverted({shape[1]})", [BOTTLENECK]
    else:
        out = m.choice(
            (
                "F.relu(x + self.b(F.relu(self.a(x))))",
                "x + self.b(F.relu(self.a(x)))",
                "(x + self.a(x).tanh() + self.b(x)) * 0.6",
            )
        )
        make, classes = f"Block({shape[1]})", [CONV_BLOCK.format(out=out)]
    y = m.new()
    if m.chance(0.5):
        return m.add(
            f"{y} = {x}\nfor block in self.{name}:\n    {y} = block({y})",
            [f"self.{name} = nn.ModuleList([{make} for _ in range({count})])"],
            classes,
        )
    return m.add(
        f"{y} = self.{name}({x})", [f"self.{name} = nn.Sequential(*[{make} for _ in range({count})])"], classes
    )


def deep(m: Maker) -> bool:
    """Many blocks on a small image."""
    x = m.float(4, 4)
    if x is None:
        return False
    name, y, channels = m.layer("blocks"), m.new(), m.value(x).shape[1]
    out = m.choice(
        (
            "F.relu(x + self.b(F.relu(self.a(x))))",
            "(x + self.a(x).relu()) * 0.8",
            "x + self.b(F.relu6(self.a(x))) * 0.5",
        )
    )
    return m.add(
        f"{y} = {x}\nfor block in self.{name}:\n    {y} = block({y})",
        [f"self.{name} = nn.ModuleList([Block({channels}) for _ in range({m.integer(10, 36)})])"],
        [CONV_BLOCK.format(out=out)],
    )


def _skip(m: Maker) -> bool:
    """x + f(x) for a layer that keeps the shape."""
    x = m.float(3, 4)
    if x is None:
        return False
    shape, name = m.value(x).shape, m.layer()
    layer = (
        f"nn.Conv{len(shape) - 2}d({shape[1]}, {shape[1]}, 3, padding=1)"
        if m.chance(0.6)
        else f"nn.Linear({shape[-1]}, {shape[-1]})"
    )
    return m.add(
        f"{m.new()} = {x} + self.{name}({x}){m.choice(('', '.relu()', '.tanh()'))}", [f"self.{name} = {layer}"]
    )


RESIDUAL = (_blocks, _skip, _skip)
