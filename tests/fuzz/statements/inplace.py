"""Tensors changed in place: whole, through views, by slices and masks, in chains."""

from __future__ import annotations

from fuzz.maker import Maker

CHANGES = (
    "mul_({c})",
    "add_({c})",
    "sub_({c})",
    "div_({c2})",
    "relu_()",
    "clamp_(-1, 1)",
    "tanh_()",
    "sigmoid_()",
    "neg_()",
    "abs_()",
    "square_()",
    "fill_({c})",
    "zero_()",
    "clamp_(min={c})",
    "mul_({c}).add_({c2})",
    "add_({c}).clamp_(max=1.5)",
    "mul_({c}).add_({c2}).relu_()",
    "exp_().clamp_(max=3)",
    "pow_(2)",
    "masked_fill_({v} > {c}, {c2})",
    "copy_({v} * 2)",
    "lerp_({v} * 0.5, 0.25)",
    "addcmul_({v}, {v}, value=0.5)",
    "add_({v}, alpha={c2})",
    "sub_({v}.mean())",
    "triu_()",
    "cumsum_(-1)",
    "flip(0).mul_(2)",
    "clamp_(max={c}).neg_()",
)
PARTS = (
    "{v}[{i}]",
    "{v}[..., {i}]",
    "{v}[..., 1:]",
    "{v}[..., ::2]",
    "{v}[:1]",
    "{v}[1:]",
    "{v}.view(-1)[1::2]",
    "{v}.select(0, 0)",
    "{v}.transpose(0, -1)",
    "{v}.flatten()[:2]",
    "{v}.narrow(-1, 0, 1)",
    "{v}.unsqueeze(0)",
    "{v}.t()",
    "{v}.view(-1)",
    "{v}.mT",
    "{v}.diagonal(0, 0, -1)",
    "{v}.chunk(2, -1)[1]",
    "{v}.unbind(0)[-1]",
    "{v}[:, 0]",
    "{v}[:, 1:3]",
    "{v}.split(1)[0]",
    "{v}.view({v}.shape[0], -1)",
    "{v}[-1:]",
    "{v}.squeeze()",
    "{v}.movedim(0, -1)",
    "{v}.detach()",
    "{v}.swapaxes(0, 1)",
)
ASSIGN = (
    "= {c}",
    "+= {c}",
    "*= {c}",
    "-= {c2}",
    "= {p} * 2",
    "= {p}.flip(0)",
    "/= 2",
    "+= {p}.mean()",
    "= {p}.relu()",
    "= -{p}",
)


def _fresh(m: Maker) -> tuple[str, str] | None:
    """A tensor that is the model's own, with the lines that make it: one that is there, or a copy."""
    x = m.float(1)
    if x is None:
        return None
    given = {i.name for i in m.inputs}
    if x.startswith("self.") or (x not in given and m.chance(0.35)):
        return x, ""
    name = m.new()
    make = m.choice(
        (
            "{x}.clone()",
            "{x} * 1.5",
            "{x} + 0.5",
            "torch.zeros_like({x}) + {x}",
            "torch.relu({x})",
            "{x}.sigmoid()",
            "{x} - {x}.mean()",
            "{x}.contiguous().clone()",
        )
    )
    return name, f"{name} = {make.format(x=x)}\n"


def _fill(m: Maker, text: str, v: str, p: str = "") -> str:
    return text.format(c=m.number(), c2=m.number(0.2, 1.5), v=v, p=p, i=m.choice((0, 1, -1)))


def _whole(m: Maker) -> bool:
    made = _fresh(m)
    if made is None:
        return False
    v, lines = made
    return m.add(f"{lines}{v}.{_fill(m, m.choice(CHANGES), v)}")


def _view(m: Maker) -> bool:
    """A view gets a name, is changed (twice at times), and the tensor goes on."""
    made = _fresh(m)
    if made is None:
        return False
    v, lines = made
    w = m.new()
    changes = [f"{w}.{_fill(m, m.choice(CHANGES), w)}" for _ in range(m.integer(1, 2))]
    tail = m.choice(("", f"\n{m.new()} = {v} + 1", f"\n{m.new()} = {v} * {w}.mean()"))
    return m.add(f"{lines}{w} = {_fill(m, m.choice(PARTS), v)}\n" + "\n".join(changes) + tail)


def _slice(m: Maker) -> bool:
    made = _fresh(m)
    if made is None:
        return False
    v, lines = made
    part = _fill(m, m.choice([p for p in PARTS if p.endswith("]") and "unbind" not in p]), v)
    return m.add(f"{lines}{part} {_fill(m, m.choice(ASSIGN), v, part)}")


def _two_parts(m: Maker) -> bool:
    """Parts of one tensor that are changed by each other."""
    made = _fresh(m)
    if made is None:
        return False
    v, lines = made
    a, b = m.new(), m.new()
    dim = m.dim(v if v in m.scope or v.startswith("self.") else m.names()[-1], 2)
    if dim is None:
        return False
    body = m.choice(
        (
            f"{a}, {b} = {v}.chunk(2, {dim})\n{a}.mul_(2)\n{b}.add_({a})",
            f"{a} = {v}.select({dim}, 0)\n{b} = {v}.select({dim}, -1)\n{b}.add_({a})\n{a}.mul_(0.5)",
            f"{a} = {v}.select({dim}, 1)\n{a}.copy_({v}.select({dim}, 0))\n{b} = {v} * 2\n{v}.add_(1)",
            f"{a} = {v}.narrow({dim}, 0, 1)\n{b} = {v}.narrow({dim}, 1, 1)\n{a} += {b}\n{b} -= {a} * 0.5",
        )
    )
    return m.add(lines + body)


def _operator(m: Maker) -> bool:
    """x += y and friends, also for plain names."""
    made = _fresh(m)
    if made is None:
        return False
    v, lines = made
    y = m.float()
    return y is not None and m.add(
        f"{lines}{v} {m.choice(('+=', '-=', '*='))} {m.choice((f'{y}', f'{y}.mean()', f'{y} * 0.5'))}"
    )


def _out(m: Maker) -> bool:
    """F.relu(..., inplace=True), nn.ReLU(inplace=True), index_fill_, index_add_, index_copy_."""
    made = _fresh(m)
    if made is None:
        return False
    v, lines = made
    if m.chance(0.3):
        name = m.layer("act")
        return m.add(
            f"{lines}{m.new()} = self.{name}({v})",
            [f"self.{name} = {m.choice(('nn.ReLU(inplace=True)', 'nn.Hardswish(inplace=True)', 'nn.ReLU6(True)'))}"],
        )
    body = m.choice(
        (
            f"F.relu({v}, inplace=True)",
            f"{m.new()} = F.leaky_relu({v}, 0.1, inplace=True)",
            f"{v}.index_fill_(0, torch.tensor([0]), {m.number()})",
            f"{v}.index_add_(0, torch.tensor([0]), {v}[:1] * 0.5)",
            f"{v}.index_copy_(-1, torch.tensor([0]), {v}[..., :1] * 3)",
            f"F.hardtanh_({v})",
            f"{v}[{v} < 0] = {m.number()}",
            f"{v}[torch.tensor([0])] = {v}[-1:] * 2",
        )
    )
    return m.add(lines + body)


IN_PLACE = (_whole, _whole, _view, _view, _view, _slice, _slice, _two_parts, _operator, _out)
