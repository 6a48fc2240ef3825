"""A report page, parsed."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "br", "wbr", "input"}


class Page(HTMLParser):
    """Checks that every tag is closed; collects the rows of tables, the buffers of the picture, the script's data."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.boxes: list[dict[str, str | None]] = []
        self.ids: list[str] = []
        self.data: dict[str, Any] = {}
        self.feed(text)
        assert self.open == [] and len(self.ids) == len(set(self.ids))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in found:
            self.ids.append(str(found["id"]))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "rect" and "box" in (found.get("class") or ""):
            self.boxes.append(found)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag == "line"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "tr" in self.open and ("td" in self.open or "th" in self.open):
            self.rows[-1][-1] += data
        if self.open and self.open[-1] == "script" and data.startswith("{"):
            self.data = json.loads(data)
