"""Random numbers: PyTorch's own sequences. Integers and uniform numbers are the same bit for bit."""

from __future__ import annotations

import pytest

from support.micropython_agree import differences

SETUP = """
def seeded(n, *draws):
    torch.manual_seed(n)
    return [draw() for draw in draws]
x = torch.arange(12).reshape(3, 4) * 0.08
"""
SAME = [
    (5, [
        "torch.rand(20)", "torch.rand(2, 3)", "torch.rand(700)",
    ]),
    (-3, [
        "torch.rand(5)", "torch.initial_seed()",
    ]),
    (2 ** 40 + 5, [
        "torch.rand(5)", "torch.initial_seed()",
    ]),
    (7, [
        "torch.rand(3000, dtype=torch.float16)", "torch.rand(2000, dtype=torch.bfloat16)",
    ]),
    (3, [
        "torch.empty(100).uniform_(-0.3, 0.7)", "torch.empty(20).uniform_(1, 1 + 2 ** (-23))",
    ]),
    (3, [
        "torch.empty(3, 4).t().uniform_()", "torch.empty(2, 3, 4).permute(1, 2, 0).uniform_()",
        "torch.empty(3, 8).narrow(1, 2, 3).uniform_()",
    ]),
    (4, [
        "torch.randint(10, (50,))", "torch.randint(-5, 10, (5, 2))", "torch.randint(2 ** 27 + 5, (5,))",
        "torch.randint(2 ** 28, (5,))", "torch.randint(2 ** 40, (5,))",
    ]),
    (4, [
        "torch.randint(0, 10, (5,), dtype=torch.int32)", "torch.randint(0, 10, (5,), dtype=torch.float32)",
        "torch.randint(0, 10, (5,), dtype=torch.uint8)",
    ]),
    (4, [
        "torch.randperm(0)", "torch.randperm(1)", "torch.randperm(2)", "torch.randperm(100)",
        "torch.randperm(1500, dtype=torch.int32)",
    ]),
    (9, [
        "torch.zeros(9, dtype=torch.float32).random_()", "torch.zeros(9, dtype=torch.int32).random_()",
        "torch.zeros(9, dtype=torch.uint8).random_()", "torch.zeros(9, dtype=torch.int16).random_()",
        "torch.zeros(9, dtype=torch.int8).random_()", "torch.zeros(9, dtype=torch.bool).random_()",
        "torch.zeros(9, dtype=torch.float16).random_()", "torch.zeros(9, dtype=torch.bfloat16).random_()",
        "torch.zeros(9, dtype=torch.int64).random_()",
    ]),
    (9, [
        "torch.zeros(9).random_(5)", "torch.zeros(9, dtype=torch.int8).random_(-5, 7)",
        "torch.zeros(5, dtype=torch.int8).random_(3, None)",
    ]),
    (9, [
        "torch.bernoulli(x)", "x.bernoulli(0.4)", "torch.zeros(30).bernoulli_(0.3)",
        "torch.zeros(3, 4).bernoulli_(x)", "torch.zeros(9, dtype=torch.int32).bernoulli_()",
    ]),
    (9, [
        "torch.dropout(torch.ones(3, 4), 0.4, True)", "torch.dropout(x, 0.4, False)", "torch.dropout(x, 1.0, True)",
        "torch.rand(2)",
    ]),
    (4, [
        "torch.multinomial(x + 0.1, 3, replacement=True)", "torch.multinomial(x + 0.1, 3)",
        "torch.multinomial(x.select(0, 1), 1)", "x.multinomial(4)",
    ]),
    (4, [
        "torch.rand_like(x)", "torch.randint_like(x, 3, 10)", "torch.randint_like(torch.arange(4), 10)",
        "torch.rand(3, dtype=torch.float32, out=torch.zeros(3))",
    ]),
    (4, [
        "torch.rand(3, generator=torch.Generator())", "torch.rand(2, generator=torch.Generator().manual_seed(4))",
        "torch.rand(2)", "torch.randperm(5, generator=torch.Generator().manual_seed(4))",
        "torch.randint(5, (5,), generator=torch.Generator().manual_seed(4))",
    ]),
    (3, ["torch.randn(15)"] * 20 + ["torch.zeros(15).exponential_(0.7)"] * 20),  # of 53 bits, rounded once
]
CLOSE = [
    (4, [
        "torch.randn(1)", "torch.randn(2)", "torch.randn(3)", "torch.randn(15)", "torch.randn(16)", "torch.randn(17)",
        "torch.randn(31)", "torch.randn(32)", "torch.randn(33)", "torch.randn(100)", "torch.randn(1)",
        "torch.randn(5)", "torch.randn(1000)",
    ]),
    (5, [
        "torch.randn(7)", "torch.randn(16)", "torch.randn(7)", "torch.randn(160)", "torch.randn(7)",
    ]),
    (5, [
        "torch.zeros(20, 8).narrow(1, 1, 4).normal_(0, 3)", "torch.zeros(4, 8).t().normal_()", "torch.randn(4, 5, 6)",
    ]),
    (6, [
        "torch.normal(x, 2.0)", "torch.normal(1.0, x)", "torch.normal(x, x)", "torch.normal(1.0, 2.0, (20,))",
        "torch.randn_like(x)", "torch.zeros(40).normal_(1, 0.5)",
    ]),
    (6, [
        "torch.zeros(50).exponential_()", "torch.zeros(50).exponential_(0.3)",
    ]),
    (7, [
        "torch.randn(40, generator=torch.Generator().manual_seed(3))", "torch.randn(5)",
    ]),
    (8, [
        "torch.randn(4000)",
    ]),
    (4, [f"torch.randn({n}, dtype=torch.{dtype})" for n in (3, 16, 17, 25, 40) for dtype in ("float16", "bfloat16")]),
]
WRONG = """
torch.randint(5,5,(2,))
torch.randperm(-1)
torch.empty(3).normal_(0,-1)
torch.empty(3).uniform_(2,1)
torch.empty(3).bernoulli_(1.5)
torch.bernoulli(torch.full((1,),2.))
torch.arange(3).normal_()
torch.arange(3).uniform_()
torch.randn(3,dtype=torch.int64)
torch.rand(3,dtype=torch.int64)
torch.randint(0,300,(2,),dtype=torch.uint8)
torch.multinomial(torch.zeros(2),1)
torch.multinomial(torch.ones(2),3)
torch.dropout(torch.ones(2),1.5,True)
torch.empty(2).exponential_(-1)
torch.rand(2,-1)
torch.rand(2,generator=3)
"""


