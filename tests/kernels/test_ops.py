"""Operators through the whole compiler on the host: one compiled model per family, compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from pilotlight.capture import capture
from pilotlight.compiler import compile as compile_graph
from support.c_compilers import SANITIZERS


def outputs(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else [t for item in value for t in outputs(item)]


class Module(nn.Module):
    """A function, and the layers it uses, as a module with a flat tuple of outputs."""

    def __init__(self, function: Callable[..., Any], *layers: nn.Module):
        super().__init__()
        self.function = function
        self.layers = nn.ModuleList(layers)

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(outputs(self.function(*self.layers, *inputs)))


def check(module: nn.Module, *inputs: torch.Tensor) -> None:
    """Floats within eight times PyTorch's own error in float32 plus 4e-6 of the largest; the rest exactly."""
    module = module.eval()
    build = compile_graph(capture(module, inputs), board="host")
    got = outputs(build.run(*inputs, on="host", sanitize=SANITIZERS))
    with torch.no_grad():
        single = outputs(module(*inputs))
        exact = outputs(module.double()(*(t.double() if t.is_floating_point() else t for t in inputs)))
    assert len(got) == len(single)
    for number, (y, near, truth) in enumerate(zip(got, single, exact, strict=True)):
        assert y.dtype == near.dtype and y.shape == near.shape, f"output {number}"
        if not y.is_floating_point():
            assert torch.equal(y, near), f"output {number}"
            continue
        assert torch.equal(y.isfinite(), near.isfinite()), f"output {number}"
        finite = truth.isfinite() & near.isfinite()
        scale = float(truth[finite].abs().max()) if finite.any() else 0.0
        own = float((near - truth)[finite].abs().max()) if finite.any() else 0.0
        error = float((y - truth)[finite].abs().max()) if finite.any() else 0.0
        assert error <= 8 * own + 4e-6 * scale, f"output {number} is off by {error:.3g}"


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(3)


def image() -> torch.Tensor:
    return torch.randn(2, 6, 9, 8)


def sequence() -> torch.Tensor:
    return torch.randn(5, 3, 7)


def test_max_pooling() -> None:
    check(Module(lambda x, s: (
        F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 2, 1, 1, 2, ceil_mode=True), F.max_pool1d(s, 2),
        F.max_pool2d(x, 3, 2, 1, return_indices=True), F.adaptive_max_pool2d(x, (4, 3)),
        F.adaptive_max_pool1d(s, 4), F.max_pool2d(x[0], 2),
    )), image(), sequence())


def test_average_pooling() -> None:
    check(Module(lambda x, s: (
        F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), F.avg_pool1d(s, 3, 1, 1),
        F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), F.avg_pool2d(x, 2, divisor_override=3),
        F.adaptive_avg_pool2d(x, (4, 3)), F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool1d(s, 4),
    )), image(), sequence())


def test_resizing() -> None:
    check(Module(lambda x, s: (
        F.interpolate(x, scale_factor=2), F.interpolate(x, (13, 5)), F.interpolate(s, 11),
        F.interpolate(x, (13, 5), mode="nearest-exact"), F.interpolate(x, scale_factor=1.7, mode="bilinear"),
        F.interpolate(x, (17, 5), mode="bilinear", align_corners=True), F.interpolate(s, 11, mode="linear"),
        F.interpolate(x, (17, 5), mode="bicubic"),
    )), image(), sequence())


def test_reductions() -> None:
    check(Module(lambda x: (
        x.abs().sum(), x.sum(1), x.mean((2, 3)), (x + 1).mean((0, 2, 3)), x.amax((1, 3)), x.amin(2, keepdim=True),
        x.prod(1), x.var(1), x.var((0, 2, 3), unbiased=False), x.std((2, 3)), x.max(), x.min(1), x.max(1), x.argmax(),
        x.argmin(3), x.logsumexp(1), x.norm(dim=1), x.abs().sum((1, 3)), F.normalize(x, dim=1),
        (x > 0).any(1), (x > 0).all(), (x > 0).sum(1), torch.var_mean(x, 1), x.cumsum(1), (x > 0).cumsum(2),
        x.norm(1, dim=2), x.norm(float("inf"), dim=2), torch.cdist(x[0], x[1]), torch.cdist(x[0], x[1], p=1.0),
        F.local_response_norm(x, 3),
    )), image())


