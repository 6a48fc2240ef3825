"""A function as text: instructions, labels of its own, and the stack it uses."""

from __future__ import annotations

from collections.abc import Mapping


class Text:
    """One function under the standard calling convention, as a list of lines."""

    def __init__(self, name: str):
        self.name = name
        self.lines: list[str] = []
        self.stack = 0
        self._return: list[str] = []

    def add(self, instruction: str) -> None:
        self.lines.append(f"    {instruction}")

    def label(self, name: str) -> None:
        self.lines.append(f".L{self.name}_{name}:")

    def branch(self, instruction: str, label: str) -> None:
        self.add(f"{instruction} .L{self.name}_{label}")

    def load(self, base: str, fields: Mapping[str, int], *wanted: tuple[str, str]) -> None:
        """Loads fields of the struct at `base` into registers, given as (register, field)."""
        for register, name in wanted:
            offset = f", #{fields[name]}" if fields[name] else ""
            self.add(f"ldr {register}, [{base}{offset}]")

    def push(self, core: tuple[str, ...], first: str = "", last: str = "") -> None:
        """Saves core registers, lr among them, and the doubles first..last; `leave` restores them and returns."""
        self.add(f"push {{{', '.join(core)}}}")
        self.stack = 4 * len(core)
        self._return = [f"pop {{{', '.join(core[:-1])}, pc}}"]
        if first:
            self.add(f"vpush {{{first}-{last}}}")
            self.stack += 8 * (int(last[1:]) - int(first[1:]) + 1)
            self._return.insert(0, f"vpop {{{first}-{last}}}")

    def leave(self) -> None:
        for instruction in self._return:
            self.add(instruction)

    def render(self, prefix: str) -> str:
        symbol = f"{prefix}_{self.name}"
        return "\n".join(
            [
                "",
                f'    .section .text.{symbol}, "ax", %progbits',
                "    .p2align 2",
                f"    .global {symbol}",
                f"    .type {symbol}, %function",
                f"{symbol}:",
                *self.lines,
                f"    .size {symbol}, . - {symbol}",
                "",
            ]
        )
