# Convolution and pooling of integers. `s` has the numbers of pl_volume_t: n, c, oc, groups, sizes of the input and of the
# output, kernel, stride, padding, dilation (three each), whether padding counts, divisor.
import _torch


# The elements of x (n, c, d, h, w) under each tap of the window, as (n, c, od, oh, ow).
def _taps(x, s, fill):
    out, kernel, step, pad, apart = s[7:10], s[10:13], s[13:16], s[16:19], s[19:22]
    reach = [(out[d] - 1) * step[d] + 1 for d in (0, 1, 2)]
    sizes = [reach[d] + (kernel[d] - 1) * apart[d] for d in (0, 1, 2)]
    full = x.new_full(list(x.shape[:2]) + sizes, fill)
    p, q = [max(k, 0) for k in pad], [max(-k, 0) for k in pad]
    n = [max(min(x.shape[d + 2] - q[d], sizes[d] - p[d]), 0) for d in (0, 1, 2)]
    full[:, :, p[0] : p[0] + n[0], p[1] : p[1] + n[1], p[2] : p[2] + n[2]] = x[
        :, :, q[0] : q[0] + n[0], q[1] : q[1] + n[1], q[2] : q[2] + n[2]
    ]
    a = 0
    while a < sizes[0] - reach[0] + 1:
        b = 0
        while b < sizes[1] - reach[1] + 1:
            c = 0
            while c < sizes[2] - reach[2] + 1:
                yield full[:, :, a : a + reach[0] : step[0], b : b + reach[1] : step[1], c : c + reach[2] : step[2]]
                c += apart[2]
            b += apart[1]
        a += apart[0]


def _for_conv(x, w, bias, s):
    n, c, oc, groups = s[:4]
    kernel, step = s[10:13], s[13:16]
    x = x.reshape((n, c) + tuple(s[4:7])).long()
    w = w.reshape(tuple(w.shape[:2]) + tuple(kernel)).long()
    if step[2] < 0:  # transposed: zeros between the elements, filters turned round
        wide = x.new_zeros([n, c] + [(s[4 + d] - 1) * -step[d] + 1 for d in (0, 1, 2)])
        wide[:, :, :: -step[0], :: -step[1], :: -step[2]] = x
        x = wide
        w = w.reshape((groups, c // groups, oc // groups) + tuple(kernel)).transpose(1, 2).flip(3, 4, 5)
        pad = [s[19 + d] * (kernel[d] - 1) - s[16 + d] for d in (0, 1, 2)]
        s = list(s[:13]) + [1, 1, 1] + pad + list(s[19:])
    w = w.reshape(groups, oc // groups, c // groups, kernel[0] * kernel[1] * kernel[2])
    y = x.new_zeros(n, groups, oc // groups, s[7] * s[8] * s[9])
    y += 0 if bias is None else bias.long().reshape(groups, oc // groups, 1)
    for k, tap in enumerate(_taps(x, s, 0)):
        y = w[:, :, :, k] @ tap.reshape(n, groups, c // groups, s[7] * s[8] * s[9]) + y
    return y


def _for_avg_pool(x, s):
    y = 0
    for tap in _taps(x.reshape(tuple(s[:2]) + tuple(s[4:7])), s, 0):
        y = y + tap
    count = 1
    for d in (0, 1, 2):
        size, out, kernel, step, pad = s[4 + d], s[7 + d], s[10 + d], s[13 + d], s[16 + d]
        found = []
        start = -pad
        while len(found) < out:
            end = start + kernel
            found.append(min(end, size + pad) - start if s[22] else min(end, size) - max(start, 0))
            start += step
        count = _torch.tensor(found).reshape([-1] + [1] * (2 - d)) * count
    return y.div(s[23] or count, rounding_mode="trunc")


def _for_max_pool(x, s):
    x = x.reshape(tuple(s[:2]) + tuple(s[4:7])).long()
    places = _torch.arange(s[4] * s[5] * s[6]).reshape((1, 1) + tuple(s[4:7]))
    y, best = None, -1
    ids = _taps(places, s, -1)
    for tap in _taps(x, s, 0):
        at = next(ids)
        if y is None:
            y, best = tap, at.expand(tap.shape)
        else:
            better = (at >= 0) & ((best < 0) | (tap > y))
            y, best = _torch.where(better, tap, y), _torch.where(better, at, best)
    return y.masked_fill(best < 0, -9223372036854775808), best.clamp_min(0)
