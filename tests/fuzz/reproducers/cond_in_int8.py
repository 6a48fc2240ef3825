# seed 1018, kind control, mode int8
# crashed (quantize): IndexError in constants.py:<genexpr>: list index out of range
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, state):
        h1 = torch.cond(state.sum() > 0, lambda t: t.relu(), lambda t: t.tanh(), (state,))
        return h1


def model():
    torch.manual_seed(1018)
    return Net().eval()


def inputs(call):
    g = torch.Generator().manual_seed(1018 + call)
    state = torch.randn((1, 1, 8), generator=g)
    return (state,), {}


if __name__ == "__main__":
    from fuzz.check import main

    main(__file__, "int8")
