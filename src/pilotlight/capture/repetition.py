"""Keeps torch.export from doing the same thing again and again.

`ExportGraphSignature.inputs_to_parameters` makes a new dictionary of all parameters each time it is read, and copying
the parameters' metadata into a traced graph reads it for each: half of the time for a network of 500 layers. And all
composite operators are looked up anew for each of the dispatcher's 33 namespaces: a third of the time for a small one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

from torch._export import utils
from torch.export import _trace, exported_program

LOOK_UP = "_materialize_cpp_cia_ops"
NAME = "_populate_param_buffer_metadata_to_new_gm"  # in both modules; other versions of PyTorch may have none


@contextlib.contextmanager
def done_once() -> Iterator[None]:
    """Inside this context, that copy reads dictionaries that were made once, and operators are looked up once."""
    found = [(module, getattr(module, NAME)) for module in (_trace, exported_program) if hasattr(module, NAME)]
    look_up = getattr(utils, LOOK_UP, None)
    for module, copy in found:
        setattr(module, NAME, _with_dictionaries(copy))
    if look_up is not None:
        setattr(utils, LOOK_UP, cache(look_up))
    try:
        yield
    finally:
        for module, copy in found:
            setattr(module, NAME, copy)
        if look_up is not None:
            setattr(utils, LOOK_UP, look_up)


def _with_dictionaries(copy: Callable[..., None]) -> Callable[..., None]:
    def copied(metadata: Any, module: Any, signature: Any) -> None:
        read = {name: dict(getattr(signature, name)) for name in ("inputs_to_parameters", "inputs_to_buffers")}
        copy(metadata, module, SimpleNamespace(**read))

    return copied