def _seeded(seed: int, draws: list[str]) -> str:
    return f"seeded({seed}, {', '.join(f'lambda: {draw}' for draw in draws)})"


@pytest.mark.parametrize(("sequences", "tolerance"), [(SAME, 0.0), (CLOSE, 2e-6)], ids=["same", "close"])
def test_sequences_agree(sequences: list[tuple[int, list[str]]], tolerance: float) -> None:
    assert not differences(SETUP, [_seeded(seed, draws) for seed, draws in sequences], tolerance)


def test_errors_agree() -> None:
    assert not differences(SETUP, WRONG.strip().splitlines())


def test_many_seeds() -> None:
    draws = ["rand(3)", "randint(7, (5,))", "randperm(9)", "rand(630)", "randint(2**40, (3,))"]
    seeds = (0, 1, 42, 2**31, 2**63 - 1, -1, 123456789)
    assert not differences(SETUP, [_seeded(seed, [f"torch.{draw}" for draw in draws]) for seed in seeds])


def test_state_can_be_kept() -> None:
    setup = SETUP + """
def again():
    torch.manual_seed(8)
    torch.randn(3)
    state = torch.get_rng_state()
    first = torch.randn(20), torch.randn(2)
    torch.set_rng_state(state)
    return [bool((a == b).all()) for a, b in zip(first, (torch.randn(20), torch.randn(2)))]
def own():
    g = torch.Generator()
    g.manual_seed(3)
    return (g.initial_seed(), torch.rand(2, generator=g), torch.initial_seed() == 3, g.manual_seed(5) is g)
"""
    assert not differences(setup, ["again()", "seeded(4, own)"])
