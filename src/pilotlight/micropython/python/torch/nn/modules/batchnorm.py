# Classes are made from their names when first asked for.
import _torch
from _torch import Parameter
from torch._packed import load
from torch.nn import functional
from torch.nn.modules.module import Module, packed


class _NormBase(Module):
    _affine = _track = True
    _text = "batch_norm"

    def __init__(
        self, num_features, eps=1e-05, momentum=0.1, affine=None, track_running_stats=None, device=None, dtype=None, *,
        bias=True
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine = self._affine if affine is None else affine
        self.track_running_stats = track = self._track if track_running_stats is None else track_running_stats
        for name, value, there in (
            ("weight", 1, self.affine), ("bias", 0, self.affine and bias), ("running_mean", 0, track), ("running_var", 1, track)
        ):
            data = _torch.full((num_features,), value, dtype=dtype or _torch.float32) if there else None
            if name[0] == "r":
                self.register_buffer(name, data)
            else:
                self.register_parameter(name, Parameter(data) if there else None)
        self.register_buffer("num_batches_tracked", _torch.tensor(0) if track else None)

    def _check_input_dim(self, input):
        if input.dim() not in self._ranks:
            raise ValueError("expected %dD input (got %dD input)" % (self._ranks[-1], input.dim()))


packed(_NormBase, "_norm", "reset_running_stats reset_parameters")


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


def __getattr__(name):
    if name == "_InstanceNorm":
        return load("torch.nn.modules._norm")[name]
    if name[-1] != "d" or name[-2] not in "123":
        raise AttributeError(name)
    rank = int(name[-2])
    batch = name[0] == "B"
    made = type(name, (_BatchNorm if batch else __getattr__("_InstanceNorm"),), {
        "_ranks": (rank + 2,) if batch and rank > 1 else (rank + 1, rank + 2)
    })
    globals()[name] = made
    return made
