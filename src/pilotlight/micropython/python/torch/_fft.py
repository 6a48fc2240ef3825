# Fourier transforms.
import _torch
import torch

_names = torch._packed.load("torch._complex")
ComplexFloatTensor, joined, dimension, conjugate = [
    _names[name] for name in ("ComplexFloatTensor", "joined", "dimension", "conjugate")
]


# A tensor as pairs of float32 with one dimension last, padded with zeros or cut to `n` points.
def _points(x, n, dim):
    if n is not None and n < 1:
        raise RuntimeError("Invalid number of data points (%d) specified" % n)
    if x.dtype is _torch.float16 or x.dtype is _torch.bfloat16:
        raise RuntimeError("Unsupported dtype " + x.type()[6:-6])
    if x.ndim == 0:
        raise IndexError("Dimension specified as %d but tensor has no dimensions" % dim)
    dim = dimension(dim, x.ndim)
    pairs = x._pairs if isinstance(x, ComplexFloatTensor) else _torch.stack([x.float(), _torch.zeros(x.shape)], -1)
    pairs = pairs.movedim(dim, -2)
    count = pairs.shape[-2]
    n = count if n is None else n
    if n < 1:
        raise RuntimeError("Invalid number of data points (%d) specified" % n)
    if n > count:
        more = pairs.new_zeros(pairs.shape[:-2] + (n - count, 2))
        return _torch.cat([pairs, more], -2), dim
    return pairs.narrow(-2, 0, n), dim


def _scaled(pairs, n, norm, inverse):
    if norm not in (None, "backward", "ortho", "forward"):
        raise RuntimeError('Invalid normalization mode: "%s"' % norm)
    if norm == "ortho":
        return pairs * (1 / n**0.5)
    return pairs * (1 / n) if inverse != (norm == "forward") else pairs


def _transformed(x, n, dim, norm, inverse):
    pairs, dim = _points(x, n, dim)
    y = _scaled(_torch._nn._fft_rows(pairs.contiguous(), inverse), pairs.shape[-2], norm, inverse)
    return ComplexFloatTensor(y.movedim(-2, dim))


