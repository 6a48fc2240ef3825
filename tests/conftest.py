"""What all tests share: one thread a worker, hypothesis without deadlines."""

from __future__ import annotations

import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)

# A shared machine may be slow: no test of ours says how long something takes. The same cases every time.
settings.register_profile(
    "pilotlight", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("pilotlight")
