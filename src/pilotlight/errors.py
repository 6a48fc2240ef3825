"""The one error type that users see: what is wrong, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class PilotlightError(Exception):
    """Something the user can understand and change.

    `message` says what was expected and what was found, `where` names the module path, source line, file
    or board, `hint` says what to do, `kind` is a stable word for programs that read `--json`.
    """

    exit_code = 2

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None, kind: str = "error"):
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint
        self.kind = kind

    def as_dict(self) -> dict[str, str | None]:
        return {"kind": self.kind, "message": self.message, "where": self.where, "hint": self.hint}

    def __str__(self) -> str:
        text = self.message
        if self.where:
            text += f"\n  at {self.where}"
        if self.hint:
            text += f"\n  {self.hint}"
        return text


def no_file(path: Path, prefix: str = "", hint: str = "check the path") -> PilotlightError:
    """Nothing has that name, or it is not a file."""
    what = "is not a file" if path.exists() else "does not exist"
    return PilotlightError(f"{prefix}{path} {what}", hint=hint, kind="no-file")


class UnsupportedError(PilotlightError):
    """Everything in a model that cannot be compiled, listed at once, and once where a line of code has it twice."""

    def __init__(self, problems: Sequence[PilotlightError]):
        self.problems = list({(p.message, p.where): p for p in problems}.values())
        count = len(self.problems)
        lines = [f"{p.message}" + (f"\n      at {p.where}" if p.where else "") for p in self.problems]
        body = "\n".join(f"  {i + 1}. {line}" for i, line in enumerate(lines))
        alone = self.problems[0] if count == 1 else None
        super().__init__(
            f"this model cannot be compiled: {alone.message}" if alone
            else f"{count} things in this model cannot be compiled:\n{body}",
            where=alone.where if alone else None,
            hint=next((p.hint for p in self.problems if p.hint), None),
            kind="unsupported",
        )


class DoesNotFitError(PilotlightError):
    """Memories of a board that would overflow, and by how many bytes."""

    def __init__(self, overflows: dict[str, int], where: str | None = None):
        self.overflows = overflows
        parts = ", ".join(f"{memory} by {by:,} bytes" for memory, by in overflows.items())
        super().__init__(
            f"the model does not fit: it exceeds {parts}",
            where=where,
            hint="choose a larger board, put weights or arena into another memory, make the model smaller",
            kind="does-not-fit",
        )


class LossError(PilotlightError):
    """The result is not what it should be: quantization loses more than the user allows."""

    exit_code = 1


class MissingToolError(PilotlightError):
    """A compiler or emulator that has to be installed first."""

    def __init__(self, tool: str, package: str | None, why: str, *others: str):
        """`package` is Debian's, if it has one; `others` are other ways to install what is needed."""
        ways = [*others, *([f"apt-get install {package}"] if package else [])]
        super().__init__(
            f"{tool} was not found; it is needed {why}",
            hint=f"install it with: {', or '.join(ways)}" if ways else "no Debian package has it",
            kind="missing-tool",
        )


class MissingPackageError(MissingToolError):
    """A Python package with a compiled part that this system does not have."""

    def __init__(self, package: str, system: str, reason: str, instead: str | None, why: str):
        """`instead` is the Debian package that can take its place."""
        super().__init__(package, instead, why, f"pip install {package}")
        self.message = f"Python's package {package} cannot be loaded on {system} ({reason}); it is needed {why}"
        self.args = (self.message,)
