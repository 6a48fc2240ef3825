# seed 10002, kind views, mode float
# crashed (compile): IndexError in views.py: tuple index out of range
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        y = x[0].flip(0) * 2 + x
        return y


def model():
    torch.manual_seed(10002)
    return Net().eval()


def inputs(call):
    g = torch.Generator().manual_seed(10002 + call)
    x = torch.randn((8,), generator=g)
    return (x,), {}


if __name__ == "__main__":
    from fuzz.check import main

    main(__file__, "float")
