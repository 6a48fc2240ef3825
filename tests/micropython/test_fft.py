"""Fourier transforms, complex numbers and decompositions of matrices at the prompt, next to PyTorch's."""

from __future__ import annotations

import contextlib
import io

import torch

from support.micropython_expressions import differences
from support.micropython_scripts import output

PAIRS = "op.view_as_real({})"
COMPLEX = "op.complex(f(2, 6), f(2, 6))"


def test_transforms_of_any_length() -> None:
    lengths = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 20, 25, 30, 31, 32, 49, 64, 77, 97, 120, 121, 128)
    made = [PAIRS.format(f"op.fft_fft(op.complex(f({n}), f({n})))") for n in lengths]
    made += [PAIRS.format(f"op.fft_ifft(op.complex(f(2, {n}), f(2, {n})))") for n in lengths]
    made += [PAIRS.format(f"op.fft_rfft(f(2, {n}))") for n in lengths]
    made += [f"op.fft_irfft(op.complex(f(2, {n}), f(2, {n})))" for n in lengths[1:]]
    made += [f"op.fft_irfft(op.complex(f({n}), f({n})), {2 * n - 1})" for n in lengths]
    assert differences(made) == []


def test_arguments_of_transforms() -> None:
    assert differences([
        *(PAIRS.format(f"op.fft_{name}({COMPLEX}, {rest})")
          for name in ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn")
          for rest in ("norm='ortho'", "norm='forward'", "norm='backward'", "norm=None")),
        *(PAIRS.format(f"op.fft_{name}({COMPLEX}, {n}, {dim})") for name in ("fft", "ifft") for n in (1, 4, 6, 9)
          for dim in (0, 1, -1, -2)),
        *(PAIRS.format(f"op.fft_{name}(f(3, 4, 5), {rest})") for name in ("rfftn", "rfft2", "fftn", "fft2")
          for rest in ("None", "(4, 6)", "(2, 3), (0, 2)", "None, (1,)", "norm='ortho'")),
        *(f"op.fft_{name}(op.complex(f(3, 4, 5), f(3, 4, 5)), {rest})" for name in ("irfftn", "irfft2")
          for rest in ("None", "(4, 7)", "(2, 3), (0, 2)", "None, (1,)", "norm='forward'")),
        *(f"op.fft_{name}(op.complex(f(3, 4, 5), f(3, 4, 5)), {rest})" for name in ("hfftn", "hfft2")
          for rest in ("None", "(4, 7)", "(2, 3), (0, 2)", "None, (1,)", "norm='forward'", "norm='ortho'")),
        *(PAIRS.format(f"op.resolve_conj(op.fft_{name}(f(3, 4, 5), {rest}))") for name in ("ihfftn", "ihfft2")
          for rest in ("None", "(4, 7)", "(2, 3), (0, 2)", "None, (1,)", "norm='forward'", "norm='ortho'")),
        "op.fft_hfftn(f(3, 4))", "op.fft_hfftn(f(3, 4), None, ())", f"op.fft_ihfft2({COMPLEX})",
        "op.fft_ihfftn(f(3, 4), None, ())", "op.fft_hfft2(f(3))", "op.fft_hfftn(f(3, 4), (1,), (0, 1))",
        *(f"op.fft_hfft({COMPLEX}, {rest})" for rest in ("None", "7", "8, 0", "norm='ortho'", "norm='forward'")),
        *(PAIRS.format(f"op.resolve_conj(op.fft_ihfft(f(2, 6), {rest}))")
          for rest in ("None", "7", "8, 0", "norm='ortho'")),
        PAIRS.format("op.fft_fft(i(3, 4))"), PAIRS.format("op.fft_fft(f(3, 4, 6)[:, ::2].transpose(0, 2), dim=1)"),
        PAIRS.format("op.fft_rfft(f(4, 8).t())"),
        *(f"op.fft_{name}({n}, {d})" for name in ("fftfreq", "rfftfreq") for n in (0, 1, 6, 7)
          for d in (1.0, 0.125, 0)),
        "op.fft_fftshift(f(3, 4, 5))", "op.fft_ifftshift(f(3, 4, 5), (0, 2))", "op.fft_fftshift(f(5), 0)",
        PAIRS.format(f"op.fft_fftshift({COMPLEX})"), PAIRS.format(f"op.fft_ifftshift({COMPLEX}, 1)"),
    ]) == []


