"""Several entry points of one module → Program.

They are given as a dictionary: `{"prefill": (net.prefill, (tokens,)), "decode": (net.decode, (token,))}`. An entry is
(what to call, example inputs), with keyword arguments as a third element if there are any and dynamic shapes as a
fourth. What is called is a module, or a method of it; all belong to the same module, whose parameters and buffers they
share.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MethodType
from typing import Any

from torch import nn

from pilotlight.capture.agreement import check_entries
from pilotlight.capture.calls import check_call
from pilotlight.capture.eager import FORWARD, Eager
from pilotlight.capture.exported import decomposed, export_known, import_program
from pilotlight.capture.sequence import EntriesReference
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph, Program
from pilotlight.graph.names import port_names

_FORMS = "write (method, example_inputs), (method, args, kwargs) or (method, args, kwargs, dynamic_shapes)"
_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)


@dataclass(frozen=True)
class EntryPoint:
    """What to call, and with what."""

    module: nn.Module
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dynamic_shapes: Any = None


def entry_points(given: Mapping[str, Any], what: str) -> dict[str, EntryPoint]:
    """The dictionary, checked; `what` it is of."""
    if not given:
        raise PilotlightError(f"{what} is an empty dictionary; expected entry points", hint=_FORMS, kind="usage")
    found: dict[str, EntryPoint] = {}
    for name, item in given.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise PilotlightError(
                f"{what} has an entry point called {name!r}; expected a name of letters, digits and underscores",
                hint="it becomes a part of the names in C: NAME_prefill_run", kind="usage",
            )
        found[name] = _entry_point(item, f"entry point {name!r} of {what}")
    first, *others = found.items()
    for name, entry in others:
        if entry.module is not first[1].module:
            raise PilotlightError(
                f"the entry points {first[0]!r} and {name!r} of {what} belong to different modules; they can only "
                "share what is in one", hint="make both methods of one torch.nn.Module", kind="usage",
            )
    lower = [name.lower() for name in found]
    if len(set(lower)) != len(lower) or port_names(found) != list(found):
        raise PilotlightError(
            f"the names of the entry points of {what} are too long, or differ only in upper and lower case",
            hint="choose other names", kind="usage",
        )
    return found


def _entry_point(item: Any, what: str) -> EntryPoint:
    if not isinstance(item, tuple) or not 2 <= len(item) <= 4:
        shown = f"a tuple of {len(item)}" if isinstance(item, tuple) else f"a {type(item).__name__}"
        raise PilotlightError(f"{what} is {shown}; expected what to call and its example inputs", hint=_FORMS,
                              kind="usage")
    target, args, kwargs, shapes = (*item, None, None)[:4]
    if isinstance(target, nn.Module):
        module, method = target, FORWARD
    elif isinstance(target, MethodType) and isinstance(target.__self__, nn.Module) \
            and getattr(target.__self__, target.__name__, None) == target:
        module, method = target.__self__, target.__name__
    else:
        raise PilotlightError(
            f"{what} calls a {type(target).__name__}; expected a torch.nn.Module or a method of one",
            hint="write (net.prefill, example_inputs), where net is the module", kind="usage",
        )
    if kwargs is not None and (not isinstance(kwargs, Mapping) or not all(isinstance(key, str) for key in kwargs)):
        raise PilotlightError(f"{what} has keyword arguments of type {type(kwargs).__name__}; expected a dictionary",
                              hint=_FORMS, kind="usage")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    check_call(getattr(module, method), f"{type(module).__name__}.{method}", args, kwargs or {})
    return EntryPoint(module, method, args, dict(kwargs or {}), shapes)


def capture_entries(entries: Mapping[str, EntryPoint], name: str) -> Program:
    """The entry points as graphs; a buffer that one of them changes is a state in all that read it."""
    original: nn.Module | None = None
    eagers: dict[str, Eager] = {}
    for entry, point in entries.items():
        eagers[entry] = Eager(point.module, point.args, point.kwargs, point.method, original)
        original = eagers[entry].original
    programs, functional = {}, {}
    for entry, point in entries.items():
        with _of_entry(entry):
            programs[entry] = export_known(eagers[entry], point.args, point.kwargs, point.dynamic_shapes)
            functional[entry] = decomposed(programs[entry])
    changed = {target for p in functional.values() for target in p.graph_signature.buffers_to_mutate.values()}
    graphs = {}
    for entry in entries:
        with _of_entry(entry):
            graphs[entry] = import_program(
                programs[entry], functional[entry], f"{name}_{entry}", eagers[entry], changed
            )
    if changed:
        _refuse_integers(graphs)
        check_entries(eagers, functional, graphs)
    reference = EntriesReference(eagers, programs, stateful=bool(changed))
    return Program(name, graphs, reference)


def _refuse_integers(graphs: Mapping[str, Graph]) -> None:
    """Entry points that change a state together have no reference in integers."""
    for entry, graph in graphs.items():
        if graph.quantization is not None:
            raise PilotlightError(
                f"entry point {entry} is quantized, and entry points of this model change its buffers; such a model is "
                "compiled in float only", hint="give the float module", kind="unsupported",
            )


@contextlib.contextmanager
def _of_entry(entry: str) -> Iterator[None]:
    """An error says which entry point it is of."""
    try:
        yield
    except PilotlightError as error:
        error.where = ", ".join(part for part in (f"entry point {entry}", error.where) if part)
        raise
