"""Linker scripts, written from a board's memories."""

from __future__ import annotations

from collections.abc import Sequence

from pilotlight.boards import Board, Placement

_WEIGHTS = "*(.rodata.{name}_weights .rodata.{name}_weights.*) *{name}_weights.*.o(.rodata .rodata.*)"
_UNUSED = "/DISCARD/ : { *(.note.*) *(.comment) *(.eh_frame*) }"


def model_script(name: str, board: Board, place: Placement, kept: Sequence[str]) -> str:
    """For the model alone, whose entry is the first name in `kept`: code, then read-only data, at the board's addresses
    but without their limits.

    Read-only data of the compiler's library counts as code; everything the model brings is weights. What nothing
    refers to would be left out if it were not in `kept`.
    """
    code = board.memory(place.code).base
    weights = "" if place.weights == place.code else f"\n  . = {board.memory(place.weights).base:#x};"
    return f"""ENTRY({kept[0]})
EXTERN({" ".join(kept)})
SECTIONS
{{
  . = {code:#x};
  .text : {{ *(.literal .literal.*) *(.text .text.*) *libgcc.a:*(.rodata .rodata.*)
            *libcompiler_rt.a:*(.rodata .rodata.*) }}
  .ARM.exidx : {{ *(.ARM.exidx*) }}
  .ARM.extab : {{ *(.ARM.extab*) }}
  .rodata : {{ *(EXCLUDE_FILE(*{name}_weights.*.o) .rodata
               EXCLUDE_FILE(*{name}_weights.*.o) .rodata.*) }}{weights}
  .weights : {{ {_WEIGHTS.format(name=name)} }}
  . = {board.memory(place.stack).base:#x};
  .data : {{ *(.data .data.* .sdata .sdata.*) }}
  .bss : {{ *(.bss .bss.* .sbss .sbss.* COMMON) }}
  {_UNUSED}
}}
"""


def board_script(name: str, board: Board, place: Placement, stack_bytes: int) -> str:
    """For the image that boots: the limits of every memory hold, the stack grows down to the end of one.

    The stack comes first in its memory, so that an overflow faults instead of eating the arena.
    """
    regions = "\n".join(
        f"  {m.name} ({'rx' if m.kind == 'flash' else 'rwx'}) : ORIGIN = {m.base:#x}, LENGTH = {m.size:#x}"
        for m in board.memories
    )
    return f"""ENTRY(pl_reset)
MEMORY
{{
{regions}
}}
SECTIONS
{{
  .text : {{ KEEP(*(.vectors)) *(.text .text.*) }} > {place.code}
  .ARM.exidx : {{ *(.ARM.exidx*) }} > {place.code}
  .ARM.extab : {{ *(.ARM.extab*) }} > {place.code}
  .rodata : {{ *(EXCLUDE_FILE(*{name}_weights.*.o) .rodata
               EXCLUDE_FILE(*{name}_weights.*.o) .rodata.*) }} > {place.code}
  .weights : {{ {_WEIGHTS.format(name=name)} }} > {place.weights}
  .stack (NOLOAD) :
  {{
    . = ALIGN(16);
    pl_stack_low = .;
    . += {(stack_bytes + 15) // 16 * 16};
    pl_stack_top = .;
  }} > {place.stack}
  .arena (NOLOAD) : {{ *(.bss.pl_arena) *(.bss.pl_state) }} > {place.arena}
  .bss (NOLOAD) :
  {{
    . = ALIGN(4);
    pl_bss_start = .;
    *(.bss .bss.* .sbss .sbss.* COMMON)
    . = ALIGN(4);
    pl_bss_end = .;
  }} > {place.stack}
  .data : {{ *(.data .data.* .sdata .sdata.*) }} > {place.stack}
  ASSERT(SIZEOF(.data) == 0, "initialised variables are not supported")
  {_UNUSED}
}}
"""
