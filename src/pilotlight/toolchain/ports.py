"""pl_ports.h: what the board's server has to know about one model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pilotlight.toolchain.folder import FolderPort, ModelFolder


def ports_header(folder: ModelFolder) -> str:
    name, upper = folder.name, folder.name.upper()
    weights = f"{name}_weights" if folder.weights_bytes else "0"
    return f"""#include "{name}.h"

typedef {name}_t pl_model_t;
#define PL_MODEL_ARENA_SIZE {upper}_ARENA_SIZE
#define PL_MODEL_STATE_SIZE {upper}_STATE_SIZE
#define PL_MODEL_ALIGN {upper}_ALIGN
#define PL_MODEL_WEIGHTS {weights}
#define PL_MODEL_RESET {name}_reset
#define PL_MODEL_BUILD {folder.build_id:#010x}u
#define PL_MODEL_STEPS {len(folder.ops)}u
#define PL_MODEL_LINES(X){_lines(folder)}
#define PL_MODEL_ENTRIES(X){_entries(folder)}
#define PL_MODEL_INPUTS(X){_rows(folder.inputs)}
#define PL_MODEL_OUTPUTS(X){_rows(folder.outputs)}
"""


def description(folder: ModelFolder) -> Iterator[str]:
    """What a board says about the model it holds, line by line, each a list in JSON."""
    yield json.dumps(["model", folder.name])
    for entry in folder.entries:
        yield json.dumps(["entry", entry.name, len(entry.ops)])
        for kind, ports in (("input", entry.inputs), ("output", entry.outputs)):
            for port in ports:
                yield json.dumps([kind, port.name, port.dtype.name, list(port.c_shape)])


def _lines(folder: ModelFolder) -> str:
    return "".join(f" \\\n    X({_quoted(line)})" for line in description(folder))


def _quoted(text: str) -> str:
    """As a string of C; JSON has no characters that are not ASCII."""
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return f'"{inner}"'


def _entries(folder: ModelFolder) -> str:
    return "".join(f" \\\n    X({i}u, {entry.function})" for i, entry in enumerate(folder.entries))


def _rows(ports: Sequence[FolderPort]) -> str:
    return "".join(f" \\\n    X({i}u, {port.c_name}, {port.bytes}u)" for i, port in enumerate(ports))