def test_arithmetic_of_complex_numbers() -> None:
    z, w = COMPLEX, "op.complex(f(6), f(6))"
    assert differences([
        *(PAIRS.format(e) for e in (
            f"{z} + {w}", f"{z} - {w}", f"{z} * {w}", f"{z} / ({w} + 9)", f"{z} * f(6)", f"f(6) * {z}", f"{z} * 2",
            f"2 * {z}",
            f"{z} + 1.5", f"1 - {z}", f"{z} * 1j", f"2j + {z}", f"1 / ({w} + 9)", f"-{z}", f"{z} ** 3",
            f"({w} + 9) ** -2", f"op.resolve_conj(({z}).conj())", f"op.exp({w})", f"{z} @ ({z}).t()",
            f"op.matmul({z}, f(6, 2))", f"op.matmul(f(4, 2), {z})", f"op.sum({z})", f"op.sum({z}, 1)",
            f"op.mean({z}, -1, True)", f"op.cumsum({z}, 1)", f"op.cat([{z}, {z}], 1)",
            f"op.stack([{w}, {w}], -1)", f"({z}).reshape(3, 4)", f"({z}).transpose(0, 1)", f"({z}).permute(1, 0)",
            f"({z}).unsqueeze(-1)", f"({z}).flatten()", f"({z})[0]", f"({z})[:, 1::2]", f"({z})[..., -1]",
            f"({z})[:, None]", f"({z})[op.tensor([1, 0])]", f"({z}).T", f"op.resolve_conj(({z}).mH)",
            "op.polar(f(4).abs(), f(4))", f"op.roll({z}, 1)",
            f"op.roll({z}, 2, 1)", f"op.flip({z}, [0])", f"op.add({z}, {w}, alpha=2)", f"op.sub({z}, {w}, alpha=2)",
            f"op.square({z})", f"op.reciprocal({w} + 9)", f"({z}).squeeze()", f"({z}).narrow(1, 2, 3)",
            "op.view_as_complex(f(3, 2))", f"op.conj_physical({z})",
        )),
        f"op.abs({z})", f"abs({z})", f"op.angle({z})", f"op.real({z})", f"op.imag({z})", "op.angle(f(5))",
        "op.real(f(3))",
        f"{z} == {z}", f"{z} != {w}", "op.abs(op.complex(op.tensor([0.0]), op.tensor([0.0])))",
        "op.abs(op.complex(op.tensor([3e38, 3e-30, float('inf')]), op.tensor([2e38, 4e-30, float('nan')])))",
        # what PyTorch refuses
        "op.imag(f(3))", "op.view_as_real(f(3))", "op.view_as_complex(f(3, 3))", "op.complex(f(2), i(2))",
        f"op.fft_rfft({z})", "op.fft_fft(f(0))", "op.fft_fft(f(4), 0)", "op.fft_fft(f(4), 4, 1)", "op.fft_irfft(f(1))",
        "op.fft_fft(f(4), norm='none')", "op.fft_fftn(f(2, 2), (2,), (0, 1))", "op.fft_fftn(f(2, 2), None, (0, 0))",
        f"op.softmax({z}, 0)", f"op.floor({z})", f"({z})[0, 0, 0]", f"op.cat([{z}, {w}])",
        "op.fft_fft(op.tensor(1.0))", "op.fft_rfft(f(4, dt=h))",
    ]) == []


def test_tensors_of_type_complex64() -> None:
    made = (
        "zeros(2, 3, dtype={})", "ones((2,), dtype={})", "zeros(0, dtype={})", "eye(2, dtype={})",
        "full((2,), 1.5, dtype={})", "full([2], 1 - 2j, dtype={})", "zeros_like(i(3), dtype={})",
        "tensor([[1, 2j], [True, 3.5 - 1j]], dtype={})", "tensor(2j, dtype={})", "tensor(f(2), dtype={})",
        "tensor([], dtype={})", "tensor(i(2, 2).tolist(), dtype={})", "tensor(i(3)).to({})",
        "tensor(f(2)).to(dtype={})", "fft_fft(input=op.ones(2, dtype={}))",
    )
    assert differences([
        *(PAIRS.format(f"op.{call.format(dtype)}") for call in made for dtype in ("op.complex64", "op.cfloat")),
        "list(op.empty(2, 3, dtype=op.complex64).shape)", "op.tensor([[1, 2], [3j]], dtype=op.complex64)",
        "op.isreal(op.tensor([1, 2j, -0.0, float('nan')], dtype=op.cfloat))", "op.isreal(i(2, 2))",
        "op.tensor([1j], dtype=op.cfloat).isreal()", "op.isreal(3.0)",
    ]) == []
    for call in ("randn(2, dtype=torch.cfloat)", "hann_window(2, dtype=torch.cfloat)", "zeros(2, torch.cfloat)"):
        said = output(f"import torch\ntry:\n    torch.{call}\nexcept NotImplementedError as e:\n    print(e)")
        assert "() does not give torch.complex64 here: give two tensors to torch.complex(real, imag)" in said


