# Classes are made from their names when first asked for; transposed ones and what is unusual are in `_conv`.
from torch._packed import load
from torch.nn import functional
from torch.nn.modules.linear import _parameters, _uniform
from torch.nn.modules.module import Module
from torch.nn.modules.simple import _repeat


class _ConvNd(Module):
    transposed = False
    _text = "conv"

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
        padding_mode="zeros", device=None, dtype=None, output_padding=0,
    ):
        super().__init__()
        n = self._rank
        if groups <= 0 or in_channels % groups or out_channels % groups or padding_mode != "zeros" or isinstance(padding, str):
            load("torch.nn.modules._conv")["check"](
                in_channels, out_channels, groups, padding, padding_mode, _repeat(stride, n)
            )
        self.in_channels, self.out_channels, self.groups, self.padding_mode = in_channels, out_channels, groups, padding_mode
        self.kernel_size, self.stride, self.dilation = _repeat(kernel_size, n), _repeat(stride, n), _repeat(dilation, n)
        self.padding = padding if isinstance(padding, str) else _repeat(padding, n)
        self.output_padding = _repeat(output_padding, n)
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        _parameters(self, dtype, bias and (out_channels,), (first, second // groups) + self.kernel_size)
        self.reset_parameters()

    reset_parameters = _uniform

    def forward(self, input):
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = load("torch.nn.modules._conv")["padded"](self, input), 0
        conv = getattr(functional, "conv%dd" % self._rank)
        return conv(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


def __getattr__(name):
    base = _ConvNd
    if "Transpose" in name:
        base = load("torch.nn.modules._conv")["_ConvTransposeNd"]
        if name[0] == "_":
            return base
    elif name[:4] != "Conv":
        raise AttributeError(name)
    if name[-1] != "d" or name[-2] not in "123":
        raise AttributeError(name)
    made = globals()[name] = type(name, (base,), {"_rank": int(name[-2])})
    return made
