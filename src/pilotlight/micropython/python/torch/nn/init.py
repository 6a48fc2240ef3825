import math

import _torch


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    return tensor.uniform_(a, b)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    return tensor.normal_(mean, std)


def constant_(tensor, val):
    return tensor.fill_(val)


def ones_(tensor):
    return tensor.fill_(1.0)


def zeros_(tensor):
    return tensor.zero_()


def eye_(tensor):
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(_torch.eye(tensor.shape[0], tensor.shape[1]))


def dirac_(tensor, groups=1):
    sizes = tensor.shape
    if len(sizes) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if sizes[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    tensor.zero_()
    each = sizes[0] // groups
    middle = tuple([n // 2 for n in sizes[2:]])
    for row in range(sizes[0]):
        if row % each < sizes[1]:
            tensor[(row, row % each) + middle] = 1
    return tensor


def calculate_gain(nonlinearity, param=None):
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    gains = {"relu": math.sqrt(2.0), "tanh": 5.0 / 3, "selu": 3.0 / 4, "linear": 1, "sigmoid": 1}
    if nonlinearity[:4] == "conv":
        return 1
    if nonlinearity not in gains:
        raise ValueError("Unsupported nonlinearity " + str(nonlinearity))
    return gains[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = 1
    for n in tensor.shape[2:]:
        field *= n
    return tensor.shape[1] * field, tensor.shape[0] * field


def _std(tensor, a, mode, nonlinearity):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError("Mode %s not supported, please use one of ['fan_in', 'fan_out']" % mode)
    fan = _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    if 0 in tensor.shape:
        return tensor
    bound = math.sqrt(3.0) * _std(tensor, a, mode, nonlinearity)
    return tensor.uniform_(-bound, bound)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    if 0 in tensor.shape:
        return tensor
    return tensor.normal_(0, _std(tensor, a, mode, nonlinearity))


def _xavier(tensor, gain):
    return gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))


def xavier_uniform_(tensor, gain=1.0, generator=None):
    bound = math.sqrt(3.0) * _xavier(tensor, gain)
    return tensor.uniform_(-bound, bound)


def xavier_normal_(tensor, gain=1.0, generator=None):
    return tensor.normal_(0, _xavier(tensor, gain))


def _cdf(x):
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


# Draws again what is rejected: from the normal distribution where it is mostly inside, else from the uniform one.
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    if _cdf((b - mean) / std) - _cdf((a - mean) / std) > 0.3:
        tensor.normal_(mean, std)
        low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
        while True:
            outside = (tensor < low) | (tensor > high)
            if not outside.any():
                return tensor
            tensor.copy_(_torch.where(outside, _torch.empty_like(tensor).normal_(mean, std), tensor))
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    pending = None
    while True:
        drawn = _torch.empty_like(tensor).uniform_(a, b)
        log_density = ((drawn - mean) / std).pow(2) * -0.5 - peak
        tensor.copy_(drawn if pending is None else _torch.where(pending, drawn, tensor))
        rejected = _torch.empty_like(tensor).uniform_().log_().gt(log_density)
        pending = rejected if pending is None else pending & rejected
        if not pending.any():
            return tensor


def sparse_(tensor, sparsity, std=0.01, generator=None):
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    tensor.normal_(0, std)
    for column in range(columns):
        tensor[_torch.randperm(rows)[: math.ceil(sparsity * rows)], column] = 0
    return tensor


# Q of a Gaussian matrix, by Gram-Schmidt done twice.
def orthogonal_(tensor, gain=1, generator=None):
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    q = tensor.new_empty((rows, columns)).normal_(0, 1)
    if rows >= columns:
        q = q.t()
    q = q.contiguous()
    for k in range(q.shape[0]):
        for _ in range(2 if k else 0):
            q[k] -= q[:k].t().mv(q[:k].mv(q[k]))
        q[k] /= q[k].norm()
    return tensor.copy_((q.t() if rows >= columns else q).reshape(tensor.shape)).mul_(gain)


xavier_normal, xavier_uniform, kaiming_normal, kaiming_uniform = (
    xavier_normal_, xavier_uniform_, kaiming_normal_, kaiming_uniform_
)
