import copy

import _torch
from torch.nn import Dropout, LayerNorm, Linear, Module, ModuleList, MultiheadAttention, functional, init


def _clones(module, count):
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _activation(activation):
    if isinstance(activation, str):
        if activation not in ("relu", "gelu"):
            raise RuntimeError("activation should be relu/gelu, not " + activation)
        return getattr(functional, activation)
    return activation


class _Layer(Module):
    _attentions = ("self_attn",)

    def __init__(
        self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu", layer_norm_eps=1e-05,
        batch_first=False, norm_first=False, bias=True, device=None, dtype=None,
    ):
        super().__init__()
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(
                d_model, nhead, dropout, bias=bias, batch_first=batch_first, dtype=dtype
            ))
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype)
        self.norm_first = norm_first
        count = len(self._attentions) + 1
        for k in range(count):
            setattr(self, "norm%d" % (k + 1), LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype))
        for k in range(count):
            setattr(self, "dropout%d" % (k + 1), Dropout(dropout))
        self.activation = _activation(activation)

    # x + block(norm(x)), or norm(x + block(x))
    def _step(self, number, x, block):
        norm = getattr(self, "norm%d" % number)
        drop = getattr(self, "dropout%d" % number)
        return x + drop(block(norm(x))) if self.norm_first else norm(x + drop(block(x)))

    # without a memory, to itself
    def _attend(self, number, attention, x, memory, padding, mask, causal):
        def block(y):
            other = y if memory is None else memory
            return attention(y, other, other, padding, False, mask, is_causal=causal)[0]

        return self._step(number, x, block)

    def _feed(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        x = self._attend(1, self.self_attn, src, None, src_key_padding_mask, src_mask, is_causal)
        return self._step(2, x, self._feed)


class TransformerDecoderLayer(_Layer):
    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
        tgt_is_causal=False, memory_is_causal=False,
    ):
        x = self._attend(1, self.self_attn, tgt, None, tgt_key_padding_mask, tgt_mask, tgt_is_causal)
        x = self._attend(2, self.multihead_attn, x, memory, memory_key_padding_mask, memory_mask, memory_is_causal)
        return self._step(3, x, self._feed)


class TransformerEncoder(Module):
    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers, self.num_layers, self.norm = _clones(encoder_layer, num_layers), num_layers, norm

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers, self.num_layers, self.norm = _clones(decoder_layer, num_layers), num_layers, norm

    def forward(
        self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
        tgt_is_causal=None, memory_is_causal=False,
    ):
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                bool(tgt_is_causal), memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    def __init__(
        self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
        activation="relu", custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-05, batch_first=False,
        norm_first=False, bias=True, device=None, dtype=None,
    ):
        super().__init__()
        rest = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm():
            return LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*rest, dtype=dtype), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*rest, dtype=dtype), num_decoder_layers, norm()
        )
        for value in self.parameters():
            if value.dim() > 1:
                init.xavier_uniform_(value)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
        tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
        memory_is_causal=False,
    ):
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
            memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        return _torch.triu(_torch.full((sz, sz), float("-inf"), dtype=dtype or _torch.float32), 1)
