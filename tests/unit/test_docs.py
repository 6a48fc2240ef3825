"""The pages are complete: every page is in the index, every public name in the reference, and every link works."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
import yaml

import pilotlight as pl
from support.paths import ROOT

FOLDERS = (".", "docs", "docs/projects", "benchmarks")
PAGES = sorted(path.relative_to(ROOT) for top in FOLDERS for path in (ROOT / top).glob("*.md"))
LINK = re.compile(r"\]\(([^)#\s]+)")


def links(page: Path) -> set[Path]:
    """Files that a page links to."""
    found = LINK.findall((ROOT / page).read_text())
    return {(ROOT / page.parent / link).resolve() for link in found if "://" not in link}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_to_files(page: Path) -> None:
    assert [str(path) for path in links(page) if not path.exists()] == []


def test_the_index_has_every_page() -> None:
    pages = {ROOT / page for page in PAGES if page.parts[0] in ("docs", "benchmarks")}
    assert pages - {ROOT / "docs" / "index.md"} <= links(Path("docs/index.md"))


def test_the_site_has_every_page_once() -> None:
    def flat(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        assert isinstance(entry, list | dict)
        inner = entry.values() if isinstance(entry, dict) else entry
        return [page for item in inner for page in flat(item)]

    nav = flat(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    assert sorted(nav) == sorted(p.relative_to("docs").as_posix() if p.parts[0] == "docs" else p.as_posix()
                                 for p in PAGES if p.name != "README.md")


def test_the_reference_has_every_public_name() -> None:
    """By the module that has it, so that a name that moves takes its entry along."""
    page = (ROOT / "docs" / "api.md").read_text()
    entries = re.findall(r"^::: ([\w.]+)\n    options:\n      heading: pl\.(\w+)$", page, re.MULTILINE)
    assert sorted(name for _, name in entries) == sorted(pl.__all__)
    for path, name in entries:
        owner, _, last = path.rpartition(".")
        found = getattr(importlib.import_module(owner), last)
        assert last == name and found.__module__.startswith(owner) and found.__doc__
