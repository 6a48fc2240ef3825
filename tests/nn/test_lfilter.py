"""`pilotlight::lfilter` against scipy, in gradients, and exported as one operator."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal
import torch

from pilotlight.errors import PilotlightError
from pilotlight.nn import lfilter


def _sections(count: int) -> np.ndarray:
    return np.asarray(scipy.signal.butter(2 * count, 0.2, output="sos")) if count else np.zeros((0, 6))


@pytest.mark.parametrize("shape", [(50,), (1, 50), (2, 3, 50), (2, 0), (0, 5), (4, 1)])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_sections_are_scipys(shape: tuple[int, ...], count: int) -> None:
    sos = _sections(count)
    generator = np.random.default_rng(count)
    x = generator.normal(size=shape)
    zi = generator.normal(size=(*shape[:-1], count, 2))
    arguments = [torch.from_numpy(v) for v in (x, sos[:, :3].copy(), sos[:, 3:].copy(), zi)]
    y, zf = lfilter(*arguments)
    expected, state = x, []
    for k in range(count):
        expected, z = scipy.signal.lfilter(sos[k, :3], sos[k, 3:], expected, zi=zi[..., k, :])
        state.append(z if shape[-1] else zi[..., k, :])  # scipy forgets the state of an empty signal
    torch.testing.assert_close(y, torch.from_numpy(np.asarray(expected)))
    torch.testing.assert_close(zf, torch.from_numpy(np.stack(state, -2) if count else zi))
    assert y.shape == shape and zf.shape == zi.shape


def test_halves_continue_one_signal() -> None:
    sos = torch.from_numpy(_sections(2)).float()
    x, z = torch.randn(2, 41), torch.zeros(2, 2, 2)
    whole, last = lfilter(x, sos[:, :3], sos[:, 3:], z)
    first, z = lfilter(x[:, :7], sos[:, :3], sos[:, 3:], z)
    second, z = lfilter(x[:, 7:], sos[:, :3], sos[:, 3:], z)
    assert torch.equal(torch.cat((first, second), -1), whole) and torch.equal(z, last)


def test_gradients_are_those_of_finite_differences() -> None:
    torch.manual_seed(0)
    sos = torch.from_numpy(_sections(2))
    x, zi = torch.randn(3, 9, dtype=torch.float64), torch.randn(3, 2, 2, dtype=torch.float64)
    free = torch.cat((sos[:, :3], sos[:, 4:]), -1)  # a0 is 1 and no variable

    def filtered(x: torch.Tensor, free: torch.Tensor, zi: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a = torch.cat((torch.ones(2, 1, dtype=torch.float64), free[:, 3:]), -1)
        return lfilter(x, free[:, :3], a, zi)

    inputs = [t.clone().requires_grad_() for t in (x, free, zi)]
    assert torch.autograd.gradcheck(filtered, inputs)
    assert torch.autograd.gradgradcheck(filtered, inputs)


def test_export_keeps_one_operator() -> None:
    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor, b: torch.Tensor, a: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
            return lfilter(x, b, a, z)[0]

    sos = torch.from_numpy(_sections(1)).float()
    arguments = (torch.randn(1, 8), sos[:, :3], sos[:, 3:], torch.zeros(1, 1, 2))
    program = torch.export.export(Net(), arguments).run_decompositions()
    assert [str(n.target) for n in program.graph.nodes if "lfilter" in str(n.target)] == ["pilotlight.lfilter.default"]
    torch.testing.assert_close(program.module()(*arguments), Net()(*arguments))


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((4, 8), (1, 4), (1, 4), (4, 1, 2)), r"\(sections, 3\), not \(1, 4\)"),
        (((4, 8), (1, 3), (2, 3), (4, 1, 2)), r"not \(1, 3\) and \(2, 3\)"),
        (((4, 8), (1, 3), (1, 3), (1, 2)), r"a state of shape \(4, 1, 2\)"),
        (((), (1, 3), (1, 3), (1, 2)), "a signal of shape"),
    ],
)
def test_wrong_shapes_are_refused(shapes: tuple[tuple[int, ...], ...], words: str) -> None:
    with pytest.raises(PilotlightError, match=words):
        lfilter(*[torch.zeros(s) for s in shapes])


def test_other_dtypes_are_refused() -> None:
    arguments = [torch.zeros(4), torch.zeros(1, 3).double(), torch.zeros(1, 3), torch.zeros(1, 2)]
    with pytest.raises(PilotlightError, match="float32, float64, float32, float32"):
        lfilter(*arguments)
