"""The C between int8 drivers and micro-kernels: declarations, C twins, the choice among a model's blocks."""

from __future__ import annotations

from pilotlight.kernels.assembly.arguments import checks
from pilotlight.kernels.dsp.blocks.arguments import BY_KIND
from pilotlight.kernels.dsp.blocks.names import KINDS, DspBlock, ordered

_ARGUMENTS = {
    "conv": "const pl_dsp_conv_t *t",
    "quad": "const pl_dsp_conv_t *t",
    "point": "const pl_dsp_conv_t *t",
    "row": "const pl_dsp_row_t *t",
    "depthwise": "const pl_dsp_depthwise_t *t",
    "taps": "const pl_dsp_taps_t *t",
    "winograd": "pl_dsp_winograd_t *t",
    "unfold": "const pl_dsp_unfold_t *t",
    "widen": "const int8_t *x, int16_t *y, int32_t n",
    "weave": "const int8_t *a, const int8_t *b, int16_t *y, int32_t n",
    "pairs": "const pl_dsp_pairs_t *t",
    "tiles": "const pl_dsp_tiles_t *t",
    "spread": "const int8_t *x, int8_t *y, int32_t n",
}
_COUNTS = {
    "conv": "pixels",
    "quad": "pixels",
    "point": "filters",
    "row": "filters",
    "depthwise": "rows",
    "taps": "channels",
    "winograd": "filters",
    "unfold": "filters",
}


def dispatch(names: set[str], prefix: str) -> str:
    """C text that defines what the drivers call; it belongs after the kernel headers and before the tables."""
    blocks = ordered(names)
    if not blocks:
        return ""
    constants = list(dict.fromkeys(b.constant for b in blocks if b.kind in _COUNTS))
    text = f"enum {{ {', '.join(constants)} }};\n\n" if constants else ""
    declared = "".join(f"void {prefix}_{b.name}({_ARGUMENTS[b.kind]});\n" for b in blocks)
    proved = checks(BY_KIND[b.kind] for b in blocks if b.kind in BY_KIND)
    text += f"#if PL_DSP_ASM\n{proved}{declared}#else\n{''.join(_twin(b, prefix) for b in blocks)}#endif\n"
    for kind in KINDS:
        some = [b for b in blocks if b.kind == kind]
        if some:
            text += "\n" + (_choice(some, prefix) if kind in _COUNTS else _plain(some[0], prefix))
    return text


def _twin(b: DspBlock, prefix: str) -> str:
    finish = f"{b.finish.shift}, {b.finish.rounding}"
    arguments = {
        "conv": f"t, {b.count}, {b.step // 2}, {int(b.wide)}, {finish}",
        "quad": f"t, {b.count}, {b.step // 2}, {finish}",
        "point": f"t, {b.count}, {int(b.wide)}, {finish}",
        "row": f"t, {b.count}, {finish}, {b.finish.down}",
        "depthwise": f"t, {b.count}, {b.step}, {finish}",
        "taps": f"t, {finish}",
        "winograd": f"t, {finish}",
        "unfold": f"t, {b.step}",
        "widen": "x, y, n",
        "weave": "a, b, y, n",
        "pairs": "t",
        "tiles": "t",
        "spread": "x, y, n",
    }[b.kind]
    return (
        f"static inline void {prefix}_{b.name}({_ARGUMENTS[b.kind]})\n"
        f"{{\n    pl_{b.kind}_twin_s8({arguments});\n}}\n"
    )


def _plain(b: DspBlock, prefix: str) -> str:
    passed = {"widen": "x, y, n", "weave": "a, b, y, n", "spread": "x, y, n"}.get(b.kind, "t")
    return (
        f"static inline void pl_{b.kind}_s8({_ARGUMENTS[b.kind]})\n{{\n    {prefix}_{b.name}({passed});\n}}\n"
    )


def _choice(blocks: list[DspBlock], prefix: str) -> str:
    """By count, then by variant; the last of each needs no test."""
    kind, count = blocks[0].kind, _COUNTS[blocks[0].kind]
    arguments = f"int32_t kind, int32_t {count}, {_ARGUMENTS[kind]}"
    lines = [f"static inline void pl_{kind}_block_s8({arguments})", "{"]
    counts = sorted({b.count for b in blocks}, reverse=True)
    if len(blocks) == len(counts):
        lines.append("    (void)kind;")
    if len(counts) == 1:
        lines.append(f"    (void){count};")
    tests = [(f"{count} == {n}", _variants([b for b in blocks if b.count == n], prefix)) for n in counts]
    return "\n".join([*lines, *_chain(tests), "}", ""])


def _variants(blocks: list[DspBlock], prefix: str) -> list[str]:
    return _chain([(f"kind == {b.constant}", [f"    {prefix}_{b.name}(t);"]) for b in blocks])


def _chain(tests: list[tuple[str, list[str]]]) -> list[str]:
    """if … else if … else, one level deeper; a single case needs none."""
    if len(tests) == 1:
        return tests[0][1]
    lines: list[str] = []
    for i, (test, body) in enumerate(tests):
        word = f"if ({test}) {{" if i == 0 else f"}} else if ({test}) {{" if i < len(tests) - 1 else "} else {"
        lines += [f"    {word}", *(f"    {line}" for line in body)]
    return [*lines, "    }"]
