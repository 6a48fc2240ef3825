# What few convolutions need.
from torch.nn import functional
from torch.nn.modules.conv import _ConvNd


def check(in_channels, out_channels, groups, padding, padding_mode, stride):
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError("Invalid padding string '%s', should be one of {'same', 'valid'}" % padding)
        if padding == "same" and set(stride) != {1}:
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
        raise ValueError(
            "padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, but got padding_mode='%s'"
            % padding_mode
        )


# padded as the module says, in the order of `pad`: the last dimension first, before and after
def padded(self, input):
    pairs = []
    for k in range(self._rank - 1, -1, -1):
        if self.padding == "same":
            total = self.dilation[k] * (self.kernel_size[k] - 1)
            pairs += [total // 2, total - total // 2]
        else:
            pairs += [0, 0] if self.padding == "valid" else [self.padding[k]] * 2
    return functional.pad(input, pairs, self.padding_mode)


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
                raise ValueError(
                    "requested an output size of %s, but valid sizes range from %s to %s (for an input of %s)"
                    % (output_size, least, least + self.stride[k] - 1, input.shape)
                )
            extra.append(size - least)
        return extra

    def forward(self, input, output_size=None):
        conv = getattr(functional, "conv_transpose%dd" % self._rank)
        extra = self._extra(input, output_size)
        return conv(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)
