"""Tensors as Python sees them under MicroPython: construction, attributes, operators, buffers."""

from __future__ import annotations

import array
import warnings

import torch

from support.micropython_compare import differences
from support.micropython_scripts import output

PRELUDE = """
import array
p = torch.nn.Parameter(torch.tensor([1., 2.]))
f = torch.tensor([[1.5, -2.0, 0.25], [3.0, 4.0, -0.5]])
i = torch.tensor([7, -3, 2])
b = torch.tensor([True, False, True])

def attempt(text):
    try:
        return repr(eval(text))
    except Exception as error:
        return type(error).__name__ + ' ' + str(error).split('\\n')[0]
"""


def _same(texts: list[str]) -> None:
    """Every expression has the same text, or the same error, in PyTorch and here."""
    script = f"{PRELUDE}\nfor text in {texts!r}:\n    print(text, '->', attempt(text))\n    print('---')\n"
    theirs: list[str] = []
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        exec(script, {"torch": torch, "print": lambda *parts: theirs.append(" ".join(map(str, parts)) + "\n")})
    mine = output(f"import torch\n{script}").split("---\n")
    for a, b in zip("".join(theirs).split("---\n"), mine, strict=True):
        assert b == a


def test_data() -> None:
    _same([
        "torch.tensor([[1, 2], [3]])", "torch.tensor([1, [2]])", "torch.tensor([[1], 2])", "torch.tensor('a')",
        "torch.tensor(['a'])", "torch.tensor(None)", "torch.tensor([None])", "torch.tensor([[], []])",
        "torch.tensor([])",
        "torch.tensor([True, 2])", "torch.tensor([True, 2.5])", "torch.tensor([torch.tensor(1), 2])",
        "torch.tensor([torch.tensor(1), torch.tensor(2.5)])", "torch.tensor([torch.ones(2)])",
        "torch.tensor([torch.ones(1)])", "torch.tensor(300, dtype=torch.uint8)", "torch.tensor(-1, dtype=torch.uint8)",
        "torch.tensor([-256], dtype=torch.uint8)", "torch.tensor(1.5, dtype=torch.int64)", "torch.tensor(2**63)",
        "torch.tensor(-2**63)", "torch.tensor(2**62)", "torch.tensor([2**64])", "torch.tensor(1e40)",
        "torch.tensor(b'ab')", "torch.tensor(bytearray(b'ab'))", "torch.tensor([bytearray(b'ab')])",
        "torch.tensor(memoryview(b'ab'))", "torch.tensor([1, 2], dtype=torch.bool)", "torch.tensor({1: 2})",
        "torch.tensor()", "torch.tensor([1], foo=1)", "torch.tensor([1], dtype='a')", "torch.tensor(range(3))",
        "torch.tensor(float('nan'), dtype=torch.int32)", "torch.tensor(1e10, dtype=torch.int32)",
        "torch.tensor(3000000000, dtype=torch.int32)", "torch.tensor(70000, dtype=torch.float16)",
        "torch.tensor(0.5, dtype=torch.bool)", "torch.tensor([[1, 2], [3, 4.5]], dtype=torch.int16)",
        "torch.tensor(f, dtype=torch.int8)", "torch.tensor([[[1]], [[1, 2]]])", "torch.tensor([[1, 2], 'a'])",
        "torch.tensor([1, 'a'])", "torch.tensor(((1, 2), [3, 4]))", "torch.tensor([1, 2], requires_grad=True)",
        "torch.tensor([1., 2], requires_grad=True)", "torch.tensor([1, 2], device='cpu')",
        "torch.tensor(array.array('f', [1, 2.5]))", "torch.tensor(array.array('i', [1, -2]))",
        "torch.tensor(array.array('d', [1, 0.1]))", "torch.tensor(array.array('H', [1, 65535]))",
        "torch.tensor(array.array('h', [1, 300]), dtype=torch.uint8)", "torch.tensor(16777217.0, dtype=torch.int32)",
        "torch.tensor([0.1, 1e-45, 3.4e38])", "i.new_tensor([1.5])", "torch.tensor(i.shape)",
        "torch.as_tensor(i) is i", "torch.as_tensor([1, 2], dtype=torch.float32)", "torch.as_tensor(bytearray(b'ab'))",
        "torch.asarray([1, 2])", "torch.asarray(f, dtype=torch.int8)", "torch.asarray(array.array('f', [1, 2.5]))",
        "torch.asarray(bytearray(4), dtype=torch.uint8)", "torch.asarray(i) is i", "torch.asarray(i, copy=True) is i",
    ])


