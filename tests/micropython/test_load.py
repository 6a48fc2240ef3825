"""torch.load of what CPython's torch.save wrote: the same values, in the same memory layout, or one sentence."""

from __future__ import annotations

import io
import zipfile
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from pilotlight.cli.micropython import left_out
from pilotlight.micropython import ports
from pilotlight.micropython.build import build
from pilotlight.micropython.select import SMALL, select
from pilotlight.micropython.session import open_session
from support.command_line import call_error
from support.micropython_files import DESCRIBE, description, rom_image
from support.micropython_scripts import output, run_script

BOARD = "mps2-an386"
X = torch.arange(24.0).reshape(2, 3, 4)
DTYPES = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
          torch.float32)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.ReLU())
        self.head = torch.nn.Linear(12, 4)
        self.tied = torch.nn.Linear(12, 4)
        self.tied.weight = self.head.weight
        self.register_buffer("größe", torch.tensor([1, 2], dtype=torch.int16))


VALUES: dict[str, object] = {
    "a state_dict": Net().state_dict(),
    "a tensor of each type": {str(d): (torch.arange(6) * 3 - 2).to(d).reshape(2, 3) for d in DTYPES},
    "views": [X, X.transpose(0, 2), X[1], X[:, 1:], X[:, ::2, 1], X.flatten()[5:7]],
    "an expanded tensor": torch.ones(3, 1).expand(3, 4),
    "no dimensions, no elements": (torch.tensor(3), torch.tensor(True), torch.empty(0), torch.empty(2, 0, 3), X[2:]),
    "one tensor twice": [X, X, {"again": X}],
    "parameters": [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.zeros(1), requires_grad=False),
                   torch.ones(2, requires_grad=True)],
    "numbers": [0, 1, -1, 255, 256, 65535, 65536, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63), 2**70, 0.1, -1e300,
                float("inf"), True, False, None],
    "text": ["", "abc", "größe ≤ 3 µs 🔥", "x" * 300, b"", b"\x00\xff"],
    "containers in containers": {"a": [({"b": (1, [2.5, None], ())}, OrderedDict([("z", 1), ("a", [X])]))], 3: {4}},
    "sizes, types and devices": [torch.Size([2, 3]), torch.Size([]), torch.bfloat16, torch.bool, torch.device("cpu")],
    "many keys": OrderedDict((f"k{k}", k) for k in range(1100)),
    "keys": {1: 2, "1": 3, (1, "x"): 4, False: 5, None: 6, 2.5: 7},
}


def test_values_are_those_of_pytorch(tmp_path: Path) -> None:
    lines = []
    for k, value in enumerate(VALUES.values()):
        torch.save(value, tmp_path / f"{k}.pt")
        lines.append(f"print(describe(torch.load('{k}.pt')))")
    found = output("\n".join([DESCRIBE, *lines]), cwd=tmp_path).splitlines()
    for name, text, k in zip(VALUES, found, range(len(found)), strict=True):
        assert text == description(torch.load(tmp_path / f"{k}.pt", weights_only=False)), name


@pytest.mark.parametrize("how", ["'m.pt'", "open('m.pt', 'rb')", "data", "bytearray(data)", "memoryview(data)",
                                 "io.BytesIO(data)", "OnlyRead(data)", "OneWay(data)", "Slow(data)"])
def test_from_a_path_a_stream_or_a_buffer(how: str, tmp_path: Path) -> None:
    torch.save(VALUES["a state_dict"], tmp_path / "m.pt")
    said = output(f"""{DESCRIBE}
import io
class OnlyRead:
    def __init__(self, data):
        self.inner = io.BytesIO(data)
    def read(self, *size):
        return self.inner.read(*size)
class OneWay(OnlyRead):
    def seek(self, place):
        raise OSError
class Slow(OnlyRead):
    def read(self, size):
        return self.inner.read(min(size, 7))
    def seek(self, *place):
        self.inner.seek(*place)
    def tell(self):
        return self.inner.tell()
with open('m.pt', 'rb') as file:
    data = file.read()
found = torch.load({how})
print(describe(found))
writable = {how!r} not in ("data", "memoryview(data)")
try:
    found['head.bias'].add_(1)
    print(writable)
except RuntimeError:
    print(not writable)
""", cwd=tmp_path)
    assert said.splitlines() == [description(VALUES["a state_dict"]), "True"]


