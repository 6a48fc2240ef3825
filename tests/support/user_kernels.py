"""For tests that add kernels of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pilotlight.custom import added_kernels, withdraw_kernel


@pytest.fixture
def no_kernel_stays() -> Iterator[None]:
    """What a test added is gone when it ends."""
    before = set(added_kernels())
    yield
    for kernel in added_kernels():
        if kernel not in before:
            withdraw_kernel(kernel.name)
