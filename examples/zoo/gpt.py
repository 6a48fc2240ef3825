"""A character GPT with its past keys and values in buffers: one token in, the next one's scores out.

`gpt_pair` reads a prompt of up to 16 tokens at once (`prefill`), then goes on token by token (`decode`).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from seeding import Entries, Model, seeded, settle

PROMPT = 16  # the longest that `prefill` takes
ALPHABET = "\n !'(),-.:;?abcdefghijklmnopqrstuvwxyz"


class CachedAttention(nn.Module):
    """Attention of T tokens over themselves and all before them; the caches are (1, heads, context, width / heads)."""

    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.register_buffer("keys", torch.zeros(1, heads, context, width // heads))
        self.register_buffer("values", torch.zeros(1, heads, context, width // heads))

    def forward(self, x, places, mask):  # (T, W), (T,) int64, (T, context) bool
        count = x.shape[0]
        q, k, v = self.qkv(x).view(count, 3, 1, self.heads, -1).permute(1, 2, 3, 0, 4).unbind()
        self.keys.index_copy_(2, places, k)
        self.values.index_copy_(2, places, v)
        mixed = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask)  # (1, heads, T, W / heads)
        return self.out(mixed.transpose(1, 2).reshape(count, -1))


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = CachedAttention(width, heads, context)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x, places, mask):
        x = x + self.attention(self.norm1(x), places, mask)
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

    def prefill(self, tokens):  # (T,) int64
        places = self.position + torch.arange(tokens.shape[0])
        x = self.token(tokens) + self.place(places)
        mask = torch.arange(self.context) <= places.unsqueeze(1)
        for block in self.blocks:
            x = block(x, places, mask)
        self.position.add_(tokens.shape[0])
        return self.head(self.norm(x[-1:]))  # the scores after the last token


@seeded
def gpt() -> Model:
    """Two layers of width 64 with 4 heads, 64 tokens of context, random weights."""
    return settle(GPT(len(ALPHABET), 64, 4, 2, 64)), (torch.tensor([ALPHABET.index("t")]),)


def gpt_pair() -> Entries:
    """The same weights with two entry points over one cache."""
    net, token = gpt()
    length = torch.export.Dim("T", min=1, max=PROMPT)
    return {"prefill": (net.prefill, (tokens("to be, or not to"),), {}, ({0: length},)), "decode": (net, token)}


def tokens(text: str) -> torch.Tensor:
    return torch.tensor([ALPHABET.index(letter) for letter in text])


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


def generate_pair(
    prefill: Callable[[torch.Tensor], torch.Tensor], decode: Callable[[torch.Tensor], torch.Tensor], prompt: str, n: int
) -> str:
    """The same by two entry points: the prompt at once, then a character at a time."""
    text = prompt + ALPHABET[int(prefill(tokens(prompt)).argmax())]
    while len(text) < len(prompt) + n:
        text += ALPHABET[int(decode(tokens(text[-1])).argmax())]
    return text
