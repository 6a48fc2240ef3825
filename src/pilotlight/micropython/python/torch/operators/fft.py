# Fourier transforms and complex numbers: what they do is in torch/_fft.py and _complex.py.
import _torch
import torch


def _complex_names():
    return torch._packed.load("torch._complex")


def _fft_names():
    return torch._packed.load("torch._fft")


def fft_fft(input, n=None, dim=-1, norm=None):
    return _fft_names()["fft"](input, n, dim, norm)


def fft_ifft(input, n=None, dim=-1, norm=None):
    return _fft_names()["ifft"](input, n, dim, norm)


def fft_rfft(input, n=None, dim=-1, norm=None):
    return _fft_names()["rfft"](input, n, dim, norm)


def fft_irfft(input, n=None, dim=-1, norm=None):
    return _fft_names()["irfft"](input, n, dim, norm)


def fft_hfft(input, n=None, dim=-1, norm=None):
    return _fft_names()["hfft"](input, n, dim, norm)


def fft_ihfft(input, n=None, dim=-1, norm=None):
    return _fft_names()["ihfft"](input, n, dim, norm)


def fft_fftn(input, s=None, dim=None, norm=None):
    return _fft_names()["fftn"](input, s, dim, norm)


def fft_ifftn(input, s=None, dim=None, norm=None):
    return _fft_names()["ifftn"](input, s, dim, norm)


def fft_rfftn(input, s=None, dim=None, norm=None):
    return _fft_names()["rfftn"](input, s, dim, norm)


def fft_irfftn(input, s=None, dim=None, norm=None):
    return _fft_names()["irfftn"](input, s, dim, norm)


def fft_hfftn(input, s=None, dim=None, norm=None):
    return _fft_names()["hfftn"](input, s, dim, norm)


def fft_ihfftn(input, s=None, dim=None, norm=None):
    return _fft_names()["ihfftn"](input, s, dim, norm)


def fft_fft2(input, s=None, dim=(-2, -1), norm=None):
    return _fft_names()["fftn"](input, s, dim, norm)


def fft_ifft2(input, s=None, dim=(-2, -1), norm=None):
    return _fft_names()["ifftn"](input, s, dim, norm)


def fft_rfft2(input, s=None, dim=(-2, -1), norm=None):
    return _fft_names()["rfftn"](input, s, dim, norm)


def fft_irfft2(input, s=None, dim=(-2, -1), norm=None):
    return _fft_names()["irfftn"](input, s, dim, norm)


def fft_hfft2(input, s=None, dim=(-2, -1), norm=None):
    return _fft_names()["hfftn"](input, s, dim, norm)


def fft_ihfft2(input, s=None, dim=(-2, -1), norm=None):
    return _fft_names()["ihfftn"](input, s, dim, norm)


def fft_fftfreq(n, d=1.0, *, dtype=None, **options):
    return _fft_names()["fftfreq"](n, d, dtype, options)


def fft_rfftfreq(n, d=1.0, *, dtype=None, **options):
    return _fft_names()["rfftfreq"](n, d, dtype, options)


def fft_fftshift(input, dim=None):
    return _fft_names()["fftshift"](input, dim)


def fft_ifftshift(input, dim=None):
    return _fft_names()["ifftshift"](input, dim)


def stft(input, *args, **options):
    return _fft_names()["stft"](input, *args, **options)


def istft(input, *args, **options):
    return _fft_names()["istft"](input, *args, **options)


def complex(real, imag):
    return _complex_names()["from_parts"](real, imag)


def polar(abs, angle):
    return _complex_names()["polar"](abs, angle)


def view_as_real(input):
    raise RuntimeError("view_as_real is only supported for complex tensors")


def view_as_complex(input):
    return _complex_names()["view_as_complex"](input)


def imag(input):
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


def conj(input):
    return input


def conj_physical(input):
    return input


def resolve_conj(input):
    return input


def isreal(input):
    return _torch.ones_like(input, dtype=_torch.bool)


def angle(input):
    return _complex_names()["angle"](input)


complex64 = torch._packed.load("torch._complex")["complex64"]
