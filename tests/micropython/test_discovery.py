"""What a user who looks around finds: dir(), help()."""

from __future__ import annotations

import torch

from support.micropython_scripts import output


def test_dir_of_modules() -> None:
    script = """
import torch
from torch import nn
import torch.nn.functional as F
print(dir(nn))
print(dir(F))
print(F.adaptive_avg_pool2d(torch.ones(1, 1, 4, 4), 2).tolist(), hasattr(F, 'int'), hasattr(nn, 'Conv'))
"""
    layers, functions, last = output(script).splitlines()
    assert {"Conv2d", "ConvTranspose1d", "BatchNorm3d", "Linear", "LSTM", "Transformer"} <= set(eval(layers))
    assert {name for name in eval(layers) if name[0].isupper()} <= set(dir(torch.nn)) | {
        "NonDynamicallyQuantizableLinear"}
    assert {"relu", "conv2d", "cross_entropy", "softmax"} <= set(eval(functions))
    assert last == "[[[[1.0, 1.0], [1.0, 1.0]]]] False False"


def test_help_shows_what_an_operator_takes() -> None:
    said = output("import torch\nhelp(torch.relu)\nhelp(torch.add)\nhelp(len)\n")
    assert "object relu(Tensor input) is of type" in said
    assert "add(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)" in said
    assert "object <function> is of type" in said