# Real points have the first half of the bins.
def _halved(x, n, dim, norm, inverse):
    y = _transformed(x, n, dim, norm, inverse)
    dim = dimension(dim, x.ndim)
    return y.narrow(dim, 0, y.shape[dim] // 2 + 1)


# From half of the bins: the others are these mirrored; imaginary parts of the first and the middle one do not count.
def _real_points(x, n, dim, norm, inverse):
    count = x.shape[dimension(dim, x.ndim)] if x.ndim else 1
    n = 2 * (count - 1) if n is None else n
    if n < 1:
        raise RuntimeError("Invalid number of data points (%d) specified" % n)
    pairs, dim = _points(x, n // 2 + 1, dim)
    signs = _torch.tensor([1.0, -1.0])
    pairs = pairs.clone()
    pairs[..., 0, 1] = 0.0
    if n % 2 == 0:
        pairs[..., n // 2, 1] = 0.0
    if n > 2:
        pairs = _torch.cat([pairs, (pairs.narrow(-2, 1, (n - 1) // 2) * signs).flip(-2)], -2)
    y = _scaled(_torch._nn._fft_rows(pairs.narrow(-2, 0, n).contiguous(), inverse), n, norm, inverse)
    return y[..., 0].movedim(-1, dim)


def _real_only(x, name):
    if isinstance(x, ComplexFloatTensor):
        raise RuntimeError("%s expects a real input tensor, but got ComplexFloat" % name)


def fft(input, n=None, dim=-1, norm=None):
    return _transformed(input, n, dim, norm, False)


def ifft(input, n=None, dim=-1, norm=None):
    return _transformed(input, n, dim, norm, True)


def rfft(input, n=None, dim=-1, norm=None):
    _real_only(input, "rfft")
    return _halved(input, n, dim, norm, False)


def irfft(input, n=None, dim=-1, norm=None):
    return _real_points(input, n, dim, norm, True)


_OTHER = {None: "forward", "backward": "forward", "forward": "backward"}  # scaling in the other direction


def hfft(input, n=None, dim=-1, norm=None):
    return _real_points(conjugate(input), n, dim, _OTHER.get(norm, norm), True)


def ihfft(input, n=None, dim=-1, norm=None):
    _real_only(input, "ihfft")
    return conjugate(_halved(input, n, dim, _OTHER.get(norm, norm), False))


# ---- several dimensions


def _several(x, s, dim):
    if dim is None:
        dim = range(-len(s), 0) if s is not None else range(x.ndim)
    dim = [dim] if isinstance(dim, int) else dim
    dims = [dimension(d, x.ndim) for d in dim]
    if len(set(dims)) < len(dims):
        raise RuntimeError("FFT dims must be unique")
    if s is not None and len(s) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    sizes = [None] * len(dims) if s is None else [None if n == -1 else n for n in s]
    return list(zip(sizes, dims))


def _all_transformed(x, places, norm, inverse):
    if not places:
        return x if isinstance(x, ComplexFloatTensor) else joined(x.float(), _torch.zeros(()))
    for n, dim in places[::-1]:
        x = _transformed(x, n, dim, norm, inverse)
    return x


def fftn(input, s=None, dim=None, norm=None):
    return _all_transformed(input, _several(input, s, dim), norm, False)


def ifftn(input, s=None, dim=None, norm=None):
    return _all_transformed(input, _several(input, s, dim), norm, True)


# Of the dimensions of a real transform: the others, the points and the number of the last one.
def _with_last(x, s, dim, name):
    places = _several(x, s, dim)
    if not places:
        raise RuntimeError(name + " must transform at least one axis")
    return (places[:-1],) + places[-1]


def rfftn(input, s=None, dim=None, norm=None):
    _real_only(input, "rfftn")
    others, n, last = _with_last(input, s, dim, "rfftn")
    return _all_transformed(_halved(input, n, last, norm, False), others, norm, False)


def irfftn(input, s=None, dim=None, norm=None):
    others, n, last = _with_last(input, s, dim, "irfftn")
    return _real_points(_all_transformed(input, others, norm, True), n, last, norm, True)


def hfftn(input, s=None, dim=None, norm=None):
    others, n, last = _with_last(input, s, dim, "hfftn")
    return hfft(_all_transformed(input, others, norm, False), n, last, norm)


def ihfftn(input, s=None, dim=None, norm=None):
    _real_only(input, "ihfftn")
    others, n, last = _with_last(input, s, dim, "ihfftn")
    return _all_transformed(ihfft(input, n, last, norm), others, norm, True)


# ---- frequencies and order


def _frequencies(k, n, d):
    return k * (1.0 / (n * d) if n * d else float("inf"))


def fftfreq(n, d, dtype, options):
    k = _torch.arange(n, dtype=dtype or _torch.float32, **options)
    k[(n + 1) // 2 :].sub_(n)
    return _frequencies(k, n, d)


def rfftfreq(n, d, dtype, options):
    return _frequencies(_torch.arange(n // 2 + 1, dtype=dtype or _torch.float32, **options), n, d)


def _shifted(x, dim, half):
    dims = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    pairs = x._pairs if isinstance(x, ComplexFloatTensor) else x
    for d in [dimension(d, x.ndim) for d in dims]:
        size = x.shape[d]
        pairs = _torch.roll(pairs, half(size), d)
    return ComplexFloatTensor(pairs) if pairs is not x and isinstance(x, ComplexFloatTensor) else pairs


def fftshift(input, dim=None):
    return _shifted(input, dim, lambda size: size // 2)


def ifftshift(input, dim=None):
    return _shifted(input, dim, lambda size: (size + 1) // 2)


# ---- over time


def _window_of(window, length, n):
    window = _torch.ones(length) if window is None else window
    if window.dim() != 1 or len(window) != length:
        raise RuntimeError("expected a 1D window tensor of size equal to win_length=%d, but got window with size %s" % (
            length, list(window.shape)))
    left = (n - length) // 2
    return torch.nn.functional.pad(window, (left, n - length - left)) if n > length else window


def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
         onesided=None, return_complex=None, align_to_window=None):
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    complex_input = isinstance(input, ComplexFloatTensor)
    if return_complex is None and not complex_input:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release."
        )
    if complex_input:
        raise NotImplementedError("stft() of complex numbers is not in this module: transform .real and .imag")
    if input.dim() not in (1, 2):
        raise RuntimeError("stft(%s, ...): expected a 1D or 2D tensor" % list(input.shape))
    if align_to_window is not None and center:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if align_to_window:
        raise NotImplementedError("stft(align_to_window=True) is not in this module")
    x = input.float() if input.dim() == 2 else input.float().unsqueeze(0)
    if center:
        x = torch.nn.functional.pad(x.unsqueeze(1), (n_fft // 2, n_fft // 2), mode=pad_mode).squeeze(1)
    if n_fft < 1 or n_fft > x.shape[-1]:
        raise RuntimeError("stft: expected 0 < n_fft <= %d, but got n_fft=%d" % (x.shape[-1], n_fft))
    if hop < 1:
        raise RuntimeError("stft: expected hop_length > 0, but got hop_length=%d" % hop)
    if length < 1 or length > n_fft:
        raise RuntimeError("stft: expected 0 < win_length <= n_fft, but got win_length=%d" % length)
    frames = x.unfold(-1, n_fft, hop) * _window_of(window, length, n_fft)
    norm = "ortho" if normalized is True or normalized == "frame_length" else None
    if isinstance(normalized, str) and norm is None:
        raise RuntimeError("stft: normalized must be a bool or 'frame_length', got '%s'" % normalized)
    y = (_transformed if onesided is False else _halved)(frames, None, -1, norm, False).transpose(1, 2)
    y = y if input.dim() == 2 else y[0]
    return y if return_complex else y._pairs


def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None,
          length=None, return_complex=False):
    if not isinstance(input, ComplexFloatTensor):
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with "
                           "return_complex=True.")
    if return_complex:
        raise NotImplementedError("istft(return_complex=True) is not in this module")
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    x = input if input.dim() == 3 else input.unsqueeze(0)
    bins, count = x.shape[-2:]
    onesided = bins != n_fft if onesided is None else onesided
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if input.dim() not in (2, 3) or bins != wanted:
        raise RuntimeError(
            "istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 when "
            "onesided=True or n_fft when onesided=False, but got %d" % bins
        )
    if not 0 < hop <= size:
        raise RuntimeError("istft: expected 0 < hop_length <= win_length")
    if not 0 < size <= n_fft:
        raise RuntimeError("istft: expected 0 < win_length <= n_fft")
    weights = _window_of(window, size, n_fft)
    norm = "ortho" if normalized else None
    frames = x.transpose(1, 2)
    if onesided:
        frames = _real_points(frames, n_fft, -1, norm, True)
    else:
        frames = _transformed(frames, None, -1, norm, True).real
    total = n_fft + hop * (count - 1)
    y, envelope = _torch.zeros(x.shape[0], total), _torch.zeros(total)
    for k in range(count):
        y[:, k * hop : k * hop + n_fft].add_(frames[:, k] * weights)
        envelope[k * hop : k * hop + n_fft].add_(weights * weights)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    y, envelope = y[:, start:end], envelope[start:end]
    if envelope.numel() and envelope.abs().min() <= 1e-11:
        raise RuntimeError("istft: window overlap add min: 1")
    y = y / envelope
    if length is not None and y.shape[-1] < length:
        y = torch.nn.functional.pad(y, (0, length - y.shape[-1]))
    return y if input.dim() == 3 else y[0]
