"""Networks of many kinds that are not in the zoo: compiled, run with sanitizers, compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import pilotlight as pl
from support.compiled import assert_matches, check, rows_of

Model = tuple[nn.Module, tuple[Any, ...]]


class Net(nn.Module):
    """A forward function and the layers that it uses by name."""

    def __init__(self, function: Callable[..., Any], **layers: nn.Module):
        super().__init__()
        self.function = function
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs)


def crnn() -> Model:
    """Convolutions over a spectrogram, then a GRU over time."""
    def forward(n: Net, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(n.norm(n.conv(x)))  # (1, 8, 10, 12)
        y, _ = n.gru(y.permute(0, 3, 1, 2).flatten(2))
        return n.head(y[:, -1])

    net = Net(forward, conv=nn.Conv2d(1, 8, 3, stride=(2, 1), padding=1), norm=nn.BatchNorm2d(8),
              gru=nn.GRU(80, 12, batch_first=True), head=nn.Linear(12, 5))
    return net, (torch.randn(1, 1, 20, 12),)


def wavenet() -> Model:
    """Gated dilated convolutions with causal padding, residual and skip sums."""
    def forward(n: Net, x: torch.Tensor) -> torch.Tensor:
        x, skips = n.inlet(x), 0
        for k, (gate, out) in enumerate(zip(n.gates, n.outs, strict=True)):
            a, b = gate(F.pad(x, (2**k, 0))).chunk(2, dim=1)
            y = out(torch.tanh(a) * torch.sigmoid(b))
            x, skips = x + y, skips + y
        return n.head(F.relu(skips))

    net = Net(forward, inlet=nn.Conv1d(1, 6, 1), head=nn.Conv1d(6, 4, 1),
              gates=nn.ModuleList(nn.Conv1d(6, 12, 2, dilation=2**k) for k in range(3)),
              outs=nn.ModuleList(nn.Conv1d(6, 6, 1) for _ in range(3)))
    return net, (torch.randn(1, 1, 24),)


def vision_transformer() -> Model:
    """Patches by a strided convolution, a class token, positions, one encoder layer."""
    def forward(n: Net, x: torch.Tensor) -> torch.Tensor:
        y = n.patch(x).flatten(2).transpose(1, 2)
        y = torch.cat([n.token.weight[None], y], 1) + n.place.weight
        return n.head(n.layer(y)[:, 0])

    net = Net(forward, patch=nn.Conv2d(3, 12, 4, 4), token=nn.Embedding(1, 12), place=nn.Embedding(10, 12),
              layer=nn.TransformerEncoderLayer(12, 3, 24, batch_first=True, activation="gelu"), head=nn.Linear(12, 4))
    return net, (torch.randn(1, 3, 12, 12),)


def mixer() -> Model:
    """MLP-Mixer: linear layers over both axes."""
    def forward(n: Net, x: torch.Tensor) -> torch.Tensor:
        x = x + n.tokens(n.norm1(x).transpose(1, 2)).transpose(1, 2)
        x = x + n.channels(n.norm2(x))
        return x.mean(1)

    net = Net(forward, norm1=nn.LayerNorm(8), norm2=nn.LayerNorm(8), channels=nn.Linear(8, 8),
              tokens=nn.Sequential(nn.Linear(6, 10), nn.GELU(), nn.Linear(10, 6)))
    return net, (torch.randn(1, 6, 8),)


def point_net() -> Model:
    """Points in any order: shared layers and a maximum."""
    def forward(n: Net, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(n.norm(n.conv(x)))
        whole = y.amax(2, keepdim=True).expand(-1, -1, x.shape[2])
        return n.head(torch.cat([y, whole], 1)).softmax(1)

    net = Net(forward, conv=nn.Conv1d(3, 8, 1), norm=nn.BatchNorm1d(8), head=nn.Conv1d(16, 4, 1))
    return net, (torch.randn(1, 3, 20),)


def graph_net() -> Model:
    """Messages along the edges of a graph given as an adjacency matrix."""
    def forward(n: Net, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        degree = edges.sum(1, keepdim=True).clamp(min=1.0)
        for layer in (n.first, n.second):
            x = F.elu(layer((edges @ x) / degree) + x)
        return x.sum(0)

    net = Net(forward, first=nn.Linear(5, 5), second=nn.Linear(5, 5))
    return net, (torch.randn(7, 5), (torch.rand(7, 7) > 0.5).float())


def siamese() -> Model:
    """One tower for two images: shared weights, a distance."""
    def forward(n: Net, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        left, right = (F.normalize(n.tower(x).flatten(1), dim=1) for x in (a, b))
        return (left - right).square().sum(1).sqrt()

    tower = nn.Sequential(nn.Conv2d(1, 4, 3, 2), nn.ReLU(), nn.Conv2d(4, 6, 3, 2), nn.AdaptiveAvgPool2d(2))
    return Net(forward, tower=tower), (torch.randn(1, 1, 15, 15), torch.randn(1, 1, 15, 15))


def generator() -> Model:
    """A vector becomes an image: linear, unflatten, transposed convolutions, tanh."""
    net = nn.Sequential(
        nn.Linear(6, 32), nn.Unflatten(1, (8, 2, 2)), nn.BatchNorm2d(8), nn.ReLU(),
        nn.ConvTranspose2d(8, 4, 4, 2, 1), nn.LeakyReLU(0.2), nn.ConvTranspose2d(4, 3, 4, 2, 1), nn.Tanh(),
    )
    return net, (torch.randn(1, 6),)


def detector() -> Model:
    """Two heads on two scales, boxes decoded on a grid."""
    def forward(n: Net, x: torch.Tensor) -> dict[str, torch.Tensor]:
        small = F.relu(n.down(x))
        large = F.relu(n.up(small)) + F.max_pool2d(x, 2)
        boxes = n.boxes(large).flatten(2).transpose(1, 2)
        rows = torch.arange(8.0).repeat_interleave(8)[:, None]
        return {"boxes": torch.cat([boxes[..., :2].sigmoid() + rows, boxes[..., 2:].exp()], 2),
                "scores": n.scores(small).flatten(2).amax(2).sigmoid()}

    net = Net(forward, down=nn.Conv2d(3, 6, 3, 4, 1), up=nn.ConvTranspose2d(6, 3, 2, 2), boxes=nn.Conv2d(3, 4, 1),
              scores=nn.Conv2d(6, 5, 1))
    return net, (torch.randn(1, 3, 16, 16),)


def seq_to_seq() -> Model:
    """An encoder LSTM and one decoder step that attends to all of it."""
    def forward(n: Net, x: torch.Tensor, token: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        memory, (h, c) = n.encoder(n.embed(x))
        h, c = n.cell(n.embed(token), (h[0], c[0]))
        weights = torch.softmax((memory @ h[:, :, None]).squeeze(2), 1)
        context = (weights[:, None] @ memory).squeeze(1)
        return n.out(torch.cat([h, context], 1)).log_softmax(1), weights

    net = Net(forward, embed=nn.Embedding(11, 6), encoder=nn.LSTM(6, 8, batch_first=True), cell=nn.LSTMCell(6, 8),
              out=nn.Linear(16, 11))
    return net, (torch.tensor([[3, 1, 4, 1, 5]]), torch.tensor([9]))


def recommender() -> Model:
    """Categories and numbers together; the dot product of two embeddings."""
    def forward(n: Net, user: torch.Tensor, item: torch.Tensor, facts: torch.Tensor) -> torch.Tensor:
        u, i = n.users(user), n.items(item)
        deep = n.deep(torch.cat([u, i, facts], 1))
        return torch.sigmoid((u * i).sum(1, keepdim=True) + deep)

    net = Net(forward, users=nn.Embedding(9, 4), items=nn.Embedding(13, 4),
              deep=nn.Sequential(nn.Linear(11, 8), nn.SELU(), nn.Linear(8, 1)))
    return net, (torch.tensor([2, 8]), torch.tensor([12, 0]), torch.randn(2, 3))


def efficient() -> Model:
    """Inverted residual with squeeze and excitation, swish, and a classifier."""
    def forward(n: Net, x: torch.Tensor) -> torch.Tensor:
        y = F.silu(n.n1(n.expand(x)))
        y = F.silu(n.n2(n.depth(y)))
        y = y * torch.sigmoid(n.up(F.silu(n.down(F.adaptive_avg_pool2d(y, 1)))))
        return n.head((x + n.n3(n.project(y))).mean((2, 3)))

    net = Net(forward, expand=nn.Conv2d(4, 12, 1, bias=False), depth=nn.Conv2d(12, 12, 5, padding=2, groups=12),
              project=nn.Conv2d(12, 4, 1), down=nn.Conv2d(12, 3, 1), up=nn.Conv2d(3, 12, 1), head=nn.Linear(4, 6),
              n1=nn.BatchNorm2d(12), n2=nn.BatchNorm2d(12), n3=nn.BatchNorm2d(4))
    return net, (torch.randn(1, 4, 9, 11),)


def super_resolution() -> Model:
    """Pixel shuffle on top of a bicubic picture."""
    def forward(n: Net, x: torch.Tensor) -> torch.Tensor:
        return (F.interpolate(x, scale_factor=2, mode="bicubic") + F.pixel_shuffle(n.conv(x), 2)).clamp(0, 1)

    return Net(forward, conv=nn.Conv2d(1, 4, 3, padding=1, padding_mode="replicate")), (torch.rand(1, 1, 7, 6),)


def batch_of_three() -> Model:
    """A batch is one more dimension, all the way through."""
    net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.GroupNorm(2, 4), nn.Flatten(),
                        nn.Linear(36, 5), nn.Softmax(1))
    return net, (torch.randn(3, 2, 8, 8),)


def sorting_head() -> Model:
    """The three best classes with their scores, as integers and floats."""
    def forward(n: Net, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        scores, classes = torch.topk(n.head(x).softmax(1), 3, dim=1)
        return scores, classes, scores.cumsum(1) > 0.5

    return Net(forward, head=nn.Linear(6, 9)), (torch.randn(1, 6),)


def anomaly() -> Model:
    """Features over a window: statistics, differences, logarithms; a score and a decision."""
    def forward(n: Net, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        change = x[:, 1:] - x[:, :-1]
        facts = torch.stack([x.mean(1), x.std(1), x.amax(1), x.amin(1), change.abs().mean(1),
                             torch.log(x.square().mean(1) + 1e-6)], 1)
        score = (n.model(facts) - facts).square().mean(1)
        return score, score > 0.5

    model = nn.Sequential(nn.Linear(6, 3), nn.Tanh(), nn.Linear(3, 6))
    return Net(forward, model=model), (torch.randn(2, 16),)


def every_activation() -> Model:
    layers = [
        nn.ELU(), nn.SELU(), nn.CELU(), nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.Softplus(), nn.Softsign(),
        nn.Tanhshrink(), nn.LogSigmoid(), nn.Hardshrink(), nn.Softshrink(), nn.Threshold(0.1, -2.0), nn.LeakyReLU(),
        nn.PReLU(), nn.Hardtanh(), nn.Hardswish(), nn.Hardsigmoid(), nn.ReLU6(), nn.Tanh(), nn.Sigmoid(), nn.ReLU(),
    ]
    net = Net(lambda n, x: tuple(layer(x) for layer in n.layers), layers=nn.ModuleList(layers))
    return net, (torch.linspace(-6, 6, 40).reshape(2, 20),)


MODELS = {
    f.__name__: f
    for f in (crnn, wavenet, vision_transformer, mixer, point_net, graph_net, siamese, generator, detector, seq_to_seq,
              recommender, efficient, super_resolution, batch_of_three, sorting_head, anomaly, every_activation)
}


def made(name: str) -> Model:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        module, inputs = MODELS[name]()
        for layer in module.modules():
            if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
                nn.init.normal_(layer.running_mean)
                nn.init.uniform_(layer.running_var, 0.5, 2.0)
    return module.eval(), inputs


@pytest.mark.parametrize("name", MODELS)
def test_matches_pytorch_under_sanitizers(name: str) -> None:
    module, inputs = made(name)
    check(module, inputs)


@pytest.mark.parametrize(
    ("name", "board"),
    [("crnn", "mps2-an386"), ("vision_transformer", "mps2-an500"), ("wavenet", "mps2-an505"),
     ("detector", "mps2-an385"),
     ("seq_to_seq", "mps3-an547"), ("efficient", "riscv32-virt"), ("anomaly", "microbit"),
     ("every_activation", "netduinoplus2")],
)
def test_matches_pytorch_on_boards(name: str, board: str) -> None:
    module, inputs = made(name)
    graph = pl.capture(module, inputs, name)
    rows = rows_of(graph, 2)
    with pl.compile(graph, board=board).open(count=False) as running:
        outputs = [running.flat(row) for row in rows]
    assert_matches(graph, rows, outputs)