def test_softmax_and_norms() -> None:
    check(Module(
        lambda group, instance, rms, x, m: (
            F.softmax(x, 1), F.softmax(x, -1), F.log_softmax(x, 1), F.softmax(x, 0), F.layer_norm(x, (8,)),
            F.layer_norm(x, (9, 8)), F.rms_norm(x, (8,)), instance(x), group(x), rms(x), F.group_norm(m, 5),
        ),
        nn.GroupNorm(2, 6), nn.InstanceNorm2d(6, affine=True), nn.RMSNorm(8),
    ), image(), torch.randn(4, 10))


def test_transposed_convolutions() -> None:
    check(Module(
        lambda a, b, c, x, s: (a(x), b(x), c(s)),
        nn.ConvTranspose2d(6, 5, 3, 2, 1, 1),
        nn.ConvTranspose2d(6, 4, (3, 2), (2, 3), 1, groups=2, dilation=(1, 2)),
        nn.ConvTranspose1d(3, 6, 4, 2, 1, bias=False),
    ), image(), sequence())


def test_recurrent_layers() -> None:
    check(Module(
        lambda a, b, c, d, e, x, h, s: (a(x), b(x), c(x), d(x), e(x), b(x[:, 0]), e(x, h), a(x, (s, s))),
        nn.LSTM(7, 4, 2, bidirectional=True), nn.LSTM(7, 4, bias=False), nn.GRU(7, 4, 2, bidirectional=True),
        nn.RNN(7, 4, nonlinearity="relu", batch_first=True), nn.GRU(7, 4, bias=False),
    ), sequence(), torch.randn(1, 3, 4), torch.randn(4, 3, 4))


def test_matrix_products() -> None:
    check(Module(lambda x, s: (
        x @ x.T, x[None] @ x.T[None], torch.einsum("ij,kj->ik", x, x), x @ x.new_ones(10), torch.outer(x[0], x[1]),
        x[0] @ x[1], torch.addmm(x[:, :4], x, x.T, beta=0.5, alpha=2), F.linear(x, x),
        s @ s.transpose(1, 2), torch.matmul(s.unsqueeze(1), s.transpose(1, 2).unsqueeze(0)),
        torch.baddbmm(s.new_ones(5, 3, 3), s, s.transpose(1, 2)), torch.matmul(s, s[0].T),
    )), torch.randn(4, 10), sequence())


def test_attention() -> None:
    def attend(heads: nn.MultiheadAttention, *inputs: torch.Tensor) -> tuple[Any, ...]:
        q, k, v, mask, x = inputs
        attention = F.scaled_dot_product_attention
        return (
            attention(q, k, v), attention(q, k, v, is_causal=True), attention(q, k, v, attn_mask=mask),
            attention(q, k, v, attn_mask=mask.to(q.dtype), scale=0.5), attention(q[0], k[0], v[0]),
            attention(q, k[:, :2], v[:, :2], enable_gqa=True), heads(x, x, x),
        )

    mask = torch.rand(5, 7) > 0.3
    mask[1] = False  # a row that sees nothing
    check(Module(attend, nn.MultiheadAttention(8, 2, batch_first=True)), torch.randn(2, 4, 5, 8),
          torch.randn(2, 4, 7, 8), torch.randn(2, 4, 7, 4), mask, torch.randn(2, 5, 8))


def test_indexing() -> None:
    check(Module(lambda table, bag, x, i: (
        table(i), x[i], x[:, i[0] % 4], torch.index_select(x, 1, i[0]), x[i[0], i[1]], x[-1 - i[0], i[1]],
        torch.gather(x, 1, i[:, :, None].expand(3, 4, 2)), x[torch.arange(6), :, torch.arange(6)],
        torch.take_along_dim(x[:3, :, 0], i, 1), x.diagonal(), x.diagonal(1, 1, 2), x.unfold(1, 4, 2),
        F.one_hot(i, 6), torch.tril(x), torch.triu(x, 1), bag(i), i.argmax(1), i.min(1),
    ), nn.Embedding(6, 5), nn.EmbeddingBag(6, 5)), torch.randn(6, 6, 6), torch.randint(0, 6, (3, 4)))


