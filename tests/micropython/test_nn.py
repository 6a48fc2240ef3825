"""torch.nn on MicroPython: every module prints, saves, loads and computes as PyTorch's."""

from __future__ import annotations

import contextlib
import io
import math
import runpy
import warnings
from pathlib import Path

import pytest
import torch

from support.micropython_scripts import output

# Runs on both sides: parameters and inputs are made by formulas, results are printed as numbers.
_COMMON = """
import math, torch
from torch import nn
import torch.nn.functional as F

def wave(shape, phase=0.0):
    count = 1
    for n in shape:
        count *= n
    return (torch.arange(count).float() * 0.7390851 + phase).sin().reshape(shape)

def x(*shape, phase=0.3):
    return wave(shape, phase)

def ints(high, *shape):
    return ((wave(shape, 1.1) + 1) * 0.5 * high).long()

def fill(module):
    for k, (name, value) in enumerate(module.state_dict().items()):
        if value.is_floating_point():
            new = wave(tuple(value.shape), k * 1.7)
            value.copy_(new.abs() + 0.5 if "var" in name else new * 0.5)

def flat(value):
    if value is None:
        return ["None"]
    if isinstance(value, (tuple, list)):
        return [number for item in value for number in flat(item)]
    return [tuple(value.shape)] + value.reshape(-1).tolist()

def numbers(label, value):
    print(label, "#", *flat(value))
"""

