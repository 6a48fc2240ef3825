"""The C between int8 drivers and micro-kernels: declarations, C twins, the choice among a model's blocks."""

from __future__ import annotations

from pilotlight.emit.micro.s8.names import KINDS, Block, ordered

_ARGUMENTS = {
    "conv": "const pl_dsp_conv_t *t",
    "row": "const pl_dsp_row_t *t",
    "depthwise": "const pl_dsp_depthwise_t *t",
    "widen": "const int8_t *x, int16_t *y, int32_t n",
    "pairs": "const pl_dsp_pairs_t *t",
}
_COUNTS = {"conv": "pixels", "row": "filters", "depthwise": "rows"}


def dispatch(names: set[str], prefix: str) -> str:
    """C text that defines what the drivers call; it belongs after the kernel headers and before the tables."""
    blocks = ordered(names)
    if not blocks:
        return ""
    constants = list(dict.fromkeys(b.constant for b in blocks if b.kind in _COUNTS))
    text = f"enum {{ {', '.join(constants)} }};\n\n" if constants else ""
    declared = "".join(f"void {prefix}_{b.name}({_ARGUMENTS[b.kind]});\n" for b in blocks)
    text += f"#if PL_DSP_ASM\n{declared}#else\n{''.join(_twin(b, prefix) for b in blocks)}#endif\n"
    for kind in KINDS:
        some = [b for b in blocks if b.kind == kind]
        if some:
            text += "\n" + (_choice(some, prefix) if kind in _COUNTS else _plain(some[0], prefix))
    return text


def _twin(b: Block, prefix: str) -> str:
    arguments = {
        "conv": f"t, {b.count}, {b.step // 2}, {int(b.wide)}, {b.finish.shift}",
        "row": f"t, {b.count}, {b.finish.shift}",
        "depthwise": f"t, {b.count}, {b.step}, {b.finish.shift}",
        "widen": "x, y, n",
        "pairs": "t",
    }[b.kind]
    return (
        f"static inline void {prefix}_{b.name}({_ARGUMENTS[b.kind]})\n"
        f"{{\n    pl_{b.kind}_twin_s8({arguments});\n}}\n"
    )


def _plain(b: Block, prefix: str) -> str:
    passed = "x, y, n" if b.kind == "widen" else "t"
    return (
        f"static inline void pl_{b.kind}_s8({_ARGUMENTS[b.kind]})\n{{\n    {prefix}_{b.name}({passed});\n}}\n"
    )


def _choice(blocks: list[Block], prefix: str) -> str:
    kind, count = blocks[0].kind, _COUNTS[blocks[0].kind]
    lines = [
        f"static inline void pl_{kind}_block_s8(int32_t kind, int32_t {count}, {_ARGUMENTS[kind]})", "{",
    ]  # fmt: skip
    if len({b.variant for b in blocks}) == 1:
        lines.append("    (void)kind;")
    if len({b.count for b in blocks}) == 1:
        lines.append(f"    (void){count};")
    for i, b in enumerate(blocks):
        tests = [f"kind == {b.constant}"] if len({o.variant for o in blocks}) > 1 else []
        tests += [f"{count} == {b.count}"] if len({o.count for o in blocks}) > 1 else []
        test = " && ".join(tests)
        word = "if" if i == 0 else "} else if"
        if i == len(blocks) - 1:
            lines.append("    } else {" if i else "    {")
        else:
            lines.append(f"    {word} ({test}) {{")
        lines.append(f"        {prefix}_{b.name}(t);")
    return "\n".join([*lines, "    }", "}", ""])
