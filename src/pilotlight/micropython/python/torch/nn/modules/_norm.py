# What few norms need.
from torch.nn import functional
from torch.nn.modules.batchnorm import _NormBase


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


class _InstanceNorm(_NormBase):
    _affine = _track = False

    # one without a batch has one dimension less
    def forward(self, input):
        self._check_input_dim(input)
        single = input.dim() == self._ranks[0]
        y = functional.instance_norm(
            input.unsqueeze(0) if single else input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, self.momentum or 0.0, self.eps,
        )
        return y.squeeze(0) if single else y