def test_old_constructor_and_parameters() -> None:
    _same([
        "torch.Tensor(2, 3).shape", "torch.Tensor([2, 3])", "torch.Tensor()", "torch.Tensor(torch.Size([2, 3])).shape",
        "torch.Tensor((2, 3))", "torch.Tensor(f)", "torch.Tensor(3).shape", "torch.Tensor(1.5)",
        "torch.Tensor(range(3))",
        "torch.Tensor(i)", "p", "p + 1", "isinstance(p, torch.Tensor)", "isinstance(f, torch.nn.Parameter)", "p.data",
        "torch.nn.Parameter(i)", "torch.nn.Parameter()", "torch.nn.Parameter(f, requires_grad=False)",
        "torch.nn.Parameter([1.])", "p.requires_grad", "p.detach()", "torch.is_tensor(p), torch.is_tensor(1)",
        "p.data.add_(1), p", "type(p) is torch.nn.Parameter", "p.data_ptr() == p.data.data_ptr()",
    ])


def test_frombuffer_errors() -> None:
    b8 = "torch.frombuffer(bytearray(8), dtype=torch.float32"
    assert not differences("pass", [  # one text says what does not fit
        f"{b8}, offset=9)", f"{b8}, offset=8)", f"{b8}, offset=-1)", f"{b8}, count=3)", f"{b8}, count=0)",
        f"{b8}, offset=2)", f"{b8}, count=1, offset=3)", f"{b8}, count=2, offset=2**40)", f"{b8}, count=2**32+1)",
        "torch.frombuffer(bytearray(0), dtype=torch.float32)", "torch.frombuffer(bytearray(7), dtype=torch.float32)",
    ])
    _same([
        f"{b8})", f"{b8}, count=-2)", f"{b8}, offset=4)",
        "torch.frombuffer(bytearray(8))", "torch.frombuffer(3, dtype=torch.int8)",
        "torch.frombuffer(bytearray(8), dtype=torch.int8, requires_grad=True)",
        "torch.frombuffer(b'abcd', dtype=torch.uint8)",
        "torch.frombuffer(array.array('h', [1, -2]), dtype=torch.int16)",
    ])


def test_attributes() -> None:
    _same([
        "f.shape, f.dtype, f.device, f.ndim, f.layout, f.itemsize, f.nbytes, f.is_leaf, f.grad, f.requires_grad",
        "f.T", "f.T.shape", "torch.ones(2, 3, 4).mT.shape", "i.mT", "torch.ones(2, 3, 4).T.shape", "f.H.shape", "i.H",
        "f.size(), f.size(1), f.size(dim=0), f.size(-1), f.dim(), f.ndimension(), f.numel(), f.nelement()", "f.size(2)",
        "f.stride(), f.stride(0), f.T.stride(), f[1:].storage_offset(), f.element_size()", "torch.tensor(1).size(0)",
        "f.is_contiguous(), f.T.is_contiguous(), f.is_floating_point(), i.is_floating_point(), torch.numel(f)",
        "torch.is_floating_point(f), torch.is_complex(f), f.is_signed(), torch.uint8.is_signed, torch.half.itemsize",
        "f.foo", "f.type(), i.type(), b.type(), f.half().type()", "f.type(torch.int8)", "f.type('torch.IntTensor')",
        "f.type('x')", "f.to('cpu') is f", "f.to(torch.int8)", "f.to('cpu', torch.int8)", "f.to(dtype=torch.int8)",
        "f.to(i)", "f.to(device='cpu', dtype=torch.half)", "f.to() is f", "f.to(torch.float32) is f",
        "f.to(torch.float32, copy=True) is f", "f.to(torch.int8, True, True)", "f.cpu() is f", "i.type_as(f)",
        "i.float(), i.half(), i.bfloat16(), i.bool(), i.byte(), i.char(), i.short(), i.int(), i.long() is i",
        "i.requires_grad_()", "f.clone().requires_grad_()", "f.clone().requires_grad_(False)", "f.tolist(), i.tolist()",
        "torch.tensor(1.5).tolist(), torch.ones(0, 2).tolist(), torch.ones(2, 0).tolist(), b.tolist()", "f.item()",
        "torch.tensor([[2]]).item(), torch.tensor(True).item(), torch.tensor(0.5).half().item()",
        "torch.ones(0).item()",
        "torch.Size([2, 3]) + (1,), torch.Size([2, 3]) * 2, f.shape[:1], f.shape[::-1], f.shape == (2, 3)",
        "f.shape == [2, 3], (2, 3) == f.shape, f.shape != (2, 3), f.shape.numel(), len(f.shape)",
        "hash(f.shape) == hash((2, 3))",
        "torch.Size([1.5])", "torch.Size()",
        "tuple(f.shape), list(f.shape), isinstance(f.shape, tuple), f.shape.index(3)",
        "torch.device('cpu'), str(torch.device('cpu')), torch.device('cpu').type, torch.device('cpu').index",
        "torch.device('cpu') == torch.device('cpu'), torch.float is torch.float32",
        "torch.long, torch.bool, torch.bfloat16",
    ])


