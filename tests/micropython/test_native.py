"""Compiled models as native modules: the same numbers as PyTorch, and a sentence for everything that is wrong."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.export import Dim

import pilotlight as pl
from pilotlight.compiler import compile
from pilotlight.micropython.source import micropython_source
from pilotlight.mpy import choose, native_module
from support.command_line import call_error, call_json
from support.micropython_scripts import output, run_script
from support.native_modules import built

TOLERANCE = 1e-4


class Image(nn.Module):
    """Two inputs, one of them an image; three outputs, one of them an image; two states."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 3, padding=1)
        self.linear = nn.Linear(5, 4)
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("last", torch.full((1, 5), 2.0))

    def forward(self, image: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
        self.calls += 1
        features = torch.relu(self.conv(image))
        mean = features.mean((2, 3))
        scores = self.linear(mean + self.last) * self.calls
        self.last.copy_(mean)
        return features, scores, ids * 2 + scores.argmax(1)


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def add(self, x: torch.Tensor) -> torch.Tensor:
        self.total += x
        return self.total * 1.0

    def scaled(self, factor: torch.Tensor) -> torch.Tensor:
        return self.total * factor


def image_net() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(1)
    return Image().eval(), (torch.randn(1, 3, 4, 6), torch.tensor([3, -1, 7]))


def small_net() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 3)).eval(), (torch.randn(1, 8),)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where two modules are."""
    path = tmp_path_factory.mktemp("native")
    net, inputs = image_net()
    module, _ = built(pl.capture(net, inputs, "picture"))
    module.write(path)
    net, inputs = small_net()
    module, _ = built(pl.capture(net, inputs, "small"))
    module.write(path)
    return path


def numbers(x: torch.Tensor) -> str:
    return repr(x.detach().reshape(-1).tolist())


def close(printed: str, expected: torch.Tensor) -> bool:
    found = torch.tensor(json.loads(printed.replace("(", "[").replace(")", "]")), dtype=torch.float64)
    return torch.allclose(found.reshape(-1), expected.detach().double().reshape(-1), atol=TOLERANCE, rtol=1e-4)


def test_tensors_go_in_and_out_as_in_pytorch(folder: Path) -> None:
    """Shapes of PyTorch, in other layouts too; states go on from run to run, and start over with reset."""
    net, (image, ids) = image_net()
    text = output(f"""
import torch, picture
image = torch.tensor({numbers(image)}).reshape(1, 3, 4, 6)
m = picture.load("picture.bin")
for turn in range(4):
    if turn == 3:
        m.reset()
    x = image + turn
    x = x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2) if turn % 2 else x
    for y in m.run(x, torch.tensor([3, -1, 7])):
        print(list(y.shape), y.dtype, y.reshape(-1).tolist(), sep="|")
try:
    m.run(image[0], torch.tensor([3, -1, 7]))
except ValueError as error:
    print(error)
""", cwd=folder).splitlines()
    fresh = image_net()[0]
    for turn in range(4):
        expected = (fresh if turn == 3 else net)(image + turn, ids)
        for line, y in zip(text[3 * turn : 3 * turn + 3], expected, strict=True):
            shape, dtype, values = line.split("|")
            assert (shape, dtype) == (str(list(y.shape)), str(y.dtype)) and close(values, y)
    assert text[12] == "image: its shape is not that of m.inputs"


def test_buffers_are_in_the_order_of_the_memory(folder: Path) -> None:
    """array, bytearray, memoryview and bytes; `out` is filled; inputs and outputs are described."""
    net, (image, ids) = image_net()
    memory = image.permute(0, 2, 3, 1).contiguous()
    features, scores, best = net(image, ids)
    text = output(f"""
