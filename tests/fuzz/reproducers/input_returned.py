# seed 1009, kind views, mode int8
# crashed (compile): KeyError in __init__.py:locate: 'x'
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        y4 = x.permute(2, 0, 1)
        return y4, x


def model():
    torch.manual_seed(1009)
    return Net().eval()


def inputs(call):
    g = torch.Generator().manual_seed(1009 + call)
    x = torch.randn((1, 2, 3), generator=g)
    return (x,), {}


if __name__ == "__main__":
    from fuzz.check import main

    main(__file__, "int8")
