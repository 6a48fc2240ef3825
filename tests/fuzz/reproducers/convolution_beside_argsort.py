# seed 1008, kind indexing, mode int8
# crashed (compile): ValueError in graph.py:output: too many values to unpack (expected 1)
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.switch = nn.Sequential(nn.Conv2d(4, 1, 3, padding=1, bias=False), nn.BatchNorm2d(1), nn.SiLU())
        self.switch[1].running_mean.normal_(0, 0.3); self.switch[1].running_var.uniform_(0.5, 2.0); nn.init.normal_(self.switch[1].weight, 1, 0.3); nn.init.normal_(self.switch[1].bias, 0, 0.3)

    def forward(self, state):
        i2 = state.argsort(-1)
        h12 = self.switch(state)
        return h12, i2


def model():
    torch.manual_seed(1008)
    return Net().eval()


def inputs(call):
    g = torch.Generator().manual_seed(1008 + call)
    state = torch.randn((1, 4, 7, 7), generator=g)
    return (state,), {}


if __name__ == "__main__":
    from fuzz.check import main

    main(__file__, "int8")
