"""Other runtimes on this computer, each as a function that runs a network once, on one thread.

A runtime that is not installed raises ImportError; one that cannot run the network raises its own error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

Run = Callable[[], Any]
Answer = Callable[[Any], np.ndarray]


@dataclass(frozen=True)
class Network:
    """What every runtime is given."""

    model: torch.nn.Module
    x: torch.Tensor
    samples: list[torch.Tensor]  # for calibration
    lite: Path | None  # the int8 .tflite of the same network
    folder: Path  # to write files to


def real(result: Any) -> np.ndarray:
    return np.asarray(result, np.float32).ravel()


def eager(net: Network, mode: str) -> tuple[Run, Answer]:
    if mode != "float32":
        raise NotImplementedError("has no int8 kernels that take the exported model")
    return torch.no_grad()(lambda: net.model(net.x)), real


def executorch(net: Network, mode: str, xnnpack: bool) -> tuple[Run, Answer]:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from executorch.extension.pybindings import portable_lib
    from executorch.runtime import Runtime

    if mode == "int8" and not xnnpack:
        raise NotImplementedError("its portable kernels compute in float")
    portable_lib._unsafe_reset_threadpool(1)
    with torch.no_grad():
        program = torch.export.export(net.model, (net.x,))
        if mode == "int8":
            program = torch.export.export(_quantized(program, net.samples), (net.x,))
        partitioners = [XnnpackPartitioner()] if xnnpack else []
        lowered = to_edge_transform_and_lower(program, partitioner=partitioners).to_executorch()
    buffer = lowered.buffer  # stays where it is: the program reads its weights there
    method = Runtime.get().load_program(buffer).load_method("forward")
    return (lambda: method.execute((net.x,)) if buffer else None), lambda result: real(result[0])


def _quantized(program: torch.export.ExportedProgram, samples: list[torch.Tensor]) -> torch.nn.Module:
    """With XNNPACK's own quantizer."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(program.module(), quantizer)
    for sample in samples:
        prepared(sample)
    return convert_pt2e(prepared)


def onnx_runtime(net: Network, mode: str) -> tuple[Run, Answer]:
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    path = net.folder / "float32.onnx"
    if not path.exists():
        torch.onnx.export(net.model, (net.x,), str(path), input_names=["x"], verbose=False)
    if mode == "int8":
        path = _quantized_onnx(path, net.samples)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    x = net.x.numpy()
    return (lambda: session.run(None, {"x": x})), lambda result: real(result[0])


def _quantized_onnx(path: Path, samples: list[torch.Tensor]) -> Path:
    from onnxruntime import quantization as q

    class Reader(q.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.rows: Iterator[torch.Tensor] = iter(samples)

        def get_next(self) -> dict[str, np.ndarray] | None:
            row = next(self.rows, None)
            return None if row is None else {"x": row.numpy()}

    target = path.with_name("int8.onnx")
    q.quantize_static(
        str(path), str(target), Reader(), quant_format=q.QuantFormat.QDQ, per_channel=True,
        activation_type=q.QuantType.QInt8, weight_type=q.QuantType.QInt8,
    )
    return target


def litert(net: Network, mode: str) -> tuple[Run, Answer]:
    from ai_edge_litert.interpreter import Interpreter

    if mode == "float32":
        import litert_torch  # not among the bench packages: it replaces some that PyTorch's tools need

        path = net.folder / "float32.tflite"
        litert_torch.convert(net.model, (net.x,)).export(str(path))
    elif net.lite is None:
        raise NotImplementedError("there is no int8 .tflite of this network")
    else:
        path = net.lite
    interpreter = Interpreter(model_path=str(path), num_threads=1)
    interpreter.allocate_tensors()
    (source,), (target,) = interpreter.get_input_details(), interpreter.get_output_details()
    x = net.x.permute(0, 2, 3, 1) if net.x.ndim == 4 and tuple(source["shape"]) != tuple(net.x.shape) else net.x
    values = x.reshape(tuple(source["shape"])).contiguous().numpy()
    if source["dtype"] != np.float32:
        scale, zero = source["quantization"]
        values = np.clip(np.rint(values / scale) + zero, -128, 127).astype(source["dtype"])

    def run() -> np.ndarray:
        interpreter.set_tensor(source["index"], values)
        interpreter.invoke()
        return interpreter.get_tensor(target["index"])

    def answer(result: np.ndarray) -> np.ndarray:
        scale, zero = target["quantization"]
        return real(result) if result.dtype == np.float32 else (real(result) - zero) * scale

    return run, answer


RUNTIMES: dict[str, Callable[[Network, str], tuple[Run, Answer]]] = {
    "torch eager": eager,
    "ExecuTorch portable": lambda net, mode: executorch(net, mode, xnnpack=False),
    "ExecuTorch XNNPACK": lambda net, mode: executorch(net, mode, xnnpack=True),
    "ONNX Runtime": onnx_runtime,
    "LiteRT": litert,
}
