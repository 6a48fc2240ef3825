"""Operators on tensors with odd layouts: transposed, expanded, stepped, with meaningless strides of single rows."""

from __future__ import annotations

from itertools import product

from support.micropython_agree import differences

SETUP = """
x = torch.arange(1., 65.)

def odd(*sizes):  # dimensions of one have strides that nothing must use
    n, strides = 1, []
    for size in reversed(sizes):
        strides.insert(0, 7777 if size == 1 else n)
        n *= size
    return torch.arange(1., n + 3).as_strided(sizes, strides, 2)

def turned(*sizes):
    return odd(*reversed(sizes)).permute(*reversed(range(len(sizes))))
"""
SIZES = (1, 4, 17)


def test_matrix_products() -> None:
    made = [(f"{a}({m}, {k})", f"{b}({k}, {n})") for m, k, n in product(SIZES, repeat=3)
            for a, b in product(("odd", "turned"), repeat=2)]
    expressions = [f"{a} @ {b}" for a, b in made]
    expressions += [f"torch.nn.functional.linear({a}, ({b}).t())" for a, b in made]
    expressions += [
        f"{a}({', '.join(left)}) @ {b}({', '.join(right)})" for a, b in product(("odd", "turned"), repeat=2)
        for left, right in (("14 1 3", "3 5"), ("4 1 3", "3 5"), ("1 4 3", "1 3 5"), ("1 1 3", "3 1"), ("4 1 1", "1 5"),
                            ("2 1 4 3", "1 3 3 5"), ("1 3", "4 3 1"), ("3", "1 3 5"), ("4 1 3", "3"), ("1 1 1", "1 1"))
        for left, right in [(left.split(), right.split())]
    ]
    expressions += [
        "x[:16].view(1, 4, 4).transpose(0, 1) @ torch.eye(4)", "x[:16].view(4, 1, 4).transpose(0, 1) @ torch.eye(4)",
        "torch.mv(turned(4, 1), odd(1))", "torch.dot(odd(1), x[:1])", "torch.bmm(turned(1, 4, 3), turned(1, 3, 5))",
        "torch.einsum('bij,jk->bik', turned(4, 1, 3), odd(3, 2))", "torch.outer(odd(1), x[::9])",
        "(turned(4, 1).long() @ odd(1, 4).long())", "x[:6].view(1, 6).expand(3, 6) @ x[:6:3].expand(6, 2)",
        "torch.nn.functional.linear(x[:16].view(1, 4, 4).transpose(0, 1), torch.eye(4), x[:4])",
        "torch.baddbmm(torch.zeros(1), turned(4, 1, 3), turned(4, 3, 1))",
        "torch.addmm(x[:5], turned(1, 3), odd(3, 5))",
    ]
    assert differences(SETUP, expressions, 1e-5) == []


def test_attention_of_a_batch_of_one() -> None:
    setup = SETUP + """
def same(module):
    for number, p in enumerate(module.parameters()):
        n = p.numel()
        p.data.copy_((((torch.arange(float(n)) * (37 + number)) % 23) / 64 - 0.15).view(p.shape))
    return module.eval()

def some(*sizes):
    n = 1
    for size in sizes:
        n *= size
    return ((torch.arange(float(n)) * 29) % 31 / 16 - 1).view(sizes)

nn = torch.nn
attention = same(nn.MultiheadAttention(8, 2, batch_first=True))
second = same(nn.MultiheadAttention(8, 2))
encoder = same(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True))
decoder = same(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True))
"""
    shapes = ((1, 3, 8), (1, 1, 8), (3, 1, 8), (2, 3, 8))
    expressions = [
        text.format(f"some{shape}".replace("'", "")) for shape in shapes
        for text in ("attention({0}, {0}, {0})[0].detach()", "second({0}, {0}, {0})[0].detach()",
                     "encoder({0}).detach()", "decoder({0}, {0}).detach()",
                     "nn.functional.scaled_dot_product_attention({0}.transpose(0, 1), {0}.transpose(0, 1), "
                     "{0}.transpose(0, 1))")
    ]
    assert differences(setup, expressions, 1e-3) == []


def test_one_index_for_many() -> None:
    assert differences(SETUP, [
        "torch.zeros(2, 3).index_add(1, torch.tensor([2]).expand(4), x[:8].view(2, 4))",
        "torch.zeros(3).scatter_add(0, torch.tensor([1]).expand(4), x[:4])",
        "torch.ones(3).scatter(0, torch.tensor([1]).expand(4), x[:4], reduce='multiply')",
        "torch.zeros(3).scatter_reduce(0, torch.tensor([1]).expand(4), x[:4], 'amax')",
        "x[:6].view(2, 3).gather(1, torch.tensor([[1]]).expand(2, 3))",
        "x[:6].index_select(0, torch.tensor([1]).expand(4))",
        "torch.zeros(2, 3).scatter_add(0, torch.tensor([[1]]).expand(2, 3), x[:6].view(2, 3))",
    ]) == []
