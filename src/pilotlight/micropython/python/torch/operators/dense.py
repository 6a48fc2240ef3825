# Sums of products, images resized, halves of a tensor that gate each other.
import _torch


def glu(input, dim=-1):
    if not input.dim() or input.shape[dim] % 2:
        raise RuntimeError("Halving dimension must be even")
    if not input.is_floating_point():
        raise NotImplementedError("glu is not implemented for " + str(input.dtype))
    half = input.shape[dim] // 2
    return input.narrow(dim, 0, half) * input.narrow(dim, half, half).sigmoid()


# Attention with all its weights at hand, which can be dropped.
def _scaled_dot_product_attention_math(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, dropout_mask=None, *, scale=None, enable_gqa=False
):
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    y = (query * (query.shape[-1] ** -0.5 if scale is None else scale)) @ key.transpose(-2, -1)
    if is_causal:
        attn_mask = y.new_ones(y.shape[-2:], dtype=_torch.bool).tril()
    if attn_mask is not None:
        y = y.masked_fill(~attn_mask, -float("inf")) if attn_mask.dtype is _torch.bool else y + attn_mask
    gone = (y == -float("inf")).all(-1, True)
    y = y.softmax(-1).masked_fill(gone, 0)
    if dropout_p:
        y = _torch.dropout(y, dropout_p, True)
    return y @ value, y


# ---- resizing

# Keys' weights of taps less and more than 1 away

def _near_tap(x):
    return (x * 1.25 - 2.25) * x * x + 1


def _far_tap(x):
    return ((x * -0.75 + 3.75) * x - 6) * x + 3


