"""What does not fit is refused with PyTorch's own words: the same kind of error, and the same text."""

from __future__ import annotations

from support.micropython_compare import differences

SETUP = """
from torch import nn
import torch.nn.functional as F
T = torch.tensor
x = torch.arange(6.).view(2, 3)
i, b, h = torch.arange(4), T([True, False]), torch.ones(2, 2).half()
"""

CALLS = [
    "torch.ones(1,4) @ torch.ones(3,2)", "torch.mm(torch.ones(1,4), torch.ones(3,2))",
    "torch.matmul(torch.ones(4), torch.ones(3))", "torch.matmul(torch.ones(2,3,4), torch.ones(2,3,4))",
    "torch.matmul(torch.ones(2,3,4), torch.ones(3,4,5))", "torch.matmul(torch.ones(2,3), torch.ones(2))",
    "torch.matmul(torch.ones(2), torch.ones(3,2))", "torch.matmul(T(1.), torch.ones(3))",
    "torch.mm(torch.ones(2), torch.ones(2,2))", "torch.mm(torch.ones(2,2), torch.ones(2))",
    "torch.bmm(torch.ones(2,3,4), torch.ones(2,3,4))", "torch.bmm(torch.ones(2,3), torch.ones(2,3,4))",
    "torch.mv(torch.ones(2,3), torch.ones(2))", "torch.dot(torch.ones(2), torch.ones(3))",
    "torch.dot(torch.ones(2,2), torch.ones(3))", "torch.addmm(torch.ones(2), torch.ones(2,3), torch.ones(4,2))",
    "torch.addmm(torch.ones(5), torch.ones(2,3), torch.ones(3,2))", "torch.outer(torch.ones(2,2), torch.ones(3))",
    "torch.ones(2,2) @ torch.ones(2,2).long()", "torch.ones(2,2) @ h", "F.linear(torch.ones(1,4), torch.ones(2,3))",
    "F.linear(torch.ones(1,4).long(), torch.ones(2,4))", "F.linear(torch.ones(2, 1,4), torch.ones(2,3))",
    "nn.Linear(3,2)(torch.ones(1,4))", "nn.Linear(3,2)(torch.ones(4))", "nn.Linear(3,2)(torch.ones(1,3).half())",
    "nn.Linear(3,2)(torch.ones(1,3).long())", "nn.Linear(3,2)([1,2,3])", "x + torch.ones(2)", "x + torch.ones(4,3)",
    "x - torch.ones(5,2,2)", "x * torch.ones(3,3)", "x.add_(torch.ones(2,2,3))", "x.add_(torch.ones(4,1))",
    "torch.where(x > 1, x, torch.ones(2))", "x.view(4)", "x.view(-1, 4)", "x.t().view(6)", "x.reshape(4)",
    "x.reshape(-1, 4)", "x.view(7, 0)", "x.view(0, -1)", "x.expand(3, 3)", "x.permute(0)", "x.permute(0, 2)",
    "x.transpose(0, 2)", "x.squeeze(3)", "x.unsqueeze(4)", "x.unsqueeze(-4)", "x.flatten(1, 0)", "x.flatten(3)",
    "x.t().t().t() + x", "torch.ones(2,2,2).t()", "x.sum(2)", "x.sum(dim=-3)", "x.mean(5)", "x.max(2)", "x.argmax(3)",
    "x.softmax(2)", "F.softmax(x, dim=-3)", "x.cumsum(2)", "x.sort(2)", "x.topk(4)", "x.topk(5, 0)", "x.topk(2, 3)",
    "x.chunk(0)", "x.split(2, 2)", "x.split(-1)", "x.split([1, 3], 1)", "x.select(2, 0)", "x.narrow(1, 2, 2)",
    "x.size(2)", "x.size(-3)", "x.stride(4)", "torch.cat([x, torch.ones(2,4)])", "torch.cat([x, torch.ones(3,3)], 1)",
    "torch.cat([x, torch.ones(2)])", "torch.cat([])", "torch.cat([x, x], 2)", "torch.cat([x, 1])", "torch.cat(x)",
    "torch.stack([x, torch.ones(2,4)])", "torch.stack([])", "torch.stack([x, x], 4)",
    "torch.vstack([x, torch.ones(2,4)])", "torch.hstack([x, torch.ones(3,3)])", "x[2]", "x[-3]", "x[0, 3]",
    "x[0, 0, 0]", "x[:, 3]", "x[T([0, 2])]", "x[[0, 2]]", "x[T([True, False, True])]", "x[T([[True, False]])]",
    "x[T([0.5])]", "x[T([0,1]), T([0,1,2])]", "x[1.5]", "x[::0]", "x[::-1]", "T(1)[0]",
    "x.__setitem__(0, torch.ones(4))", "x.gather(1, T([[5]]))", "x.gather(1, T([[1.]]))", "x.index_select(0, T([2]))",
    "x.index_select(2, T([0]))", "x.index_select(0, T([[0]]))", "x.scatter(1, T([[5]]), 1.)",
    "x.masked_fill(T([1, 0, 1]), 2)", "F.embedding(T([5]), torch.ones(3, 2))", "nn.Embedding(3, 2)(T([3]))",
    "nn.Embedding(3, 2)(T([-1]))", "nn.Embedding(3, 2)(T([0.5]))", "F.one_hot(T([3]), 3)", "F.one_hot(T([-1]))",
    "F.cross_entropy(torch.ones(2, 3), T([0, 3]))", "F.cross_entropy(torch.ones(2, 3), T([0, 1, 2]))",
    "F.nll_loss(torch.ones(2, 3), T([0, 5]))", "F.mse_loss(x, torch.ones(2))",
    "F.binary_cross_entropy(torch.ones(2), torch.ones(3))", "F.binary_cross_entropy(T([2.]), T([1.]))",
    "F.conv2d(torch.ones(1,3,8,8), torch.ones(4,2,3,3))", "F.conv2d(torch.ones(3,8), torch.ones(4,3,3,3))",
    "F.conv2d(torch.ones(1,3,2,2), torch.ones(4,3,3,3))",
    "F.conv2d(torch.ones(1,3,8,8), torch.ones(4,3,3,3), torch.ones(3))",
    "F.conv2d(torch.ones(1,4,8,8), torch.ones(4,2,3,3), groups=3)", "F.conv1d(torch.ones(1,3,8), torch.ones(4,2,3))",
    "nn.Conv2d(3, 8, 3)(torch.ones(1, 1, 8, 8))", "nn.Conv2d(3, 8, 3)(torch.ones(8, 8))",
    "nn.Conv1d(3, 8, 3)(torch.ones(1, 1, 8))", "nn.Conv2d(3, 8, 3, groups=2)",
    "nn.ConvTranspose2d(3, 8, 3)(torch.ones(1, 1, 8, 8))", "F.max_pool2d(torch.ones(1,1,2,2), 3)",
    "F.max_pool2d(torch.ones(2,2), 2)", "F.avg_pool2d(torch.ones(1,1,2,2), 3)",
    "nn.BatchNorm2d(3)(torch.ones(1, 2, 4, 4))", "nn.BatchNorm2d(3)(torch.ones(3, 4))",
    "nn.BatchNorm1d(3)(torch.ones(1, 3))", "nn.LayerNorm(4)(x)", "nn.LayerNorm([2, 2])(x)", "nn.GroupNorm(2, 3)",
    "nn.LSTM(4, 2)(torch.ones(3, 1, 5))", "nn.GRU(4, 2)(torch.ones(3))", "nn.MultiheadAttention(5, 2)",
    "nn.Dropout(2.)", "F.pad(x, (1,))", "F.pad(x, (1,1,1,1,1,1))", "x.item()", "i.item()", "torch.ones(0).item()",
    "bool(x)", "bool(torch.ones(0))", "float(x)", "int(x)", "x.tolist().x", "torch.ones(0, 3).max(0)", "i.mean()",
    "b.mean()", 'torch.sqrt("a")', "torch.sqrt(None)", 'torch.add(x, "a")', "x.add(x, x)", "~x", "b - b", "-b",
    "i // 0", "i % 0", "i.add_(1.5)", "i.div_(2)", "b.add_(1)", "i.copy_(T([1,2]))", "torch.add(i, 1.5, out=i)",
    'torch.tensor("a")', 'torch.tensor([1, "a"])', "torch.tensor([[1, 2], [3]])", "torch.tensor([[1, 2], 3])",
    "torch.tensor([None])", "torch.tensor(None)", "torch.tensor({})", 'torch.zeros("a")', "torch.zeros(2.5)",
    "torch.zeros((2, 2.5))", 'torch.ones(2, dtype="float")', 'torch.arange("a")', "torch.linspace(0, 1, -1)",
    'torch.full((2,), "a")', "torch.full(2, 1)", "torch.randint(5, 5, (2,))", "torch.multinomial(T([1., -1.]), 1)",
    'torch.einsum("ij", x, x)', "torch.roll(x, 1, 3)", "torch.clamp(x)", "torch.repeat_interleave(x, -1)",
    "torch.unbind(x, 2)", "torch.cosine_similarity(torch.ones(2,3), torch.ones(2,2))", "torch.foo", "x.foo", "nn.Foo",
    "F.foo", 'nn.Linear("a", 2)', "nn.Linear(3, 2).foo", "nn.Sequential(1)", "nn.Sequential(nn.ReLU())[3]",
    "nn.Module()(x)", "nn.Linear(2,2).load_state_dict({})", "i.requires_grad_()", "T([1], requires_grad=True)",
    'x.type("foo")', 'x.reshape("a")', "x.transpose(0)", 'x.permute("a")',
]
# Sizes of several dimensions, layers without a batch, groups, dilation and padding.
MORE = [
    "torch.ones(2, 3, 4) @ torch.ones(5, 6)", "torch.ones(2, 3, 4) @ torch.ones(5)",
    "torch.ones(0, 4) @ torch.ones(3, 2)", "nn.Linear(3, 2)(torch.ones(2, 5, 4))",
    "nn.Linear(3, 2, bias=False)(torch.ones(1, 3).long())", "nn.Linear(3, 2, bias=False)(torch.ones(0, 4))",
    "F.conv1d(torch.ones(3, 8), torch.ones(4, 2, 3))", "F.conv2d(torch.ones(3, 8, 8), torch.ones(4, 2, 3, 3))",
    "F.conv3d(torch.ones(1, 2, 4, 4, 4), torch.ones(1, 1, 2, 2, 2))",
    "F.conv2d(torch.ones(1, 2, 3, 3), torch.ones(4, 2, 3, 3), dilation=2)",
    "F.conv1d(torch.ones(1, 2, 3), torch.ones(4, 2, 9), padding=2)",
    "F.conv2d(torch.ones(1, 3, 8, 8), torch.ones(4, 1, 3, 3), groups=2)",
    "nn.Conv2d(4, 8, 3, groups=2)(torch.ones(1, 3, 8, 8))", "F.avg_pool2d(torch.ones(2, 3, 5), (2, 6), (1, 3))",
    "F.max_pool2d(torch.ones(1, 1, 3, 3), 5, stride=2, padding=0)", "torch.cat([T([]), x, torch.ones(3)])",
    "torch.cat([T(1.), T(2.)])", "torch.cat([x, x, torch.ones(2, 2, 2)], -1)", "torch.stack([T(1.), T([1.])])",
    "torch.ones(2, 3, 4).transpose(0, 2).view(-1)", "torch.ones(3, 2).t().view(2, 3, 1).view(6)", "x.split([1, 1])",
    "x.narrow(0, 1, 5)", "torch.ones(2, 1, 3) + torch.ones(4, 2, 2)", "F.pad(x, (1, 2, 3))",
]


def test_errors_have_the_words_of_pytorch() -> None:
    assert differences(SETUP, CALLS + MORE, texts=True) == []
