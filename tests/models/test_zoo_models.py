"""The example models themselves: each builds the same way twice, runs in PyTorch and can be exported."""

from __future__ import annotations

import copy

import pytest
import torch
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from zoo import HERE, ZOO, load

# What is published for the four networks of MLPerf Tiny (convolutions and linear layers, batch 1).
MACS = {"kws": 2_656_768, "vww": 7_489_664, "ic": 12_501_632, "ad": 264_192}


def outputs(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """All output tensors of one run; the module's own buffers stay as they are."""
    with torch.no_grad():
        return tree_leaves(copy.deepcopy(module)(*inputs))


@pytest.mark.parametrize("name", ZOO)
def test_runs_and_exports(name: str) -> None:
    module, inputs = load(name)
    expected = outputs(module, inputs)
    assert not module.training
    for y in expected:
        assert torch.isfinite(y).all()
        assert y.numel() == 1 or y.unique().numel() > 1

    with torch.no_grad():
        program = torch.export.export(module, inputs, strict=False)
        found = tree_leaves(program.module()(*inputs))
    assert len(found) == len(expected)
    for y, want in zip(found, expected, strict=True):
        torch.testing.assert_close(y, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [n for n in ZOO if n != "alexnet"])
def test_same_weights_every_time_and_inputs_matter(name: str) -> None:
    torch.manual_seed(1)
    first, inputs = load(name)
    torch.manual_seed(2)
    second, again = load(name)
    tensors = (*first.state_dict().values(), *inputs)
    for a, b in zip(tensors, (*second.state_dict().values(), *again), strict=True):
        assert torch.equal(a, b)

    other = tuple(x.flip(-1) if x.shape[-1] > 1 else x + 1 for x in inputs)
    pairs = zip(outputs(first, inputs), outputs(first, other), strict=True)
    assert any(not torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("name", ZOO)
def test_table_tells_the_truth(name: str) -> None:
    entry = ZOO[name]
    assert (HERE / entry.file).is_file()
    module, inputs = load(name)
    before = {key: value.clone() for key, value in module.named_buffers()}
    with torch.no_grad():
        module(*inputs)
    changed = any(not torch.equal(value, before[key]) for key, value in module.named_buffers())
    assert changed == entry.stateful
    weights = sum(p.numel() * p.element_size() for p in module.parameters())
    assert (weights < 3_500_000) == entry.on_board


@pytest.mark.parametrize("name", MACS)
def test_macs_are_the_published_ones(name: str) -> None:
    module, inputs = load(name)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        module(*inputs)
    assert counter.get_total_flops() == 2 * MACS[name]
