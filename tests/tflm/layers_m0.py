"""Every layer of a `.tflite` file as a model of its own on a board with little RAM, against TFLM's own tensors.

    python -m tests.tflm.layers_m0 ../shared/models/mlperf_tiny/vww_int8.tflite --board microbit --inputs 2

TFLM runs a copy of the file in which every result is an output; what it gives for the operands of a layer goes into the
layer, and the bytes that come out are compared with TFLM's result. A layer that does not fit is cut into runs of
output rows, as few as fit; runs that look alike are one build. `--whole` runs the file as it is instead.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

import pilotlight as pl
from pilotlight.capture.tflite.lower import lower_tflite
from pilotlight.capture.tflite.model import FileOperator, FileSubgraph, TfliteModel
from pilotlight.capture.tflite.read import parse_tflite
from pilotlight.capture.tflite.reference import FileAnswers, with_outputs
from pilotlight.errors import DoesNotFitError
from pilotlight.graph import Graph, Node, Port, Value

STATE = ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE")  # nothing is computed
WINDOWED = ("qconv2d", "tflm_avg_pool2d", "qmax_pool2d")
MOST_PIECES = 64


@dataclass(frozen=True)
class LayerOutcome:
    """One operator of a file: in how many pieces it ran, and how many bytes were compared and wrong."""

    name: str
    pieces: int
    compared: int
    different: int


def alone(model: TfliteModel, operator: FileOperator) -> tuple[Graph, list[int]]:
    """A graph of one operator, and the tensors that it is given."""
    main = model.subgraphs[0]
    given = [k for k in dict.fromkeys(operator.inputs) if k >= 0 and main.tensors[k].data is None]
    part = FileSubgraph(**{**vars(main), "operators": (operator,), "inputs": tuple(given),
                           "outputs": tuple(operator.outputs)})
    graph = lower_tflite(replace(model, subgraphs=(part,), signatures=()), "layer")
    return graph, given


def rows_read(node: Node, first: int, last: int) -> tuple[int, int, int, int]:
    """The input rows [from, to) of output rows [first, last), and how many rows of padding there are around them."""
    if node.op not in WINDOWED:
        return first, last, 0, 0
    a, height = node.attrs, node.inputs[0].shape[1]
    start = first * a["stride"][0] - a["pad"][0]
    end = (last - 1) * a["stride"][0] - a["pad"][0] + (a["kernel"][0] - 1) * a["dilation"][0] + 1
    return max(start, 0), min(end, height), max(-start, 0), max(end - height, 0)


def piece(graph: Graph, first: int, last: int) -> tuple[Graph, tuple[int, int]]:
    """The graph of a layer for some of its output rows, and the input rows that it reads."""
    (node,) = graph.nodes
    begin, end, above, below = rows_read(node, first, last)
    made = Graph(graph.name)
    made.numerics = graph.numerics

    def part(value: Value, rows: tuple[int, int]) -> Value:
        shape = (value.shape[0], rows[1] - rows[0], *value.shape[2:])
        found = made.fresh(value.name, value.dtype, shape)
        found.quant = value.quant
        return found

    attrs = dict(node.attrs)
    if node.op == "qconv2d":
        attrs["pad"] = (above, attrs["pad"][1], below, attrs["pad"][3])
    elif node.op in WINDOWED:
        attrs |= {"pad": (above, attrs["pad"][1]), "size": (last - first, attrs["size"][1])}
    moving = {v: part(v, (begin, end)) for v in node.inputs if not v.is_constant}
    y = part(node.output, (first, last))
    made.nodes.append(Node(node.op, [moving.get(v, v) for v in node.inputs], [y], attrs, node.place))
    for port in graph.inputs:
        made.inputs.append(Port(port.name, moving[port.value], moving[port.value].shape))
    made.outputs.append(Port("y", y, y.shape))
    made.reference = graph.reference
    return made, (begin, end)


def cuts(rows: int, pieces: int) -> Iterator[tuple[int, int]]:
    size = -(-rows // pieces)
    for first in range(0, rows, size):
        yield first, min(first + size, rows)


def ran(graph: Graph, runs: Sequence[Sequence[np.ndarray]], board: str) -> list[np.ndarray]:
    """The bytes of the only output for these inputs."""
    with pl.compile(graph, board=board).open(count=False) as running:
        return [running.flat([torch.from_numpy(np.ascontiguousarray(x)) for x in row])[0].numpy() for row in runs]


def run_in_pieces(
    graph: Graph, given: list[list[np.ndarray]], board: str, pieces: int
) -> list[np.ndarray]:
    """All rows of the result, for each of the inputs; pieces that are the same graph are built once."""
    rows = graph.outputs[0].shape[1]
    alike: dict[tuple[object, ...], list[tuple[int, tuple[int, int]]]] = {}
    graphs = {}
    for first, last in cuts(rows, pieces):
        found, read = piece(graph, first, last)
        key = (last - first, read[1] - read[0], str(found.nodes[0].attrs.get("pad")))
        alike.setdefault(key, []).append((first, read))
        graphs[key] = found
    results = [np.empty(graph.outputs[0].shape, graph.outputs[0].value.dtype.numpy) for _ in given]
    for key, places in alike.items():
        runs = [[x[:, read[0] : read[1]] for x in row] for _, read in places for row in given]
        found = ran(graphs[key], runs, board)
        for number, ((first, _), k) in enumerate((place, k) for place in places for k in range(len(given))):
            part = found[number].reshape(graphs[key].outputs[0].shape)
            results[k][:, first : first + part.shape[1]] = part
    return results


def compare_layer(
    model: TfliteModel, operator: FileOperator, tensors: list[dict[int, np.ndarray]], board: str
) -> LayerOutcome:
    """`tensors` has TFLM's numbers of every tensor, for each input of the file."""
    graph, operands = alone(model, operator)
    given = [[row[k] for k in operands] for row in tensors]
    want = [row[operator.outputs[0]] for row in tensors]
    pieces = 1
    while True:
        try:
            if pieces == 1:
                found = ran(graph, given, board)
            else:
                found = run_in_pieces(graph, given, board, pieces)
            break
        except DoesNotFitError:
            pieces *= 2
            if pieces > MOST_PIECES or len(graph.nodes) != 1 or len(graph.outputs[0].shape) != 4:
                raise
    different = sum(int((a.reshape(-1) != b.reshape(-1)).sum()) for a, b in zip(found, want, strict=True))
    return LayerOutcome(operator.name, pieces, sum(w.size for w in want), different)


