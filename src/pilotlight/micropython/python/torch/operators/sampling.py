# Images at any places: grid_sample, affine_grid, and what max pooling took away.
import _torch


# places outside the image are moved to its border, or mirrored at it
def _inside(p, size, padding_mode, align_corners):
    if padding_mode == "reflection":
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if span:
            p = (p - low).abs()
            flips = (p / span).floor()
            rest = p - flips * span
            p = _torch.where(flips % 2 == 0, rest, span - rest) + low
        else:
            p = p * 0
    if padding_mode != "zeros":
        p = _torch.where(p > 0, p, _torch.zeros_like(p)).clamp_max(size - 1)  # not a number is 0
    return p


# the elements of `flat` (n, c, all) at whole places, a tensor (n, points) for each dimension; outside they are 0
def _pixels(flat, sizes, places):
    index, there = 0, True
    for size, p in zip(sizes, places):
        there = (p >= 0) & (p < size) & there
        index = p.clamp(0, size - 1).nan_to_num(0).long() + index * size
    picked = flat.gather(2, index.unsqueeze(1).expand(index.shape[0], flat.shape[1], index.shape[1]))
    return picked.masked_fill(~there.unsqueeze(1), 0)


# the four weights of cubic interpolation, for places t after the second
def _cubic(t):
    def near(x):
        return (x * 1.25 - 2.25) * x * x + 1

    def far(x):
        return ((x * -0.75 + 3.75) * x - 6) * x + 3

    return far(t + 1), near(t), near(1 - t), far(2 - t)


def nn_grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '%s'" % mode
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '%s'"
            % padding_mode
        )
    rank, sizes, shape = input.dim() - 2, list(input.shape[2:]), list(grid.shape)
    if input.shape[0] != shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes %s and grid with "
            "sizes %s" % (list(input.shape), shape)
        )
    if shape[-1] != rank:
        raise RuntimeError(
            "grid_sampler(): expected grid to have size %d in last dimension, but got grid with sizes %s" % (rank, shape)
        )
    if rank not in (2, 3) or len(shape) != rank + 2:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes %s "
            "and grid with sizes %s" % (list(input.shape), shape)
        )
    for k, size in enumerate(sizes):
        if not size:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes %s with "
                "dimension %d being empty" % (list(input.shape), k + 2)
            )
    if mode == "bicubic" and rank == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype is not grid.dtype:
        raise RuntimeError(
            "expected scalar type %s but found %s" % (input.type()[6:-6], grid.type()[6:-6])
        )
    if not input.is_floating_point():
        raise NotImplementedError("\"grid_sampler\" not implemented for '" + input.type()[6:-6] + "'")
    points = grid.reshape(shape[0], _product(shape[1:-1]), rank)
    places = []
    for k, size in enumerate(sizes):  # x comes first in the grid, and last in the image
        p = points[:, :, rank - 1 - k] + 1
        p = p / 2 * (size - 1) if align_corners else (p * size - 1) / 2
        places.append(p if mode == "bicubic" else _inside(p, size, padding_mode, align_corners))
    flat = input.flatten(2)
    if mode == "nearest":
        y = _pixels(flat, sizes, [p.round() for p in places])
    elif mode == "bilinear":
        y = 0
        low = [p.floor() for p in places]
        for corner in range(1 << rank):
            at, weight = [], 1
            for k, p in enumerate(places):
                far = corner >> k & 1
                at.append(low[k] + far)
                weight = (p - low[k] if far else low[k] + 1 - p) * weight
            y = _pixels(flat, sizes, at) * weight.unsqueeze(1) + y
    else:
        low = [p.floor() for p in places]
        weights = [_cubic(p - q) for p, q in zip(places, low)]
        y = 0
        for i in range(4):
            row = 0
            for k in range(4):
                at = [_inside(q + m - 1, n, padding_mode, align_corners).round() for q, m, n in zip(low, (i, k), sizes)]
                row = _pixels(flat, sizes, at) * weights[1][k].unsqueeze(1) + row
            y = row * weights[0][i].unsqueeze(1) + y
    return y.reshape(list(input.shape[:2]) + shape[1:-1])


def nn_affine_grid(theta, size, align_corners=None):
    if not theta.is_floating_point():
        raise ValueError("Expected theta to have floating point type, but got " + str(theta.dtype))
    rank = len(size) - 2
    if rank not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size %s."
            % (size,)
        )
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (rank, rank + 1):
        raise ValueError(
            "Expected a batch of %dD affine matrices of shape Nx%dx%d for size %s. Got %s."
            % (rank, rank, rank + 1, size, theta.shape)
        )
    if min(size) <= 0:
        raise ValueError("Expected non-zero, positive output size. Got %s" % (size,))
    sizes = list(size[2:])
    axes = []
    for n in sizes:
        x = _torch.linspace(-1, 1, n, dtype=theta.dtype) if n > 1 else _torch.zeros(1, dtype=theta.dtype)
        axes.append(x if align_corners else x * (n - 1) / n)
    axes = list(_torch.meshgrid(*axes, indexing="ij"))
    base = _torch.stack(axes[::-1] + [_torch.ones_like(axes[0])], -1).reshape(1, _product(sizes), rank + 1)
    return base.expand(size[0], -1, -1).bmm(theta.transpose(1, 2)).reshape([size[0]] + sizes + [rank])


# ---- max_unpool


def _unpooled(rank, input, indices, kernel_size, stride, padding, output_size):
    def many(x):
        return [x] * rank if isinstance(x, int) else list(x)

    kernel, padding = many(kernel_size), many(padding)
    stride = kernel if stride is None else many(stride)
    usual = [(input.shape[k - rank] - 1) * stride[k] + kernel[k] - 2 * padding[k] for k in range(rank)]
    sizes = usual
    if output_size is not None:
        sizes = list(output_size)
        sizes = sizes[2:] if len(sizes) == rank + 2 else sizes
        if len(sizes) != rank:
            raise ValueError(
                "output_size should be a sequence containing %d or %d elements, but it has a length of '%d'"
                % (rank, rank + 2, len(sizes))
            )
        for k in range(rank):
            low, high = usual[k] - stride[k], usual[k] + stride[k]
            if not low < sizes[k] < high:
                raise ValueError(
                    'invalid output_size "%s" (dim %d must be between %d and %d)' % (output_size, k, low, high)
                )
    if input.shape != indices.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor (%s) but got indices tensor with shape: %s"
            % (list(input.shape), list(indices.shape))
        )
    lead = list(input.shape[: input.dim() - rank])
    count = _product(sizes)
    if indices.numel() and not 0 <= indices.min() <= indices.max() < count:
        raise RuntimeError("Found an invalid max index: %d" % indices.max().item())
    rows = lead + [-1]
    y = input.new_zeros(lead + [count]).scatter(-1, indices.reshape(rows), input.reshape(rows))
    return y.reshape(lead + sizes)


def nn_max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    return _unpooled(1, input, indices, kernel_size, stride, padding, output_size)


def nn_max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    return _unpooled(2, input, indices, kernel_size, stride, padding, output_size)


def nn_max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    return _unpooled(3, input, indices, kernel_size, stride, padding, output_size)
