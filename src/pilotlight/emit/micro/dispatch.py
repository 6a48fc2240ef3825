"""The C between drivers and micro-kernels: declarations, C twins, the choice among a model's blocks."""

from __future__ import annotations

from pilotlight.emit.micro.names import Block, ordered

_WHAT = {"mac": "filters", "dw": "channels"}


def dispatch(names: set[str], prefix: str) -> str:
    """C text that defines `pl_mac_f32` and `pl_dw_f32` (those that are needed) over the blocks `PREFIX_NAME`.

    It belongs after the text of the kernel headers. A block is assembly or C by `PL_MICRO_ASM` of mac_f32.h.
    """
    blocks = ordered(names)
    if not blocks:
        return ""
    declared = "".join(f"void {prefix}_{b.name}(const pl_mac_t *a);\n" for b in blocks)
    twins = "".join(
        f"static inline void {prefix}_{b.name}(const pl_mac_t *a)\n"
        f"{{\n    pl_block_f32(a, {b.pixels}, {b.filters}, {int(b.kind == 'dw')});\n}}\n"
        for b in blocks
    )
    kinds = list(dict.fromkeys(b.kind for b in blocks))
    choices = "\n".join(_choice(kind, [b for b in blocks if b.kind == kind], prefix) for kind in kinds)
    return f"#if PL_MICRO_ASM\n{declared}#else\n{twins}#endif\n\n{choices}"


def _choice(kind: str, blocks: list[Block], prefix: str) -> str:
    what = _WHAT[kind]
    lines = [f"static inline void pl_{kind}_f32(const pl_mac_t *a, int32_t pixels, int32_t {what})", "{"]
    for i, block in enumerate(blocks):
        word = "if" if i == 0 else "} else if"
        lines.append(f"    {word} (pixels == {block.pixels} && {what} == {block.filters}) {{")
        lines.append(f"        {prefix}_{block.name}(a);")
    return "\n".join([*lines, "    }", "}", ""])
