# Random tensors that are made of others, with the same draws.
import _torch


def rand_like(input, **kwargs):
    return _torch.empty_like(input, **kwargs).uniform_()


def randn_like(input, **kwargs):
    return _torch.empty_like(input, **kwargs).normal_()


def randint(*args, **kwargs):
    given, args = [], list(args)
    for name in ("size", "high", "low"):
        if name not in kwargs and not args and name != "low":
            raise TypeError("randint() missing required argument '" + name + "'")
        given.append(kwargs.pop(name) if name in kwargs else args.pop() if args else 0)
    generator = kwargs.pop("generator", None)
    kwargs["dtype"] = kwargs.get("dtype") or _torch.int64
    return _torch.empty(given[0], **kwargs).random_(given[2], given[1], generator=generator)


def randint_like(input, *args, **kwargs):
    given = list(args)
    low = kwargs.pop("low") if "low" in kwargs else given.pop(0) if len(given) > 1 or "high" in kwargs and given else 0
    high = kwargs.pop("high") if "high" in kwargs else given.pop(0)
    if _torch.is_tensor(high):
        high = high.item()
    return _torch.empty_like(input, **kwargs).random_(low, high)


def normal(mean, std=1.0, size=None, *, generator=None, dtype=None, **kwargs):
    if size is not None:
        return _torch.empty(size, dtype=dtype).normal_(mean, std, generator=generator)
    first = mean if _torch.is_tensor(mean) else std
    y = _torch.empty((mean + std).shape, dtype=first.dtype)
    if not _torch.is_tensor(std):
        return y.normal_(0, std, generator=generator).add_(mean)
    if (std < 0).any():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    return y.normal_(0, 1, generator=generator).mul_(std).add_(mean)


def _chances(p, generator):
    if not p.dtype.is_floating_point:
        raise NotImplementedError("bernoulli() of integers")
    if not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError("bernoulli() expects probabilities from 0 to 1")
    return _torch.rand(p.shape, generator=generator) < p


def bernoulli(input, p=None, *, generator=None):
    if p is None:
        return _chances(input, generator).to(input.dtype)
    return bernoulli_(_torch.empty_like(input), p, generator=generator)


def bernoulli_(input, p=0.5, *, generator=None):
    order = list(range(input.dim()))  # that of memory
    order.sort(key=lambda d: -input.stride(d))
    x = input.permute(order)
    if _torch.is_tensor(p):
        x.copy_(_chances(p.expand(input.shape).permute(order), generator))
    elif 0 <= p <= 1:
        x.copy_(_bits(_torch.empty(x.shape, dtype=_torch.int64), generator) < int(-(-p * 2.0**53 // 1)))
    else:
        raise RuntimeError("bernoulli_ expects p to be in [0, 1]")
    return input


# numbers of 53 bits
def _bits(x, generator):
    x.random_(generator=generator)
    x &= (1 << 53) - 1
    return x


def multinomial(input, num_samples, replacement=False, *, generator=None):
    size = input.shape[-1] if input.dim() else 0
    if not 0 < input.dim() < 3 or not input.dtype.is_floating_point:
        raise RuntimeError("multinomial() expects 1 or 2 dimensions of floating-point weights")
    if num_samples <= 0 or num_samples > size and not replacement:
        raise RuntimeError("cannot sample n_sample <= 0 or > prob_dist.size(-1) samples without replacement")
    p = input.float()
    if not ((p >= 0) & (p < float("inf"))).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    sums = p.cumsum(-1)
    if not (sums.select(-1, -1) > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement or num_samples == 1:
        return (p / _torch.empty_like(p).exponential_(generator=generator)).topk(num_samples)[1]
    # sums of weights as integers too
    sums = (sums / sums.narrow(-1, -1, 1) * 2.0**53).long()
    sums.select(-1, -1).fill_(1 << 53)
    return _ranks(sums, _bits(sums.new_empty(list(p.shape[:-1]) + [num_samples]), generator), False)
