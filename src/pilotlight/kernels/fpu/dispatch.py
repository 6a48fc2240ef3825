"""The C between drivers and micro-kernels: declarations, C twins, the choice among a model's blocks."""

from __future__ import annotations

from pilotlight.kernels.assembly.arguments import checks
from pilotlight.kernels.fpu.arguments import MAC
from pilotlight.kernels.fpu.names import Block, ordered


def dispatch(names: set[str], prefix: str, assembly: bool = True) -> str:
    """C text that defines `pl_mac_f32` over the blocks `PREFIX_NAME`; it belongs after the kernel headers.

    With `assembly` a block is assembly or C by `PL_MICRO_ASM` of mac_f32.h; without, always C.
    """
    blocks = ordered(names)
    if not blocks:
        return ""
    text = "\n".join(_twin(block, prefix) for block in blocks)
    if assembly:
        declared = "".join(f"void {prefix}_{block.name}(const pl_mac_t *a);\n" for block in blocks)
        text = f"#if PL_MICRO_ASM\n{checks([MAC])}{declared}#else\n{text}#endif\n"
    return f"{text}\n{_choice(blocks, prefix)}"


def _twin(block: Block, prefix: str) -> str:
    depthwise = int(block.kind == "dw")
    return (
        f"static inline void {prefix}_{block.name}(const pl_mac_t *a)\n"
        f"{{\n    pl_block_f32(a, {block.pixels}, {block.filters}, {depthwise});\n}}\n"
    )


def _choice(blocks: list[Block], prefix: str) -> str:
    kinds = {block.kind for block in blocks}
    arguments = "const pl_mac_t *a, int32_t depthwise, int32_t pixels, int32_t filters"
    lines = [f"static inline void pl_mac_f32({arguments})", "{"]
    if len(kinds) == 1:
        lines.append("    (void)depthwise;")
    for i, block in enumerate(blocks):
        which = "" if len(kinds) == 1 else f"(depthwise {'!=' if block.kind == 'dw' else '=='} 0) && "
        word = "if" if i == 0 else "} else if"
        lines.append(f"    {word} ({which}(pixels == {block.pixels}) && (filters == {block.filters})) {{")
        lines.append(f"        {prefix}_{block.name}(a);")
    return "\n".join([*lines, "    } else {", "        /* no other block is asked for */", "    }", "}", ""])
