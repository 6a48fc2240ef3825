"""Where things are in the tree."""

from __future__ import annotations

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
FIXTURES = TESTS / "support" / "fixtures"
EXAMPLES = ROOT / "examples"
PYTHON_PATH = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])  # for other processes
