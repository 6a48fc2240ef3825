"""Assembly as a file of C: for environments that give a file of assembly other flags than the C that calls it.

Arduino's core for the Nano 33 BLE assembles without the option for floating point; the kernels, which ask the
preprocessor for it, would be left out and the program not linked.
"""

from __future__ import annotations

import json


def assembly_as_c(text: str, name: str) -> str:
    """A file of assembly whose directives of the preprocessor and comments stand outside its functions."""
    lines: list[str] = []
    block: list[str] = []
    comment = False
    for line in text.splitlines():
        comment = comment or line.startswith("/*")
        if comment or line.startswith("#"):
            lines += [*_statement(block), line]
            block = []
        elif line.strip():
            block.append(line.strip())
        comment = comment and "*/" not in line
    lines += [*_statement(block), f"typedef int {name}_file; /* never empty, as C wants it */"]
    return "\n".join(lines) + "\n"


def _statement(block: list[str]) -> list[str]:
    """Lines of assembly as one statement, which leaves the assembler in the section where it was."""
    if not block:
        return []
    body = [f"    {json.dumps(line + chr(10))}" for line in [".pushsection .text", *block, ".popsection"]]
    return ["__asm__(", *body[:-1], f"{body[-1]});"]
