"""Views and copies: other shapes, parts, orders; nothing is computed."""

from __future__ import annotations

from math import prod

from fuzz.maker import Maker
from fuzz.statements.writer import is_float, templates

ANY = (
    "{x}.transpose({d}, -1)",
    "{x}.transpose(0, {d})",
    "{x}.flatten()",
    "{x}.unsqueeze({d})",
    "{x}.flip({d})",
    "{x}.roll(1, {d})",
    "{x}.select({d}, 0)",
    "{x}.narrow({d}, 0, {k})",
    "{x}.contiguous()",
    "{x}.clone()",
    "{x}.movedim({d}, 0)",
    "torch.unbind({x}, {d})[0]",
    "{x}.mT",
    "{x}[..., ::2]",
    "{x}[::2]",
    "{x}[1:]",
    "{x}[..., -1:]",
    "{x}[..., 0]",
    "{x}[None]",
    "{x}[-1]",
    "{x}.swapaxes(0, {d})",
    "{x}.ravel()",
    "{x}.repeat_interleave(2, {d})",
    "torch.cat([{x}, {x}], {d})",
    "torch.stack([{x}, {x} * {c}], {d})",
    "torch.cat(({x}, -{x}), dim={d})",
    "{x}.tril()",
    "torch.triu({x}, 1)",
    "{x}.diagonal(0, 0, -1)",
    "{x}.squeeze()",
    "{x}.squeeze({d})",
    "{x}.unfold({d}, 2, 1)",
    "torch.rot90({x}, 1, (-2, -1))",
    "{x}.permute(*range({x}.dim())[::-1])",
    "{x}.T",
    "{x}.narrow({d}, {k} - 1, 1)",
    "torch.roll({x}, (1, -1), (0, -1))",
    "{x}.flip(0).flip(-1)",
    "{x}.view({x}.shape)",
    "{x}.expand(2, *{x}.shape)",
    "{x}.unsqueeze(0).expand(3, *{x}.shape)[1]",
    "{x}.index_select({d}, torch.tensor([0]))",
    "{x}.diff(dim={d})",
    "{x}.view(-1)[1::2]",
    "{x}.reshape(-1, 1)",
    "{x}.reshape(1, -1).t()",
    "torch.atleast_2d({x})",
)
SPLIT = (
    "{new}, {new2} = {x}.chunk(2, {d})",
    "{new}, {new2} = torch.split({x}, [1, {x}.shape[{d}] - 1], {d})",
    "{new}, *{new2}s = {x}.unbind({d})\n{new2} = {new2}s[-1]",
    "{new}, {new2}, *_ = {x}.split(1, {d})",
    "{new}, {new2} = {x}.tensor_split(2, {d})",
    "{new} = torch.cat({x}.chunk(2, {d})[::-1], {d})",
    "{new}, {new2} = torch.hsplit({x}, 2)",
)
MODES = ("constant", "reflect", "replicate", "circular")


