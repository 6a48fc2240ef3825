"""Functions as text for the assembler."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pilotlight.kernels.assembly.instructions import AsmInstruction, Function


def render(function: Function, symbol: str) -> str:
    """A section of its own for every function, so that a linker can drop it."""
    lines = [
        "",
        f'    .section .text.{symbol}, "ax", %progbits',
        "    .p2align 2",
        f"    .global {symbol}",
        f"    .type {symbol}, %function",
        f"{symbol}:",
        *(_local(instruction, function.name) for instruction in function.body),
        f"    .size {symbol}, . - {symbol}",
    ]
    return "\n".join(lines) + "\n"


def render_file(head: str, functions: Iterable[Function], prefix: str) -> tuple[str, dict[str, int]]:
    """The functions `PREFIX_NAME` after the head, which ends with an open #if, and the stack bytes of each."""
    some = list(functions)
    text = head.format(prefix=prefix) + "".join(render(f, f"{prefix}_{f.name}") for f in some)
    return f"{text}\n#endif\n", {f"{prefix}_{f.name}": f.stack for f in some}


def choose(calls: Sequence[tuple[str, str]], arguments: Iterable[str]) -> str:
    """C that makes one of the calls, by its test; what is none of the others is the last one."""
    if len(calls) == 1:
        return "".join(f"    (void){name};\n" for name in arguments) + f"    {calls[0][1]}\n"
    some = [f"if ({test}) {{\n        {call}\n    }}" for test, call in calls[:-1]]
    some.append(f"{{\n        {calls[-1][1]}\n    }}")
    return f"    {' else '.join(some)}\n"


def _local(instruction: AsmInstruction, function: str) -> str:
    """Labels are local to the file, so they carry the function's name."""
    return re.sub(r"\.L(\w+)", rf".L{function}_\1", str(instruction))
