"""Random ONNX models against ONNX Runtime.

    python -m support.fuzz_onnx_models [--count 300] [--first 0] [--quantized] [--compile 10] [--boards NAME ...]

Chains of operators are imported and compared on three inputs; each `--compile`-th is also compiled and run on this
computer. With `--quantized`, networks that ONNX Runtime's own tools quantized must be integers throughout, where the
file has no floats, and at most one step a layer from ONNX Runtime; on `--boards` the bytes must be those of the integer
reference. A model that fails has a number: `--first NUMBER --count 1` makes it again.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import torch

import pilotlight as pl
from pilotlight.capture.onnx.file import normalized
from pilotlight.capture.onnx.importer import imported
from pilotlight.capture.onnx.reference import OnnxReference, _apart
from pilotlight.capture.onnx.support import check_operators
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph
from pilotlight.graph.evaluate import evaluate_runs
from support.random_onnx import Noise, float_model, quantized_model

NEAR = 1e-4  # of the largest number: how far chains may be from ONNX Runtime
RUNS = 3


def rows(shape: list[int], seed: int, count: int) -> list[torch.Tensor]:
    return [torch.from_numpy(row["x"]) for row in Noise(shape, seed, count).rows]


def sizes(model: onnx.ModelProto) -> list[int]:
    return [int(d.dim_value) for d in model.graph.input[0].type.tensor_type.shape.dim]


def float_outcome(seed: int, folder: Path, compiled: bool) -> str:
    model = float_model(seed)
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    inputs = rows(sizes(model), seed + 1000, RUNS)
    try:
        known = normalized(model, path)
        check_operators(known)
        body = imported(known.graph, {"x": inputs[0]}, {})
        reference = OnnxReference(model, {"x": inputs[0]}, {})
        truth = reference.in_float32()
        for x in inputs:
            with torch.no_grad():
                (got,) = body(x)
            (want,) = truth(x)
            if got.shape != want.shape or got.dtype != want.dtype or _apart(got, want) > NEAR:
                return f"wrong: import {_distance(got, want)}"
        if compiled:
            graph = pl.load(str(path))
            assert isinstance(graph, Graph)
            session = pl.compile(graph).session()
            return "compiled" if session.match else "wrong: compiled"
    except PilotlightError as error:
        return f"refused ({error.kind}): {error.message.splitlines()[0][:100]}"
    return "imported"


def _distance(got: torch.Tensor, want: torch.Tensor) -> str:
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype} {list(got.shape)} instead of {want.dtype} {list(want.shape)}"
    return f"{_apart(got, want):.1e} of the largest number"


def quantized_outcome(seed: int, folder: Path, boards: list[str]) -> str:
    model, layers, kind = quantized_model(seed, folder)
    try:
        graph = pl.load(str(folder / "quantized.onnx"))
        assert isinstance(graph, Graph)
        build = pl.compile(graph, "mps2-an386")
    except PilotlightError as error:
        return f"refused ({error.kind}) {kind}: {error.message.splitlines()[0][:100]}"
    floats = [n.op for n in build.lowered.nodes if n.op in ("conv2d", "linear", "matmul", "fused", "sigmoid", "mean")]
    if floats and not _has_floats(model):
        return f"wrong: {kind} has {floats} in float"
    inputs = [[x] for x in rows(sizes(model), seed + 1000, 8)]
    truth = graph.truth.in_float32()
    step = build.lowered.outputs[0].value.quant
    scale = step.scale if step is not None else _last_scale(model)
    worst = max(float((got - truth(*row)[0]).abs().max()) / scale
                for row, (got,) in zip(inputs, evaluate_runs(build.lowered, inputs), strict=True))
    if worst > layers + 0.01:
        return f"wrong: {kind} is {worst:.1f} steps off, with {layers} layers"
    for board in boards:
        session = pl.compile(graph, board).session()
        if not session.match or session.compared_with != "the integer reference":
            return f"wrong: {kind} on {board}: other bytes than the integer reference"
    return f"{kind}, at most {max(0.0, np.ceil(worst - 0.01)):.0f} steps off"


def _has_floats(model: onnx.ModelProto) -> bool:
    """Whether the file itself computes in float: a result of DequantizeLinear is read where nothing quantizes again."""
    makers = {name: node for node in model.graph.node for name in node.output}
    readers: dict[str, list[onnx.NodeProto]] = {}
    for node in model.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    for node in model.graph.node:
        if "Linear" in node.op_type or node.op_type == "QGemm":
            continue
        whole = all(makers[n].op_type == "DequantizeLinear" for n in node.input if n in makers)
        if not whole or not all(r.op_type == "QuantizeLinear" for n in node.output for r in readers.get(n, [])):
            return True
    return False


def _last_scale(model: onnx.ModelProto) -> float:
    """The scale of the last integers before the output."""
    makers = {name: node for node in model.graph.node for name in node.output}
    last = makers[model.graph.output[0].name]
    while last.op_type != "DequantizeLinear":
        last = makers[last.input[0]]
    array = next(t for t in model.graph.initializer if t.name == last.input[1])
    return float(onnx.numpy_helper.to_array(array).reshape(-1)[0])


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz_onnx_models", description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--quantized", action="store_true")
    parser.add_argument("--compile", type=int, default=10)
    parser.add_argument("--boards", nargs="*", default=[])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    found, wrong = Counter[str](), 0
    try:
        for seed in range(args.first, args.first + args.count):
            with tempfile.TemporaryDirectory(prefix="pilotlight-") as folder:
                if args.quantized:
                    outcome = quantized_outcome(seed, Path(folder), args.boards)
                else:
                    outcome = float_outcome(seed, Path(folder), seed % args.compile == 0)
            found[outcome] += 1
            if outcome.startswith("wrong"):
                wrong += 1
                print(f"model {seed}: {outcome}", flush=True)
    except KeyboardInterrupt:
        print(f"stopped after {found.total():,} models")
    for outcome, count in found.most_common():
        print(f"{count:,} {outcome}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
