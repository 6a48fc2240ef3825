"""The files of a compiled model, in a table."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from pilotlight.report.style import QUIET, number, table


def files_table(rows: list[dict[str, Any]], folder: str) -> Table:
    result = table()
    result.add_column(f"{folder}/", no_wrap=True)
    result.add_column("bytes", justify="right")
    result.add_column("", style=QUIET)
    for row in rows:
        result.add_row(row["file"], number(row["bytes"]), row["what"])
    return result
