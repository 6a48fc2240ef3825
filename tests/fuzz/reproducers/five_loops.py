# seed 63859, kind views, mode int16x8
# crashed (host): C compiler: declaration of 'm' shadows a parameter
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5, 8, 3, 3) * 0.3)

    def forward(self, x):
        return F.conv2d(F.pixel_unshuffle(F.leaky_relu(x, 0.2), 2), self.weight, padding=1)


def model():
    torch.manual_seed(63859)
    return Net().eval()


def inputs(call):
    g = torch.Generator().manual_seed(63859 + call)
    x = torch.randn((1, 2, 8, 6), generator=g)
    return (x,), {}


if __name__ == "__main__":
    from fuzz.check import main

    main(__file__, "int16x8")