# Complex numbers hold their parts in the same memory, whichever way these are written.
ASSIGNED = """
def assigned(name, value):
    pairs = torch.add(torch.arange(4.0), 1).view(2, 2)
    z = torch.view_as_complex(pairs)
    setattr(z, name, value(z))
    return z.abs(), torch.view_as_real(z * 1), pairs
"""


def test_parts_and_data_can_be_assigned() -> None:
    values = (
        "f(2)", "f(1)", "op.tensor(5.0)", "i(2)", "op.tensor(True)", "2.5", "7", "True", "z.imag", "z.real", "z",
        "op.complex(f(1), f(1))", "f(3)", "f(2, 2)", "f(1, 2)", "1j", "[1.0, 2.0]", "None",
    )
    assert differences([
        *(f"assigned('{name}', lambda z: {value})" for name in ("real", "imag") for value in values),
        "assigned('data', lambda z: op.complex(f(3), f(3)))", "assigned('data', lambda z: 3)",
        *(f"assigned('{name}', lambda z: 1)" for name in ("shape", "ndim", "dtype", "device", "T", "mH")),
    ], ASSIGNED) == []


def test_exponential_of_infinite_parts() -> None:
    a, b = (f"op.tensor([0.0, -0.0, {x}, float('inf'), -float('inf'), float('nan')])" for x in (100.0, 4.0))
    y = PAIRS.format(f"op.exp(op.complex({a}.unsqueeze(1).expand(6, 6), {b}.expand(6, 6)))")
    assert differences([y, f"op.signbit(op.nan_to_num({y}))"]) == []


def test_short_transforms_and_back() -> None:
    x = "f(2, 50)"
    assert differences([
        *(PAIRS.format(f"torch.stft({x}, {rest}, return_complex=True)") for rest in (
            "16", "16, 5", "16, 5, 12", "15, 4, window=f(15)", "16, 4, 8, f(8)", "16, center=False",
            "16, normalized=True", "16, onesided=False", "16, pad_mode='constant'",
        )),
        PAIRS.format("torch.stft(f(50), 16, return_complex=True)"), "torch.stft(f(50), 16, return_complex=False)",
        *(f"torch.istft(torch.stft({x}, {rest}, return_complex=True), {rest})" for rest in (
            "16", "16, 4", "16, 4, 16, op.ones(16)", "16, normalized=True", "16, onesided=False", "15, 3",
        )),
        f"torch.istft(torch.stft({x}, 16, return_complex=True), 16, length=40)",
        "torch.istft(torch.stft(f(50), 16, return_complex=True), 16, length=60)",
        "torch.stft(f(50), 16)", "torch.stft(f(5), 16, return_complex=True)",
        "torch.stft(f(50), 16, 0, return_complex=True)",
        "torch.stft(f(50), 16, 4, 20, return_complex=True)", "torch.istft(f(9, 5), 16)",
    ]) == []


SHOWN = """
import torch
x = torch.arange(8.0)
z = torch.fft.rfft(x)
print(z, z[1], z.dtype, z.shape, len(z), z[0].item(), z[:2].tolist())
print(torch.fft.fft(torch.arange(15.).reshape(3, 5), dim=0))
print(torch.complex(torch.tensor([]), torch.tensor([])), torch.complex(torch.zeros(2, 0), torch.zeros(2, 0)))
y = torch.complex(torch.zeros(2, 2), torch.ones(2, 2))
y.real[0] = 5.0
y.imag.mul_(3)
y[1, 1] = 2 - 1j
y[0] += 1
print(y)
t = torch.ones(5)
try:
    t += z
except RuntimeError as e:
    print(e)
"""


def test_complex_numbers_print_and_change_as_in_pytorch() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(SHOWN, {})
    assert output(SHOWN) == printed.getvalue()


