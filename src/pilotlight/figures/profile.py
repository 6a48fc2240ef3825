"""Instructions by operator."""

from __future__ import annotations

from typing import Any

from pilotlight.compiler import Build
from pilotlight.measure.profile import Profile
from pilotlight.ops.describe import describe_op, describe_type


def profile_rows(profile: Profile, build: Build) -> list[dict[str, Any]]:
    """One row per step, with what it does in words."""
    steps = build.plan.steps
    return [
        {**vars(row), "what": describe_op(steps[row.index]) if row.index < len(steps) else row.op,
         "type": describe_type(steps[row.index]) if row.index < len(steps) else "",
         "share": row.instructions / profile.instructions if profile.instructions else 0.0}
        for row in profile.rows
    ]
