import _torch
from _torch import Parameter
from torch.nn import functional
from torch.nn.modules.module import Module


# new parameters of a layer; a false shape stands for one that is not there
def _parameters(module, dtype, bias, weight):
    for name, shape in (("weight", weight), ("bias", bias)):
        module.register_parameter(name, Parameter(_torch.empty(shape, dtype=dtype)) if shape else None)


# weight and bias as Linear and the convolutions begin: Kaiming's bound for a slope of sqrt(5) is this
def _uniform(module):
    weight = module.weight
    if weight.numel():
        bound = (weight.numel() // weight.shape[0]) ** -0.5
        weight.uniform_(-bound, bound)
        if module.bias is not None:
            module.bias.uniform_(-bound, bound)


class Linear(Module):
    _text = "linear"

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        _parameters(self, dtype, bias and (out_features,), (out_features, in_features))
        self.reset_parameters()

    reset_parameters = _uniform

    def forward(self, input):
        return functional.linear(input, self.weight, self.bias)