def test_protocols() -> None:
    _same([
        "bool(f)", "bool(torch.ones(0))", "bool(torch.zeros(1, 1)), bool(torch.tensor(0.5))", "int(i)",
        "int(torch.tensor(2.7)), int(torch.tensor([-3])), int(torch.tensor(True))", "float(torch.tensor(3))",
        "float(torch.tensor(0.5)), float(torch.tensor(-2.75)), float(torch.tensor(float('inf')))", "len(f), len(i)",
        "len(torch.tensor(1))", "iter(torch.tensor(1))", "list(i)", "[r.sum() for r in f]", "7 in i, 8 in i",
        "'a' in i",
        "sum(i)", "max(i)", "{i: 1}[i]", "hash(i) == hash(i), hash(i) == hash(i.clone())",
        "[10, 20, 30][torch.tensor(1)]",
        "list(range(torch.tensor(3)))", "a if (a := i.sum()) > 5 else 0", "(lambda x, y, z: z)(*i)",
        "torch.tensor(1) and 2", "not torch.tensor(0)", "list(zip(i, b))",
    ])


def test_operators() -> None:
    numbers = ["2", "2.5", "True", "-3"]
    signs = ["+", "-", "*", "/", "//", "%", "**"]
    texts = [f"{x} {s} {n}" for x in ("f", "i.abs()") for s in signs for n in numbers]
    texts += [f"{n} {s} {x}" for x in ("f.abs()", "i.abs()") for s in signs for n in ("2", "2.5", "True")]
    texts += [f"{x} {s} {y}" for x in ("f", "i") for s in signs[:5] for y in ("f[0]", "i", "torch.tensor(2)")]
    texts += [f"{x} {s} {y}" for x, y in (("i", "i"), ("i", "2"), ("2", "i"), ("b", "b"), ("b", "True"))
              for s in ("&", "|", "^")]
    texts += [f"{x} {s} {y}" for x, y in (("i", "2"), ("2", "i.abs()"), ("i", "i.abs()")) for s in ("<<", ">>")]
    texts += [f"{x} {s} {y}" for x, y in (("f", "1"), ("f", "i"), ("i", "2.5"), ("b", "True"))
              for s in ("<", ">", "<=", ">=", "==", "!=")]
    texts += ["2 == i", "2 != i", "i == i", "i == None", "i != None", "i == 'a'", "f @ i.float()", "f.T @ f"]
    texts += ["-f", "~i", "~b", "~f", "-b", "+b", "+i", "abs(f)", "f + torch.ones(2)", "p * 2", "2 * p", "p @ p", "-p"]
    _same([t for t in texts if not t.startswith("True -")])
    assert not differences("f = torch.ones(2, 3)", ["f @ f", "f @ 2"])


def test_in_place_operators() -> None:
    signs = ["+=", "-=", "*=", "/=", "//=", "%=", "**=", "&=", "|=", "^=", "<<=", ">>="]
    script = "".join(
        f"t = {made}\nkept = t\ntry:\n    t {sign} {value}\n    print(t is kept, t)\n"
        f"except Exception as error:\n    print(type(error).__name__)\n"
        for made, value in (("torch.tensor([5, 6, 7])", "2"), ("torch.tensor([5.5, 6])", "torch.tensor([2., 3])"),
                            ("torch.nn.Parameter(torch.ones(2), requires_grad=False)", "3"))
        for sign in signs
    )
    theirs: list[str] = []
    exec(script, {"torch": torch, "print": lambda *parts: theirs.append(" ".join(map(str, parts)) + "\n")})
    assert output(f"import torch\n{script}") == "".join(theirs)


