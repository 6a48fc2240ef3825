"""The int8 micro-kernels of a model as text, and the stack each one uses."""

from __future__ import annotations

from collections.abc import Callable

from pilotlight.kernels.assembly.instructions import Function
from pilotlight.kernels.assembly.render import render_file
from pilotlight.kernels.dsp.blocks.conv import conv
from pilotlight.kernels.dsp.blocks.copy import pairs, weave, widen
from pilotlight.kernels.dsp.blocks.depthwise import depthwise
from pilotlight.kernels.dsp.blocks.names import DspBlock, ordered
from pilotlight.kernels.dsp.blocks.point import point
from pilotlight.kernels.dsp.blocks.quad import quad
from pilotlight.kernels.dsp.blocks.row import row
from pilotlight.kernels.dsp.blocks.taps import taps
from pilotlight.kernels.dsp.blocks.tiles import spread, tiles
from pilotlight.kernels.dsp.blocks.unfold import unfold
from pilotlight.kernels.dsp.blocks.winograd import winograd

_HEAD = """\
/* The int8 blocks of {prefix}.c for cores with Thumb-2 and the DSP extension. Elsewhere, and with PILOTLIGHT_PORTABLE,
 * this text is empty and the C twins in {prefix}.c are used. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__thumb2__) && defined(__ARM_FEATURE_DSP)

    .syntax unified
    .thumb
"""

_GENERATORS: dict[str, Callable[[DspBlock], Function]] = {
    "conv": conv,
    "quad": quad,
    "point": point,
    "row": row,
    "depthwise": depthwise,
    "taps": taps,
    "winograd": winograd,
    "unfold": unfold,
    "widen": lambda _: widen(),
    "weave": lambda _: weave(),
    "pairs": lambda _: pairs(),
    "tiles": lambda _: tiles(),
    "spread": lambda _: spread(),
}


def generate(block: DspBlock) -> Function:
    return _GENERATORS[block.kind](block)


def assembly(names: set[str], prefix: str) -> tuple[str, dict[str, int]]:
    """The text of the functions `PREFIX_NAME`, and the stack bytes of each."""
    return render_file(_HEAD, map(generate, ordered(names)), prefix)
