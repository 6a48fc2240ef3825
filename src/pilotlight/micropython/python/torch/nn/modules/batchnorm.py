import _torch
from _torch import Parameter
from torch.nn import functional
from torch.nn.modules.module import Module


class _NormBase(Module):
    _ranks = (4,)
    _affine, _track = True, True

    def __init__(
        self, num_features, eps=1e-05, momentum=0.1, affine=None, track_running_stats=None, device=None, dtype=None, *,
        bias=True
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine = self._affine if affine is None else affine
        self.track_running_stats = self._track if track_running_stats is None else track_running_stats
        dtype = dtype or _torch.float32
        size = (num_features,)
        for name in ("weight", "bias"):
            there = self.affine and (name == "weight" or bias)
            self.register_parameter(name, Parameter(_torch.ones(size, dtype=dtype)) if there else None)
        track = self.track_running_stats
        self.register_buffer("running_mean", _torch.zeros(size, dtype=dtype) if track else None)
        self.register_buffer("running_var", _torch.ones(size, dtype=dtype) if track else None)
        self.register_buffer("num_batches_tracked", _torch.tensor(0) if track else None)
        self.reset_parameters()

    def reset_running_stats(self):
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        self.reset_running_stats()
        if self.weight is not None:
            self.weight.fill_(1)
        if self.bias is not None:
            self.bias.zero_()

    def _check_input_dim(self, input):
        if input.dim() not in self._ranks:
            expected = " or ".join(["%dD" % n for n in self._ranks])
            raise ValueError("expected %s input (got %dD input)" % (expected, input.dim()))

    def extra_repr(self):
        return "%s, eps=%s, momentum=%s, affine=%s, bias=%s, track_running_stats=%s" % (
            self.num_features, self.eps, self.momentum, self.affine, self.bias is not None, self.track_running_stats
        )


class _BatchNorm(_NormBase):
    def forward(self, input):
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / self.num_batches_tracked.item()
        mean, var = self.running_mean, self.running_var
        batch = self.training or mean is None
        if self.training and not self.track_running_stats:
            mean = var = None
        return functional.batch_norm(input, mean, var, self.weight, self.bias, batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    pass


class BatchNorm3d(_BatchNorm):
    _ranks = (5,)


class _InstanceNorm(_NormBase):
    _affine, _track = False, False

    # one without a batch has one dimension less
    def forward(self, input):
        self._check_input_dim(input)
        single = input.dim() == self._ranks[0]
        y = functional.instance_norm(
            input.unsqueeze(0) if single else input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, self.momentum or 0.0, self.eps,
        )
        return y.squeeze(0) if single else y


class InstanceNorm1d(_InstanceNorm):
    _ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    _ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    _ranks = (4, 5)
