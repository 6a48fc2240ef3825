"""Complex tensors: transforms, arithmetic, conjugate and partial views, writing into parts."""

from __future__ import annotations

import torch

from fuzz.maker import Maker
from fuzz.statements.writer import is_float, templates

MAKE = (
    "torch.fft.rfft({x}, dim={d})",
    "torch.fft.fft({x}, dim={d})",
    "torch.fft.ifft({x}, dim={d})",
    "torch.fft.fft({x}, n={k} + 2, dim={d}, norm='ortho')",
    "torch.fft.rfft({x}, n={k}, dim={d}, norm='forward')",
    "torch.fft.ihfft({x}, dim={d})",
    "torch.fft.rfft2({x})",
    "torch.fft.fft2({x}, norm='ortho')",
    "torch.fft.fftn({x}, norm='forward')",
    "torch.complex({x}, {x} * {c})",
    "torch.polar({x}.abs(), {x})",
    "{x} * {c}j",
    "{x}.to(torch.complex64) + {c}",
    "torch.view_as_complex(torch.stack([{x}, -{x}], -1))",
)
CHANGE = (
    "{x}.conj()",
    "{x} * {x}.conj()",
    "{x}.conj() + {c}",
    "{x} * ({c} + {c2}j)",
    "{x} + {x}.real",
    "{x}.imag * {x}",
    "{x} / ({x}.abs() + {c2})",
    "{x}.abs() - {x}",
    "-{x}.conj().resolve_conj()",
    "{x} / ({c2} + 1j)",
    "{x}.mean({d}, keepdim=True) - {x}",
    "{x}.sum({d})",
    "{x}.cumsum({d})",
    "{x}.transpose(0, {d})",
    "{x}.mT",
    "{x}.mH",
    "{x}[..., ::2]",
    "{x}[1:]",
    "{x}[..., 0]",
    "{x}.flip({d})",
    "{x}.roll(1, {d})",
    "{x}.unsqueeze({d})",
    "{x}.reshape(-1)",
    "{x}.conj().flatten()",
    "{x}.conj()[..., -1:]",
    "torch.cat([{x}, {x}.conj()], {d})",
    "torch.stack([{x}, {x} * 1j], {d})",
    "{x} @ {x}.mH",
    "F.pad({x}, (1, 2))",
    "torch.where({x}.real > 0, {x}, {x}.conj())",
    "torch.fft.fft({x}, dim={d})",
    "torch.fft.ifft({x}.conj(), dim={d}, norm='ortho')",
    "torch.fft.fftshift({x})",
    "torch.fft.ifft2({x})",
    "{x}.expand(2, *{x}.shape)",
    "{x}.index_select({d}, torch.tensor([0]))",
    "{x}.conj().clone()",
    "torch.exp({x} * 0.1)",
    "{x} ** 2",
    "torch.view_as_complex(torch.view_as_real({x}) * {c2})",
    "{x}.permute(*range({x}.dim())[::-1]).conj()",
    "{x}.masked_fill({x}.imag > 0, {c})",
)
REAL = (
    "{x}.real",
    "{x}.imag",
    "{x}.conj().imag",
    "{x}.mH.imag",
    "{x}.abs()",
    "{x}.abs() ** 2",
    "{x}.real ** 2 + {x}.imag ** 2",
    "torch.view_as_real({x})",
    "torch.view_as_real({x}.conj().resolve_conj())",
    "torch.view_as_real({x})[..., 1].contiguous()",
    "torch.fft.irfft({x}, dim={d})",
    "torch.fft.irfft({x}, n={k} + 3, dim={d}, norm='ortho')",
    "torch.fft.hfft({x}, n={k} + 1, dim={d})",
    "torch.fft.irfft2({x}.conj())",
    "torch.linalg.vector_norm({x}, dim={d})",
    "({x} == {x}.conj()).float()",
    "{x}.real.transpose(0, {d}) * 2",
)
WRITE = (
    "{new} = {x}.clone()\n{new}.real.add_({c})",
    "{new} = {x}.clone()\n{new}.imag.mul_({c})",
    "{new} = {x}.clone()\n{new2} = {new}.conj()\n{new2}.imag.add_({c})",
    "{new} = {x}.clone()\n{new}[..., 0] = {c}",
    "{new} = {x}.clone()\n{new}.conj().mul_(2)",
    "{new} = {x}.clone()\ntorch.view_as_real({new})[..., 1].neg_()",
    "{new} = {x}.clone()\n{new}.real[..., ::2] = 0.5",
    "{new} = {x}.clone()\n{new}.transpose(0, {d}).real.copy_({x}.imag.transpose(0, {d}))",
    "{new} = {x}.clone()\n{new}.conj_physical_()",
    "{new} = {x}.clone()\n{new} *= {x}.conj()",
)


def is_complex(t: torch.Tensor) -> bool:
    return t.is_complex()


def _short_time(m: Maker) -> bool:
    """Frames of a long enough signal, and sometimes back."""
    x = m.pick(lambda t: t.is_floating_point() and 1 <= t.dim() <= 2 and t.shape[-1] >= 4)
    if x is None:
        return False
    size = m.integer(2, min(12, m.value(x).shape[-1]))
    hop, new = m.integer(1, size), m.new()
    window = m.choice(("None", f"torch.hann_window({size}) + 0.1", f"torch.hamming_window({size})"))
    options = m.choice(("", ", center=False", ", normalized=True", ", onesided=False", ", pad_mode='constant'"))
    made = m.add(f"{new} = torch.stft({x}, {size}, {hop}, window={window}{options}, return_complex=True)")
    if made and not options and window != "None" and hop <= size // 2 and m.chance(0.5):
        m.add(f"{m.new()} = torch.istft({new} * 0.5, {size}, {hop}, window={window})")
    return made


COMPLEX = (
    templates(MAKE, lambda t: is_float(t) and t.dim() > 0),
    templates(CHANGE, is_complex),
    templates(CHANGE, is_complex),
    templates(REAL, is_complex),
    templates(WRITE, lambda t: is_complex(t) and t.dim() > 0),
    _short_time,
)
