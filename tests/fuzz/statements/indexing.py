"""Integer tensors as indices: gather, scatter, embeddings, take; constants, inputs or computed."""

from __future__ import annotations

import torch

from fuzz.maker import Maker

GATHERS = ("torch.gather({x}, {d}, {i})", "{x}.gather({d}, {i})", "torch.take_along_dim({x}, {i}, {d})")
COMPUTED = ("{x}.argmax(-1)", "{x}.argsort(-1)", "({x} * 3).long()", "({x} > 0).long()")


def _index(m: Maker, high: int, shape: tuple[int, ...]) -> str:
    """An expression for indices below `high`."""
    total = 1
    for s in shape:
        total *= s
    given = m.pick(lambda t: t.dtype == torch.int64 and tuple(t.shape) == shape and int(t.min()) >= 0)
    if given is not None and m.chance(0.7):
        return f"{given} % {high}" if int(m.value(given).max()) >= high else given
    numbers = [m.integer(0, high - 1) for _ in range(total)]
    if total > 24:
        return f"torch.arange({total}).view({shape}) % {high}"
    return f"torch.tensor({torch.tensor(numbers).view(shape).tolist()})"


def _select(m: Maker) -> bool:
    x = m.float(1)
    dim = None if x is None else m.dim(x)
    if x is None or dim is None:
        return False
    index = _index(m, m.value(x).shape[dim], (m.integer(1, 4),))
    forms = [f"{x}.index_select({dim}, {index})", f"torch.index_select({x}, {dim}, {index})"]
    if dim == 0:
        forms.append(f"{x}[{index}]")
    if dim == -1:
        forms.append(f"{x}[..., {index}]")
    return m.add(f"{m.new()} = {m.choice(forms)}")


def _gather(m: Maker) -> bool:
    x = m.float(1)
    dim = None if x is None else m.dim(x)
    if x is None or dim is None:
        return False
    shape = list(m.value(x).shape)
    shape[dim] = m.integer(1, 4)
    index = _index(m, m.value(x).shape[dim], tuple(shape))
    return m.add(
        f"{m.new()} = " + m.choice(GATHERS).format(x=x, d=dim, i=index)
    )


def _scatter(m: Maker) -> bool:
    """Into zeros, into a copy, or into another tensor; written, added, multiplied, averaged."""
    x = m.float(1)
    dim = None if x is None else m.dim(x)
    if x is None or dim is None:
        return False
    shape = list(m.value(x).shape)
    high = m.integer(1, max(2, shape[dim] + 1))
    index = _index(m, high, tuple(shape))
    shape[dim] = high
    base = m.choice((f"torch.zeros({shape})", f"torch.ones({shape})", f"torch.full({shape}, {m.number()})"))
    same = m.pick(lambda t: t.is_floating_point() and list(t.shape) == shape)
    if same is not None and m.chance(0.6):
        base = same
    kind = m.choice(("add", "add", "reduce", "reduce", "put", "index_add"))
    if kind == "add":
        text = m.choice(
            (
                "{b}.scatter_add({d}, {i}, {x})",
                "torch.scatter_add({b}, {d}, {i}, {x})",
                "{b}.clone().scatter_add_({d}, {i}, {x})",
            )
        )
    elif kind == "reduce":
        how = m.choice(("sum", "mean", "prod", "amax", "amin"))
        own = m.choice(("", ", include_self=False"))
        text = f'{{b}}.scatter_reduce({{d}}, {{i}}, {{x}}, "{how}"{own})'
    elif kind == "put":
        unique = f"torch.arange({m.value(x).shape[dim]})"
        view = [1] * len(shape)
        view[dim] = -1
        return m.add(
            f"{m.new()} = torch.zeros_like({x}).scatter({dim}, {unique}.flip(0).view({view}).expand_as({x}), {x})"
        )
    else:
        one = _index(m, high, (m.value(x).shape[dim],))
        return m.add(f"{m.new()} = {base}.index_add({dim}, {one}, {x}{m.choice(('', ', alpha=0.5'))})")
    return m.add(f"{m.new()} = {text.format(b=base, d=dim, i=index, x=x)}")


def _embedding(m: Maker) -> bool:
    i = m.pick(lambda t: t.dtype == torch.int64 and t.dim() <= 2 and int(t.min()) >= 0)
    if i is None:
        return False
    name = m.layer(m.choice(("emb", "embed", "table")))
    rows, width = m.integer(3, 9), m.integer(1, 6)
    if m.chance(0.2) and m.value(i).dim() == 2:
        return m.add(
            f"{m.new()} = self.{name}({i} % {rows})",
            [f'self.{name} = nn.EmbeddingBag({rows}, {width}, mode="{m.choice(("sum", "mean"))}")'],
        )
    return m.add(f"{m.new()} = self.{name}({i} % {rows})", [f"self.{name} = nn.Embedding({rows}, {width})"])


def _integers(m: Maker) -> bool:
    """Integers from integers, and floats from them."""
    i = m.pick(lambda t: t.dtype == torch.int64)
    if i is None:
        x = m.float(1)
        return x is not None and m.add(
            f"{m.new('i')} = {m.choice(COMPUTED).format(x=x)}"
        )
    return m.add(
        f"{m.new('i')} = "
        + m.choice(
            (
                "{i} * 2 + 1",
                "{i} % 3",
                "{i}.clamp(0, 4)",
                "{i}.float() * 0.25",
                "F.one_hot({i}.clamp(0, 4), 5)",
                "F.one_hot({i}.clamp(0, 4), 5).float()",
                "{i}.cumsum(-1)",
                "{i} // 2",
                "{i}.sum()",
                "{i}.flip(0)",
                "{i} - {i}.min()",
                "{i}.to(torch.float32).sqrt() if {i}.min() is None else {i} + 1",
            )
        ).format(i=i)
    )


def _put(m: Maker) -> bool:
    x = m.float(1)
    if x is None:
        return False
    n, v = m.value(x).shape[0], m.new()
    index = _index(m, n, (m.integer(1, 3),))
    return m.add(
        f"{v} = {x}.clone()\n"
        + m.choice(
            (
                f"{v}[{index}] = {m.number()}",
                f"{v}.index_fill_(0, {index}, {m.number()})",
                f"{v} = {v}.index_put(({index},), {x}[:1] * 2, accumulate=True)",
                f"{v}[{index}] += 1",
                f"{v}[{index}] = {x}[:1] * 0.5",
            )
        )
    )


INDEXING = (_select, _gather, _gather, _scatter, _scatter, _scatter, _embedding, _integers, _put)
