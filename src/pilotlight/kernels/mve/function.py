"""A function for Cortex-M55: what the generators of Helium blocks share."""

from __future__ import annotations

from pilotlight.kernels.assembly.arguments import ArgumentStruct
from pilotlight.kernels.assembly.instructions import Function


class HeliumFunction(Function):
    """One function under the standard calling convention; `push` knows how to leave it again."""

    def __init__(self, name: str):
        super().__init__(name)
        self._return: list[str] = []

    def branch(self, instruction: str, label: str) -> None:
        """A branch, or an end of a loop such as `le lr,`."""
        self.write(f"{instruction} {label}")

    def load(self, base: str, fields: ArgumentStruct, *wanted: tuple[str, str]) -> None:
        """Loads fields of the struct at `base` into registers, given as (register, field)."""
        for register, name in wanted:
            offset = f", #{fields[name]}" if fields[name] else ""
            self.write(f"ldr {register}, [{base}{offset}]")

    def push(self, core: tuple[str, ...], first: str = "", last: str = "") -> None:
        """Saves core registers, lr among them, and the doubles first..last; `leave` restores them and returns."""
        self.write(f"push {{{', '.join(core)}}}")
        self.stack = 4 * len(core)
        self._return = [f"pop {{{', '.join(core[:-1])}, pc}}"]
        if first:
            self.write(f"vpush {{{first}-{last}}}")
            self.stack += 8 * (int(last[1:]) - int(first[1:]) + 1)
            self._return.insert(0, f"vpop {{{first}-{last}}}")

    def leave(self) -> None:
        for instruction in self._return:
            self.write(instruction)