DECOMPOSED = """
import torch
torch.manual_seed(0)
def near(a, b, what):
    if a.shape != b.shape or not (a - b).abs().max() < 2e-5 * (1 + b.abs().max()):
        print(what, a, b)
for m, n in ((1, 1), (2, 2), (3, 3), (5, 3), (3, 5), (6, 6), (4, 1), (1, 4)):
    a = torch.randn(m, n)
    for mode in ("reduced", "complete"):
        q, r = torch.linalg.qr(a, mode)
        near(q @ r, a, "qr"), near(q.t() @ q, torch.eye(q.shape[1]), "q"), near(r, r.triu(), "r")
    for full in (True, False):
        u, s, vh = torch.linalg.svd(a, full)
        k = min(m, n)
        near((u[:, :k] * s) @ vh[:k], a, "svd"), near(u.t() @ u, torch.eye(u.shape[1]), "u")
        near(vh @ vh.t(), torch.eye(len(vh)), "vh"), near(s, s.sort(descending=True).values, "order")
    x, residuals, rank, _ = torch.linalg.lstsq(a, a @ torch.ones(n, 2))
    near(a @ x, a @ torch.ones(n, 2), "lstsq")
    if rank != min(m, n):
        print("rank", rank)
    p = torch.pinverse(a)
    near(a @ p @ a, a, "pinverse")
for n in (1, 2, 3, 6):
    a = torch.randn(n, n)
    a = a + a.t()
    w, v = torch.linalg.eigh(a)
    near(v @ torch.diag(w) @ v.t(), a, "eigh"), near(v.t() @ v, torch.eye(n), "v")
    near(torch.linalg.eigvalsh(a), w, "eigvalsh")
    near(torch.linalg.svdvals(a), w.abs().sort(descending=True).values, "svdvals")
low = torch.ones(4, 3)
u, s, vh = torch.linalg.svd(low)
near((u[:, :3] * s) @ vh, low, "low"), near(u.t() @ u, torch.eye(4), "low u")
print("rank", torch.linalg.lstsq(low, torch.ones(4, 1)).rank, "done")
"""


def test_decompositions_give_the_matrix_back() -> None:
    assert output(DECOMPOSED) == "rank tensor(1) done\n"


def test_decompositions_have_the_signs_and_values_of_pytorch() -> None:
    a = "op.add(f(2, 4, 3), op.eye(4, 3).mul(8))"
    s = "op.add(op.matmul(f(2, 4, 3), f(2, 3, 4)).mul(0.1), op.eye(4).mul(9))"
    assert differences([
        *(f"op.linalg_qr({a}, '{mode}')" for mode in ("reduced", "complete", "r")),
        f"op.linalg_qr({a}.transpose(-1, -2))",
        f"op.linalg_svdvals({a})", f"op.linalg_svd({a})[1]", f"op.linalg_eigvalsh({s})",
        f"op.linalg_eigvalsh({s}, 'U')",
        f"op.linalg_lstsq({a}, f(2, 4, 2))[:3]", f"op.linalg_lstsq({a}[0], f(4, 1))[:3]",
        "op.linalg_qr(f(3))", "op.linalg_qr(i(3, 3))", "op.linalg_qr(f(3, 3), 'some')", "op.linalg_eigh(f(3, 2))",
        "op.linalg_svd(f(3))", "op.linalg_eigh(f(2, 2) * float('nan'))", "op.linalg_lstsq(f(3, 2), f(2, 2))",
        "op.linalg_svdvals(op.zeros(0, 3, 2))", "op.linalg_eigvalsh(op.zeros(3, 3))", "op.linalg_eigh(f(2, 1, 1))",
        *(f"op.linalg_{name}(op.zeros({sizes}))" for name in ("eigh", "eigvalsh")
          for sizes in ("0, 0", "2, 0, 0", "0, 3, 3", "0, 0, 0")),
        "op.pinverse(op.add(f(3, 3), op.eye(3).mul(9)))",
        *(f"op.linalg_pinv(op.mul(op.eye(2, 3), op.tensor([[[2.0], [0.001]], [[200.0], [0.1]]])){rest}" for rest in (
            ")", ", 0.01)", ", rcond=0.01)", ", rtol=0.01)", ", atol=0.01)", ", atol=0.01, rtol=1e-6)",
            ", atol=op.tensor([0.01, 0.2]))", ", op.tensor([0.01, 0.0001]))", ", atol=0)", ", 'x')",
        )),
        "op.linalg_pinv(op.ones(3, 3))", "op.linalg_pinv(op.tensor([[2.0, 5.0], [1.0, 3.0]]), 1e-3, True)",
        "op.linalg_pinv(op.tensor([[2.0, 5.0], [1.0, 3.0]]), hermitian=True)", "op.linalg_pinv(op.ones(3))",
        "op.linalg_pinv(op.ones(3, 2), hermitian=True)", "op.linalg_pinv(i(3, 3))", "op.linalg_pinv(op.zeros(2, 3, 0))",
    ]) == []


def test_names_of_the_module() -> None:
    said = output("import torch.fft\nimport torch\nprint(torch.fft.rfft is torch.fft.rfft, torch.complex64)")
    assert said == f"True {torch.complex64}\n"