def test_an_archive_that_was_packed_again_loads(tmp_path: Path) -> None:
    """By Python's zipfile, without compression: its tensors are where they happen to be."""
    torch.save(VALUES["a tensor of each type"], tmp_path / "m.pt")
    with zipfile.ZipFile(tmp_path / "m.pt") as old, zipfile.ZipFile(tmp_path / "n.pt", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    said = output(f"""{DESCRIBE}
with open('n.pt', 'rb') as file:
    data = file.read()
print(describe(torch.load(data)))
print(describe(torch.load('n.pt')))
""", cwd=tmp_path)
    assert said.splitlines() == [description(VALUES["a tensor of each type"])] * 2


def test_a_model_with_loaded_weights_computes_the_same(tmp_path: Path) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3)).eval()
    torch.save({"model": net.state_dict(), "epoch": 3}, tmp_path / "m.pt")
    said = output("""
import torch
net = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))
for assign in (False, True):
    print(net.load_state_dict(torch.load('m.pt', weights_only=True)['model'], assign=assign))
    print(net(torch.arange(5.) / 5).tolist())
try:
    net.load_state_dict({'0.weight': torch.ones(5, 7), 'other': torch.ones(1)})
except RuntimeError as error:
    print(error)
""", cwd=tmp_path).split("\n", 4)
    with torch.no_grad():
        truth = net(torch.arange(5.0) / 5)
    for k in (0, 2):
        assert said[k] == "<All keys matched successfully>"
        assert torch.allclose(torch.tensor(eval(said[k + 1])), truth, atol=1e-6)
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict({"0.weight": torch.ones(5, 7), "other": torch.ones(1)})
    assert said[4].strip() == str(error.value)


def test_a_mapped_file_larger_than_the_heap(tmp_path: Path) -> None:
    weights = OrderedDict(a=torch.arange(100_000.0), b=torch.ones(3, dtype=torch.int64), c=torch.arange(400_000.0)[7:])
    torch.save(weights, tmp_path / "big.pt")
    (tmp_path / "rom.img").write_bytes(rom_image({"small.txt": b"x", "big.pt": (tmp_path / "big.pt").read_bytes()}))
    done = run_script("""
import gc, torch, vfs
with open('rom.img', 'rb') as file:
    rom = file.read()
vfs.mount(vfs.VfsRom(rom), '/rom')
torch.load('/rom/big.pt')
gc.collect()
before = gc.mem_alloc()
found = torch.load('/rom/big.pt')
first = torch.frombuffer(rom, dtype=torch.uint8).data_ptr()
print([0 < t.data_ptr() - first < len(rom) for t in found.values()])
print(gc.mem_alloc() - before < 40000, [float(t.sum()) for t in found.values()])
try:
    found['a'].add_(1)
except RuntimeError as error:
    print(error)
net = torch.nn.Linear(1, 399993)
net.load_state_dict({'weight': found['c'].view(-1, 1), 'bias': found['c']}, assign=True)
print([0 < t.data_ptr() - first < len(rom) for t in net.parameters()])
copied = torch.load('/rom/big.pt', mmap=False)
print([0 < t.data_ptr() - first < len(rom) for t in copied.values()])
""", cwd=tmp_path, heap="10m")
    assert done.returncode == 0, done.stderr
    sums = [float(t.double().sum()) for t in weights.values()]
    lines = done.stdout.splitlines()
    assert lines[0] == "[True, True, True]" and lines[3] == "[True, True]" and lines[4] == "[False, False, False]"
    assert lines[1].startswith("True [") and "read-only" in lines[2]
    assert [pytest.approx(v, rel=1e-6) for v in sums] == eval(lines[1][5:])


def test_memory_that_is_missing_is_said_in_bytes(tmp_path: Path) -> None:
    torch.save([torch.zeros(100_000), torch.zeros(50_000)], tmp_path / "m.pt")
    done = run_script("""
import torch
try:
    torch.load('m.pt')
except MemoryError as error:
    print(error)
""", cwd=tmp_path, heap="400k")
    assert done.stdout.startswith("the tensors take 600000 bytes, and the heap has "), done.stderr