BUFFERS = """
import array, gc, torch
lent = bytearray(8)
t = torch.frombuffer(lent, dtype=torch.int16)
t += 3
print(lent, t.storage_offset())
lent[2] = 9
print(t.tolist(), t[1:].tolist())
numbers = array.array('f', [1, 2, 3])
t = torch.frombuffer(numbers, dtype=torch.float32)
t.mul_(2)
print(numbers)
fixed = torch.frombuffer(b'\\x01\\x02', dtype=torch.uint8)
print((fixed + 1).tolist())
def assign():
    fixed[0] = 1
def pick():
    fixed[[0]] = 1
for change in (lambda: fixed.add_(1), assign, pick, lambda: fixed[1:].mul_(2)):
    try:
        change()
    except RuntimeError as error:
        print(type(error).__name__)
t = torch.arange(6, dtype=torch.float32)
seen = memoryview(t)
seen[1] = 9.5
print(t.tolist(), len(seen), seen[2], bytes(memoryview(torch.tensor([1, 2], dtype=torch.int16))))
print(array.array('i', torch.tensor([1, -2], dtype=torch.int32)), list(memoryview(torch.tensor([True, False]))))
print(list(memoryview(torch.ones(2, dtype=torch.float16))), list(memoryview(torch.tensor([2**40]))))
try:
    memoryview(torch.ones(2, 3).t())
except TypeError as error:
    print('TypeError')
seen = memoryview(torch.arange(5, dtype=torch.int32))
lent = torch.frombuffer(bytearray(b'abcd'), dtype=torch.uint8)[1:]
for _ in range(50):
    torch.zeros(1000)
    gc.collect()
print(list(seen), lent.tolist())
import struct, io
out = io.BytesIO()
out.write(torch.tensor([1.0, 2.0]))
print(struct.unpack('<2f', out.getvalue()))
into = torch.zeros(2)
io.BytesIO(struct.pack('<2f', 4, 5)).readinto(into)
print(into.tolist())
"""


def test_buffers() -> None:
    expected = [
        "bytearray(b'\\x03\\x00\\x03\\x00\\x03\\x00\\x03\\x00') 0", "[3, 9, 3, 3] [9, 3, 3]",
        "array('f', [2.0, 4.0, 6.0])", "[2, 3]", *4 * ["RuntimeError"],
        "[0.0, 9.5, 2.0, 3.0, 4.0, 5.0] 6 2.0 b'\\x01\\x00\\x02\\x00'", "array('i', [1, -2]) [1, 0]",
        "[15360, 15360] [1099511627776]", "TypeError", "[0, 1, 2, 3, 4] [98, 99, 100]", "(1.0, 2.0)", "[4.0, 5.0]",
    ]
    assert output(BUFFERS).splitlines() == expected
    assert torch.ones(1, dtype=torch.float16).view(torch.int16).item() == 15360
    assert repr(array.array("f", [2, 4, 6])) == "array('f', [2.0, 4.0, 6.0])"


NAMED = """
r = torch.max(torch.tensor([[1., 5.], [7., 2.]]), 1)
print(r)
print(repr(r), r.values, r[1], len(r), r.indices.tolist())
values, indices = r
print(values, indices, isinstance(r, tuple), [x.shape for x in r])
"""


def test_results_with_names() -> None:
    theirs: list[str] = []
    exec(NAMED, {"torch": torch, "print": lambda *parts: theirs.append(" ".join(map(str, parts)) + "\n")})
    assert output(f"import torch\n{NAMED}") == "".join(theirs)


def test_dir_passes_over_what_is_refused() -> None:
    said = output("""
import torch
for t in (torch.tensor(1), torch.ones(3), torch.ones(2, 2, 2)):
    print([name in dir(t) for name in ("shape", "T", "add", "H")])
try:
    torch.ones(3).mT
except RuntimeError as error:
    print(type(error).__name__)
""")
    assert said.splitlines() == ["[True, True, True, True]", *["[True, True, True, False]"] * 2, "RuntimeError"]