# One dimension at a time, the last first. kind: 0 nearest, 1 nearest-exact, 2 linear, 3 cubic.
def _resized(input, size, scales, kind, corners=False):
    rank = len(scales)
    if input.dim() != rank + 2 or len(size) != rank or 0 in input.shape[1:] or min(size) <= 0:
        raise RuntimeError("upsample: input of size %s and output_size %s do not fit" % (input.shape, size))
    bytes = input.dtype is _torch.uint8
    if not (input.is_floating_point() or bytes and (kind < 2 or rank == 2)):
        raise NotImplementedError("upsample is not implemented for " + str(input.dtype))
    y = input if kind < 2 else input.long() if bytes else input.float()
    for k in range(rank + 1, 1, -1):
        n, m = input.shape[k], size[k - 2]
        step = 1 / scales[k - 2] if scales[k - 2] and scales[k - 2] > 0 else n / m
        at = _torch.arange(m).float()
        if kind < 2:
            step = n / m if rank == 2 and kind == 0 and m in (n, 2 * n) else step
            y = y.index_select(k, ((at + 0.5 * kind) * step).long().clamp_max(n - 1))
            continue
        if corners or step == n / m:  # a fraction: what is after the point is exact
            at = _torch.arange(m)
            at, step = (at * (n - 1), max(m - 1, 1)) if corners else ((2 * at + 1) * n - m, 2 * m)
        else:
            at, step = (at + 0.5) * step - 0.5, 1
        at = at if kind == 3 else at.clamp_min(0)
        low = at // step
        part = ((at - low * step).float() / step).reshape([-1] + [1] * (rank + 1 - k))
        low = low.long()
        taps = ((0, 1 - part), (1, part)) if kind == 2 else (
            (-1, _far_tap(part + 1)), (0, _near_tap(part)), (1, _near_tap(1 - part)), (2, _far_tap(2 - part))
        )
        total = 0
        one = 1
        if bytes:  # weights of 16 bits, as many after the point as the largest of them leaves
            largest = max([weight.max().item() for _, weight in taps])
            while int(largest * one * 2 + 0.5) < 32768 and one < 1 << 22:
                one *= 2
            taps = [(tap, (weight * one).round().long()) for tap, weight in taps]
            total = one // 2
        for tap, weight in taps:
            total = y.index_select(k, (low + tap).clamp(0, n - 1)) * weight + total
        y = (total // one).clamp_(0, 255) if bytes else total
    return y.to(input.dtype)


def upsample_nearest1d(input, output_size, scales=None):
    return _resized(input, output_size, (scales,), 0)


def upsample_nearest2d(input, output_size, scales_h=None, scales_w=None):
    return _resized(input, output_size, (scales_h, scales_w), 0)


def upsample_nearest3d(input, output_size, scales_d=None, scales_h=None, scales_w=None):
    return _resized(input, output_size, (scales_d, scales_h, scales_w), 0)


def _upsample_nearest_exact1d(input, output_size, scales=None):
    return _resized(input, output_size, (scales,), 1)


def _upsample_nearest_exact2d(input, output_size, scales_h=None, scales_w=None):
    return _resized(input, output_size, (scales_h, scales_w), 1)


def _upsample_nearest_exact3d(input, output_size, scales_d=None, scales_h=None, scales_w=None):
    return _resized(input, output_size, (scales_d, scales_h, scales_w), 1)


def upsample_linear1d(input, output_size, align_corners, scales=None):
    return _resized(input, output_size, (scales,), 2, align_corners)


def upsample_bilinear2d(input, output_size, align_corners, scales_h=None, scales_w=None):
    return _resized(input, output_size, (scales_h, scales_w), 2, align_corners)


def upsample_bicubic2d(input, output_size, align_corners, scales_h=None, scales_w=None):
    return _resized(input, output_size, (scales_h, scales_w), 3, align_corners)


def upsample_trilinear3d(input, output_size, align_corners, scales_d=None, scales_h=None, scales_w=None):
    return _resized(input, output_size, (scales_d, scales_h, scales_w), 2, align_corners)


# ---- sums of products: beta input + alpha y; a beta of zero hides what input holds

def _added(input, y, beta, alpha):
    if input.dtype is not y.dtype:
        raise RuntimeError("the tensors have dtypes %s and %s" % (input.dtype, y.dtype))
    if not y.is_floating_point():
        beta, alpha = int(beta), int(alpha)
    input = input.expand(y.shape)
    dtype = y.dtype
    y = y if alpha == 1 else y * alpha
    return (y + (input if beta == 1 else input * beta) if beta else y).to(dtype)


def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    return _added(input, mat1.mm(mat2), beta, alpha)


def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    return _added(input, batch1.bmm(batch2), beta, alpha)


def addmv(input, mat, vec, *, beta=1, alpha=1):
    return _added(input, mat.mv(vec), beta, alpha)


def addr(input, vec1, vec2, *, beta=1, alpha=1):
    y = vec1.outer(vec2)
    dtype = (input + y[:0, :0].sum()).dtype if input.dtype is not y.dtype else y.dtype
    if not dtype.is_floating_point and (isinstance(beta, float) or isinstance(alpha, float)):
        raise RuntimeError("For integral input tensors, beta and alpha must not be floating point numbers.")
    return _added(input.to(dtype), y.to(dtype), beta, alpha)


def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    if batch1.dim() != 3 or batch2.dim() != 3 or batch1.shape[::2] != batch2.shape[:2]:
        raise RuntimeError("batch1 and batch2 of sizes %s and %s do not fit" % (batch1.shape, batch2.shape))
    # one product over the batch as well
    y = batch1.transpose(0, 1).reshape(batch1.shape[1], -1) @ batch2.reshape(-1, batch2.shape[2])
    return _added(input, y, beta, alpha)


# alone among these it may enlarge what it changes
def addbmm_(input, batch1, batch2, *, beta=1, alpha=1):
    return _torch._into(input, addbmm(input, batch1, batch2, beta=beta, alpha=alpha), False)


def inner(input, other):
    if not (input.dim() and other.dim()):
        return input * other
    y = input.matmul((other if other.dim() == 1 else other.flatten(0, -2)).t())
    return y.reshape(input.shape[:-1] + other.shape[:-1])