def test_map_location(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    torch.save({"w": torch.ones(2)}, buffer)
    data = buffer.getvalue()
    assert data.count(b"\x03\x00\x00\x00cpu") == 1
    (tmp_path / "cuda.pt").write_bytes(data.replace(b"\x03\x00\x00\x00cpu", b"\x03\x00\x00\x00gpu"))
    said = output("""
import torch
for where in (None, 'cpu', torch.device('cpu'), {'gpu': 'cpu'}, {'x': 'cpu'}, lambda storage, location: storage,
              lambda storage, location: None, 'cuda:0'):
    try:
        print(torch.load('cuda.pt', map_location=where)['w'].tolist())
    except RuntimeError as error:
        print(str(error).partition(' Use ')[0])
""", cwd=tmp_path).splitlines()
    refused = "Attempting to deserialize object on a gpu device but torch.cuda.is_available() is False."
    fine = "[1.0, 1.0]"
    assert said[:7] == [refused, fine, fine, fine, refused, fine, refused]
    assert "cuda:0" in said[7]


def test_on_a_board_from_memory_that_is_mapped(tmp_path: Path) -> None:
    weights = OrderedDict(w=torch.arange(300_000.0) / 7, b=torch.tensor([3, -4], dtype=torch.int16))
    torch.save(weights, tmp_path / "big.pt")
    data = (tmp_path / "big.pt").read_bytes()
    port = ports.port(BOARD)
    assert port.board is not None and port.board.emulator is not None
    at = 0x0020_0000  # in the board's flash, after the firmware
    loader = ("-device", f"loader,file={tmp_path / 'big.pt'},addr={at:#x},force-raw=on")
    board = replace(port.board, emulator=replace(port.board.emulator, args=(*port.board.emulator.args, *loader)))
    said: list[bytes] = []
    with open_session(board, build(port)) as session:
        assert session.execute(f"""
import gc, torch, uctypes
found = torch.load(uctypes.bytearray_at({at}, {len(data)}))
print(gc.mem_alloc() + gc.mem_free() < {len(data)}, [{at} < t.data_ptr() < {at + len(data)} for t in found.values()])
print(found['w'][::60000].view(torch.int32).tolist(), found['b'].tolist())
import binascii, io
file = io.BytesIO()
torch.save({{'b': found['b'], 'n': [2**40, -2**31, 0.5, 'é', torch.Size([2])], 'w': found['w'][5:30:7]}}, file)
print(binascii.hexlify(file.getvalue()).decode())
""", said.append, said.append), b"".join(said)
    lines = b"".join(said).decode().splitlines()
    bits = weights["w"][::60_000].contiguous().view(torch.int32).tolist()
    assert lines[:2] == ["True [True, True]", f"{bits} [3, -4]"]
    again = torch.load(io.BytesIO(bytes.fromhex(lines[2])), weights_only=True)
    assert again["n"] == [2**40, -(2**31), 0.5, "é", torch.Size([2])] and again["b"].tolist() == [3, -4]
    assert torch.equal(again["w"], weights["w"][5:30:7]) and again["w"].stride() == (7,)


def test_a_build_that_does_not_ask_for_it_has_no_loader() -> None:
    assert "load" not in {unit.name for unit in SMALL.units()}
    chosen = SMALL.with_parts(["load"])
    assert {"load", "_unpickle"} <= {unit.name for unit in chosen.units()}
    assert left_out(chosen)[0].startswith("  not built in: save, jit, safetensors, linalg")
    assert left_out(chosen.with_parts(["all"])) == []


def test_parts_are_asked_for_by_name(tmp_path: Path) -> None:
    chosen = select(["softmax"], [], "here").with_parts(["load", "safetensors"])
    assert {"frombuffer.default", "as_strided.default", "requires_grad_.default"} <= chosen.kernels().keys()
    assert "relu.default" not in chosen.kernels() and "_unpickle" in {unit.name for unit in chosen.units()}
    assert chosen.python is not None and "safetensors.torch" in chosen.python and "torch.nn" not in chosen.python
    error = call_error("micropython", "export", "--with", "lod", "-o", tmp_path / "out")
    assert error["message"] == "the module has no part lod" and "load" in error["hint"]
