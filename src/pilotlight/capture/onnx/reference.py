"""The truth of an ONNX model: ONNX Runtime, or ONNX's own reference evaluator where that cannot run the model."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import torch
from onnx.reference import ReferenceEvaluator
from torch.utils import _pytree as pytree

from pilotlight.capture.onnx.module import OnnxBody
from pilotlight.capture.onnx.types import as_array, as_tensor
from pilotlight.capture.onnx.wide import WideSession, is_plain
from pilotlight.errors import PilotlightError
from pilotlight.graph import Answers

_FINE, _COARSE = 1e-3, 0.25
_INTEGER = ("ConvInteger", "MatMulInteger", "QGemm")
_WHOLE = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
PATIENCE = 4.0  # seconds for one run in float64


class OnnxAnswers:
    """A session of ONNX Runtime, or the evaluator: both run a dictionary of arrays."""

    def __init__(self, session: Any, names: Sequence[str], baked: Mapping[str, np.ndarray]):
        self._session, self._names, self._baked = session, names, baked

    def reset(self) -> None:
        """Nothing lasts between calls."""

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        given = [leaf for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
        feed = {name: as_array(x) for name, x in zip(self._names, given, strict=True)}
        with np.errstate(all="ignore"):
            arrays = self._session.run(None, feed | dict(self._baked))
        results = [as_tensor(np.asarray(array)) for array in arrays]
        return [x for x in results if x is not None]


class OnnxReference:
    """The model as the file has it, run by others."""

    stateful = False
    keywords: tuple[str, ...] = ()

    def __init__(self, model: onnx.ModelProto, examples: Mapping[str, torch.Tensor], baked: Mapping[str, np.ndarray]):
        self._model, self._baked = model, dict(baked)
        self._names, self.example = tuple(examples), list(examples.values())
        self._session, self.name = _runtime(model) or _evaluator(model)
        try:
            self.in_float32()(*self.example)
        except Exception as first:  # whatever a runtime raises
            self._session, self.name = _evaluator(model)
            try:
                self.in_float32()(*self.example)
            except Exception:
                reason = (str(first).strip() or type(first).__name__).splitlines()[0]
                raise PilotlightError(
                    "neither ONNX Runtime nor ONNX's reference evaluator can run the model with these inputs: "
                    f"{reason}",
                    hint="check the shapes of --input and the values of --bake", kind="wrong-input",
                ) from first

    def in_float32(self) -> Answers:
        return OnnxAnswers(self._session, self._names, self._baked)

    def in_float64(self) -> Iterator[Answers]:
        """The evaluator, for models that it computes in a moment."""
        if is_plain(self._model):
            answers = OnnxAnswers(WideSession(self._model), self._names, self._baked)
            start = time.monotonic()
            answers(*self.example)
            if time.monotonic() - start < PATIENCE:
                yield answers


def lively(
    model: onnx.ModelProto, examples: Mapping[str, torch.Tensor], baked: Mapping[str, np.ndarray]
) -> dict[str, torch.Tensor]:
    """The examples with other integers than zeros, where ONNX Runtime takes them: zeros divide nothing and show little.
    Some models take small numbers only, such as rows of a table."""
    whole = [name for name, x in examples.items() if x.dtype in _WHOLE and x.numel()]
    found = _runtime(model) if whole else None
    for most in (3, 1) if found is not None else ():
        tried = dict(examples)
        for name in whole:
            x = examples[name]
            tried[name] = (torch.arange(x.numel()) % most + 1).to(x.dtype).reshape(x.shape)
        with contextlib.suppress(Exception):  # whatever a runtime raises
            OnnxAnswers(found[0], list(tried), baked)(*tried.values())  # type: ignore[index]
            return tried
    return dict(examples)


def _runtime(model: onnx.ModelProto) -> tuple[Any, str] | None:
    """ONNX Runtime, if it is installed and takes the model. On some processors it saturates sums of products of uint8
    and int8 at 16 bits, unless it is told not to, which needs more optimizations than are good for other models."""
    products = any(n.op_type in _INTEGER or n.op_type.startswith("QLinear") for n in model.graph.node)
    for exact in (True, False) if products else (False,):
        with contextlib.suppress(Exception):  # not installed, or a model that it does not take
            import onnxruntime

            levels = onnxruntime.GraphOptimizationLevel
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.graph_optimization_level = levels.ORT_ENABLE_EXTENDED if exact else levels.ORT_ENABLE_BASIC
            options.add_session_config_entry("session.x64quantprecision", "1" if exact else "0")
            options.add_session_config_entry("session.disable_quant_qdq", "1" if exact else "0")
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
            return session, f"ONNX Runtime {onnxruntime.__version__}"
    return None


def _evaluator(model: onnx.ModelProto) -> tuple[Any, str]:
    try:
        return ReferenceEvaluator(model), f"the reference evaluator of onnx {onnx.__version__}"
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise PilotlightError(
            f"neither ONNX Runtime nor ONNX's reference evaluator takes the model: {reason}", kind="unsupported",
            hint="install ONNX Runtime with: pip install 'pilotlight[onnx]'",
        ) from error


def check_import(body: OnnxBody, reference: OnnxReference) -> None:
    """Refuse a model whose import does not compute what the truth does. Rounding may differ: by a thousandth of the
    largest number, and where numbers are quantized by a few steps."""
    with torch.no_grad():
        results = body(*reference.example)
    wanted = reference.in_float32()(*reference.example)
    rounds = any(str(getattr(part, "function", "")).startswith("quantized_decomposed") for part in body.modules())
    for number, (got, want) in enumerate(zip(results, wanted, strict=False)):
        if got.shape != want.shape or got.dtype != want.dtype or _apart(got, want) > (_COARSE if rounds else _FINE):
            raise PilotlightError(
                f"output {number} of the imported model is not what {reference.name} gives", kind="capture",
                hint="compare the nodes in the file with docs/onnx.md, and report the operator that differs",
            )


def _apart(got: torch.Tensor, want: torch.Tensor) -> float:
    """The largest distance over the largest number."""
    g, w = got.double(), want.double()
    if not bool((g.isfinite() == w.isfinite()).all()):
        return np.inf
    g, w = g[w.isfinite()], w[w.isfinite()]
    if not w.numel():
        return 0.0
    return float((g - w).abs().max()) / max(float(w.abs().max()), 1e-6)
