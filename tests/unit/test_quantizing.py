"""How operators are quantized, as their files declare it: what an operator really does has to agree."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pilotlight import ops
from pilotlight.ops.quantizing import (
    SHARED,
    DenseLayer,
    FixedRange,
    OwnScale,
    ReadOnly,
    RecurrentLayer,
    SharedScale,
    quantized,
    treatment_of,
    treatments,
)

X = torch.arange(1.0, 49.0).reshape(2, 4, 6)[:, :, torch.randperm(6, generator=torch.Generator().manual_seed(0))]
IMAGE = torch.arange(1.0, 65.0).reshape(1, 4, 4, 4)
IDS = torch.tensor([1, 0])
HIDDEN = X > 20

# Arguments for operators that only move or choose numbers, where it is not one tensor alone.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "_reshape_copy.default": (X, [8, 6]), "_unsafe_view.default": (X, [8, 6]),
    "as_strided.default": (X, [2, 3], [1, 2]),
    "_upsample_nearest_exact1d.default": (X, [9]), "_upsample_nearest_exact1d.vec": (X, [9], None),
    "_upsample_nearest_exact2d.default": (IMAGE, [7, 5]), "_upsample_nearest_exact2d.vec": (IMAGE, [7, 5], None),
    "adaptive_max_pool1d.default": (X, [3]), "adaptive_max_pool2d.default": (IMAGE, [3, 2]),
    "as_strided_copy.default": (X, [2, 3], [1, 2]), "cat.default": ([X, -X],), "channel_shuffle.default": (IMAGE, 2),
    "chunk.default": (X, 2), "clamp.Tensor": (X, X * 0 + 9, X * 0 + 30), "concat.default": ([X, -X],),
    "constant_pad_nd.default": (X, [1, 2]), "dropout.default": (X, 0.5, False), "expand.default": (X, [3, 2, 4, 6]),
    "expand_as.default": (X, X[None]), "flip.default": (X, [0]), "fmax.default": (X, -X + 50),
    "fmin.default": (X, -X + 50), "gather.default": (X, 1, IDS.reshape(2, 1, 1)), "im2col.default": (IMAGE, [2, 2],
    [1, 1], [0, 0], [1, 1]), "index.Tensor": (X, [IDS]), "index_copy.default": (X, 0, IDS, -X),
    "index_select.default": (X, 1, IDS), "masked_fill.Scalar": (X, HIDDEN, 0.0), "max.dim": (X, 1),
    "max_pool1d.default": (X, [2]), "max_pool2d.default": (IMAGE, [2]), "maximum.default": (X, -X + 50),
    "min.dim": (X, 1), "minimum.default": (X, -X + 50), "movedim.int": (X, 0, 2), "movedim.intlist": (X, [0], [2]),
    "narrow.default": (X, 1, 0, 2), "pad.default": (X, [1, 1], "reflect"), "permute.default": (X, [2, 0, 1]),
    "permute_copy.default": (X, [2, 0, 1]), "pixel_shuffle.default": (IMAGE, 2),
    "pixel_unshuffle.default": (IMAGE, 2), "prims.copy_strided.default": (X, [24, 6, 1]),
    "reflection_pad1d.default": (X, [1, 1]), "reflection_pad2d.default": (IMAGE, [1, 1, 1, 1]),
    "reflection_pad3d.default": (IMAGE, [1] * 6), "repeat.default": (X, [2, 1, 1]),
    "repeat_interleave.self_int": (X, 2), "replication_pad1d.default": (X, [1, 1]),
    "replication_pad2d.default": (IMAGE, [1, 1, 1, 1]), "replication_pad3d.default": (IMAGE, [1] * 6),
    "reshape.default": (X, [8, 6]), "roll.default": (X, [1], [2]), "scatter.src": (X, 1, IDS.reshape(2, 1, 1), -X),
    "select.int": (X, 1, 2), "select_scatter.default": (X, -X[:, 0], 1, 2), "slice.Tensor": (X, 1, 1, 3),
    "slice_scatter.default": (X, -X[:, :2], 1, 1, 3), "split.Tensor": (X, 2, 1), "split.sizes": (X, [1, 3], 1),
    "split_with_sizes.default": (X, [1, 3], 1), "squeeze.dim": (X[None], 0), "squeeze.dims": (X[None], [0]),
    "stack.default": ([X, -X],), "swapaxes.default": (X, 0, 1), "t.default": (X[0],),
    "tensor_split.indices": (X, [1], 1), "tensor_split.sections": (X, 2, 1), "tile.default": (X, [2, 1]),
    "transpose.int": (X, 0, 1), "unflatten.int": (X, 1, [2, 2]), "unfold.default": (X, 1, 2, 1),
    "unsqueeze.default": (X, 0), "upsample_nearest1d.default": (X, [9]), "upsample_nearest1d.vec": (X, [9], None),
    "upsample_nearest2d.default": (IMAGE, [7, 5]), "upsample_nearest2d.vec": (IMAGE, [7, 5], None),
    "view.default": (X, [8, 6]), "view_as.default": (X, X.reshape(8, 6)), "view_copy.default": (X, [8, 6]),
    "where.self": (HIDDEN, X, -X),
}  # fmt: skip


def overload(name: str) -> Any:
    *namespace, operator, kind = name.split(".")
    found = torch.ops.aten if not namespace else getattr(torch.ops, namespace[0])
    return getattr(getattr(found, operator), kind)


def numbers(result: Any) -> set[float]:
    tensors = result if isinstance(result, list | tuple) else [result]
    return {float(v) for t in tensors if isinstance(t, torch.Tensor) and t.is_floating_point() for v in t.flatten()}


def test_declarations_name_functional_operators_of_pytorch() -> None:
    for name in treatments():
        assert not overload(name)._schema.is_mutable, name


def test_each_is_declared_once() -> None:
    with pytest.raises(ValueError, match=r"aten\.cat\.default is quantized is declared twice"):
        quantized(SHARED, "cat.default")


@pytest.mark.parametrize("name", [n for n, t in treatments().items() if isinstance(t.result, SharedScale)])
def test_what_shares_a_scale_computes_no_number(name: str) -> None:
    """Every number of the result was given, or is the 0 that a border or a hidden element gets."""
    given = ARGUMENTS.get(name, (X,))
    tensors = [t for g in given for t in (g if isinstance(g, list) else [g])]
    assert numbers(overload(name)(*given)) <= numbers(tensors) | {0.0}


@pytest.mark.parametrize("name", [n for n, t in treatments().items() if t.function])
def test_functions_are_of_one_element(name: str) -> None:
    """Elements in another order give the results in that order."""
    schema, x = overload(name)._schema, torch.linspace(-2.0, 2.0, 12)
    args: list[Any] = []
    for a in schema.arguments:
        if a.has_default_value() or a.kwarg_only:
            continue
        kind = str(a.type)
        number = 2.0 if a.name in ("exponent", "other", "min", "max", "value", "threshold") else 0.5
        first = not any(isinstance(v, torch.Tensor) and v.is_floating_point() for v in args)
        mask = a.name in ("condition", "mask")
        tensor = x > 0 if mask else x if first else torch.tensor(number)
        args.append(tensor if kind == "Tensor" else None if kind.startswith("Optional") else number)
    if name.startswith("clamp.") and args[1:] == []:
        args += [torch.tensor([-1.0])] if name == "clamp.Tensor" else [-1.0]
    order = torch.arange(11, -1, -1)
    turned = [v[order] if isinstance(v, torch.Tensor) and v.numel() > 1 else v for v in args]
    extra = {"rounding_mode": "floor"} if name.endswith("_mode") else {"decimals": 1} if "decimals" in name else {}
    found, want = overload(name)(*turned, **extra), overload(name)(*args, **extra)[order]
    torch.testing.assert_close(found, want, equal_nan=True)


def test_operators_are_what_they_were_declared() -> None:
    assert treatment_of("softmax.int").result == FixedRange(1 / 256, -128, hides=True)
    assert treatment_of("sigmoid.default").result == FixedRange(1 / 256, -128)
    assert treatment_of("tanh.default").result == FixedRange(1 / 128, 0)
    assert treatment_of("conv2d.padding").result == DenseLayer()
    assert treatment_of("conv_transpose2d.input").result == DenseLayer(channels=1)
    assert treatment_of("lstm.input").result == RecurrentLayer(hidden=2)
    assert treatment_of("lstm_cell.default").result == RecurrentLayer(hidden=1)
    assert treatment_of("argmax.default").result == ReadOnly()
    assert treatment_of("amax.default").result == SharedScale(largest=True)
    assert treatment_of("amin.default").result == SharedScale()
    assert treatment_of("embedding.default").activations == 0
    assert treatment_of("scaled_dot_product_attention.default").activations == 3
    for name in ("einsum.default", "batch_norm.default", "mul.Tensor", "mean.dim", "cumsum.default"):
        assert treatment_of(name).result == OwnScale(), name
    for name in ("batch_norm", "group_norm", "instance_norm", "layer_norm", "prelu", "rms_norm"):
        assert treatment_of(f"{name}.default").activations == 1, name
    clamps = {n for n, t in treatments().items() if t.clamp}
    assert clamps == {f"{n}.default" for n in ("relu", "relu6", "hardtanh", "clamp", "clamp_min")}


@pytest.mark.parametrize("name", ["_to_copy.default", "full_like.default", "index_put.default", "sort.default"])
def test_what_is_not_declared_stays_float(name: str) -> None:
    """A cast computes, a new tensor holds no number of its input, a put may add."""
    assert ops.lowering(name) is not None
    assert treatment_of(name).result is None
    assert not treatment_of(name).function