from array import array
import micropython
import picture
m = picture.load()
print(m.inputs[0]["name"], m.inputs[0]["shape"], m.inputs[0]["dtype"], m.inputs[1]["shape"], m.inputs[1]["dtype"])
print([(port["shape"], port["dtype"]) for port in m.outputs])
image, ids = array("f", {numbers(memory)}), array("q", [3, -1, 7])
for given in (image, bytearray(image), memoryview(image), bytes(image)):
    m.reset()
    found = m.run(given, ids)
    print([list(y) for y in found])
print(found)
out = array("f", [0] * 120), bytearray(16), memoryview(array("q", [0] * 3))
m.reset()
micropython.heap_lock()  # as in an interrupt handler
same = m.run(image, ids, out=out) is out
micropython.heap_unlock()
print(same, list(out[0]) == list(found[0]), out[1] == bytearray(found[1]), list(out[2]))
""", cwd=folder).splitlines()
    assert text[0] == "image [1, 4, 6, 3] float32 [3] int64"
    assert text[1] == "[([1, 4, 6, 5], 'float32'), ([1, 4], 'float32'), ([3], 'int64')]"
    for line in text[2:6]:
        rows = json.loads(line)
        for row, y in zip(rows, (features.permute(0, 2, 3, 1), scores, best), strict=True):
            assert close(str(row), y)
    assert text[6].startswith("(array('f', [") and "array('q', [" in text[6]
    assert text[7].split(" ", 3)[:3] == ["True"] * 3 and json.loads(text[7].split(" ", 3)[3]) == best.tolist()


def test_wrong_calls_are_sentences(folder: Path) -> None:
    cases = {
        "m.run(b'')": "ValueError input: expected 32 bytes, got 0",
        "m.run()": "TypeError small: expected 1 inputs, got 0",
        "m.run(x, x)": "TypeError small: expected 1 inputs, got 2",
        "m.run(x, y=x)": "TypeError small: the only keyword is out",
        "m.run(x, out=x, y=x)": "TypeError small: the only keyword is out",
        "m.run(array('h', [0] * 16))": "TypeError input: expected elements of type 'f', got 'h'",
        "m.run(x, out=bytearray(4))": "ValueError 0: expected 12 bytes, got 4",
        "m.run(x, out=bytes(12))": "TypeError object with buffer protocol required",
        "m.run(x, out=array('i', [0] * 3))": "TypeError 0: expected elements of type 'f', got 'i'",
        "m.run(3)": "TypeError object with buffer protocol required",
        "m.other": "AttributeError 'object' object has no attribute 'other'",
        "small.load('nothing.bin')": "OSError [Errno 2] ENOENT",
        "small.load(b'PLWT')": "ValueError small: the weights end after 4 of {size} bytes",
        "small.load(bytes(5000))": "ValueError small: not the weights of this .mpy",
        "small.load('picture.bin')": "ValueError small: not the weights of this .mpy",
        "small.load(io.BytesIO(good[:100]))": "ValueError small: the weights end after 100 of {size} bytes",
        "small.load(io.BytesIO(good[:20]))": "ValueError small: the weights end after 20 of {size} bytes",
        "small.load(changed(60))": "ValueError small: the weights are damaged",
        "small.load(changed(-1))": "ValueError small: the weights are damaged",
        "small.load(io.BytesIO(changed(60)))": "ValueError small: the weights are damaged",
        "small.load(changed(10))": "ValueError small: not the weights of this .mpy",
        "small.load(changed(25))": "ValueError small: not the weights of this .mpy",
        "small.load(x, 3)": "TypeError function expected at most 1 arguments, got 2",
        "small.load(name='small.bin')": "TypeError function doesn't take keyword arguments",
        "busy().run(x)": "RuntimeError small is running",
        "busy().reset()": "RuntimeError small is running",
    }
    text = output(f"""
from array import array
import io, uctypes
import small
with open("small.bin", "rb") as file:
    good = file.read()
def changed(at):
    data = bytearray(good)
    data[at] ^= 4
    return data
def busy():  # as an interrupt would find it
    uctypes.bytearray_at(id(m), 80)[65] = 1
    return m