def _reshape(m: Maker) -> bool:
    """Two dimensions become one, or one becomes two."""
    x = m.float(1)
    if x is None:
        return False
    shape = list(m.value(x).shape)
    factors = [(d, f) for d, s in enumerate(shape) for f in (2, 3, 4, 5) if s % f == 0 and s > f]
    if factors and m.chance(0.5):
        d, f = m.choice(factors)
        shape[d : d + 1] = [f, shape[d] // f] if m.chance(0.5) else [shape[d] // f, f]
    elif len(shape) > 1:
        d = m.integer(0, len(shape) - 2)
        shape[d : d + 2] = [prod(shape[d : d + 2])]
    if m.chance(0.3):
        shape[m.integer(0, len(shape) - 1)] = -1
    how = m.choice(("view", "reshape", "reshape"))
    return m.add(f"{m.new()} = {x}.{how}({', '.join(map(str, shape))})")


def _permute(m: Maker) -> bool:
    x = m.float(2)
    if x is None:
        return False
    order = list(range(m.value(x).dim()))
    m.random.shuffle(order)
    return m.add(f"{m.new()} = {x}.permute({', '.join(map(str, order))})")


def _expand(m: Maker) -> bool:
    """A dimension of 1 repeated without memory, and often something done with it."""
    x = m.pick(lambda t: t.is_floating_point() and 1 in t.shape)
    if x is None:
        return False
    sizes = [str(m.integer(2, 3)) if s == 1 and m.chance(0.7) else "-1" for s in m.value(x).shape]
    return m.add(f"{m.new()} = {x}.expand({', '.join(sizes)}){m.choice(('', ' * 0.5', '.clone()', '.contiguous()'))}")


def _cat(m: Maker) -> bool:
    x = m.float(1)
    if x is None:
        return False
    dim = m.dim(x)
    shape = m.value(x).shape

    def goes(t) -> bool:  # type: ignore[no-untyped-def]
        return (
            is_float(t)
            and t.dim() == len(shape)
            and all(a == b for k, (a, b) in enumerate(zip(t.shape, shape, strict=True)) if k != (dim or 0) % len(shape))
        )

    y = m.pick(goes)
    return y is not None and dim is not None and m.add(f"{m.new()} = torch.cat([{x}, {y}], dim={dim})")


def _pad(m: Maker) -> bool:
    """Every mode; sizes may be negative for a constant."""
    mode = m.choice(MODES)
    x = m.float(1, 4) if mode == "constant" else m.float(3, 4)
    if x is None:
        return False
    dims = m.integer(1, m.value(x).dim()) if mode == "constant" else m.value(x).dim() - 2
    low = -1 if mode == "constant" and m.chance(0.3) else 0
    sizes = tuple(m.integer(low, 2) for _ in range(2 * dims))
    value = f", value={m.number()}" if mode == "constant" and m.chance(0.5) else ""
    return m.add(f'{m.new()} = F.pad({x}, {sizes}, mode="{mode}"{value})')


def _image(m: Maker) -> bool:
    x = m.float(4, 4)
    if x is None:
        return False
    return m.add(
        f"{m.new()} = "
        + m.choice(
            (
                f"F.pixel_shuffle({x}, 2)",
                f"F.pixel_unshuffle({x}, 2)",
                f"F.unfold({x}, 2, stride=2)",
                f'F.interpolate({x}, scale_factor=2, mode="nearest")',
                f'F.interpolate({x}, size=(5, 7), mode="bilinear")',
                f'F.interpolate({x}, scale_factor=2, mode="bilinear", align_corners=True)',
                f"F.channel_shuffle({x}, 2)",
                f'F.interpolate({x}, size=(4, 3), mode="bicubic")',
                f"nn.functional.interpolate({x}, size=6)",
                f"{x}.permute(0, 2, 3, 1)",
                f"{x}.flatten(1)",
                f"{x}.flatten(2).transpose(1, 2)",
                f"{x}[:, ::2, 1:, :-1]",
                f"F.fold(F.unfold({x}, 2), {x}.shape[-2:], 2) * 0.3",
            )
        )
    )


def _odd(m: Maker) -> bool:
    """Size-1 dimensions with odd strides, steps and offsets, then something computed from them."""
    x = m.float(2)
    if x is None:
        return False
    after = m.choice(("", " * 2", ".relu()", ".contiguous()", ".clone()", ".sum(-1)", " + 1"))
    return m.add(
        f"{m.new()} = "
        + m.choice(
            (
                f"{x}[:, 1:2]",
                f"{x}[..., 1:2].transpose(0, -1)",
                f"{x}.transpose(0, 1)[:1]",
                f"{x}[:, ::2][:, :1]",
                f"{x}.flatten()[1::3].unsqueeze(1)",
                f"{x}.unsqueeze(1).transpose(1, 2)",
                f"{x}[-1:].transpose(0, -1)",
                f"{x}.flatten()[None, 1:].t()",
                f"{x}.narrow(-1, 1, 1).expand(*{x}.shape[:-1], 3)",
                f"{x}.reshape(-1)[::2].view(-1, 1)",
                f"torch.as_strided({x}, (2, 2), (1, 2), 1)",
            )
        )
        + after
    )


VIEWS = (templates(ANY, is_float, 1),) * 5 + (
    templates(SPLIT, is_float, 2),
    templates(SPLIT, is_float, 2),
    _reshape,
    _reshape,
    _permute,
    _expand,
    _cat,
    _cat,
    _pad,
    _pad,
    _image,
    _odd,
    _odd,
)
