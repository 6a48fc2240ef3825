"""The networks of the onnx package that come without weights, with random ones, against ONNX Runtime.

    python -m conformance.onnx.light [NAME ...]

Each is imported and compared; those of at most LARGEST bytes of weights are also compiled and run on this computer.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import torch

import pilotlight as pl
from pilotlight.capture.onnx.inputs import ports
from pilotlight.graph import Graph

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
LARGEST = 64 << 20
NEAR = 1e-4  # of the largest number


def names() -> list[str]:
    return [path.stem.removeprefix("light_") for path in sorted(FOLDER.glob("light_*.onnx"))]


def with_weights(name: str) -> onnx.ModelProto:
    """The network with seeded noise where the package has constants of one number."""
    model = onnx.load(FOLDER / f"light_{name}.onnx")
    shapes = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    chance = np.random.default_rng(0)
    kept = []
    for node in model.graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in shapes:
            array = _noise(chance, [int(n) for n in shapes[node.input[0]]], _role(model, node.output[0]))
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, node.output[0]))
        else:
            kept.append(node)
    model.ir_version = max(4, model.ir_version)  # before, every constant was an input as well
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model


def _role(model: onnx.ModelProto, name: str) -> tuple[str, int]:
    """The operator that reads a constant, and as which input."""
    return next(((n.op_type, list(n.input).index(name)) for n in model.graph.node if name in n.input), ("", 0))


def _noise(chance: np.random.Generator, shape: list[int], role: tuple[str, int]) -> np.ndarray:
    array = chance.standard_normal(shape, dtype=np.float32)
    if role[0] == "BatchNormalization":  # variances and factors are positive
        return np.abs(array) * np.float32(0.3) + np.float32(0.5) if role[1] in (1, 4) else array * np.float32(0.1)
    return array * np.float32((2 / max(1, int(np.prod(shape[1:])))) ** 0.5)


def compared(name: str, folder: Path) -> Iterator[str]:
    model = with_weights(name)
    size = sum(len(t.raw_data) for t in model.graph.initializer)
    path = folder / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    shapes = {k: [d.dim_value for d in p.type.tensor_type.shape.dim] for k, p in ports(model.graph).items()}
    graph = pl.load(str(path), [f"{k}={'x'.join(map(str, shape))}" for k, shape in shapes.items()])
    assert isinstance(graph, Graph)
    yield f"{name}: {len(model.graph.node)} nodes, {size >> 20} MB of weights, imported"
    if size > LARGEST:
        return
    x = torch.randn(graph.truth.example[0].shape, generator=torch.Generator().manual_seed(1))
    (want,) = graph.truth.in_float32()(x)
    with pl.compile(graph).open(timeout=600.0, count=False) as running:
        (got,) = running.flat([x])
    apart = float((got - want).abs().max()) / float(want.abs().max())
    yield f"{name}: {'compiled' if apart <= NEAR else 'wrong'}, {apart:.1e} of the largest number from ONNX Runtime"


def main() -> int:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    wrong = False
    for name in sys.argv[1:] or names():
        with tempfile.TemporaryDirectory(prefix="pilotlight-") as folder:
            for line in compared(name, Path(folder)):
                wrong |= ": wrong" in line
                print(line, flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
