"""Keeps torch.export from taking quadratic time: it asks a signature for all parameters once per parameter.

`ExportGraphSignature.inputs_to_parameters` makes a new dictionary of all parameters each time it is read, and copying
the parameters' metadata into a traced graph reads it for each: half of the time for a network of 500 layers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from torch.export import _trace, exported_program

NAME = "_populate_param_buffer_metadata_to_new_gm"  # in both modules; other versions of PyTorch may have none


@contextlib.contextmanager
def read_once() -> Iterator[None]:
    """Inside this context, that copy reads dictionaries that were made once."""
    found = [(module, getattr(module, NAME)) for module in (_trace, exported_program) if hasattr(module, NAME)]
    for module, copy in found:
        setattr(module, NAME, _with_dictionaries(copy))
    try:
        yield
    finally:
        for module, copy in found:
            setattr(module, NAME, copy)


def _with_dictionaries(copy: Callable[..., None]) -> Callable[..., None]:
    def copied(metadata: Any, module: Any, signature: Any) -> None:
        read = {name: dict(getattr(signature, name)) for name in ("inputs_to_parameters", "inputs_to_buffers")}
        copy(metadata, module, SimpleNamespace(**read))

    return copied
