"""torch.nn's layers: convolutions with every padding mode, linear, norms, pooling, recurrent nets, attention."""

from __future__ import annotations

from fuzz.maker import Maker

BATCH_NORM = (
    "{n}.running_mean.normal_(0, 0.3); {n}.running_var.uniform_(0.5, 2.0); "
    "nn.init.normal_({n}.weight, 1, 0.3); nn.init.normal_({n}.bias, 0, 0.3)"
)
FLATTEN = ("flatten(2).transpose(1, 2)", "flatten(2)", "mean(2).transpose(1, 2)", "mean(-1).permute(0, 2, 1)")


def _conv(m: Maker, dims: int) -> bool:
    x = m.float(dims + 2, dims + 2)
    if x is None:
        return False
    shape = m.value(x).shape
    channels = shape[1]
    kernel = [m.integer(1, min(3, s + 2)) for s in shape[2:]]
    stride, dilation = m.choice((1, 1, 1, 2)), m.choice((1, 1, 1, 2))
    mode = m.choice(("zeros", "zeros", "zeros", "reflect", "replicate", "circular"))
    padding: object = m.choice((0, 1, "'same'", "'valid'", tuple(m.integer(0, k // 2) for k in kernel)))
    groups = m.choice((1, 1, 1, channels, *([2] if channels % 2 == 0 else [])))
    out = groups * m.integer(1, max(1, 8 // groups))
    size = kernel[0] if dims == 1 or m.chance(0.6) else tuple(kernel)
    name = m.layer(m.choice(("", "conv")))
    line = (
        f"self.{name} = nn.Conv{dims}d({channels}, {out}, {size}, stride={stride}, padding={padding}, "
        f"dilation={dilation}, "
        f"groups={groups}, bias={m.chance(0.7)}, padding_mode='{mode}')"
    )
    after = m.choice(("", "", ".relu()", ".clamp(0, 6)"))
    return m.add(f"{m.new()} = self.{name}({x}){after}", [line])


def conv2d(m: Maker) -> bool:
    return _conv(m, 2)


def conv1d(m: Maker) -> bool:
    return _conv(m, 1)


def _conv_bn(m: Maker) -> bool:
    """The usual block, as a Sequential."""
    x = m.float(4, 4)
    if x is None:
        return False
    channels, out, name = m.value(x).shape[1], m.integer(1, 8), m.layer()
    act = m.choice(
        (
            "nn.ReLU()",
            "nn.ReLU6(inplace=True)",
            "nn.Hardswish()",
            "nn.SiLU()",
            "nn.LeakyReLU(0.1, inplace=True)",
            "nn.Identity()",
        )
    )
    init = [
        f"self.{name} = nn.Sequential(nn.Conv2d({channels}, {out}, {m.choice((1, 3))}, padding=1, bias=False), "
        f"nn.BatchNorm2d({out}), {act})",
        BATCH_NORM.format(n=f"self.{name}[1]"),
    ]
    return m.add(f"{m.new()} = self.{name}({x})", init)


def _transposed(m: Maker) -> bool:
    x = m.pick(lambda t: t.is_floating_point() and t.dim() in (3, 4) and t.numel() < 600)
    if x is None:
        return False
    dims, channels, name = m.value(x).dim() - 2, m.value(x).shape[1], m.layer("up")
    stride = m.choice((1, 2))
    line = (
        f"self.{name} = nn.ConvTranspose{dims}d({channels}, {m.integer(1, 5)}, {m.integer(1, 3)}, "
        f"stride={stride}, padding={m.choice((0, 0, 1))}, "
        f"output_padding={m.choice((0, stride - 1))}, bias={m.chance(0.6)})"
    )
    return m.add(f"{m.new()} = self.{name}({x})", [line])


def _functional(m: Maker) -> bool:
    """F.conv and F.linear with parameters of the model's own."""
    x = m.float(2, 4)
    if x is None:
        return False
    shape, name, out = m.value(x).shape, m.layer("weight"), m.integer(1, 6)
    if len(shape) == 4 and m.chance(0.6):
        return m.add(
            f"{m.new()} = F.conv2d({x}, self.{name}, padding=1)",
            [f"self.{name} = nn.Parameter(torch.randn({out}, {shape[1]}, 3, 3) * 0.3)"],
        )
    if len(shape) == 3 and m.chance(0.4):
        return m.add(
            f"{m.new()} = F.conv1d({x}, self.{name}, stride=2, padding=1)",
            [f"self.{name} = nn.Parameter(torch.randn({out}, {shape[1]}, 3) * 0.3)"],
        )
    return m.add(
        f"{m.new()} = "
        + m.choice(
            (
                f"F.linear({x}, self.{name})",
                f"{x} @ self.{name}.t()",
                f"torch.matmul({x}, self.{name}.T)",
                f"torch.einsum('...i,oi->...o', {x}, self.{name})",
            )
        ),
        [f"self.{name} = nn.Parameter(torch.randn({out}, {shape[-1]}) * 0.4)"],
    )


def _linear(m: Maker) -> bool:
    x = m.float(1)
    if x is None:
        return False
    name, out = m.layer(m.choice(("fc", "head", "proj", ""))), m.integer(1, 8)
    width = m.value(x).shape[-1]
    if m.value(x).dim() > 2 and m.chance(0.4):
        flat = m.value(x)[0].numel()
        return m.add(f"{m.new()} = self.{name}({x}.flatten(1))", [f"self.{name} = nn.Linear({flat}, {out})"])
    return m.add(f"{m.new()} = self.{name}({x})", [f"self.{name} = nn.Linear({width}, {out}, bias={m.chance(0.75)})"])


def _mlp(m: Maker) -> bool:
    x = m.float(1)
    if x is None:
        return False
    name, width, hidden = m.layer(m.choice(("mlp", "layers", "net"))), m.value(x).shape[-1], m.integer(2, 10)
    act = m.choice(("nn.ReLU()", "nn.GELU()", "nn.Tanh()", "nn.SiLU()", "nn.ReLU(inplace=True)"))
    if m.chance(0.5):
        return m.add(
            f"{m.new()} = self.{name}({x})",
            [
                f"self.{name} = nn.Sequential(nn.Linear({width}, {hidden}), {act}, "
                f"nn.Linear({hidden}, {m.integer(1, 6)}))"
            ],
        )
    y = m.new()
    return m.add(
        f"{y} = {x}\nfor layer in self.{name}:\n    {y} = layer({y}).tanh()",
        [f"self.{name} = nn.ModuleList([nn.Linear({width}, {hidden}), nn.Linear({hidden}, {hidden})])"],
    )


def _matmul(m: Maker) -> bool:
    x = m.float(2)
    if x is None:
        return False
    y = m.pick(lambda t: t.is_floating_point() and t.dim() >= 2 and t.shape[-1] == m.value(str(x)).shape[-1])
    return y is not None and m.add(
        f"{m.new()} = "
        + m.choice(
            (
                f"{x} @ {y}.transpose(-1, -2) * 0.3",
                f"torch.matmul({x}, {y}.mT) / 4",
                f"({x} @ {x}.transpose(-2, -1)).softmax(-1) @ {x}",
                f"torch.einsum('...ij,...kj->...ik', {x}, {y}) * 0.2",
            )
        )
    )


def _norm(m: Maker) -> bool:
    x = m.float(2, 4)
    if x is None:
        return False
    shape, name = m.value(x).shape, m.layer(m.choice(("norm", "ln", "bn")))
    channels = shape[1]
    options = [
        (f"nn.LayerNorm({shape[-1]})", ""),
        (
            f"nn.LayerNorm({list(shape[-2:])})"
            if len(shape) > 2
            else f"nn.LayerNorm({shape[-1]}, elementwise_affine=False)",
            "",
        ),
        (f"nn.RMSNorm({shape[-1]})", ""),
    ]
    if len(shape) >= 3:
        options += [
            (f"nn.GroupNorm({2 if channels % 2 == 0 else 1}, {channels})", ""),
            (f"nn.InstanceNorm{len(shape) - 2}d({channels}, affine=True)", ""),
        ]
    options += [
        (f"nn.BatchNorm{'1d' if len(shape) < 4 else '2d'}({channels})", BATCH_NORM.format(n=f"self.{name}"))
    ] * 2
    make, more = m.choice(options)
    return m.add(f"{m.new()} = self.{name}({x})", [f"self.{name} = {make}", *([more] if more else [])])


def _pool(m: Maker) -> bool:
    x = m.float(3, 4)
    if x is None:
        return False
    dims = m.value(x).dim() - 2
    k, s, p = m.integer(1, 3), m.integer(1, 2), m.integer(0, 1)
    forms = [
        f"F.max_pool{dims}d({x}, {k}, {s}, {p})",
        f"F.avg_pool{dims}d({x}, {k}, {s}, padding={p}, count_include_pad={m.chance(0.5)})",
        f"F.adaptive_avg_pool{dims}d({x}, {m.integer(1, 3)})",
        f"F.adaptive_max_pool{dims}d({x}, {m.integer(1, 2)})",
        f"F.max_pool{dims}d({x}, {k}, ceil_mode=True)",
        f"F.avg_pool{dims}d({x}, {k}, {s}, ceil_mode=True)",
        f"F.max_pool{dims}d({x}, 2, 1, dilation=2)",
        f"F.lp_pool{dims}d({x}, 2, {k})",
    ]
    if dims == 2 and m.chance(0.2):
        a, i = m.new(), m.new("i")
        return m.add(
            f"{a}, {i} = F.max_pool2d({x}, 2, return_indices=True)\n"
            f"{m.new()} = F.max_unpool2d({a}, {i}, 2, output_size={x}.shape[-2:])"
        )
    return m.add(f"{m.new()} = {m.choice(forms)}")


def _recurrent(m: Maker) -> bool:
    x = m.float(2, 4)
    if x is None:
        return False
    shape, lines = m.value(x).shape, ""
    source = x
    if len(shape) == 4:
        source = m.new()
        lines = f"{source} = {x}.{m.choice(FLATTEN)}\n"
        width = "flat"
    if len(shape) == 2 and m.chance(0.5):
        return False
    name, kind, hidden = m.layer("rnn"), m.choice(("GRU", "LSTM", "RNN")), m.integer(1, 6)
    if lines:
        trial = dict(m.scope)
        try:
            exec(lines, trial)
        except Exception:
            return False
        width = str(trial[source].shape[-1])
    else:
        width = str(shape[-1])
    more = f", batch_first={m.chance(0.7)}" + (f", num_layers={m.choice((1, 2))}" if m.chance(0.4) else "")
    more += ", bidirectional=True" if m.chance(0.25) else ""
    more += ', nonlinearity="relu"' if kind == "RNN" and m.chance(0.3) else ""
    init = [f"self.{name} = nn.{kind}({width}, {hidden}{more})"]
    y, h = m.new(), m.new()
    if kind == "LSTM" and m.chance(0.5):
        return m.add(f"{lines}{y}, ({h}, {m.new()}) = self.{name}({source})", init)
    form = m.choice(
        (
            f"{y}, {h} = self.{name}({source})",
            f"{y}, _ = self.{name}({source})",
            f"{y} = self.{name}({source})[0][..., -1, :]",
        )
    )
    if kind == "LSTM" and h in form:
        form = f"{y}, ({h}, _) = self.{name}({source})"
    return m.add(lines + form, init)


def _cell(m: Maker) -> bool:
    """A cell in a loop over time."""
    x = m.float(3, 3)
    if x is None:
        return False
    n, t, d = m.value(x).shape
    if t > 6:
        return False
    kind, name, hidden, h = m.choice(("GRUCell", "RNNCell", "LSTMCell")), m.layer("cell"), m.integer(1, 5), m.new()
    init = [f"self.{name} = nn.{kind}({d}, {hidden})"]
    if kind == "LSTMCell":
        c = m.new()
        return m.add(
            f"{h} = torch.zeros({n}, {hidden})\n{c} = torch.zeros({n}, {hidden})\n"
            f"for t in range({x}.shape[1]):\n    {h}, {c} = self.{name}({x}[:, t], ({h}, {c}))",
            init,
        )
    out = m.new()
    return m.add(
        f"{h} = torch.zeros({n}, {hidden})\nsteps = []\nfor t in range({x}.shape[1]):\n"
        f"    {h} = self.{name}({x}[:, t], {h})\n    steps.append({h})\n{out} = torch.stack(steps, 1)",
        init,
    )


def _attention(m: Maker) -> bool:
    x = m.float(3, 3)
    if x is None:
        return False
    n, t, d = m.value(x).shape
    causal = m.choice(("", ", is_causal=True"))
    if m.chance(0.4):
        return m.add(f"{m.new()} = F.scaled_dot_product_attention({x}, {x} * 0.5, {x}{causal})")
    heads = m.choice([h for h in (1, 2, 3, 4) if d % h == 0])
    name = m.layer(m.choice(("attn", "self_attn")))
    if m.chance(0.4):
        q, k, v = m.new("q"), m.new("k"), m.new("v")
        split = f".view({n}, {t}, {heads}, {d // heads}).transpose(1, 2)"
        return m.add(
            f"{q}, {k}, {v} = self.{name}({x}).chunk(3, -1)\n"
            f"{m.new()} = F.scaled_dot_product_attention({q}{split}, {k}{split}, {v}{split}{causal})"
            f".transpose(1, 2).reshape({n}, {t}, {d})",
            [f"self.{name} = nn.Linear({d}, {3 * d})"],
        )
    if m.chance(0.25):
        return m.add(
            f"{m.new()} = self.{name}({x})",
            [f"self.{name} = nn.TransformerEncoderLayer({d}, {heads}, {m.integer(2, 8)}, batch_first=True)"],
        )
    y, w = m.new(), m.new()
    mask = m.choice(
        (
            "",
            "",
            f", attn_mask=torch.ones({t}, {t}, dtype=torch.bool).triu(1)",
            f", key_padding_mask=torch.arange({t}).expand({n}, {t}) > {max(1, t - 2)}",
        )
    )
    return m.add(
        f"{y}, {w} = self.{name}({x}, {x}, {x}{mask}"
        f"{m.choice(('', ', need_weights=False', ', average_attn_weights=False'))})".replace(
            f"{y}, {w}", f"{y}, {m.choice(('_', w))}"
        ),
        [f"self.{name} = nn.MultiheadAttention({d}, {heads}, batch_first=True)"],
    )


CONVOLUTION = (conv2d, conv2d, conv2d, _conv_bn, conv1d, conv1d, _transposed, _functional)
DENSE = (_linear, _linear, _mlp, _matmul, _functional)
NORMS = (_norm,)
POOLING = (_pool,)
RECURRENT = (_recurrent, _recurrent, _cell)
ATTENTION = (_attention,)
