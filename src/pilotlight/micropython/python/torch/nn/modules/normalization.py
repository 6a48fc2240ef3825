import _torch
from _torch import Parameter
from torch.nn import functional
from torch.nn.modules.module import Module


class _Affine(Module):
    def _begin(self, size, weight, bias, dtype):
        dtype = dtype or _torch.float32
        self.register_parameter("weight", Parameter(_torch.ones(size, dtype=dtype)) if weight else None)
        self.register_parameter("bias", Parameter(_torch.zeros(size, dtype=dtype)) if bias else None)

    def reset_parameters(self):
        if self.weight is not None:
            self.weight.fill_(1)
        if getattr(self, "bias", None) is not None:
            self.bias.zero_()


class LayerNorm(_Affine):
    def __init__(self, normalized_shape, eps=1e-05, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self._begin(shape, elementwise_affine, elementwise_affine and bias, dtype)

    def forward(self, input):
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        text = "%s, eps=%s, elementwise_affine=%s" % (self.normalized_shape, self.eps, self.elementwise_affine)
        return text + ", bias=%s" % (self.bias is not None) if hasattr(self, "bias") else text


class RMSNorm(LayerNorm):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__(normalized_shape, eps, elementwise_affine, False, device, dtype)
        del self.bias

    def forward(self, input):
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(_Affine):
    def __init__(self, num_groups, num_channels, eps=1e-05, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError("num_channels (%d) must be divisible by num_groups (%d)" % (num_channels, num_groups))
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._begin((num_channels,), affine, affine and bias, dtype)

    def forward(self, input):
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return "%s, %s, eps=%s, affine=%s, bias=%s" % (
            self.num_groups, self.num_channels, self.eps, self.affine, self.bias is not None
        )
