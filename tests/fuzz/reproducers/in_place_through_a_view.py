# seed 1011, kind views, mode int8
# wrong (quality): output 0: 3.8 dB, PT2E has 41.5 dB
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Sigmoid()

    def forward(self, state):
        u1 = self.proj(state)
        y2 = u1.split(1)[0]
        y2.add_(0.38)
        return u1


def model():
    torch.manual_seed(1011)
    return Net().eval()


def inputs(call):
    g = torch.Generator().manual_seed(1011 + call)
    state = torch.randn((4, 4), generator=g)
    return (state,), {}


if __name__ == "__main__":
    from fuzz.check import main

    main(__file__, "int8")
