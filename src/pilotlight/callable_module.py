"""Packages named after what they do: `pilotlight.capture` is a package and, called, the function of that name in it."""

from __future__ import annotations

from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """Calling the module calls the function that has its name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **kwargs)
