"""Attention over a whole sequence: PyTorch's own encoder layer, and a BERT written out."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from seeding import Model, seeded, settle


class Encoder(nn.Module):
    """Two nn.TransformerEncoderLayer, the mean over time, a classifier."""

    def __init__(self, features, width, heads, classes, steps):
        super().__init__()
        self.inlet = nn.Linear(features, width)
        self.position = nn.Parameter(0.1 * torch.randn(1, steps, width))
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.fc = nn.Linear(width, classes)

    def forward(self, x):  # (N, T, F)
        return self.fc(self.encoder(self.inlet(x) + self.position).mean(dim=1))


@seeded
def encoder() -> Model:
    """A Transformer encoder: 16 steps of 12 features, width 32, 4 heads, 6 classes."""
    return settle(Encoder(12, 32, 4, 6, 16)), (torch.randn(1, 16, 12),)


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, x, bias):  # (N, T, W), added to the scores: (N, 1, 1, T)
        n, t, w = x.shape

        def split(y):  # (N, heads, T, W / heads)
            return y.view(n, t, self.heads, w // self.heads).transpose(1, 2)

        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = q @ k.transpose(-1, -2) / (w // self.heads) ** 0.5 + bias
        mixed = torch.softmax(scores, dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(n, t, w))


class BertLayer(nn.Module):
    def __init__(self, width, heads, eps=1e-12):
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.norm1 = nn.LayerNorm(width, eps=eps)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.norm2 = nn.LayerNorm(width, eps=eps)

    def forward(self, x, bias):
        x = self.norm1(x + self.attention(x, bias))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self, vocabulary, width, heads, layers, steps, classes):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width, padding_idx=0)
        self.position = nn.Embedding(steps, width)
        self.kind = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads) for _ in range(layers))
        self.pooler = nn.Linear(width, width)
        self.classifier = nn.Linear(width, classes)

    def forward(self, ids, mask, kinds):  # each (N, T) int64; mask is 1 for a token, 0 for padding
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.token(ids) + self.position(positions) + self.kind(kinds))
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, bias)
        return self.classifier(torch.tanh(self.pooler(x[:, 0])))


@seeded
def bert_tiny() -> Model:
    """BERT-tiny (2 layers, width 128, 2 heads) over 24 tokens, the last six of them padding.

    The vocabulary has 1,000 words: the 30,522 of the published net would take 15 MB.
    """
    ids = torch.randint(1, 1000, (1, 24))
    mask = torch.ones(1, 24, dtype=torch.int64)
    kinds = torch.zeros(1, 24, dtype=torch.int64)
    ids[:, 18:] = 0
    mask[:, 18:] = 0
    kinds[:, 10:18] = 1
    return settle(Bert(1000, 128, 2, 2, 64, 3)), (ids, mask, kinds)
