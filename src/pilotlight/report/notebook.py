"""What a terminal shows, for notebooks."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType

WIDTH = 110


def as_html(*parts: RenderableType) -> str:
    """The same tables and colours as HTML."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for part in parts:
        console.print(part)
    return console.export_html(inline_styles=True, code_format='<pre style="line-height:1.3">{code}</pre>')
