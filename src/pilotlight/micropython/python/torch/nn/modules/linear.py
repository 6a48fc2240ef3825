import _torch
from _torch import Parameter
from torch.nn import functional, init
from torch.nn.modules.module import Module


# new parameters of a layer; False stands for one that is not there
def _parameters(module, dtype, **shapes):
    for name in ("weight", "bias"):
        shape = shapes.get(name)
        if shape is None:
            module.register_parameter(name, None)
        else:
            setattr(module, name, Parameter(_torch.empty(shape, dtype=dtype)))


# weight and bias as Linear and the convolutions begin
def _uniform(module):
    init.kaiming_uniform_(module.weight, 5**0.5)
    if module.bias is not None:
        fan_in = init._calculate_fan_in_and_fan_out(module.weight)[0]
        if fan_in > 0:
            init.uniform_(module.bias, -(fan_in**-0.5), fan_in**-0.5)


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


class Bilinear(Module):
    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        if in1_features <= 0:
            raise ValueError("in1_features must be > 0, but got %s" % in1_features)
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        _parameters(
            self, dtype, weight=(out_features, in1_features, in2_features), bias=(out_features,) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self):
        bound = self.in1_features**-0.5
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1, input2):
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return "in1_features=%s, in2_features=%s, out_features=%s, bias=%s" % (
            self.in1_features, self.in2_features, self.out_features, self.bias is not None
        )


class PReLU(Module):
    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(_torch.full((num_parameters,), init, dtype=dtype or _torch.float32))

    def forward(self, input):
        return functional.prelu(input, self.weight)

    def extra_repr(self):
        return "num_parameters=" + str(self.num_parameters)
