"""A hook of mkdocs: pages that are not in docs/ become pages of the site too, and links to them lead there."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "benchmarks").glob("*.md"))]
_LINK = re.compile(r"\]\(([^)#\s]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path in OUTSIDE:
        files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A link is written as it is in the tree; the site has the pages of docs/ and the others side by side."""
    name = page.file.src_uri
    source = ROOT / name if (ROOT / name) in OUTSIDE else ROOT / "docs" / name

    def moved(link: re.Match[str]) -> str:
        target = (source.parent / link[1]).resolve()
        for top in (ROOT / "docs", ROOT):
            if target.is_relative_to(top) and files.get_file_from_path(place := target.relative_to(top).as_posix()):
                return f"]({'../' * name.count('/')}{place}"
        return link[0]

    return _LINK.sub(moved, markdown)
