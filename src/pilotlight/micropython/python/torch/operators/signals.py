# Windows, integrals and histograms of samples.
import _torch


def _window(name, length, periodic, dtype, options, values):
    if length < 0:
        raise RuntimeError(name + " requires non-negative window_length, got window_length=" + str(length))
    dtype = dtype or _torch.float32
    if not dtype.is_floating_point:
        raise RuntimeError(name + " expects floating point dtypes, got: " + str(dtype))
    if length < 2:
        return _torch.ones(length, dtype=dtype, **options)
    count = length + 1 if periodic else length
    return values(_torch.arange(count, dtype=dtype, **options), count - 1)[:length]


def hann_window(window_length, periodic=True, *, dtype=None, **options):
    def values(x, last):
        return x.mul_(6.283185307179586 / last).cos_().mul_(-0.5).add_(0.5)

    return _window("hann_window", window_length, periodic, dtype, options, values)


# As the overloads are in PyTorch, a parameter is given only with those before it.
def hamming_window(window_length, periodic=None, alpha=None, beta=None, *, dtype=None, **options):
    if periodic is None and alpha is not None or alpha is None and beta is not None:
        raise TypeError("hamming_window() takes alpha only with periodic, and beta only with alpha")
    alpha, beta = 0.54 if alpha is None else alpha, 0.46 if beta is None else beta

    def values(x, last):
        return x.mul_(6.283185307179586 / last).cos_().mul_(-beta).add_(alpha)

    return _window("hamming_window", window_length, periodic is None or periodic, dtype, options, values)


def blackman_window(window_length, periodic=True, *, dtype=None, **options):
    def values(x, last):
        x.mul_(3.141592653589793 / last)
        return x.mul(4).cos_().mul_(0.08) - x.mul(2).cos_().mul_(0.5) + 0.42

    return _window("blackman_window", window_length, periodic, dtype, options, values)


def bartlett_window(window_length, periodic=True, *, dtype=None, **options):
    def values(x, last):
        x.mul_(2.0 / last)
        x[(last >> 1) + 1 :].mul_(-1).add_(2)
        return x

    return _window("bartlett_window", window_length, periodic, dtype, options, values)


# the modified Bessel function of order 0, by its series
def _bessel(x, terms):
    quarter = x * x / 4
    term = _torch.ones_like(x)
    y = term.clone()
    for k in range(1, terms):
        term = term * quarter / (k * k)
        y += term
    return y


def kaiser_window(window_length, periodic=None, beta=None, *, dtype=None, **options):
    if periodic is None and beta is not None:
        raise TypeError("kaiser_window() takes beta only with periodic")
    beta = 12.0 if beta is None else beta

    def values(x, last):
        x = (x.float() * (2.0 / last) - 1).square().neg_().add_(1).clamp_min_(0).sqrt_() * beta
        terms = 20 + int(2 * abs(beta))
        return (_bessel(x, terms) / _bessel(_torch.tensor(float(beta)), terms)).to(dtype or _torch.float32)

    return _window("kaiser_window", window_length, periodic is None or periodic, dtype, options, values)


# ---- integrals


# what each step of `y` along a dimension adds, twice
def _areas(name, y, x, dx, dim):
    count = y.size(dim)
    if x is None:
        if y.dtype is _torch.bool:
            raise RuntimeError(name + ": received a bool input for `y`, but bool is not supported")
        width = 1 if dx is None else dx
    else:
        if dx is not None:
            raise TypeError(name + "(): got an unexpected keyword argument 'dx'")
        if y.dtype is _torch.bool or x.dtype is _torch.bool:
            raise RuntimeError(name + ": received a bool input for `x` or `y`, but bool is not supported")
        if x.dim() == 1 or x.dim() < y.dim():
            if x.shape[-1 if x.dim() == 1 else dim] != count:
                raise RuntimeError(name + ": There must be one `x` value for each sample point")
        if x.dim() == 1:
            width = x.diff().reshape([-1] + [1] * ((-1 - dim) % y.dim()))
        else:
            while x.dim() < y.dim():
                x = x.unsqueeze(0)
            width = x.diff(dim=dim)
    return (y.narrow(dim, 1, count - 1) + y.narrow(dim, 0, count - 1)) * width if count else y[:0].new_zeros(y.shape)


def trapezoid(y, *args, x=None, dx=None, dim=-1):
    areas = _areas("trapezoid", y, args[0] if args else x, dx, dim)
    return areas.sum(dim, dtype=areas.dtype if areas.is_floating_point() else None) / 2


def cumulative_trapezoid(y, *args, x=None, dx=None, dim=-1):
    return _areas("cumulative_trapezoid", y, args[0] if args else x, dx, dim).cumsum(dim) / 2


# ---- histograms


def histc(input, bins=100, min=0, max=0):
    if not input.is_floating_point():
        raise NotImplementedError("\"histogram_cpu\" not implemented for '" + input.type()[6:-6] + "'")
    if bins <= 0:
        raise RuntimeError("torch.histogram(): bins must be > 0, but got %d for dimension 0" % bins)
    if min == max and input.numel():
        min, max = input.min().item(), input.max().item()
    if min == max:
        min, max = min - 1, max + 1
    if min - min != 0 or max - max != 0:
        raise RuntimeError("torch.histc: range of [%s, %s] is not finite" % (min, max))
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    low, high = [_torch.tensor(float(x), dtype=input.dtype) for x in (min, max)]
    x = input.reshape(-1)
    x = x[(x >= low) & (x <= high)]
    places = ((x - low) * bins / (high - low)).long().clamp_max(bins - 1)
    return _torch.bincount(places, minlength=bins).to(input.dtype)