def tflm_tensors(model: TfliteModel, count: int, seed: int = 0) -> list[dict[int, np.ndarray]]:
    """Random inputs and what TFLM makes of them: every tensor that is computed, by its index."""
    main = model.subgraphs[0]
    made = [k for operator in main.operators for k in operator.outputs if main.tensors[k].type == "INT8"]
    every = replace(main, outputs=tuple(made))
    answers = FileAnswers(replace(model, data=with_outputs(model.data, made), subgraphs=(every, *model.subgraphs[1:])))
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        given = [rng.integers(-128, 128, main.tensors[k].shape).astype(np.int8) for k in main.inputs]
        results = answers(*(torch.from_numpy(x) for x in given))
        rows.append(dict(zip(main.inputs, given, strict=True)) | {
            k: y.numpy() for k, y in zip(made, results, strict=True)})
    return rows


def compare_layers(
    model: TfliteModel, board: str, inputs: int, first: int = 0
) -> Iterator[LayerOutcome]:
    tensors = tflm_tensors(model, inputs)
    for operator in model.subgraphs[0].operators[first:]:
        if operator.name not in STATE and all(k in tensors[0] for k in operator.outputs):
            yield compare_layer(model, operator, tensors, board)


def compare_whole(file: Path, board: str, inputs: int) -> int:
    """How many bytes of the outputs differ."""
    graph = pl.load(str(file))
    rng = np.random.default_rng(0)
    rows = [[torch.from_numpy(rng.integers(-128, 128, p.shape).astype(np.int8)) for p in graph.inputs]
            for _ in range(inputs)]
    answers = graph.truth.in_float32()
    with pl.compile(graph, board=board).open(count=False) as running:
        running.reset()
        return sum(
            int((got.reshape(-1) != want.reshape(-1)).sum())
            for row in rows for got, want in zip(running.flat(row), answers(*row), strict=True)
        )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--board", default="microbit")
    parser.add_argument("--inputs", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="the first operator")
    parser.add_argument("--whole", action="store_true", help="the file as it is")
    args = parser.parse_args()
    torch.set_num_threads(1)
    wrong = 0
    for file in args.files:
        if args.whole:
            different = compare_whole(file, args.board, args.inputs)
            print(f"{file.stem} on {args.board}: {args.inputs} inputs, {different} bytes different", flush=True)
            wrong += different
            continue
        model = parse_tflite(file.read_bytes(), file.name)
        total = layers = 0
        for number, found in enumerate(compare_layers(model, args.board, args.inputs, args.first), args.first):
            cut = f" in {found.pieces} runs of rows" if found.pieces > 1 else ""
            print(f"  {number} {found.name}{cut}: {found.different} of {found.compared:,} bytes different", flush=True)
            wrong, total, layers = wrong + found.different, total + found.compared, layers + 1
        print(f"{file.stem} on {args.board}: {layers} layers, {total:,} bytes, {args.inputs} inputs", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
