"""What one instruction does to the stack pointer and where it goes next, per instruction set."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from elftools.elf.elffile import ELFFile

from pilotlight.toolchain.disassembly import MachineInstruction


@dataclass(frozen=True)
class FlowStep:
    """pushed: bytes the stack grows (negative: shrinks). table: jumps through a table beside the code.
    indirect: jumps through a register, as other jump tables do. unknown: calls through a register.
    opaque: changes the stack pointer by what the instruction does not say."""

    pushed: int = 0
    call: int | None = None
    jumps: tuple[int, ...] = ()
    falls_through: bool = True
    table: bool = False
    indirect: bool = False
    unknown: bool = False
    opaque: bool = False

    @property
    def straight(self) -> bool:
        """The next instruction follows, and the stack pointer is known."""
        leaves = self.call is not None or self.jumps or not self.falls_through or self.unknown
        return not (leaves or self.opaque)


class ControlFlow(Protocol):
    def step(self, instruction: MachineInstruction) -> FlowStep: ...

    def saved_return(self, code: Iterable[MachineInstruction]) -> int | None:
        """How far below the stack pointer of its caller a function puts its return address, if it does."""

    def popped_target(self, jump: MachineInstruction, before: Iterable[MachineInstruction]) -> int | None:
        """How far below the stack pointer at a jump its target was popped from, if that was just before it."""

    def aligned(self, code: Iterable[MachineInstruction]) -> int:
        """Bytes that a function may skip to align the stack pointer, which its frame does not include."""


def flow_of(elf: Path) -> ControlFlow | None:
    """The reader for an image's instruction set, None where there is none."""
    with elf.open("rb") as file:
        machine = ELFFile(file)["e_machine"]
    if machine == "EM_ARM":
        return Thumb()
    if machine == "EM_RISCV":
        return RiscV()
    return None


def registers(operands: str) -> list[str]:
    """The registers of a list such as {r4-r7, lr} or {d8-d9}, the lowest address first."""
    names = []
    for part in operands[operands.index("{") + 1 : operands.index("}")].split(","):
        first, _, last = part.strip().partition("-")
        numbers = range(int(first[1:]), int(last[1:]) + 1) if last else ()
        names += [f"{first[0]}{number}" for number in numbers] or [first]
    return names


def register_words(operands: str) -> int:
    """32-bit words of such a list."""
    return sum(2 if name.startswith("d") else 1 for name in registers(operands))


_CONDITION = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al"
_THUMB_CALL = re.compile(rf"^blx?({_CONDITION})?$")
_THUMB_BRANCH = re.compile(rf"^b(?P<condition>{_CONDITION})?(\.n|\.w)?$")
_ALWAYS_POPS = ("pop", "pop.w", "vpop", "ldm", "ldm.w", "ldmia", "ldmia.w", "vldmia")
_NUMBER = re.compile(r"#(-?\d+)")
_LOW_BITS = re.compile(r"#0, #(\d+)")
_STACK_ALIGNMENT = 8  # of the stack pointer at a call
_WORD_TABLE = re.compile(r"^pc, \[\w+, \w+, lsl #2\]$")  # a compiler's jump table; calls never look like this


