"""Mutated ONNX files through the importer.

    python -m support.fuzz_onnx [--count 100000] [--first 0] [--jobs 2]

Every file must give a module or one of our sentences: no crash, no other exception, no more than TIMEOUT seconds and
no more memory than MEMORY for files of a few KB. Bytes are changed, cut and copied; every other file is changed where
its fields are: numbers, names, types, shapes, nodes in another order. A file that fails has a number:
`--first NUMBER --count 1` makes it again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import signal
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto

from pilotlight.capture.onnx.file import normalized, read_model
from pilotlight.capture.onnx.importer import imported
from pilotlight.capture.onnx.inputs import ports, read_baked, read_examples
from pilotlight.capture.onnx.support import check_operators
from pilotlight.errors import PilotlightError
from support import onnx_models as make

TIMEOUT = 20
MEMORY = 2 << 30
BATCH = 250
NUMBERS = (0, 1, -1, 2, 3, 127, 128, 255, 65535, 1 << 20, 1 << 31, -(1 << 31), (1 << 31) - 1, 1 << 40, (1 << 63) - 1,
           -(1 << 63))


class StuckError(BaseException):
    """It took too long."""


def corpus() -> list[bytes]:
    """Small models with most kinds of fields: constants, attributes, subgraphs, quantized tensors."""
    node = make.node
    branch = [onnx.helper.make_graph([node("Mul", ["x", "x"], [name])], name, [],
                                     [onnx.helper.make_tensor_value_info(name, 1, [3])]) for name in ("t", "e")]
    shapes = [node("Shape", ["x"], ["s"]), node("Slice", ["s", "zero", "one"], ["n"]),
              node("Concat", ["n", "rest"], ["to"], axis=0), node("Reshape", ["x", "to"], ["r"]),
              node("Expand", ["r", "wide"], ["w"]), node("Tile", ["w", "wide"], ["y"])]
    lists = {"zero": np.array([0]), "one": np.array([1]), "rest": np.array([-1]), "wide": np.array([2, 1])}
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    models = [
        make.small_net(), make.small_net(13), make.model(shapes, {"x": [2, 3]}, {"y": [4, 3]}, lists),
        make.model([node("MaxPool", ["x"], ["p"], **window), node("AveragePool", ["p"], ["q"], **window),
                    node("Resize", ["q", "", "two"], ["y"], mode="linear")], {"x": [1, 2, 8, 8]}, {"y": [1, 2, 4, 4]},
                   {"two": np.array([1, 1, 2, 2], np.float32)}),
        make.model([node("Greater", ["m", "limit"], ["c"]), node("If", ["c"], ["y"], then_branch=branch[0],
                    else_branch=branch[1])], {"x": [3], "m": []}, {"y": [3]}, {"limit": np.array(0, np.float32)}),
        make.model([node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]),
                    node("DequantizeLinear", ["w", "s"], ["v"]), node("MatMul", ["d", "v"], ["y"])],
                   {"x": [2, 4]}, {"y": [2, 3]},
                   {"s": np.array(0.1, np.float32), "z": np.array(3, np.uint8), "w": np.ones((4, 3), np.int8)}),
        make.model([node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2)], {"x": [3, 1, 2]}, {"y": [3, 1, 1, 2]},
                   {"w": make.noise(0, 1, 8, 2), "r": make.noise(1, 1, 8, 2)}),
        make.model([node("LayerNormalization", ["x", "g"], ["n"]), node("Softmax", ["n"], ["p"]),
                    node("TopK", ["p", "k"], ["v", "y"])], {"x": [2, 4]}, {"y": (TensorProto.INT64, [2, 2])},
                   {"g": np.ones(4, np.float32), "k": np.array([2])}),
    ]
    return [model.SerializeToString() for model in models]


def mutated(files: list[bytes], number: int) -> bytes:
    chance = random.Random(number)
    data = chance.choice(files)
    return _bytes(bytearray(data), chance) if number % 2 else _fields(data, chance)


def _bytes(data: bytearray, chance: random.Random) -> bytes:
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(data)) if data else 0
        kind = chance.randrange(6)
        if kind == 0 and data:
            data[at] = chance.getrandbits(8)
        elif kind == 1 and data:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 2:
            del data[at : at + chance.randrange(1, 9)]
        elif kind == 3:
            data[at:at] = bytes(chance.getrandbits(8) for _ in range(chance.randrange(1, 9)))
        elif kind == 4:
            data = data[: at + 1]
        else:
            start = chance.randrange(len(data)) if data else 0
            data[at:at] = data[start : start + chance.randrange(1, 33)]
    return bytes(data)


def _fields(data: bytes, chance: random.Random) -> bytes:
    """Changes to what a field of the model, or of a message inside it, holds."""
    model = onnx.ModelProto.FromString(data)
    for _ in range(chance.randrange(1, 4)):
        holders = list(_messages(model))
        message = chance.choice(holders)
        fields = [field for field, _ in message.ListFields()]
        if fields:
            _change(message, chance.choice(fields), chance, holders)
    return model.SerializeToString()


def _messages(message: Any) -> Any:
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for item in value if field.is_repeated else [value]:
                yield from _messages(item)


def _change(message: Any, field: Any, chance: random.Random, holders: list[Any]) -> None:
    value = getattr(message, field.name)
    if field.is_repeated:
        at = chance.randrange(len(value))
        if chance.randrange(3) == 0:
            del value[at]
        elif field.message_type is not None:
            value.add().CopyFrom(value[at])
        elif field.cpp_type == field.CPPTYPE_STRING:
            value[at] = _text(value[at], chance, holders)
        else:
            value[at] = _number(field, chance)
    elif field.message_type is not None:
        message.ClearField(field.name)
    elif field.cpp_type == field.CPPTYPE_STRING:
        setattr(message, field.name, _text(value, chance, holders))
    else:
        setattr(message, field.name, _number(field, chance))


def _text(old: Any, chance: random.Random, holders: list[Any]) -> Any:
    if isinstance(old, bytes):
        return bytes(chance.getrandbits(8) for _ in range(chance.choice((0, 1, len(old), len(old) + 1))))
    names = [m.name for m in holders if getattr(m, "name", "")] + [m.op_type for m in holders if hasattr(m, "op_type")]
    return chance.choice([*names, "", "x" * 40, "/../..", "Loop", "Gather"])


def _number(field: Any, chance: random.Random) -> Any:
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return chance.choice((0.0, -1.0, 1e30, -1e30, float("nan"), float("inf"), 0.5))
    if field.enum_type is not None:
        return chance.choice(list(field.enum_type.values_by_number))
    value = chance.choice(NUMBERS)
    small = field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_UINT32)
    value = max(min(value, (1 << 31) - 1), -(1 << 31)) if small else value
    if field.cpp_type in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64):
        value = abs(value)
    return value


def outcome(path: Path) -> str:
    """What becomes of a file: "imported", or the kind of the error."""
    try:
        model = normalized(read_model(path), path)
        check_operators(model)
        wanted = ports(model.graph)
        baked = read_baked(wanted, {"axes": [2, 3]} if "axes" in wanted else {}, path)
        left = {name: port for name, port in wanted.items() if name not in baked}
        given = ["x=1x3x8x8"] if "axes" in wanted else []
        imported(model.graph, read_examples(left, given, path), baked)
    except PilotlightError as error:
        assert error.message and "\n\n" not in error.message
        return error.kind
    return "imported"


def _late(*_: Any) -> None:
    raise StuckError


def run(first: int, count: int) -> Counter[str]:
    """Outcomes of some files; raises what is none of ours, with the number of the file."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, _late)
    files, found = corpus(), Counter[str]()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + MEMORY
    with tempfile.TemporaryDirectory(prefix="pilotlight-") as folder:
        path = Path(folder) / "net.onnx"
        for number in range(first, first + count):
            path.write_bytes(mutated(files, number))
            signal.alarm(TIMEOUT)
            try:
                found[outcome(path)] += 1
            except BaseException as error:
                raise RuntimeError(f"file {number}: {type(error).__name__}: {error}") from error
            finally:
                signal.alarm(0)
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > most:
                raise RuntimeError(f"file {number}: more than {MEMORY:,} bytes of memory")
    return found


def _child(first: int, count: int, answers: Any) -> None:
    try:
        answers.put((first, run(first, count)))
    except Exception as error:
        answers.put((first, str(error)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz_onnx", description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    starts = list(range(args.first, args.first + args.count, BATCH))
    total, failures, children = Counter[str](), [], {}
    while starts or children:
        while starts and len(children) < args.jobs:
            start = starts.pop(0)
            size = min(BATCH, args.first + args.count - start)
            children[start] = context.Process(target=_child, args=(start, size, answers))
            children[start].start()
        for start, child in list(children.items()):
            child.join(0.2)
            if child.exitcode is not None:
                del children[start]
                if child.exitcode:
                    failures.append(f"a file from {start} on: the process ended with {child.exitcode}")
        while not answers.empty():
            start, found = answers.get()
            if isinstance(found, str):
                failures.append(found)
                print(found, file=sys.stderr, flush=True)
            total.update(found if isinstance(found, Counter) else {})
            print(f"{total.total():,} files, {len(failures)} failures", file=sys.stderr, flush=True)
    print(", ".join(f"{count:,} {kind}" for kind, count in total.most_common()))
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
