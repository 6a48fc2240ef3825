"""Models that users quantized with PT2E themselves: trained with it, or with another quantizer than ours."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torchao.quantization.pt2e import move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

import pilotlight as pl
from pilotlight.session import run_session
from support.paths import EXAMPLES

Split = tuple[torch.Tensor, torch.Tensor]


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[nn.Module, Split, Split]]:
    monkeypatch.syspath_prepend(str(EXAMPLES / "digits"))
    net, _ = importlib.import_module("pilotlight.demo.model").digits()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield net, *importlib.import_module("dataset").splits()


def exported(net: nn.Module, images: torch.Tensor) -> nn.Module:
    batch = {0: torch.export.Dim.DYNAMIC}
    return torch.export.export(net, (images[:2],), dynamic_shapes=(batch,)).module()


def check(converted: nn.Module, images: torch.Tensor, labels: torch.Tensor, build: pl.Build) -> None:
    """All of it in integers, the reference's bytes on the board, PT2E's answers."""
    assert not build.lowered.fallbacks
    rows = [[image] for image in images.split(1)]
    session = run_session(build, rows, labels=labels)
    assert session.match
    theirs = converted(images)
    ours = torch.cat([row[0] for row in session.outputs])
    (port,) = build.lowered.outputs
    assert port.quant is not None
    assert float((ours - theirs).abs().max()) <= 4 * port.quant.scale  # five layers, each a step from PT2E's at most
    agree = float((ours.argmax(1) == theirs.argmax(1)).float().mean())
    right = float((ours.argmax(1) == labels).float().mean())
    assert agree > 0.98 and right > 0.96


def test_trained_with_fake_quantization(digits: tuple[nn.Module, Split, Split], tmp_path: Path) -> None:
    net, (images, labels), (test_images, test_labels) = digits
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_qat=True))
    prepared = prepare_qat_pt2e(exported(net.train(), images), quantizer)
    optimizer = torch.optim.SGD(prepared.parameters(), lr=0.01)
    before = [p.detach().clone() for p in prepared.parameters()]
    for batch in torch.randperm(len(images))[: 12 * 64].split(64):
        optimizer.zero_grad()
        F.cross_entropy(prepared(images[batch]), labels[batch]).backward()
        optimizer.step()
    assert not all(map(torch.equal, before, prepared.parameters()))
    move_exported_model_to_eval(prepared)
    converted = convert_pt2e(prepared)
    torch.export.save(torch.export.export(converted, (images[:1],)), tmp_path / "digits.pt2")
    for board in ("host", "mps2-an386"):
        build = pl.compile(pl.load(str(tmp_path / "digits.pt2")), board=board)
        check(converted, test_images[:100], test_labels[:100], build)


def test_quantized_by_another_quantizer(digits: tuple[nn.Module, Split, Split]) -> None:
    net, (images, _), (test_images, test_labels) = digits
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(exported(net, images), quantizer)
    prepared(images)
    converted = convert_pt2e(prepared)
    build = pl.compile(pl.capture(converted, (images[:1],), "digits"), board="mps2-an386")
    check(converted, test_images[:100], test_labels[:100], build)