_MODULES = """
nn.Linear(3, 4)|x(2, 3)
nn.Linear(3, 4, bias=False)|x(2, 5, 3)
nn.Identity(3, a=4)|x(2, 3)
nn.Bilinear(2, 3, 4)|x(5, 2), x(5, 3)
nn.Conv1d(2, 4, 3, stride=2, padding=1)|x(2, 2, 9)
nn.Conv2d(2, 4, 3)|x(1, 2, 6, 6)
nn.Conv2d(4, 4, (3, 1), padding=(1, 0), groups=2, bias=False)|x(2, 4, 5, 5)
nn.Conv2d(2, 3, 3, padding='same', dilation=2)|x(1, 2, 7, 7)
nn.Conv2d(2, 3, 3, padding='valid')|x(1, 2, 7, 7)
nn.Conv2d(2, 3, 3, padding=1, padding_mode='reflect')|x(1, 2, 5, 6)
nn.Conv2d(2, 3, 3, padding=1, padding_mode='circular')|x(1, 2, 5, 6)
nn.Conv2d(2, 3, 3, padding=1, padding_mode='replicate')|x(1, 2, 5, 6)
nn.Conv3d(1, 2, 2)|x(1, 1, 3, 4, 4)
nn.ConvTranspose1d(2, 3, 3, stride=2)|x(1, 2, 5)
nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=1)|x(1, 2, 4, 4)
nn.ConvTranspose2d(2, 4, 3, groups=2, dilation=2)|x(1, 2, 4, 4)
nn.BatchNorm1d(3)|x(4, 3)
nn.BatchNorm1d(3, affine=False)|x(4, 3, 5)
nn.BatchNorm2d(3, eps=1e-3, momentum=None)|x(2, 3, 4, 4)
nn.BatchNorm2d(3, track_running_stats=False)|x(2, 3, 4, 4)
nn.BatchNorm2d(3, bias=False)|x(2, 3, 4, 4)
nn.BatchNorm3d(2)|x(2, 2, 2, 3, 3)
nn.InstanceNorm1d(3)|x(2, 3, 5)
nn.InstanceNorm2d(3, affine=True)|x(2, 3, 4, 4)
nn.InstanceNorm2d(3, track_running_stats=True)|x(2, 3, 4, 4)
nn.InstanceNorm2d(3)|x(3, 4, 4)
nn.LayerNorm(4)|x(2, 3, 4)
nn.LayerNorm((3, 4), eps=1e-3, bias=False)|x(2, 3, 4)
nn.LayerNorm([4], elementwise_affine=False)|x(2, 3, 4)
nn.GroupNorm(2, 4)|x(2, 4, 3, 3)
nn.GroupNorm(1, 4, affine=False)|x(2, 4, 3)
nn.RMSNorm(4)|x(2, 3, 4)
nn.RMSNorm((3, 4), eps=1e-3, elementwise_affine=False)|x(2, 3, 4)
nn.LocalResponseNorm(3)|x(2, 5, 4, 4)
nn.Embedding(7, 4)|ints(6, 2, 3)
nn.Embedding(7, 4, padding_idx=2)|ints(6, 5)
nn.Embedding(7, 4, max_norm=0.5)|ints(6, 5)
nn.EmbeddingBag(7, 4, mode='sum')|ints(6, 2, 3)
nn.EmbeddingBag(7, 4)|ints(6, 6), torch.tensor([0, 2])
nn.EmbeddingBag(7, 4, mode='max')|ints(6, 6), torch.tensor([0, 4])
nn.RNN(3, 4)|x(5, 2, 3)
nn.RNN(3, 4, nonlinearity='relu', batch_first=True)|x(2, 5, 3)
nn.LSTM(3, 4)|x(5, 2, 3)
nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)|x(2, 5, 3)
nn.LSTM(3, 4, bias=False)|x(5, 3)
nn.LSTM(3, 4)|x(5, 2, 3), (x(1, 2, 4), x(1, 2, 4, phase=1.0))
nn.GRU(3, 4, 2)|x(5, 2, 3)
nn.GRU(3, 4, bidirectional=True)|x(5, 2, 3), x(2, 2, 4)
nn.RNNCell(3, 4)|x(2, 3)
nn.RNNCell(3, 4, bias=False, nonlinearity='relu')|x(2, 3), x(2, 4)
nn.LSTMCell(3, 4)|x(2, 3), (x(2, 4), x(2, 4))
nn.LSTMCell(3, 4)|x(3)
nn.GRUCell(3, 4)|x(2, 3), x(2, 4)
nn.MultiheadAttention(8, 2)|x(3, 2, 8), x(4, 2, 8), x(4, 2, 8)
nn.MultiheadAttention(8, 2, batch_first=True, bias=False)|x(2, 3, 8), x(2, 4, 8), x(2, 4, 8), x(2, 4) > 0.9
nn.MultiheadAttention(8, 2, kdim=4, vdim=6)|x(3, 2, 8), x(4, 2, 4), x(4, 2, 6)
nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True)|x(3, 2, 8), x(4, 2, 8), x(4, 2, 8)
nn.MultiheadAttention(8, 2)|x(3, 8), x(4, 8), x(4, 8)
nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)|x(2, 5, 8)
nn.TransformerEncoderLayer(8, 2, 16, norm_first=True, activation='gelu')|x(5, 2, 8), torch.ones(5, 5).triu(1).bool()
nn.TransformerDecoderLayer(8, 2, 16)|x(3, 2, 8), x(4, 2, 8)
nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)|x(5, 2, 8)
nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 2, nn.LayerNorm(8))|x(2, 3, 8), x(2, 4, 8)
nn.ReLU()|x(2, 5)
nn.ReLU(inplace=True)|x(2, 5)
nn.ReLU6()|x(9) * 8
nn.ReLU6(True)|x(9) * 8
nn.LeakyReLU(0.2)|x(9)
nn.LeakyReLU(0.1, True)|x(9)
nn.ELU(0.5)|x(9)
nn.CELU()|x(9)
nn.SELU()|x(9)
nn.SiLU()|x(9)
nn.SiLU(inplace=True)|x(9)
nn.Mish()|x(9)
nn.GELU()|x(9)
nn.GELU('tanh')|x(9)
nn.GELU(approximate='tanh')|x(9)
nn.GLU()|x(2, 6)
nn.Hardswish()|x(9) * 4
nn.Hardsigmoid()|x(9) * 4
nn.Hardtanh(-0.5, 0.25)|x(9)
nn.Hardshrink()|x(9)
nn.Softshrink(0.2)|x(9)
nn.Softplus(2, 1)|x(9)
nn.Softsign()|x(9)
nn.Tanhshrink()|x(9)
nn.Sigmoid()|x(9)
nn.LogSigmoid()|x(9)
nn.Tanh()|x(9)
nn.Threshold(0.1, 20)|x(9)
nn.RReLU()|x(9)
nn.PReLU()|x(2, 3, 4)
nn.PReLU(3, init=0.1)|x(2, 3, 4)
nn.Softmax(dim=1)|x(2, 3)
nn.Softmax2d()|x(2, 3, 2, 2)
nn.Softmin(1)|x(2, 3)
nn.LogSoftmax(dim=-1)|x(2, 3)
nn.Dropout(0.3)|x(2, 3)
nn.Dropout1d()|x(2, 3, 4)
nn.Dropout2d(0.3, inplace=True)|x(2, 3, 2, 2)
nn.AlphaDropout()|x(2, 3)
nn.MaxPool1d(2)|x(2, 3, 7)
nn.MaxPool2d(3, stride=2)|x(1, 2, 7, 7)
nn.MaxPool2d((2, 3), padding=(1, 0), ceil_mode=True)|x(1, 2, 7, 7)
nn.MaxPool2d(2, return_indices=True)|x(1, 2, 4, 4)
nn.MaxPool3d(2)|x(1, 2, 4, 4, 4)
nn.AvgPool1d(2)|x(2, 3, 7)
nn.AvgPool2d(2)|x(1, 2, 5, 5)
nn.AvgPool2d(3, 2, 1, count_include_pad=False, ceil_mode=True)|x(1, 2, 6, 6)
nn.AvgPool3d(2)|x(1, 2, 4, 4, 4)
nn.LPPool1d(2, 3)|x(2, 3, 7)
nn.LPPool2d(2, 2, stride=1)|x(1, 2, 4, 4).abs()
nn.AdaptiveAvgPool1d(3)|x(2, 3, 7)
nn.AdaptiveAvgPool2d((2, None))|x(1, 2, 5, 3)
nn.AdaptiveAvgPool2d(1)|x(1, 2, 5, 3)
nn.AdaptiveMaxPool1d(2)|x(2, 3, 7)
nn.AdaptiveMaxPool2d((2, 2))|x(1, 2, 5, 3)
nn.AdaptiveMaxPool2d(2, return_indices=True)|x(1, 2, 5, 3)
nn.Flatten()|x(2, 3, 4)
nn.Flatten(0, 1)|x(2, 3, 4)
nn.Unflatten(1, (2, 3))|x(2, 6)
nn.Fold((4, 4), 2, stride=2)|x(1, 8, 4)
nn.Unfold(2)|x(1, 2, 3, 4)
nn.PixelShuffle(2)|x(1, 8, 2, 3)
nn.PixelUnshuffle(2)|x(1, 2, 4, 6)
nn.ChannelShuffle(2)|x(1, 4, 2, 2)
nn.Upsample(scale_factor=2)|x(1, 2, 3, 3)
nn.Upsample(size=(5, 4), mode='bilinear')|x(1, 2, 3, 3)
nn.Upsample(scale_factor=(2, 1.5), mode='bilinear', align_corners=True)|x(1, 2, 3, 4)
nn.Upsample(scale_factor=2, mode='bicubic')|x(1, 2, 3, 4)
nn.Upsample(scale_factor=2)|x(1, 2, 5)
nn.UpsamplingNearest2d(scale_factor=2)|x(1, 2, 3, 3)
nn.UpsamplingBilinear2d(scale_factor=2)|x(1, 2, 3, 3)
nn.ConstantPad1d(2, 3.5)|x(1, 2, 3)
nn.ConstantPad2d((1, 0, 2, 1), 0.5)|x(1, 2, 3, 3)
nn.ZeroPad2d(1)|x(1, 2, 3, 3)
nn.ReflectionPad1d(2)|x(1, 2, 4)
nn.ReflectionPad2d((1, 1, 2, 0))|x(1, 2, 4, 4)
nn.ReplicationPad2d(2)|x(1, 2, 3, 3)
nn.CircularPad2d(1)|x(1, 2, 3, 3)
nn.CosineSimilarity()|x(3, 4), x(3, 4, phase=1.0)
nn.PairwiseDistance()|x(3, 4), x(3, 4, phase=1.0)
nn.L1Loss()|x(3, 4), x(3, 4, phase=1.0)
nn.MSELoss(reduction='sum')|x(3, 4), x(3, 4, phase=1.0)
nn.SmoothL1Loss(beta=0.5)|x(3, 4), x(3, 4, phase=1.0)
nn.HuberLoss(reduction='none', delta=0.3)|x(3, 4), x(3, 4, phase=1.0)
nn.KLDivLoss(reduction='batchmean')|x(3, 4), x(3, 4, phase=1.0).abs()
nn.KLDivLoss(log_target=True)|x(3, 4), x(3, 4, phase=1.0)
nn.NLLLoss()|x(3, 4), torch.tensor([0, 3, 1])
nn.CrossEntropyLoss()|x(3, 4), torch.tensor([0, 3, 1])
nn.CrossEntropyLoss(x(4).abs(), ignore_index=3, label_smoothing=0.1)|x(3, 4), torch.tensor([0, 3, 1])
nn.BCELoss()|x(3, 4).sigmoid(), x(3, 4, phase=1.0).sigmoid()
nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1., 2., 3., 4.]))|x(3, 4), x(3, 4, phase=1.0).sigmoid()
nn.PoissonNLLLoss(full=True)|x(3, 4), x(3, 4, phase=1.0).abs() * 4
nn.GaussianNLLLoss()|x(3, 4), x(3, 4, phase=1.0), x(3, 4).abs()
nn.SoftMarginLoss()|x(3, 4), x(3, 4, phase=1.0).sign()
nn.CosineEmbeddingLoss(0.1)|x(3, 4), x(3, 4, phase=1.0), torch.tensor([1, -1, 1])
nn.HingeEmbeddingLoss()|x(3, 4), x(3, 4, phase=1.0).sign()
nn.MarginRankingLoss(0.2)|x(5), x(5, phase=1.0), x(5, phase=2.0).sign()
nn.TripletMarginLoss(swap=True)|x(3, 4), x(3, 4, phase=1.0), x(3, 4, phase=2.0)
nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3))|x(2, 1, 6, 6)
"""