class Standardized(nn.Module):
    """A convolution whose weight is computed from parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 6, 3, 3))
        self.gain = nn.Parameter(torch.rand(4, 1, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        variance, mean = torch.var_mean(self.weight, (1, 2, 3), keepdim=True)
        return F.conv2d(x, (self.weight - mean) * torch.rsqrt(variance + 1e-5) * self.gain)


def test_weights_computed_from_parameters() -> None:
    normalized = nn.utils.parametrizations.weight_norm(nn.Linear(8, 3))
    check(Module(lambda conv, linear, x: (conv(x), linear(x)), Standardized(), normalized), image())


def test_writing_at_an_index() -> None:
    check(Module(lambda x, i, v, j: (
        x.index_put((i,), v), x.index_copy(0, i, v), x.index_add(0, i, v), x.index_put((i, i), v[:, 0]),
        x.index_put((i,), v, accumulate=True), x[:3].scatter(1, j, v[:, :2]), x[:3].scatter(1, j, 2.0),
        x[:3].scatter_add(1, j, v[:, :2]), torch.select_scatter(x, v[0], 0, 2),
        torch.slice_scatter(x, v[:2], 0, 1, 3), torch.slice_scatter(x, v.T, 1, 0, 6, 2), x.masked_fill(x > 0, 0),
        x.index_put((x > 0,), torch.zeros((), dtype=x.dtype)),
    )), torch.randn(6, 6), torch.tensor([1, 3, 5]), torch.randn(3, 6), torch.tensor([[0, 2], [1, 1], [5, 0]]))


def test_sorting() -> None:
    check(Module(lambda x: (
        torch.sort(x, 1), torch.sort(x, 0, descending=True), torch.topk(x, 3), torch.argsort(x, 1),
        torch.topk(x, 2, dim=0, largest=False), x.median(-1), x.kthvalue(2, -1),
    )), torch.randn(4, 10))


def test_functions() -> None:
    check(Module(lambda x: (
        x.sin(), x.cos(), x.tan(), x.atan(), x.tanh(), x.exp(), x.abs().log(), x.abs().sqrt(), x.erf(), F.gelu(x),
        F.gelu(x, approximate="tanh"), F.silu(x), F.mish(x), F.softplus(x), x.abs().pow(1.7), torch.fmod(x, 0.7),
        torch.remainder(x, 0.7), x.floor(), x.round(), torch.atan2(x, x + 1), x.sinh(), x.cosh(), x.asinh(),
        (x.abs() + 1).acosh(), (x / 4).atanh(), (x / 4).asin(), (x / 4).acos(), x.abs().log2(), x.abs().log10(),
        x.exp2(), x.sign(), x.frac(), x.expm1(), x.abs().log1p(), x.sigmoid(), x.isnan(), x.isinf(), x // 0.3,
        x.div(0.3, rounding_mode="trunc"), x.reciprocal(), x.abs().rsqrt(), x.to(torch.int64) % 3,
        x.to(torch.int64) // -2, torch.fmax(x, x.log()), torch.fmin(x.log(), x),
    )), torch.randn(4, 10))


def test_activations() -> None:
    check(Module(lambda x: (
        F.elu(x), F.selu(x), F.celu(x), F.leaky_relu(x), F.hardtanh(x), F.relu6(x), F.hardswish(x),
        F.hardsigmoid(x), F.logsigmoid(x), F.softsign(x), F.tanhshrink(x), F.softshrink(x), F.hardshrink(x),
        F.threshold(x, 0.1, 2.0), F.glu(x), torch.lerp(x, x + 1, 0.3), torch.addcmul(x, x, x), x.nan_to_num(),
        F.cosine_similarity(x, x + 1), x.clamp(-1, 0.5), torch.where(x > 0, x, 0.0),
    )), torch.randn(4, 10))


def test_moving_data() -> None:
    check(Module(lambda x: (
        F.pad(x, (1, 2, 3, 1)), F.pad(x, (1, 2, 3, 1), mode="reflect"), F.pad(x, (1, 2, 3, 1), mode="replicate"),
        F.pad(x, (1, 2, 3, 1), mode="circular"), torch.roll(x, (1, 2), (2, 3)), x.flip(2), x.repeat(1, 2, 1, 1),
        F.pixel_shuffle(x.reshape(2, 24, 3, 6), 2), F.pixel_unshuffle(x[:, :, :8], 2), F.channel_shuffle(x, 3),
        F.unfold(x, 3), F.fold(F.unfold(x, 3), (9, 8), 3),
    )), image())
