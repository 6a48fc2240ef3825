"""Programs that tests call themselves."""

from __future__ import annotations

import shutil

from pilotlight.errors import MissingToolError


def path_of(program: str) -> str:
    """Where a program is; where set-up left it out, the test that asks is skipped by this name."""
    found = shutil.which(program)
    if found is None:
        raise MissingToolError(program, None, "by this test")
    return found
