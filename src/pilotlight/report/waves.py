"""Pictures of a stream: the samples, what the model makes of each frame, and its answers next to PyTorch's."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from typing import Any

WIDTH, HEIGHT = 900, 120
LINES = 8  # answers that are drawn
COLOURS = ("#2a6fdb", "#d9822b", "#2e9e5b", "#b3404a", "#7a5cc0", "#1f9aa0", "#8a6d3b", "#c2569a")


def stream_pictures(run: dict[str, Any]) -> dict[str, Any] | None:
    """What the page of a run draws; None where nothing streamed."""
    line = run.get("timeline")
    if not line or not line["samples"]:
        return None
    samples = len(line["wave"])
    rate = line["rate"]
    shown = _largest(line["answers"])
    return {
        "width": WIDTH, "height": HEIGHT, "wave": _wave(line["wave"]), "features": _image(line.get("features")),
        "answers": [
            {"name": str(k), "colour": COLOURS[n % len(COLOURS)], "board": _points(line, "answers", k, samples),
             "truth": _points(line, "truth", k, samples)}
            for n, k in enumerate(shown)
        ],
        "length": f"{samples / rate:.3g} s" if rate else f"{samples:,} samples",
        "left_out": len(line["answers"][0]) - len(shown),
    }


def _largest(answers: list[list[float]]) -> list[int]:
    """The outputs that move most, in their order."""
    spread = [max(column) - min(column) for column in zip(*answers, strict=True)]
    return sorted(sorted(range(len(spread)), key=lambda k: -spread[k])[:LINES])


def _wave(wave: list[float]) -> str:
    """A polygon around the least and largest sample of each column."""
    top = max((abs(v) for v in wave if math.isfinite(v)), default=0.0) or 1.0
    columns = min(WIDTH, len(wave))
    edges: tuple[list[str], list[str]] = ([], [])
    for column in range(columns):
        part = wave[column * len(wave) // columns : (column + 1) * len(wave) // columns]
        known = [v for v in part if math.isfinite(v)] or [0.0]
        for edge, value in zip(edges, (max(known), min(known)), strict=True):
            edge.append(f"{column * WIDTH / columns:.1f},{HEIGHT / 2 * (1 - value / top):.1f}")
    return " ".join([*edges[0], *reversed(edges[1])])


def _points(line: dict[str, Any], which: str, k: int, samples: int) -> str:
    both = [row[n] for side in ("answers", "truth") for row in line[side] for n in _largest(line["answers"])]
    known = [v for v in both if math.isfinite(v)] or [0.0]
    low, high = min(known), max(known)
    scale = (HEIGHT - 8) / ((high - low) or 1.0)
    points = zip(line["samples"], line[which], strict=True)
    return " ".join(
        f"{at / max(samples, 1) * WIDTH:.1f},{HEIGHT - 4 - (row[k] - low) * scale:.1f}"
        for at, row in points if math.isfinite(row[k])
    )


def _image(rows: list[list[float]] | None) -> str | None:
    """Frames as columns of a grey image, the first number of each at the bottom: a PNG file in a URL."""
    if not rows:
        return None
    known = sorted(v for row in rows for v in row if math.isfinite(v))
    if not known:
        return None
    low, high = known[len(known) // 50], known[-1 - len(known) // 50]
    scale = 255.0 / ((high - low) or 1.0)
    width, height = len(rows), len(rows[0])
    lines = []
    for y in reversed(range(height)):
        shades = (255 - max(0, min(255, round((row[y] - low) * scale))) if math.isfinite(row[y]) else 0 for row in rows)
        lines.append(b"\0" + bytes(shades))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(b"".join(lines), 9))
    return "data:image/png;base64," + base64.b64encode(data + _chunk(b"IEND", b"")).decode("ascii")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
