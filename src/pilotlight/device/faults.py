"""The record of a fault in words: why it happened, and where. docs/device-protocol.md defines the record."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pilotlight.boards import Board
from pilotlight.device.where import code_at

_RECORD = re.compile(r"fault: (?P<what>.*?)(?P<pairs>(?: \w+=0x[0-9a-f]{8})+)")
_PAIR = re.compile(r"(\w+)=0x([0-9a-f]{8})")
_ADDRESS_VALID = (1 << 7) | (1 << 15)  # of CFSR: MMARVALID and BFARVALID
_FORCED, _VECTOR_TABLE = 1 << 30, 1 << 1  # of HFSR

# Bits of CFSR: Armv7-M Architecture Reference Manual, B3.2.15; stack limits are of Armv8-M.
_CFSR = {
    0: "an instruction was fetched where none may be",
    1: "data was accessed where none may be",
    3: "an exception's return could not read the stack (memory protection)",
    4: "an exception's entry could not write the stack (memory protection)",
    5: "the state of the FPU could not be saved (memory protection)",
    8: "an instruction could not be fetched",
    9: "data could not be accessed",
    10: "data could not be accessed some instructions before (imprecise bus error)",
    11: "an exception's return could not read the stack",
    12: "an exception's entry could not write the stack",
    13: "the state of the FPU could not be saved",
    16: "an undefined instruction",
    17: "a jump to an even address, which is not Thumb code",
    18: "a wrong return from an exception",
    19: "an instruction of the FPU or another coprocessor, which is off or not there",
    20: "the stack overflowed",
    24: "an access that is not aligned",
    25: "a division by zero",
}

# The privileged specification of RISC-V, table of mcause.
_MCAUSE = {
    0: "a jump to an address that is not aligned",
    1: "an instruction could not be fetched",
    2: "an illegal instruction",
    3: "a breakpoint",
    4: "a load that is not aligned",
    5: "a load from where nothing is",
    6: "a store that is not aligned",
    7: "a store to where nothing is",
    8: "a call of the environment from user mode",
    9: "a call of the environment from supervisor mode",
    11: "a call of the environment from machine mode",
    12: "a page fault of an instruction",
    13: "a page fault of a load",
    15: "a page fault of a store",
}
_WITHOUT_ADDRESS = {2, 3, 8, 9, 11}


@dataclass(frozen=True)
class FaultRecord:
    """As the board sent it; `registers` has every pair, in order."""

    what: str
    registers: dict[str, int]

    def __getitem__(self, name: str) -> int:
        return self.registers.get(name, 0)


@dataclass(frozen=True)
class ExplainedFault:
    """The same for a person: reasons in words, and code with function and source line."""

    record: FaultRecord
    reasons: tuple[str, ...]
    at: str | None
    called_from: str | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "what": self.record.what, "reasons": list(self.reasons), "at": self.at, "called_from": self.called_from,
            "registers": self.record.registers,
        }


def read_fault(line: str) -> FaultRecord | None:
    """The record in a line of text, if there is one."""
    found = _RECORD.search(line)
    if found is None:
        return None
    return FaultRecord(found["what"], {name: int(value, 16) for name, value in _PAIR.findall(found["pairs"])})


def explain_fault(record: FaultRecord, board: Board, program: Path | None) -> ExplainedFault:
    """`program` is the image that runs on the board, with its symbols and lines."""
    reasons = _of_riscv(record) if board.toolchain.startswith("riscv") else _of_arm(record)
    at = code_at(program, record["pc"]) if program and record["pc"] else None
    back = code_at(program, record["from"], returns=True) if program and record["from"] else None
    return ExplainedFault(record, tuple(reasons), at, back)


def _of_arm(record: FaultRecord) -> list[str]:
    cause = record["cause"]
    at = f" at {record['address']:#010x}" if cause & _ADDRESS_VALID else ""
    reasons = [words + (at if bit in (1, 9) else "") for bit, words in _CFSR.items() if cause >> bit & 1]
    if record["hfsr"] & _VECTOR_TABLE:
        reasons.append("the vector table could not be read")
    if not reasons and record["hfsr"] & _FORCED:
        reasons.append("a fault whose own handler is off")
    if not reasons:
        reasons.append("the core does not say why" if cause == 0 else f"an unknown cause, {cause:#010x}")
    return reasons


def _of_riscv(record: FaultRecord) -> list[str]:
    cause = record["cause"]
    if cause >> 31:
        return [f"interrupt {cause & 0x7FFFFFFF}, for which there is no handler"]
    words = _MCAUSE.get(cause, f"an unknown cause, {cause}")
    return [words if cause in _WITHOUT_ADDRESS else f"{words} at {record['address']:#010x}"]
