"""The deviation record: the table in docs/misra.md, of rules that are not kept in certain places, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from misra.checker import Finding
from support.paths import ROOT

PAGE = ROOT / "docs" / "misra.md"
_ROW = re.compile(r"\| (\d+\.\d+) \| `(.+?)` \| (.+?) \|")
# Rules that have to be kept: no row may name them.
MENDED = re.compile(r"7\.3|10\.\d+|12\.[13]|14\.4|15\.\d+|17\.8")


@dataclass(frozen=True)
class Deviation:
    """A rule, what lines of code look like that do not keep it, and the reason."""

    rule: str
    where: str  # a regular expression; `\\|` of the table is `|`
    reason: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.where)

    def covers(self, finding: Finding) -> bool:
        return finding.rule == self.rule and self.pattern.search(finding.text) is not None


def read_record(page: Path = PAGE) -> list[Deviation]:
    """The rows of the table."""
    rows = [_ROW.fullmatch(line) for line in page.read_text(encoding="utf-8").splitlines()]
    return [Deviation(row[1], row[2].replace("\\|", "|"), row[3]) for row in rows if row]


def outside(findings: Iterable[Finding], record: Iterable[Deviation]) -> list[Finding]:
    """Findings that no deviation covers."""
    return [finding for finding in findings if not any(deviation.covers(finding) for deviation in record)]


def unused(findings: Iterable[Finding], record: Iterable[Deviation]) -> list[Deviation]:
    """Deviations that cover none of the findings."""
    some = list(findings)
    return [deviation for deviation in record if not any(map(deviation.covers, some))]
