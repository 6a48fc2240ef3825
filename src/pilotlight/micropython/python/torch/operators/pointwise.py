# Pointwise operators that few programs use.
import _torch

_PI = 3.141592653589793


# What is computed in float32 in the type of the input, if that is a float.
def _like(y, input):
    return y.to(input.dtype) if input.is_floating_point() else y


def _floats_only(*tensors):
    for t in tensors:
        if t.is_floating_point():
            return
    raise NotImplementedError("not implemented for " + str(t.dtype))


def acos(input):
    x = input.float()
    return _like((1 - x).sqrt().atan2((1 + x).sqrt()) * 2, input)


def asin(input):
    x = input.float()
    return _like(x.atan2((1 - x).mul_(1 + x).sqrt_()), input)


def _if_large(x, y):
    return _torch.where(x > 1e9, x.log() + 0.6931471805599453, y)


def acosh(input):
    x = input.float() - 1
    return _like(_if_large(x, (x.sqrt() * (x + 2).sqrt_() + x).log1p_()), input)


def asinh(input):
    x = input.float()
    a = x.abs()
    b = 1 / a
    return _like(_if_large(a, (a / ((b * b + 1).sqrt_() + b) + a).log1p_()).copysign(x), input)


def atanh(input):
    x = input.float()
    return _like((x.log1p() - (-x).log1p_()) * 0.5, input)


def sinh(input):
    x = input.float()
    y = (x.abs() * 0.5).expm1_()  # of half of it: the whole one overflows too early
    y = (1 / (1 / y + 1) + y) * 0.5
    return _like(((y * y + 1).sqrt_() * y * 2).copysign(x), input)


def cosh(input):
    x = (input.float().abs() * 0.5).exp()
    return _like(x * 0.5 * x + 0.5 / x / x, input)


def tan(input):
    x = input.float()
    return _like(x.sin() / x.cos(), input)


def log2(input):
    return _like(input.float().log() * 1.4426950408889634, input)


def log10(input):
    return _like(input.float().log() * 0.4342944819032518, input)


def sinc(input):
    x = input.float() * _PI
    return _like((x.sin() / x).masked_fill_(x == 0, 1), input)


def deg2rad(input):
    return input * (_PI / 180)


def rad2deg(input):
    return input * (180 / _PI)


def log_sigmoid(input):
    _floats_only(input)
    x = input.float()
    return _like(x.clamp_max(0) - x.abs().neg_().exp_().log1p_(), input)


def frac(input):
    _floats_only(input)
    return input - input.trunc()


def logit(input, eps=None):
    x = input.float()
    if eps is not None:
        x = _torch.where(x < eps, eps, x.clamp_max(1 - eps))
    return _like((x / (1 - x)).log_(), input)


# Stirling's series wants large numbers: a product shifts smaller ones up. Negative ones are reflected.
def lgamma(input):
    given = input.float()
    x = given.where(given > 0, 1 - given)
    small = _torch.ones_like(x)
    for _ in range(4):
        low = x < 4
        small = _torch.where(low, small * x, small)
        x = x + low
    r = 1 / x
    z = r * r
    series = r * (((z * -0.0005952381 + 0.0007936508) * z - 0.0027777778) * z + 0.083333333)
    y = (x - 0.5) * (x.log() - 1) + (series + 0.41893853) - small.log()
    sine = ((given - given.round()) * _PI).sin_().abs_()
    y = _torch.where(given > 0, y, 1.1447299 - sine.log_() - y)
    return _like(y.masked_fill_(isneginf(given), float("inf")), input)


def digamma(input):
    given = input.float()
    x = given.where(given > 0, 1 - given)
    y = _torch.zeros_like(x)
    for _ in range(8):
        low = x < 8
        y = y - low / x
        x = x + low
    r = 1 / x
    z = r * r
    y = y + (x.log() - r * 0.5 - z * (z * (z * 0.003968254 - 0.0083333333) + 0.083333333))
    rest = given - given.round()
    angle = rest * _PI
    y = _torch.where(given > 0, y, y - angle.cos() / angle.sin() * _PI)
    y = y.masked_fill_((rest == 0) & (given < 0) | isneginf(given), float("nan"))
    return _like(_torch.where(given == 0, (given * 0 + float("inf")).copysign(-given), y), input)


def signbit(input):
    return _torch.ones_like(input, dtype=_torch.float32).copysign(input) < 0


# ---- of two operands, either of which may be a number

def _times_log(input, other, name):
    factor = other
    if not isinstance(other, _torch.Tensor):
        if not isinstance(input, _torch.Tensor):
            raise TypeError("argument 'input' or 'other' must be Tensor")
        factor = float(other)
        other = _torch.tensor(factor)
    y = (input * getattr(other.float(), name)()).masked_fill_((other == other) & (input == 0), 0)
    return _like(y, input * factor)


def xlogy(input, other):
    return _times_log(input, other, "log")


def special_xlog1py(input, other):
    return _times_log(input, other, "log1p")


def special_entr(input):
    return _times_log(input, input, "log").neg_().masked_fill_(input < 0, -float("inf"))


def special_ndtr(input):
    return _like((input.float() * 0.7071067811865476).erf_() * 0.5 + 0.5, input)


def logaddexp(input, other):
    return _log_of_sum(input, other, 1.0)


def logaddexp2(input, other):
    return _log_of_sum(input, other, 0.6931471805599453)


def _log_of_sum(input, other, scale):
    _floats_only(input, other)
    a, b = input.float() * scale, other.float() * scale
    y = (a - b).abs_().neg_().exp_().log1p_().add(a.maximum(b))
    return (_torch.where(a == b, a + 0.6931471805599453, y) / scale).to((input + other).dtype)


