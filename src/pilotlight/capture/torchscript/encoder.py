"""PyTorch's operators for a whole layer of a transformer, as the operators that they stand for.

A traced model has `_transformer_encoder_layer_fwd` where the layer took its fast path.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from pilotlight.errors import PilotlightError


def encoder_layer(
    x: Any, width: int, heads: int, qkv_weight: Any, qkv_bias: Any, out_weight: Any, out_bias: Any, gelu: bool,
    norm_first: bool, eps: float, norm1: Any, norm1_bias: Any, norm2: Any, norm2_bias: Any, up: Any, up_bias: Any,
    down: Any, down_bias: Any, mask: Any = None, mask_type: Any = None,
) -> torch.Tensor:
    def attend(y: torch.Tensor) -> torch.Tensor:
        return attention(y, y, y, width, heads, qkv_weight, qkv_bias, out_weight, out_bias, mask, False)[0]

    def feed(y: torch.Tensor) -> torch.Tensor:
        middle = functional.linear(y, up, up_bias)
        return functional.linear(functional.gelu(middle) if gelu else functional.relu(middle), down, down_bias)

    def first(y: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(y, (width,), norm1, norm1_bias, eps)

    def second(y: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(y, (width,), norm2, norm2_bias, eps)

    if norm_first:
        x = x + attend(first(x))
        return x + feed(second(x))
    x = first(x + attend(x))
    return second(x + feed(x))


def attention(
    query: Any, key: Any, value: Any, width: int, heads: int, qkv_weight: Any, qkv_bias: Any, out_weight: Any,
    out_bias: Any, mask: Any = None, need_weights: bool = True, average: bool = True, mask_type: Any = None,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    if mask is not None or need_weights or not (query is key is value):
        raise PilotlightError(
            "PyTorch's fused attention with a mask, with weights as a result or of several inputs is not supported in "
            "TorchScript", kind="unsupported",
            hint="call torch.backends.mha.set_fastpath_enabled(False) before you trace or script the model",
        )
    batch, length = query.shape[:2]
    parts = functional.linear(query, qkv_weight, qkv_bias).chunk(3, -1)
    q, k, v = [p.reshape(batch, length, heads, width // heads).transpose(1, 2) for p in parts]
    mixed = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, width)
    return functional.linear(mixed, out_weight, out_bias), None
