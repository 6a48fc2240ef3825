"""What goes into a build: all operators and all of the Python part, or what a model needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pilotlight.micropython.operators import kernels
from pilotlight.micropython.schemas import Kernel


@dataclass(frozen=True)
class Selection:
    """Names of overloads and of Python modules; None: all there are."""

    operators: tuple[str, ...] | None = None
    python: tuple[str, ...] | None = None

    def kernels(self) -> dict[str, Kernel]:
        known = kernels()
        return known if self.operators is None else {name: known[name] for name in self.operators}

    def python_files(self, folder: Path) -> list[Path]:
        """Files of the Python part that are frozen."""
        found = sorted(folder.rglob("*.py"))
        if self.python is None:
            return found
        return [path for path in found if module_name(path.relative_to(folder)) in self.python]


def module_name(path: Path) -> str:
    """`torch/nn/__init__.py` is `torch.nn`."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


ALL = Selection()
