from torch._packed import load
from torch.nn import functional
from torch.nn.modules.linear import _parameters, _uniform
from torch.nn.modules.module import Module
from torch.nn.modules.simple import _repeat


class _ConvNd(Module):
    _rank = 2
    transposed = False

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
        padding_mode="zeros", device=None, dtype=None, output_padding=0,
    ):
        super().__init__()
        n = self._rank
        if (
            groups <= 0 or in_channels % groups or out_channels % groups
            or padding_mode not in ("zeros", "reflect", "replicate", "circular") or isinstance(padding, str)
            and (padding not in ("same", "valid") or padding == "same" and set(_repeat(stride, n)) != {1})
        ):
            load("torch.nn.modules._rare")["refuse_conv"](in_channels, out_channels, groups, padding, padding_mode)
        self.in_channels, self.out_channels, self.groups, self.padding_mode = in_channels, out_channels, groups, padding_mode
        self.kernel_size, self.stride, self.dilation = _repeat(kernel_size, n), _repeat(stride, n), _repeat(dilation, n)
        self.padding = padding if isinstance(padding, str) else _repeat(padding, n)
        self.output_padding = _repeat(output_padding, n)
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        _parameters(
            self, dtype, weight=(first, second // groups) + self.kernel_size, bias=(out_channels,) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self):
        _uniform(self)

    # as `pad` takes it: the last dimension first, before and after
    def _around(self):
        pairs = []
        for k in range(self._rank - 1, -1, -1):
            if self.padding == "same":
                total = self.dilation[k] * (self.kernel_size[k] - 1)
                pairs += [total // 2, total - total // 2]
            else:
                pairs += [0, 0] if self.padding == "valid" else [self.padding[k]] * 2
        return pairs

    def forward(self, input):
        padding = self.padding
        if self.padding_mode != "zeros":
            input = functional.pad(input, self._around(), self.padding_mode)
            padding = 0
        conv = getattr(functional, "conv%dd" % self._rank)
        return conv(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self):
        n = self._rank
        text = "%s, %s, kernel_size=%s, stride=%s" % (self.in_channels, self.out_channels, self.kernel_size, self.stride)
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            if getattr(self, name) != (usual,) * n:
                text += ", %s=%s" % (name, getattr(self, name))
        if self.groups != 1:
            text += ", groups=" + str(self.groups)
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += ", padding_mode=" + self.padding_mode
        return text


class Conv1d(_ConvNd):
    _rank = 1


class Conv2d(_ConvNd):
    pass


class Conv3d(_ConvNd):
    _rank = 3


class _ConvTransposeNd(_ConvNd):
    transposed = True

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
        dilation=1, padding_mode="zeros", device=None, dtype=None,
    ):
        if padding_mode != "zeros":
            raise ValueError('Only "zeros" padding mode is supported for ' + type(self).__name__)
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype,
            output_padding,
        )

    # the padding that gives an output of a wanted size
    def _extra(self, input, output_size):
        if output_size is None:
            return self.output_padding
        extra = []
        for k, size in enumerate(list(output_size)[-self._rank :]):
            least = (input.shape[k - self._rank] - 1) * self.stride[k] - 2 * self.padding[k]
            least += self.dilation[k] * (self.kernel_size[k] - 1) + 1
            if not least <= size < least + self.stride[k]:
                load("torch.nn.modules._rare")["refuse_size"](output_size, least, self.stride[k], input)
            extra.append(size - least)
        return extra

    def forward(self, input, output_size=None):
        conv = getattr(functional, "conv_transpose%dd" % self._rank)
        extra = self._extra(input, output_size)
        return conv(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    _rank = 1


class ConvTranspose2d(_ConvTransposeNd):
    pass


class ConvTranspose3d(_ConvTransposeNd):
    _rank = 3
