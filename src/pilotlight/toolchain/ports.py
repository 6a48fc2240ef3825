"""pl_ports.h: what the board's server has to know about one model."""

from __future__ import annotations

from collections.abc import Sequence

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
#define PL_MODEL_ENTRIES(X){_entries(folder)}
#define PL_MODEL_INPUTS(X){_rows(folder.inputs)}
#define PL_MODEL_OUTPUTS(X){_rows(folder.outputs)}
"""


def _entries(folder: ModelFolder) -> str:
    return "".join(f" \\\n    X({i}u, {entry.function})" for i, entry in enumerate(folder.entries))


def _rows(ports: Sequence[FolderPort]) -> str:
    return "".join(f" \\\n    X({i}u, {port.c_name}, {port.bytes}u)" for i, port in enumerate(ports))
