"""Writes the generated part of the C module: tables from PyTorch's schemas, loops from the pointwise rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pilotlight.kernels.text import kernel_source
from pilotlight.micropython.operators import kernels
from pilotlight.micropython.rows import rows_header, rows_source
from pilotlight.micropython.schemas import CFunction
from pilotlight.micropython.tables import header, operator_tables

TYPED_KERNELS = (  # headers generated from templates
    "avg_pool3d_f32", "conv3d_f32", "cumprod_f32", "cumprod_i64", "max_pool3d_f32", "sort_f32", "sort_i64",
)


def generate(folder: Path, chosen: Mapping[str, CFunction] | None = None, *, alone: bool = False) -> None:
    """Write `generated/` into a folder of the build, with all operators or with a selection.

    `alone`: there is no Python part, and the C module is called torch.
    """
    target = folder / "generated"
    target.mkdir(parents=True, exist_ok=True)
    tables = operator_tables(kernels() if chosen is None else chosen)
    _write(target / "rows.h", rows_header())
    guarded = f"#ifndef PT_TABLES_H\n#define PT_TABLES_H\n\n{header(tables, alone)}\n#endif\n"
    _write(target / "tables.h", f"/* Generated from PyTorch's schemas. */\n{guarded}")
    _write(target / "tables.c", f'#include "tensor.h"\n#include "generated/rows.h"\n\n{tables.source}')
    _write(target / "rows.c", rows_source())
    for name in TYPED_KERNELS:
        _write(target / f"{name}.h", kernel_source(name))


def _write(path: Path, text: str) -> None:
    """Leave an unchanged file untouched, so that nothing is rebuilt for it."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8", newline="\n")
