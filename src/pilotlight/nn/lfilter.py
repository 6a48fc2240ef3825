"""`pilotlight::lfilter`: second-order sections, one after the other, with their state in and out.

    lfilter(x, b, a, zi) -> (y, zf)        x, y (..., T)    b, a (S, 3), a[:, 0] = 1    zi, zf (..., S, 2)

Each section is the transposed direct form II, sample by sample:

    y = b0*x + z0        z0 = (b1*x + z1) - a1*y        z1 = b2*x - a2*y

The state that it returns continues the signal: filtering two halves gives the samples of filtering the whole. An
operator of its own, because PyTorch has none for recursions over time, and torch.export would unroll a loop.
"""

from __future__ import annotations

from typing import Any

import torch

from pilotlight.errors import PilotlightError


@torch.library.custom_op("pilotlight::lfilter", mutates_args=())
def lfilter(x: torch.Tensor, b: torch.Tensor, a: torch.Tensor, zi: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The filtered signal and the state after it."""
    _check(x, b, a, zi)
    y, states = x.clone(), []
    for section in range(b.shape[0]):
        y, state = _section(y, b[section], a[section], zi[..., section, :])
        states.append(state)
    return y, torch.stack(states, -2) if states else zi.clone()


def _section(
    x: torch.Tensor, b: torch.Tensor, a: torch.Tensor, z: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """One section; every step works on all signals at once."""
    z0, z1 = z[..., 0], z[..., 1]
    a1, a2 = -a[1], -a[2]
    out = []
    for p0, p1, p2 in zip((x * b[0]).unbind(-1), (x * b[1]).unbind(-1), (x * b[2]).unbind(-1), strict=True):
        y = p0 + z0
        z0 = torch.addcmul(p1 + z1, y, a1)
        z1 = torch.addcmul(p2, y, a2)
        out.append(y)
    return torch.stack(out, -1) if out else x, torch.stack((z0, z1), -1)


def _check(x: torch.Tensor, b: torch.Tensor, a: torch.Tensor, zi: torch.Tensor) -> None:
    if b.ndim != 2 or b.shape[1] != 3 or a.shape != b.shape:
        raise _refused(f"b and a of shape (sections, 3), not {tuple(b.shape)} and {tuple(a.shape)}")
    expected = (*x.shape[:-1], b.shape[0], 2)
    if x.ndim == 0 or zi.shape != expected:
        raise _refused(f"a state of shape {expected} for a signal of shape {tuple(x.shape)}, not {tuple(zi.shape)}")
    if not x.is_floating_point() or any(t.dtype != x.dtype for t in (b, a, zi)):
        raise _refused(f"float tensors of one dtype, not {', '.join(str(t.dtype)[6:] for t in (x, b, a, zi))}")


def _refused(expected: str) -> PilotlightError:
    return PilotlightError(f"lfilter expects {expected}", kind="usage")


@lfilter.register_fake
def _shapes(
    x: torch.Tensor, b: torch.Tensor, a: torch.Tensor, zi: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    _check(x, b, a, zi)
    return x.new_empty(x.shape), zi.new_empty(zi.shape)


def _save(ctx: Any, inputs: tuple[torch.Tensor, ...], output: Any) -> None:
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, dy: torch.Tensor, dzf: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The adjoint of a section is the recursion 1/a over the reversed signal:

    g[n] = dy[n] - a1*g[n+1] - a2*g[n+2], which starts from the gradients of the last state.
    """
    x, b, a, zi = ctx.saved_tensors
    signals = [x]
    for k in range(b.shape[0]):
        signals.append(lfilter(signals[-1], b[k : k + 1], a[k : k + 1], zi[..., k : k + 1, :])[0])
    rows: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
    for k in reversed(range(b.shape[0])):
        a1, a2, last = a[k, 1], a[k, 2], dzf[..., k, :]
        start = torch.stack((-a1 * last[..., 0] - a2 * last[..., 1], -a2 * last[..., 0]), -1)
        poles = torch.stack((torch.ones_like(a1), torch.zeros_like(a1), torch.zeros_like(a1)))[None]
        g = lfilter(dy.flip(-1), poles, a[k : k + 1], start[..., None, :])[0].flip(-1)
        later = torch.cat((g, last), -1)  # g[n] for n up to T+1
        g1, g2 = later[..., 1:-1], later[..., 2:]
        db = torch.stack([(factor * signals[k]).sum() for factor in (g, g1, g2)])
        da = torch.stack([torch.zeros_like(a1)] + [-(factor * signals[k + 1]).sum() for factor in (g1, g2)])
        rows.insert(0, (db, da, later[..., :2]))
        dy = b[k, 0] * g + b[k, 1] * g1 + b[k, 2] * g2
    if not rows:
        return dy, torch.zeros_like(b), torch.zeros_like(a), dzf
    every_b, every_a, every_z = zip(*rows, strict=True)
    return dy, torch.stack(every_b), torch.stack(every_a), torch.stack(every_z, -2)


lfilter.register_autograd(_backward, setup_context=_save)
