# seed 10009, kind indexing, mode float
# refused (capture): operator prims.copy_strided.default is not supported
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        y = x.clone()
        y.index_fill_(0, torch.tensor([0]), 0.75)
        return y * 2


def model():
    torch.manual_seed(10009)
    return Net().eval()


def inputs(call):
    g = torch.Generator().manual_seed(10009 + call)
    x = torch.randn((4, 1, 7, 6), generator=g).transpose(0, 1)
    return (x,), {}


if __name__ == "__main__":
    from fuzz.check import main

    main(__file__, "float")
