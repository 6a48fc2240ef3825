"""TorchScript archives under both Pythons: calls as text, and results as text that can be compared."""

from __future__ import annotations

import math
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from support.micropython_scripts import output

# Runs in CPython and in MicroPython: a value as a Python expression of its types and parts.
CANON = """
def canon(v):
    if isinstance(v, torch.Tensor):
        kind, v, shape = str(v.dtype), v.detach().reshape(-1), list(v.shape)
        return "('T', %r, %r, %s)" % (kind, shape, canon((v.float() if "float" in kind else v).tolist()))
    if v is None or v is True or v is False:
        return str(v)
    if isinstance(v, dict):
        return "('D', [" + ", ".join(["(%s, %s)" % (canon(k), canon(x)) for k, x in v.items()]) + "])"
    if isinstance(v, list):
        return "[" + ", ".join([canon(x) for x in v]) + "]"
    if isinstance(v, tuple):
        return "(%r, " % type(v).__name__ + ", ".join([canon(x) for x in v]) + ",)"
    if isinstance(v, float):
        return "float(%r)" % str(v)
    if isinstance(v, int):
        return str(v)
    return "(%r, %s)" % ("text" if isinstance(v, str) else type(v).__name__, [ord(c) for c in str(v)])

def tried(call):
    try:
        return canon(call())
    except Exception as error:
        return "('raises', %r)" % last_line(str(error))

def last_line(text):
    lines = [line for line in text.split("\\n") if line.strip()]
    line = lines[-1] if "TorchScript interpreter" in text else lines[0] if lines else ""
    return line.replace("RuntimeError: ", "").split(" Declaration: ")[0].split(" Schema: ")[0]
"""


def saved(module: nn.Module, path: Path, *example: torch.Tensor) -> Path:
    """Scripted, or traced where there is an example."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit says that it is deprecated
        made = torch.jit.trace(module.eval(), example, strict=False) if example else torch.jit.script(module.eval())
        torch.jit.save(made, path)
    return path


def truth(path: Path, calls: Sequence[str]) -> list[str]:
    """What PyTorch's own run of the archive gives: `m` is the module, the calls follow each other."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        space: dict[str, Any] = {"torch": torch, "m": torch.jit.load(path), "OrderedDict": OrderedDict}
        exec(CANON, space)
        return [str(eval(f"tried(lambda: {call})", space)) for call in calls]


def script(path: str, calls: Sequence[str]) -> str:
    """The same calls for MicroPython; a line for each."""
    head = f"import torch\nfrom collections import OrderedDict\n{CANON}\nm = torch.jit.load({path!r})\n"
    return head + "".join(f"print(tried(lambda: {call}))\n" for call in calls)


def is_close(want: Any, got: Any, tolerance: float) -> bool:
    """Types and structure are the same, floats within a tolerance of the largest in a list."""
    if type(want) is not type(got):
        return False
    if isinstance(want, (list, tuple)):
        if want and isinstance(want, list) and all(isinstance(v, float) for v in [*want, *got]):
            scale = max([1.0, *(abs(v) for v in want if math.isfinite(v))])
            return len(want) == len(got) and all(
                a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance * scale
                for a, b in zip(want, got, strict=True)
            )
        return len(want) == len(got) and all(is_close(a, b, tolerance) for a, b in zip(want, got, strict=True))
    if isinstance(want, float):
        return want == got or (math.isnan(want) and math.isnan(got)) or abs(want - got) <= tolerance * max(1, abs(want))
    return bool(want == got)


def differences(path: Path, calls: Sequence[str], said: Sequence[str], tolerance: float = 2e-6) -> list[str]:
    """The calls for which what MicroPython printed is not PyTorch's answer."""
    wanted = truth(path, calls)
    assert len(said) == len(calls), said[-3:]
    return [
        f"{call}: PyTorch gives {want[:200]}, MicroPython {got[:200]}"
        for call, want, got in zip(calls, wanted, said, strict=True)
        if not is_close(eval(want), eval(got), tolerance)
    ]


def agree(path: Path, calls: Sequence[str], tolerance: float = 2e-6) -> None:
    """The calls, one after another, have the same results under both."""
    said = output(script(path.name, calls), cwd=path.parent).splitlines()
    wrong = differences(path, calls, said, tolerance)
    assert not wrong, "\n".join(wrong)
