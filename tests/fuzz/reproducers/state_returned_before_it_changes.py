# seed 61665, kind states, mode float
# crashed (compile): KeyError in __init__.py:locate: 'state'
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 2, 1)
        self.register_buffer("state", torch.randn([2, 2, 3]))

    def forward(self, x):
        y = self.conv(x).clamp(0, 6)
        old = self.state.clone()
        self.state += y * 0.2
        return old, y - self.state


def model():
    torch.manual_seed(61665)
    return Net().eval()


def inputs(call):
    g = torch.Generator().manual_seed(61665 + call)
    x = torch.randn((2, 4, 3), generator=g)
    return (x,), {}


if __name__ == "__main__":
    from fuzz.check import main

    main(__file__, "float")
