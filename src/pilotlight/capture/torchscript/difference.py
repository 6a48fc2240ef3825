"""Where a model in Python first differs from the TorchScript module that it was made from."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from pilotlight.capture.agreement import CALLS, departure
from pilotlight.capture.eager import Eager
from pilotlight.capture.frames import ARCHIVED, shown
from pilotlight.capture.reference import one_thread, variations
from pilotlight.errors import PilotlightError

Rows = list[list[torch.Tensor]]


class _Steps(TorchDispatchMode):
    """Every operator with its result and, where the archive's functions are run in Python, the line."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[str, list[torch.Tensor], str]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not func.is_view:
            tensors = [x.detach().clone() for x in pytree.tree_leaves(result) if isinstance(x, torch.Tensor)]
            self.steps.append((func._schema.name, tensors, _line()))
        return result


def _line() -> str:
    frame = sys._getframe()
    while frame.f_back is not None:
        if ARCHIVED in frame.f_code.co_filename:
            return shown(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return ""


def difference(model: Eager, truth: Eager) -> PilotlightError | None:
    """Call both with an example and variations of it; what to say if they differ."""
    rows = [truth.example, *variations(truth.example, CALLS - 1)]
    with one_thread():
        right, left = truth.start(), model.start()
        for call, row in enumerate(rows):
            try:
                want = right(*row)
            except PilotlightError:
                return None  # it takes only some inputs
            place = departure([left(*row)], [want])
            if place is not None:
                return _described(call, place[1], _first(model, truth, rows[: call + 1]))
    return None


def _first(model: Eager, truth: Eager, rows: Rows) -> str:
    """The operator and line whose result is the first that differs, if that can be told."""
    right, left = truth.start(), model.start()
    for row in rows:
        with _Steps() as wanted:
            right(*row)
        with _Steps() as given:
            left(*row)
    common = [[s for s in steps if s[0] not in ("aten::clone", "aten::copy_")] for steps in (given.steps, wanted.steps)]
    for (name, got, line), (other, want, _) in zip(*common, strict=False):
        if name != other or departure([got], [want]) is not None:
            return f"{name} at {line}" if line else name
    return ""


def _described(call: int, output: int, place: str) -> PilotlightError:
    return PilotlightError(
        f"output {output} of call {call + 1} is not what the TorchScript module itself gives, when its functions are "
        "run in Python" + (f"; the first result that differs is that of {place}" if place else ""),
        hint="state that is None or empty before the first call must start with zeros or with what is first assigned "
        "to it; or give the model's own Python, file.py:name", kind="capture",
    )


def one_tensor(script: Any, attributes: dict[str, set[str]]) -> PilotlightError | None:
    """What to say of a module that differs and has one tensor under two names: writes to it reach only one of them."""
    names: dict[int, list[str]] = {}
    for path, part in [("", script), *_submodules(script, "")]:
        for name in sorted(attributes.get(part._type().qualified_name(), set())):
            value = part.getattr(name)
            if isinstance(value, torch.Tensor) and value.numel():
                names.setdefault(value.untyped_storage().data_ptr(), []).append(f"{path}{name}")
    shared = next((found for found in names.values() if len(found) > 1), None)
    if shared is None:
        return None
    return PilotlightError(
        f"the attributes {' and '.join(map(repr, shared))} of the TorchScript model are one tensor, which the model "
        "writes to; a compiled model keeps them apart",
        hint="use one of the names only, and save the model again; or give its Python: file.py:name", kind="capture",
    )


def _submodules(script: Any, path: str) -> list[tuple[str, Any]]:
    found = []
    for name, part in torch._C.ModuleDict(script).items():
        found += [(f"{path}{name}.", part), *_submodules(part, f"{path}{name}.")]
    return found


def failed(error: Exception, where: str | None) -> PilotlightError:
    """The module runs, but its functions in Python do not."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return PilotlightError(
        f"this part of the TorchScript model is not supported: {type(error).__name__}: {reason}", where=where,
        hint="write that part in another way and save the model again, or give its Python: file.py:name",
        kind="unsupported",
    )

