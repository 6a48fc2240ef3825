"""A character GPT with its past keys and values in buffers: one token in, the next one's scores out."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from seeding import Model, seeded, settle

ALPHABET = "\n !'(),-.:;?abcdefghijklmnopqrstuvwxyz"


class CachedAttention(nn.Module):
    """Attention of one token over all before it; the caches are (1, heads, context, width / heads)."""

    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.register_buffer("keys", torch.zeros(1, heads, context, width // heads))
        self.register_buffer("values", torch.zeros(1, heads, context, width // heads))

    def forward(self, x, position, mask):  # (1, W), (1,) int64, (1, context) bool
        q, k, v = self.qkv(x).view(1, 3, self.heads, 1, -1).unbind(dim=1)
        self.keys.index_copy_(2, position, k)
        self.values.index_copy_(2, position, v)
        mixed = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask)
        return self.out(mixed.reshape(1, -1))


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = CachedAttention(width, heads, context)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x, position, mask):
        x = x + self.attention(self.norm1(x), position, mask)
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    """After `context` tokens the cache is full: reset before going on."""

    def __init__(self, vocabulary, width, heads, layers, context):
        super().__init__()
        self.context = context
        self.token = nn.Embedding(vocabulary, width)
        self.place = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, context) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.register_buffer("position", torch.zeros(1, dtype=torch.int64))

    def forward(self, token):  # (1,) int64
        x = self.token(token) + self.place(self.position)
        mask = torch.arange(self.context).unsqueeze(0) <= self.position
        for block in self.blocks:
            x = block(x, self.position, mask)
        self.position.add_(1)
        return self.head(self.norm(x))


@seeded
def gpt() -> Model:
    """Two layers of width 64 with 4 heads, 64 tokens of context, random weights."""
    return settle(GPT(len(ALPHABET), 64, 4, 2, 64)), (torch.tensor([ALPHABET.index("t")]),)


def generate(step: Callable[[torch.Tensor], torch.Tensor], prompt: str, n: int) -> str:
    """`prompt` and the `n` likeliest characters after it.

    `step` is the model, in PyTorch or on a board, with its state just reset.
    """
    text = prompt
    for i in range(len(prompt) + n - 1):
        scores = step(torch.tensor([ALPHABET.index(text[i])]))
        if i == len(text) - 1:
            text += ALPHABET[int(scores.argmax())]
    return text
