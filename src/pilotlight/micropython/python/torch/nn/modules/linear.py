import _torch
from _torch import Parameter
from torch.nn import functional
from torch.nn.modules.module import Module


# new parameters of a layer; None stands for one that is not there
def _parameters(module, dtype, **shapes):
    for name in ("weight", "bias"):
        shape = shapes.get(name)
        if shape is None:
            module.register_parameter(name, None)
        else:
            setattr(module, name, Parameter(_torch.empty(shape, dtype=dtype)))


# weight and bias as Linear and the convolutions begin: Kaiming's bound for a slope of sqrt(5) is this
def _uniform(module):
    weight = module.weight
    if weight.numel():
        bound = (weight.numel() // weight.shape[0]) ** -0.5
        weight.uniform_(-bound, bound)
        if module.bias is not None:
            module.bias.uniform_(-bound, bound)


class Identity(Module):
    def forward(self, input):
        return input


class Linear(Module):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        _parameters(self, dtype, weight=(out_features, in_features), bias=(out_features,) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        _uniform(self)

    def forward(self, input):
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return "in_features=%s, out_features=%s, bias=%s" % (
            self.in_features, self.out_features, self.bias is not None
        )


class NonDynamicallyQuantizableLinear(Linear):
    pass