m, x = small.load("small.bin"), array("f", [0.5] * 8)
refused = 0
for at in range(len(good)):
    try:
        small.load(changed(at) if at % 2 else io.BytesIO(changed(at)))
    except ValueError:
        refused += 1
print(refused)
for case in {list(cases)!r}:
    try:
        print(eval(case))
    except Exception as error:
        print(type(error).__name__, error)
""", cwd=folder).splitlines()
    size = text[0]
    assert dict(zip(cases, text[1:], strict=True)) == {case: said.format(size=size) for case, said in cases.items()}


def test_weights_stay_where_they_are_if_they_are_aligned(folder: Path) -> None:
    """Not a copy, unless they must be aligned; what is used is kept, whatever the collector finds."""
    net, (x,) = small_net()
    text = output(f"""
from array import array
import gc, io
import small
with open("small.bin", "rb") as file:
    good = file.read()
x = array("f", {numbers(x)})
class Slow:  # a stream that gives a little at a time
    def __init__(self):
        self.stream = io.BytesIO(good)
    def readinto(self, buffer):
        return self.stream.readinto(memoryview(buffer)[:7])
class Ends(Slow):
    def readinto(self, buffer):
        return None
shifted = memoryview(bytearray(len(good) + 1))[1:]
shifted[:] = good
models = [small.load(bytearray(good)), small.load(shifted), small.load("small.bin"), small.load(Slow())]
longer = small.load(bytearray(good) + bytearray(100))
try:
    small.load(Ends())
except ValueError as error:
    print(error)
del shifted
for turn in range(200):
    gc.collect()
    junk = [bytearray(b"\\xff" * n) for n in range(1, 400, 7)]
models.append(longer)
print([m.mapped for m in models])
for m in models:
    print(list(m.run(x)))
""", cwd=folder).splitlines()
    assert text[0].startswith("small: the weights end after 0 of ")
    assert text[1] == "[True, False, False, False, True]"
    assert len(text) == 7 and all(close(line, net(x)) for line in text[2:])


def test_entry_points_are_methods_with_one_state(tmp_path: Path) -> None:
    net = Counter()
    x, factor = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([3.0])
    built(pl.capture({"add": (net.add, x), "scaled": (net.scaled, factor)}, name="tally"))[0].write(tmp_path)
    text = output("""
import torch, tally
from array import array
m, other = tally.load(), tally.load()
x, factor = array("f", [1.0, -2.0, 0.5]), array("f", [3.0])
print(list(m.add(x)), list(m.add(x)), list(m.scaled(factor)), list(other.scaled(factor)))
print(m.scaled(torch.tensor([2.0])).tolist(), m.inputs["add"][0]["shape"], m.outputs["scaled"][0]["dtype"])
m.reset()
print(list(m.scaled(factor)))
""", cwd=tmp_path).splitlines()
    assert text == [
        "[1.0, -2.0, 0.5] [2.0, -4.0, 1.0] [6.0, -12.0, 3.0] [0.0, 0.0, 0.0]", "[4.0, -8.0, 2.0] [3] float32",
        "[0.0, 0.0, 0.0]",
    ]


class Scalar(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * 2 + y.sum(), x > 1


def test_numbers_strides_and_half_precision(tmp_path: Path) -> None:
    """Tensors without dimensions, whose buffer is their text; strided ones; types that `array` has no letter for."""
    built(pl.capture(Scalar(), (torch.tensor(1.5), torch.ones(2, 3).half()), "scalar"))[0].write(tmp_path)
    text = output("""
import torch, scalar
m = scalar.load()
y = torch.arange(12, dtype=torch.float16).reshape(3, 4)[:, ::2].t()
for x in (1.5, 0.25):
    print([(list(y.shape), y.item(), str(y.dtype)) for y in m.run(torch.tensor(x), y)])