_RUN_MODULE = """
def run(text):
    make, arguments = text.split("|")
    module = eval(make)
    print(module)
    print(list(module.state_dict().keys()))
    fill(module)
    module.eval()
    numbers(text, module(*eval("(" + arguments + ",)")))
    if "Norm" in make.split("(")[0]:
        module.train()
        numbers("training", module(*eval("(" + arguments + ",)")))
        numbers("state", list(module.state_dict().values()))
"""


def _lines(text: str) -> list[str]:
    return [line for line in text.strip().splitlines() if line]


def _on_cpython(script: str) -> str:
    buffer = io.StringIO()
    with contextlib.redirect_stdout(buffer), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(script, "script", "exec"), {"__name__": "script"})
    return buffer.getvalue()


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _same_line(expected: str, got: str) -> bool:
    """Text is equal; after the sign # numbers are compared as such."""
    left, sign, right = expected.partition(" # ")
    left2, sign2, right2 = got.partition(" # ")
    words, words2 = right.split(), right2.split()
    if left != left2 or sign != sign2 or len(words) != len(words2):
        return False
    for a, b in zip(words, words2, strict=True):
        if a != b:
            x, y = _number(a), _number(b)
            if x is None or y is None or not math.isclose(x, y, rel_tol=1e-4, abs_tol=2e-5):
                return False
    return True


def _equal(cpython: str, micropython: str) -> None:
    expected, got = cpython.splitlines(), micropython.splitlines()
    different = [f"{a}\n  MicroPython: {b}" for a, b in zip(expected, got, strict=False) if not _same_line(a, b)]
    assert not different and len(expected) == len(got), "\n".join(different[:20])


@pytest.mark.parametrize("part", range(6))
def test_modules_print_save_and_compute_as_pytorchs(part: int) -> None:
    cases = _lines(_MODULES)[part::6]
    script = _COMMON + _RUN_MODULE + "\n".join(f"run({case!r})" for case in cases)
    _equal(_on_cpython(script), output(script))


@pytest.mark.parametrize("name", ["modules", "shims", "functions", "stdlib", "data", "tutorials"])
def test_scripts_print_the_same(name: str) -> None:
    path = Path(__file__).parent / "scripts" / f"{name}.py"
    buffer = io.StringIO()
    with contextlib.redirect_stdout(buffer), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(path))
    _equal(buffer.getvalue(), output(path.read_text()))