def hypot(input, other):
    _floats_only(input, other)
    a, b = input.float().abs(), other.float().abs()
    y = a.maximum(b)
    part = (a.minimum(b) / y).masked_fill_(y == 0, 0)
    y = (part * part + 1).sqrt_() * y
    inf = float("inf")
    return y.masked_fill_((a == inf) | (b == inf), inf).to((input + other).dtype)


def heaviside(input, values):
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return _torch.where(input == 0, values, (input > 0).to(input.dtype))


def fmax(input, other):
    return _torch.where(input != input, other, _torch.where(other != other, input, input.maximum(other)))


def fmin(input, other):
    return _torch.where(input != input, other, _torch.where(other != other, input, input.minimum(other)))


def _integers_only(input, other):
    # both as tensors of one type and shape, without their signs
    dtype = (input + other).dtype
    if dtype is _torch.bool or dtype.is_floating_point:
        raise NotImplementedError("not implemented for " + str(dtype))
    return _torch.broadcast_tensors(input.to(dtype).abs(), other.to(dtype).abs())


def gcd(input, other):
    a, b = _integers_only(input, other)
    while b.any():
        some = b != 0
        a, b = _torch.where(some, b, a), a.remainder(b.masked_fill(~some, 1)).mul_(some)
    return a


def lcm(input, other):
    a, b = _integers_only(input, other)
    y = gcd(a, b)
    return (a // y.masked_fill(y == 0, 1) * b).abs_()


def ldexp(input, other):
    dtype = (input + other).dtype
    dtype = dtype if dtype.is_floating_point else _torch.float32
    if other.is_floating_point():
        return input.to(dtype) * _torch.pow(2.0, other.to(dtype))
    other = other.long().clamp(-300, 300)
    half = other // 2  # twice the root: 2 to the whole may be infinite
    return (input.float() * _torch.pow(2.0, half) * _torch.pow(2.0, other - half)).to(dtype)


def nextafter(input, other):
    _floats_only(input, other)
    dtype = (input + other).dtype
    a, b = _torch.broadcast_tensors(input.to(dtype), other.to(dtype))
    whole = _torch.int32 if dtype.itemsize == 4 else _torch.int16
    bits = a.contiguous().view(whole)
    y = (bits + _torch.where((b > a) == (a > 0), 1, -1).to(whole)).view(dtype)
    tiny = _torch.ones_like(bits).view(dtype).copysign(b)
    y = _torch.where(a == 0, tiny, y)
    return _torch.where(a == b, b, _torch.where((a != a) | (b != b), a + b, y))


# ---- special values

def isposinf(input):
    return input == float("inf")


def isneginf(input):
    return input == -float("inf")


def nan_to_num(input, nan=None, posinf=None, neginf=None):
    if not input.is_floating_point():
        return input.clone()
    most = torch.finfo(input.dtype).max
    y = input.masked_fill(input != input, nan or 0.0)
    y.masked_fill_(isposinf(input), most if posinf is None else posinf)
    return y.masked_fill_(isneginf(input), -most if neginf is None else neginf)


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    if input.dtype is not other.dtype:
        raise RuntimeError("%s did not match %s" % (input.dtype, other.dtype))
    if rtol < 0 or atol < 0:
        raise RuntimeError("rtol and atol must be greater than or equal to zero")
    y = input == other
    if equal_nan:
        y = y | ((input != input) & (other != other))
    if rtol or atol:
        input, other = input.float(), other.float()
        apart = (input - other).abs_()
        y = y | (apart.isfinite() & (apart <= (other * rtol).abs_() + atol))
    return y


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    return isclose(input, other, rtol, atol, equal_nan).all().item()


# ---- thresholds

def threshold(input, threshold, value):
    if input.dtype is _torch.bool:
        raise NotImplementedError("threshold is not implemented for bool")
    return input.masked_fill(input <= input.new_full((), threshold), value)


def hardshrink(input, lambd=0.5):
    _floats_only(input)
    return input.masked_fill((input >= -lambd) & (input <= lambd), 0)


def softshrink(input, lambd=0.5):
    _floats_only(input)
    if lambd < 0:
        raise RuntimeError("lambda must be greater or equal to 0")
    return input - input.clamp(-lambd, lambd)


def celu(input, alpha=1.0):
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _torch._nn.elu(input, alpha, 1, 1 / alpha)


def selu(input):
    return _torch._nn.elu(input, 1.6732632423543772, 1.0507009873554805)


# ---- sums with a product or a quotient

def addcmul(input, tensor1, tensor2, *, value=1):
    dtype = (input + tensor1 * tensor2).dtype
    y = tensor1.to(dtype) * tensor2.to(dtype)
    return input.add(y, alpha=value if y.is_floating_point() or input.is_floating_point() else int(value))


def addcdiv(input, tensor1, tensor2, *, value=1):
    if not (tensor1.is_floating_point() or tensor2.is_floating_point()):
        raise RuntimeError("addcdiv: integers are not divided")
    dtype = (input + tensor1 / tensor2).dtype
    return input.add(tensor1.to(dtype) / tensor2.to(dtype), alpha=value)


def lerp(input, end, weight):
    _floats_only(input)
    if not isinstance(weight, _torch.Tensor):
        weight = input.new_full((), weight)
    if not input.dtype is end.dtype is weight.dtype:
        raise RuntimeError("expected dtype %s for `end` and `weight`" % input.dtype)
    a, b, w = input.float(), end.float(), weight.float()
    d = b - a
    return _torch.where(w.abs() < 0.5, d * w + a, b - d * (1 - w)).to(input.dtype)


def equal(input, other):
    return input.shape == other.shape and (input == other).all().item()