print([list(y) for y in m.run(bytes(4), bytes(12))], m.inputs[1]["dtype"])
""", cwd=tmp_path).splitlines()
    assert text == [
        "[([], 33.0, 'torch.float32'), ([], True, 'torch.bool')]",
        "[([], 30.5, 'torch.float32'), ([], False, 'torch.bool')]", "[[0.0], [0]] float16",
    ]


class Rows(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.tanh(x) * y, (x * 2).sum(0)


def test_lengths_are_those_of_the_buffers(tmp_path: Path) -> None:
    rows = Dim("rows", min=2, max=6)
    example = torch.randn(4, 3), torch.randn(4, 3)
    graph = pl.capture(Rows(), example, "rows", dynamic_shapes={"x": {0: rows}, "y": {0: rows}})
    built(graph)[0].write(tmp_path)
    text = output("""
from array import array
import torch, rows
m = rows.load()
print(m.inputs[0]["shape"], m.inputs[0]["rows"], m.outputs[0]["shape"], m.outputs[1]["shape"])
for n in (6, 2, 5):
    x = array("f", [0.25 * k for k in range(3 * n)])
    print(json.dumps([list(y) for y in m.run(x, x)]))
t = torch.frombuffer(x, dtype=torch.float32).reshape(5, 3)
print([list(y.shape) for y in m.run(t, t)])
for x, y in ((x[:3], x[:3]), (x[:6], x[:9]), (x[:7], x[:7]), (x + x, x + x)):
    try:
        m.run(x, y)
    except ValueError as error:
        print(error)
""".replace("import torch", "import json, torch"), cwd=tmp_path).splitlines()
    assert text[0] == "[-1, 3] 6 [-1, 3] [3]"
    for line, n in zip(text[1:4], (6, 2, 5), strict=True):
        x = 0.25 * torch.arange(3.0 * n).reshape(n, 3)
        for found, y in zip(json.loads(line), Rows()(x, x), strict=True):
            assert len(found) == y.numel() and close(str(found), y)
    assert text[4] == "[[5, 3], [3]]"
    assert text[5:] == [
        "x: expected 2 to 6 rows of 12 bytes, got 12 bytes",
        "y: expected 2 rows, as many as the input before it, got 3",
        "x: expected 2 to 6 rows of 12 bytes, got 28 bytes",
        "x: expected 2 to 6 rows of 12 bytes, got 120 bytes",
    ]


def test_a_length_that_is_not_the_first_dimension_is_refused() -> None:
    columns = Dim("columns", min=1, max=6)
    graph = pl.capture(nn.ReLU(), (torch.randn(3, 4),), "net", dynamic_shapes=({1: columns},))
    with pytest.raises(pl.PilotlightError, match="takes lengths only of the first dimension in memory"):
        built(graph)


def test_other_architectures_link() -> None:
    """Soft float too, with the compiler's library."""
    net, inputs = small_net()
    graph = pl.capture(net, inputs, "net")
    for arch, number in {"armv6m": 4, "armv7m": 5, "armv7emdp": 8, "rv32imc": 11}.items():
        data = built(graph, arch)[0].files["net.mpy"]
        assert isinstance(data, bytes) and data[:4] == bytes([ord("M"), 6, number << 2 | 3, 31])


@pytest.mark.parametrize("before, inside, message", [
    ("int counted = 3;\n", "    counted++;\n", "the code of the model has 4 bytes in .data"),
    ("static int counted;\n", "    counted++;\n", "the code of the model has 4 bytes in .bss"),
    ("", '    __asm__ volatile("movw r0, #:lower16:net_reset" ::: "r0");\n', "holds an address in part of a word"),
])
def test_code_that_a_native_module_cannot_have(before: str, inside: str, message: str) -> None:
    """Kernels of users may have it."""
    net, inputs = small_net()
    build = compile(pl.capture(net, inputs, "net"), "mps2-an386")
    head = "void net_reset(const net_t *m)\n{\n"
    text = str(build.module.files["net.c"])
    assert head in text
    build.module.files["net.c"] = text.replace(head, f"{before}{head}{inside}")
    with pytest.raises(pl.PilotlightError, match=message):
        native_module(build, choose("armv7emsp", None)[0])