class Thumb:
    def step(self, instruction: MachineInstruction) -> FlowStep:
        name, operands = instruction.mnemonic, instruction.operands
        if _THUMB_CALL.match(name):
            return FlowStep(call=instruction.target, unknown=instruction.target is None)
        if name.startswith("bx") and operands != "lr":
            return FlowStep(falls_through=False, indirect=True)
        if name.startswith("bx"):
            return FlowStep(falls_through=name != "bx")
        branch = _THUMB_BRANCH.match(name)
        if branch and instruction.target is not None:
            return FlowStep(jumps=(instruction.target,), falls_through=branch.group("condition") is not None)
        if name.startswith(("cbz", "cbnz", "wls", "le")) and instruction.target is not None:
            return FlowStep(jumps=(instruction.target,))
        if name.startswith(("tbb", "tbh")) or (name.startswith("ldr") and _WORD_TABLE.match(operands)):
            return FlowStep(falls_through=False, table=True)
        if operands.startswith("pc,") and name.startswith(("mov", "add", "ldr")):
            if operands == "pc, lr" or "[sp], #" in operands:
                return FlowStep(falls_through=False)
            return FlowStep(falls_through=False, indirect=True)
        return self._stack(name, operands)

    def saved_return(self, code: Iterable[MachineInstruction]) -> int | None:
        used = 0
        for instruction in code:
            step = self.step(instruction)
            if not step.straight:
                return None
            if instruction.mnemonic.startswith("push") and registers(instruction.operands)[-1] == "lr":
                return used + 4
            used += step.pushed
        return None

    def popped_target(self, jump: MachineInstruction, before: Iterable[MachineInstruction]) -> int | None:
        used = 0  # below the stack pointer at the jump
        for instruction in before:
            step = self.step(instruction)
            if not step.straight:
                return None
            if instruction.mnemonic == "pop" and jump.operands in (popped := registers(instruction.operands)):
                return used + 4 * (len(popped) - popped.index(jump.operands))
            if step.pushed >= 0 and instruction.operands.split(",")[0] == jump.operands:
                return None
            used -= step.pushed
        return None

    def aligned(self, code: Iterable[MachineInstruction]) -> int:
        cleared: dict[str, int] = {}  # the low bits that were set to zero in a register
        skipped = 0
        for instruction in code:
            register, _, rest = instruction.operands.partition(", ")
            low = _LOW_BITS.fullmatch(rest)
            if instruction.mnemonic == "bfc" and low:
                cleared[register] = int(low[1])
            elif instruction.mnemonic == "mov" and register == "sp" and rest in cleared:
                skipped = max(skipped, (1 << cleared[rest]) - _STACK_ALIGNMENT)
        return skipped

    def _stack(self, name: str, operands: str) -> FlowStep:
        multiple = operands.startswith("sp!")
        if name.startswith(("push", "vpush")) or (multiple and name.startswith(("stmdb", "vstmdb"))):
            return FlowStep(pushed=4 * register_words(operands))
        if name.startswith(("pop", "vpop")) or (multiple and name.startswith(("ldm", "vldm"))):
            if name not in _ALWAYS_POPS:  # conditional: the path that goes on has not popped
                return FlowStep()
            return FlowStep(pushed=-4 * register_words(operands), falls_through="pc" not in operands)
        if (operands.endswith("]!") and "[sp, #-" in operands) or "[sp], #" in operands:
            return FlowStep(pushed=-int(_NUMBER.findall(operands)[-1]))
        if operands == "sp" or operands.startswith("sp,"):
            return self._adjust(name, operands)
        return FlowStep()

    def _adjust(self, name: str, operands: str) -> FlowStep:
        if re.match(r"^sp, (sp, )?#\d+$", operands) and name.startswith(("sub", "add")):
            amount = int(_NUMBER.findall(operands)[-1])
            return FlowStep(pushed=amount if name.startswith("sub") else -amount)
        if name.startswith("cmp"):
            return FlowStep()
        return FlowStep(opaque=True)


class RiscV:
    def step(self, instruction: MachineInstruction) -> FlowStep:
        name, operands = instruction.mnemonic, instruction.operands
        if name == "ret":
            return FlowStep(falls_through=False)
        if name in ("jal", "jalr"):
            return FlowStep(call=instruction.target, unknown=instruction.target is None)
        if name in ("j", "jr"):
            jumps = () if instruction.target is None else (instruction.target,)
            return FlowStep(jumps=jumps, falls_through=False, indirect=not jumps)
        if name.startswith("b") and instruction.target is not None:
            return FlowStep(jumps=(instruction.target,))
        adjusted = re.match(r"^sp,sp,(-?\d+)$", operands)
        if name in ("addi", "add") and adjusted:
            return FlowStep(pushed=-int(adjusted.group(1)))
        if operands.startswith("sp,") and name not in ("sw", "sb", "sh", "sd", "beq", "bne"):
            return FlowStep(opaque=True)
        return FlowStep()

    def saved_return(self, code: Iterable[MachineInstruction]) -> int | None:
        return None  # `ret` is the only way back

    def aligned(self, code: Iterable[MachineInstruction]) -> int:
        return 0  # it is aligned to 16 bytes anyway

    def popped_target(self, jump: MachineInstruction, before: Iterable[MachineInstruction]) -> int | None:
        return None
