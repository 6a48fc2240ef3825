"""Writing to memory that is still to be read, or to one element twice: an error or a result, as in PyTorch."""

from __future__ import annotations

from support.micropython_agree import differences
from support.micropython_scripts import output

SETUP = """
def a():
    return torch.arange(1., 17.).view(4, 4)

def f():
    return torch.arange(1., 13.)

def i():
    return torch.tensor([2, 0, 1, 3])

def e():
    return torch.arange(1., 4.).expand(2, 3)

def then(t, call):  # the result, and the tensor afterwards
    return call(t), t

def iadd(t, other):
    t += other
    return t

def isub(t, other):
    t -= other
    return t

def ipow(t, other):
    t **= other
    return t

def put(t, index, value):
    t[index] = value
    return t
"""
# `(t)` is a fresh tensor in each; the parts that are read and written overlap.
EXPRESSIONS = [
    # Python's operators
    "then(a(), lambda t: iadd(t, t.t()))", "then(a(), lambda t: iadd(t, t))",
    "then(f(), lambda t: iadd(t[1:], t[:-1]))", "then(f(), lambda t: isub(t[:-1], t[1:]))",
    "then(a(), lambda t: isub(t, t[0]))", "then(a(), lambda t: ipow(t.t(), t))",
    "then(a(), lambda t: iadd(t[0], t[1]))", "then(a(), lambda t: iadd(t.t(), t.t()))", "iadd(e(), 1)",
    "iadd(e()[0], 1)", "then(a(), lambda t: iadd(t, t.clone().t()))", "then(f(), lambda t: iadd(t[::2], t[1::2]))",
    # methods in place
    "then(a(), lambda t: t.mul_(t.t()))", "then(a(), lambda t: t.t().div_(t))", "then(a(), lambda t: t.mul_(t))",
    "then(f(), lambda t: t[1:].sub_(t[:-1]))", "then(a(), lambda t: t.copy_(t.t()))", "then(a(), lambda t: t.copy_(t))",
    "then(f(), lambda t: t[1:].copy_(t[:-1]))", "then(f(), lambda t: t[:6].copy_(t[6:]))",
    "then(a(), lambda t: t.lerp_(t.t(), 0.5))", "then(a(), lambda t: t.addcmul_(t, t.t()))",
    "then(a(), lambda t: t.addcmul_(t, t))", "then(a(), lambda t: t.clamp_(t.t(), t))",
    "then(a(), lambda t: t.clamp_(t, t))", "then(a(), lambda t: t.fmod_(t.t()))",
    "then(a(), lambda t: t.xlogy_(t.t()))", "then(a(), lambda t: t.atan2_(t.t()))", "then(a(), lambda t: t.cumsum_(0))",
    "then(a(), lambda t: t.masked_fill_(t > 3, t[0, 0]))", "then(a(), lambda t: t.index_add_(0, i(), t))",
    "then(a(), lambda t: t.index_add_(0, i(), t.clone()))", "then(i(), lambda t: t.scatter_(0, t, t))",
    "then(i(), lambda t: t.scatter_add_(0, t.clone(), t))", "then(a(), lambda t: t.index_copy_(0, i(), t))",
    "then(a(), lambda t: t.scatter_(0, i().view(1, 4), t))", "then(a(), lambda t: t[1:].relu_())",
    "then(a(), lambda t: t.eq_(t.t()))", "then(a(), lambda t: t.addr_(t[0], t[1]))",
    # an element twice
    "e().add_(1)", "e().relu_()", "e().mul_(e())", "e().copy_(torch.ones(2, 3))", "e().fill_(7)", "e().zero_()",
    "e().cumsum_(1)", "e().sub_(1)", "e().clamp_(min=2)", "e().exp_()", "e().lerp_(torch.ones(3), 0.5)", "e().sqrt_()",
    "e().scatter_(1, torch.tensor([[0]]), 5.)", "e().index_add_(1, torch.tensor([0]), torch.ones(2, 1))",
    "e().uniform_().shape", "e().normal_().shape", "e().random_().shape", "e().exponential_().shape",
    "torch.nn.functional.dropout(e(), 0.5, True, True).shape", "e().masked_scatter_(e() > 1, torch.ones(6))",
    "e()[:, :1].add_(1)", "e()[:1].add_(1)", "e().squeeze_().shape", "torch.ones(1).expand(1).add_(1)",
    "torch.ones(1).expand(0).add_(1)", "e().t_().shape", "e().nan_to_num_()",
    "then(torch.ones(3, 1).expand(3, 2), lambda t: t[0].add_(1))", "f().as_strided((3, 2), (1, 1)).add_(1).shape",
    # t[...] = value
    "put(i(), i(), i())", "then(i(), lambda t: put(t, t, t))", "then(i(), lambda t: put(t, t, 5))",
    "then(i(), lambda t: put(t, t > 1, t[0]))", "then(f(), lambda t: put(t, t > 5, t[0]))",
    "then(f(), lambda t: put(t, t > 5, t[5:]))", "then(f(), lambda t: put(t, slice_from_1, t[:-1]))",
    "then(f(), lambda t: put(t, torch.tensor([0, 1]), t[2:4]))", "then(a(), lambda t: put(t, 0, t[1]))",
    "then(a(), lambda t: put(t, 0, t[0]))", "then(a(), lambda t: put(t, (0,), t[:, 0]))", "put(e(), 0, 5.)",
    "put(e(), (0, 1), 5.)", "put(e(), ..., 5.)", "put(e(), ..., torch.ones(3))", "put(e(), torch.tensor([0]), 5.)",
    "then(torch.tensor([True, False]), lambda t: put(t, t, False))", "then(a(), lambda t: put(t, ..., t.t()))",
    # out=
    "then(a(), lambda t: torch.cumsum(t, 0, out=t.t()))", "then(a(), lambda t: torch.cumsum(t, 0, out=t))",
    "then(a(), lambda t: torch.add(t, 1, out=t.t()))", "then(a(), lambda t: torch.add(t, 1, out=t))",
    "then(f(), lambda t: torch.relu(t[1:]) if False else torch.neg(t[1:], out=t[:-1]))",
    "then(f(), lambda t: torch.mul(t[:6], t[6:], out=t[:6]))",
    "then(f(), lambda t: torch.mul(t[:6], t[3:9], out=t[:6]))", "then(a(), lambda t: torch.amax(t, 1, out=t[:, 0]))",
    "then(a(), lambda t: torch.softmax(t, 0, out=t.t()))", "then(a(), lambda t: torch.cat([t[:2], t[2:]], out=t))",
    "then(a(), lambda t: torch.cat([t[2:], t[:2]], out=t))",
    "then(a(), lambda t: torch.stack([t[0], t[1]], out=t[:2]))",
    "then(a(), lambda t: torch.index_select(t, 0, i(), out=t))",
    "then(a(), lambda t: torch.gather(t, 0, i().view(1, 4), out=t[:1]))",
    "then(a(), lambda t: torch.lerp(t, t, .5, out=t.t()))", "then(a(), lambda t: torch.where(t > 3, t, t.t(), out=t))",
    "torch.add(f()[:3], 1, out=e())", "torch.abs(e(), out=e())", "torch.zeros(2, 3, out=e())",
    "torch.full((2, 3), 4., out=e())", "torch.cumprod(torch.ones(2, 3), 0, out=e())",
    "torch.cat([torch.ones(1, 3)] * 2, out=e())", "torch.arange(6., out=e())",
    "torch.gather(f(), 0, i()[:3].expand(2, 3)[0], out=e()[0])", "then(a(), lambda t: torch.maximum(t, t.t(), out=t))",
    "then(f(), lambda t: torch.diff(t, out=t[1:]))", "then(a(), lambda t: torch.kron(t[:1], t[:, :1], out=t))",
    "then(a(), lambda t: torch.logaddexp(t, t.t(), out=t))",
]


def test_pytorch_rules_of_overlapping_memory() -> None:
    expressions = [text.replace("slice_from_1", "torch.tensor([False] + [True] * 11)") for text in EXPRESSIONS]
    assert differences(SETUP, expressions, 1e-5) == []


def test_reductions_may_lie_over_what_they_read() -> None:
    script = "import torch\n" + SETUP + """
for name in ("sum", "mean", "amax", "prod", "std", "norm", "logsumexp", "any"):
    for dim in (0, 1):
        for place in (lambda t: t[0], lambda t: t[:, 1], lambda t: t[2], lambda t: t.view(-1)[3:7]):
            t, reduce = a() / 8, getattr(torch, name)
            if not torch.equal(reduce(t.clone(), dim=dim).to(t.dtype), reduce(t, dim=dim, out=place(t))):
                print(name, dim, place(t))
"""
    assert output(script) == ""