def test_files_that_are_written(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\n\ndef net():\n    torch.manual_seed(0)\n    return torch.nn.Linear(3, 2), torch.ones(1, 3)\n"
    )
    model = f"{tmp_path / 'net.py'}:net"
    found = call_json("compile", model, "--format", "mpy", "--arch", "x64", "-o", tmp_path / "out", "--romfs")
    assert found["architecture"] == "x64" and found["memory"]["weights_bytes"] == 32
    names = [row["file"] for row in found["files"]]
    assert names == ["net.bin", "net.mpy", "package.json", "net.romfs", "metadata.json"]
    package = json.loads((tmp_path / "out" / "package.json").read_text())
    assert package["urls"] == [["net.mpy", "net.mpy"], ["net.bin", "net.bin"]]
    other = call_json("compile", model, "--format", "mpy", "--arch", "x64", "-o", tmp_path / "out", "--name", "other")
    assert [row["file"] for row in other["files"]][-2:] == ["other_package.json", "other_metadata.json"]
    (tmp_path / "out" / "net.mpy").write_bytes(b"mine")
    error = call_error("compile", model, "--format", "mpy", "--arch", "x64", "-o", tmp_path / "out")
    assert "would be overwritten" in error["message"]


@pytest.mark.parametrize("options, message", [
    (["--arch", "armv7"], "--arch armv7: there is no such architecture"),
    ([], "--format mpy needs the architecture of the board's MicroPython"),
    (["--board", "mps2-an386", "--arch", "armv7m"], "mps2-an386 has a cortex-m4, whose architecture is armv7emsp, not"),
    (["--board", "esp32"], "native modules are not made for esp32"),
    (["--arch", "x64", "--weights-in", "ram"], "--weights-in does nothing in a native module"),
    (["--arch", "x64", "--max-ram", "4K"], "--max-ram does nothing in a native module"),
    (["--arch", "armv7m", "--name", "array"], "a native module called array could not be imported: MicroPython has"),
    (["--arch", "armv7m", "--name", "lambda"], "a native module called lambda could not be imported: Python has"),
])
def test_what_cannot_be_made_is_refused_by_name(tmp_path: Path, options: list[str], message: str) -> None:
    (tmp_path / "net.py").write_text("import torch\n\ndef net():\n    return torch.nn.ReLU(), torch.ones(1, 3)\n")
    error = call_error("compile", f"{tmp_path / 'net.py'}:net", "--format", "mpy", "-o", tmp_path / "out", *options)
    assert error["message"].startswith(message)
    assert not (tmp_path / "out").exists()


def test_options_of_native_modules_need_the_format(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("import torch\n\ndef net():\n    return torch.nn.ReLU(), torch.ones(1, 3)\n")
    error = call_error("compile", f"{tmp_path / 'net.py'}:net", "--arch", "x64", "-o", tmp_path / "out")
    assert error["message"] == "--arch is for native modules"


def test_mip_installs_the_files(tmp_path: Path) -> None:
    """Debian's mip, which takes whole addresses only."""
    net, inputs = small_net()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "served"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        _, build = built(pl.capture(net, inputs, "small"))
        native_module(build, choose("x64", None)[0], url=url + "/").write(tmp_path / "served")
        library = micropython_source() / "lib" / "micropython-lib"
        done = run_script(f"""
import sys
sys.path += [{str(library / "python-ecosys" / "mip")!r}, {str(library / "micropython" / "requests")!r}, "lib"]
import mip
mip.install("{url}/package.json", target="lib")
import small
print(list(small.load().run(bytes(32))))
""", cwd=tmp_path)
        server.shutdown()
    lines = done.stdout.splitlines()
    assert lines[-2] == "Done", done.stdout + done.stderr
    assert close(lines[-1], net(torch.zeros(1, 8)))
