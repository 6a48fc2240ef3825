# The part of torch.nn.functional that few models use.
import _torch
from torch.nn import functional
from torch.nn.functional import _op


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    return functional.softmax(-input, dim, dtype=dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    y = _torch.softmax((logits - _torch.empty_like(logits).exponential_().log()) / tau, dim)
    return _torch.zeros_like(y).scatter_(dim, y.argmax(dim, True), 1.0) if hard else y


def logsigmoid(input, **out):
    return _op("log_sigmoid")(input, **out)


def softsign(input):
    return input / (input.abs() + 1)


def tanhshrink(input):
    return input - input.tanh()


def rrelu(input, lower=0.125, upper=0.3333333333333333, training=False, inplace=False):
    low = input <= 0
    slope = (lower + upper) / 2
    if training:  # PyTorch draws 53 bits for each of these
        draws = _torch.empty(low.sum().item(), dtype=_torch.int64).random_() & 9007199254740991
        slope = draws * 1.1102230246251565e-16 * (upper - lower) + lower
    y = input if inplace else input.clone()
    y[low] = (input[low] * slope).to(input.dtype)
    return y


# One draw for every element, or (with `batch`) for every channel; `alpha` keeps the mean and variance of SELU's outputs.
def dropped(input, p, inplace, batch=0, alpha=False):
    if batch:
        shape = list(input.shape[:batch]) + [1] * (input.dim() - batch)
        noise = _torch.empty(shape, dtype=input.dtype)
    else:
        noise = _torch.empty_like(input)
    noise.bernoulli_(1 - p)
    if alpha:
        a = ((3.09091329228798 * p + 1) * (1 - p)) ** -0.5 if p < 1 else 0.0
        y = input * (noise * a) + ((noise - 1 + p) * (1.7580993408473766 * a))
    else:
        y = input * (noise.div_(1 - p) if p < 1 else noise)
    return input.copy_(y) if inplace else y


def dropout1d(input, p=0.5, training=True, inplace=False):
    return dropped(input, p, inplace, input.dim() - 1) if training else input


def dropout2d(input, p=0.5, training=True, inplace=False):
    return dropped(input, p, inplace, 2) if training else input


def dropout3d(input, p=0.5, training=True, inplace=False):
    y = dropout2d(input if input.ndim == 5 else input.unsqueeze(0), p, training, inplace)
    return y if input.ndim == 5 else y.squeeze(0)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    return dropped(input, p, inplace, 0, True) if training and p else input


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    return dropped(input, p, inplace, 2, True) if training and p else input


# ---- windows and sizes

def _lp_pool(rank, input, norm_type, kernel_size, stride, ceil_mode):
    size = 1
    for k in [kernel_size] * rank if isinstance(kernel_size, int) else kernel_size:
        size *= k
    y = _op("avg_pool%dd" % rank)(input.pow(norm_type), kernel_size, () if stride is None else stride, 0, ceil_mode)
    return (y.sign() * y.abs().relu()).mul(size).pow(1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def _twos(*values):
    return [(v, v) if isinstance(v, int) else v for v in values]


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    return _op("im2col")(input, *_twos(kernel_size, dilation, padding, stride))


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    return _op("col2im")(input, *_twos(output_size, kernel_size, dilation, padding, stride))


def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False
):
    rank = input.dim() - 2
    nearest = mode[:7] == "nearest" or mode == "area"
    if nearest and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if (size is None) == (scale_factor is None):
        raise ValueError(
            "%s size or scale_factor should be defined" % ("either" if size is None else "only one of")
        )
    scales = [None] * rank
    if size is None:
        scales = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * rank
        size = [int(input.shape[k + 2] * float(scales[k])) for k in range(rank)]
        if recompute_scale_factor:
            scales = [None] * rank
    elif isinstance(size, int):
        size = [size] * rank
    if mode == "area":
        return _op("adaptive_avg_pool%dd" % rank)(input, size)
    name = "_upsample_nearest_exact" if mode == "nearest-exact" else "upsample_" + mode
    corners = () if nearest else (bool(align_corners),)
    return _op("%s%dd" % (name, rank))(input, size, *(corners + tuple(scales)))


upsample = interpolate


# ---- norms and tables

def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05
):
    return _torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)


def local_response_norm(input, size, alpha=0.0001, beta=0.75, k=1.0):
    if input.dim() < 3:
        raise ValueError("Expected 3D or higher dimensionality input (got %d dimensions)" % input.dim())
    if input.numel() == 0:
        return input
    square = _op("pad")((input * input).unsqueeze(1), [0, 0] * (input.dim() - 2) + [size // 2, (size - 1) // 2])
    near = square.unfold(2, size, 1)
    mean = near.sum(-1) // size if input.dtype is _torch.int64 else near.mean(-1)
    return input / (mean.squeeze(1) * alpha + k).pow(beta)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    return _torch.div(input, input.norm(p, dim, True).clamp_min(eps), out=out)


def bilinear(input1, input2, weight, bias=None):
    y = (input1.unsqueeze(-2).unsqueeze(-2) @ weight @ input2.unsqueeze(-2).unsqueeze(-1)).squeeze(-1).squeeze(-1)
    return y if bias is None else y + bias
