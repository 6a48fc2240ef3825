import _torch
from _torch import Parameter
from torch.nn import Linear, functional, init
from torch.nn.modules.module import Module


# a mask of bools says what is left out; one of floats is added
def _float_mask(mask, dtype):
    if mask is None or mask.dtype is not _torch.bool:
        return mask
    return _torch.zeros(mask.shape, dtype=dtype).masked_fill_(mask, float("-inf"))


class NonDynamicallyQuantizableLinear(Linear):
    pass


class MultiheadAttention(Module):
    def __init__(
        self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None,
        batch_first=False, device=None, dtype=None,
    ):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got embed_dim=%s and num_heads=%s instead"
                % (embed_dim, num_heads)
            )
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim, self.add_zero_attn = kdim or embed_dim, vdim or embed_dim, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        e, same = embed_dim, self._qkv_same_embed_dim
        for name, shape in (
            ("q_proj_weight", None if same else (e, e)), ("k_proj_weight", None if same else (e, self.kdim)),
            ("v_proj_weight", None if same else (e, self.vdim)), ("in_proj_weight", (3 * e, e) if same else None),
            ("in_proj_bias", (3 * e,) if bias else None), ("bias_k", (1, 1, e) if add_bias_kv else None),
            ("bias_v", (1, 1, e) if add_bias_kv else None),
        ):
            self.register_parameter(name, None if shape is None else Parameter(_torch.empty(shape, dtype=dtype)))
        self.out_proj = NonDynamicallyQuantizableLinear(e, e, bias, device, dtype)
        self._reset_parameters()

    def _reset_parameters(self):
        for name in ("in_proj_weight",) if self._qkv_same_embed_dim else ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
            init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            self.in_proj_bias.zero_()
            self.out_proj.bias.zero_()
        for value in (self.bias_k, self.bias_v):
            if value is not None:
                init.xavier_normal_(value)

    def _project(self, inputs):
        if self._qkv_same_embed_dim:
            weights = self.in_proj_weight.chunk(3)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        return [functional.linear(x, w, b) for x, w, b in zip(inputs, weights, biases)]

    def forward(
        self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True,
        is_causal=False,
    ):
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        single = query.dim() == 2
        if single:
            query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif self.batch_first:
            query, key, value = [x.transpose(0, 1) for x in (query, key, value)]
        length, batch, width = query.shape
        if width != self.embed_dim:
            raise AssertionError("was expecting embedding dimension of %d, but got %d" % (self.embed_dim, width))
        heads, size = self.num_heads, self.head_dim
        q, k, v = self._project((query, key, value))
        mask, padding = _float_mask(attn_mask, q.dtype), _float_mask(key_padding_mask, q.dtype)
        if mask is not None:
            mask = mask.unsqueeze(0) if mask.dim() == 2 else mask.reshape((batch, heads) + tuple(mask.shape)[1:])
        if self.bias_k is not None:
            k = _torch.cat([k, self.bias_k.expand(1, batch, width)])
            v = _torch.cat([v, self.bias_v.expand(1, batch, width)])
        if self.add_zero_attn:
            zero = _torch.zeros((1, batch, width), dtype=k.dtype)
            k, v = _torch.cat([k, zero]), _torch.cat([v, zero])
        more = k.shape[0] - key.shape[0]
        if more:
            mask = None if mask is None else functional.pad(mask, [0, more])
            padding = None if padding is None else functional.pad(padding, [0, more])
        if padding is not None:
            padding = padding.reshape(batch, 1, 1, -1)
            mask = padding if mask is None else mask + padding
        # (batch, heads, length, size)
        q, k, v = [x.reshape(x.shape[0], batch, heads, size).permute(1, 2, 0, 3) for x in (q, k, v)]
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights or dropout:
            weights = q.mul(size**-0.5).matmul(k.transpose(2, 3))
            if mask is not None:
                weights = weights + mask
            weights = functional.dropout(weights.softmax(-1), dropout)
            y = weights.matmul(v)
            weights = None if not need_weights else weights.mean(1) if average_attn_weights else weights
        else:
            y = functional.scaled_dot_product_attention(
                q, k, v, None if mask is None else mask.expand(batch, heads, length, k.shape[2]), dropout
            )
        y = self.out_proj(y.permute(2, 0, 1, 3).reshape(length, batch, width))
        if single:
            return y.squeeze(1), weights if weights is None else weights.squeeze(0)
        return y.transpose(0, 1) if self.batch_first else y, weights
