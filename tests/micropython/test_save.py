"""torch.save and safetensors: CPython reads what MicroPython wrote, and the other way round."""

from __future__ import annotations

import io
import json
import zipfile
from collections import OrderedDict
from pathlib import Path

import pytest
import torch

from support.micropython_files import DESCRIBE, description
from support.micropython_scripts import output

# Written by MicroPython, and described by both.
VALUES = """
x = torch.arange(24.).reshape(2, 3, 4)
names = 'bool uint8 int8 int16 int32 int64 float16 bfloat16 float32'
net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
both = [1, x]
values = [
    net.state_dict(),
    OrderedDict([(d, (torch.arange(6) * 3 - 2).to(getattr(torch, d)).reshape(2, 3)) for d in names.split()]),
    [x, x.transpose(0, 2), x[1], x[:, 1:], x[:, ::2, 1], x.flatten()[5:7], torch.ones(3, 1).expand(3, 4)],
    (torch.tensor(3), torch.tensor(True), torch.empty(0), torch.empty(2, 0, 3), x[2:]),
    [x, x, {'again': x}, both, both],
    [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.zeros(1), requires_grad=False)],
    [0, 1, -1, 255, 256, 2**31 - 1, -2**31, 2**31, 2**63 - 1, -2**63, 2**70, 0.1, -1e300, True, False, None],
    ['', 'abc', 'gr\\u00f6\\u00dfe \\u2264 3', 'x' * 300, b'', b'\\0\\xff'],
    {'a': [({'b': (1, [2.5, None], ())}, OrderedDict([('z', 1), ('a', [x])]))], 3: {4}},
    [torch.Size([2, 3]), torch.Size([]), torch.bfloat16, torch.device('cpu')],
]
"""


def test_cpython_reads_what_micropython_saved(tmp_path: Path) -> None:
    said = output(f"""{DESCRIBE}{VALUES}
for k, value in enumerate(values):
    torch.save(value, str(k) + '.pt')
    print(describe(value))
    assert describe(torch.load(str(k) + '.pt')) == describe(value), k
""", cwd=tmp_path).splitlines()
    assert len(said) == 10
    for k, text in enumerate(said):
        path = tmp_path / f"{k}.pt"
        assert description(torch.load(path, weights_only=k != 7)) == text, k  # CPython's refuses bytes()
        assert zipfile.ZipFile(path).testzip() is None
        for entry in zipfile.ZipFile(path).infolist():
            head = path.read_bytes()[entry.header_offset + 26 :][:4]
            sizes = int.from_bytes(head[:2], "little") + int.from_bytes(head[2:], "little")
            assert (entry.header_offset + 30 + sizes) % 64 == 0


def test_a_stream_that_can_only_write_gets_the_same_file(tmp_path: Path) -> None:
    said = output("""
import io, torch
class OnlyWrite:
    data = b''
    def write(self, more):
        self.data += bytes(more)
stream, buffer = OnlyWrite(), io.BytesIO()
value = {'w': torch.arange(5), 'k': 3}
torch.save(value, stream)
torch.save(value, buffer)
torch.save(value, 'm.pt')
with open('m.pt', 'rb') as file:
    print(file.read() == stream.data == buffer.getvalue())
buffer.seek(0)
print(torch.load(buffer))
""", cwd=tmp_path)
    assert said.splitlines() in (["True", "{'w': tensor([0, 1, 2, 3, 4]), 'k': 3}"],
                                 ["True", "{'k': 3, 'w': tensor([0, 1, 2, 3, 4])}"])


@pytest.mark.parametrize(("what", "text"), [
    ("torch.save(torch.nn.Linear(1, 1), 'm')", "TypeError torch.save: Linear cannot be saved; of a module, save its"),
    ("torch.save([x, x.view(torch.int32)], 'm')", "RuntimeError Cannot save multiple tensors or storages that view"),
    ("torch.save(x, 'm', pickle_protocol=5)", "RuntimeError torch.save: there is no pickle module, and only protocol"),
    ("save_file({'a': x[:, ::2]}, 'm')", "ValueError You are trying to save a non contiguous tensor: `a`"),
    ("save_file({'a': x[0], 'b': x[1]}, 'm')", "RuntimeError Some tensors share memory, b with one before it"),
])
def test_what_cannot_be_saved_is_said(what: str, text: str, tmp_path: Path) -> None:
    said = output(f"""
import torch
from safetensors.torch import save_file
x = torch.ones(2, 4)
try:
    {what}
except (TypeError, RuntimeError, ValueError) as error:
    print(type(error).__name__, error)
""", cwd=tmp_path)
    assert said.startswith(text)


# ---- safetensors, whose format is a page: a length in eight bytes, JSON, and the elements

KINDS = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64", torch.int32: "I32",
         torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL"}


def safetensors(tensors: dict[str, torch.Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """What the package writes, but for the order of the tensors."""
    about: dict[str, object] = {} if metadata is None else {"__metadata__": metadata}
    data = b""
    for name, t in tensors.items():
        more = bytes(t.reshape(-1).view(torch.uint8).tolist()) if t.numel() else b""
        place = [len(data), len(data) + len(more)]
        about[name] = {"dtype": KINDS[t.dtype], "shape": list(t.shape), "data_offsets": place}
        data += more
    head = json.dumps(about).encode()
    head += b" " * (-len(head) % 8)
    return len(head).to_bytes(8, "little") + head + data


def read_safetensors(data: bytes) -> tuple[dict[str, torch.Tensor], object]:
    size = int.from_bytes(data[:8], "little")
    assert size % 8 == 0
    about = json.loads(data[8 : 8 + size])
    metadata = about.pop("__metadata__", None)
    types = {name: dtype for dtype, name in KINDS.items()}
    found, last = OrderedDict(), 0
    for name, item in sorted(about.items(), key=lambda item: item[1]["data_offsets"]):
        first, end = item["data_offsets"]
        assert first == last
        last = end
        part = bytearray(data[8 + size + first : 8 + size + end])
        dtype = types[item["dtype"]]
        flat = torch.frombuffer(part, dtype=dtype) if part else torch.empty(0, dtype=dtype)
        found[name] = flat.reshape(item["shape"])
    assert 8 + size + last == len(data)
    return found, metadata


def test_safetensors_both_ways(tmp_path: Path) -> None:
    tensors = OrderedDict((f"größe.{name}", (torch.arange(6) * 3 - 2).to(dtype).reshape(2, 3))
                          for dtype, name in KINDS.items())
    tensors |= {"scalar": torch.tensor(2.5), "none": torch.empty(0, 3)}
    (tmp_path / "in.safetensors").write_bytes(safetensors(tensors, {"format": "pt"}))
    said = output(f"""{DESCRIBE}
from safetensors import safe_open
from safetensors.torch import load, load_file, save, save_file
found = load_file('in.safetensors')
print(describe(found))
with open('in.safetensors', 'rb') as file:
    data = file.read()
print(describe(load(data)))
with safe_open('in.safetensors', framework='pt') as file:
    print(sorted(file.keys()) == sorted(found.keys()), file.metadata(), file.get_tensor('scalar'))
save_file(found, 'out.safetensors', metadata={{'made': 'here'}})
print(describe(load_file('out.safetensors')))
print(describe(load(save(found))))
""", cwd=tmp_path).splitlines()
    assert said[0] == said[1] == description(tensors)
    assert said[2] == "True {'format': 'pt'} tensor(2.5000)"
    back, metadata = read_safetensors((tmp_path / "out.safetensors").read_bytes())
    assert metadata == {"made": "here"} and said[3] == said[4] == description(back)
    assert back.keys() == tensors.keys()
    for name, t in tensors.items():
        assert back[name].dtype == t.dtype and back[name].shape == t.shape and torch.equal(back[name], t)


def test_safetensors_in_memory_are_mapped(tmp_path: Path) -> None:
    (tmp_path / "m.safetensors").write_bytes(safetensors({"a": torch.arange(4.0), "b": torch.ones(3).to(torch.int8)}))
    said = output("""
import torch
from safetensors.torch import load
with open('m.safetensors', 'rb') as file:
    data = file.read()
start = torch.frombuffer(data, dtype=torch.uint8).data_ptr()
print([0 < t.data_ptr() - start < len(data) for t in load(data).values()])
""", cwd=tmp_path)
    assert said == "[True, True]\n"


def test_cpython_and_micropython_pass_a_model_to_and_fro(tmp_path: Path) -> None:
    net = torch.nn.Sequential(torch.nn.Conv1d(2, 3, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(18, 2))
    torch.save(net.state_dict(), tmp_path / "a.pt")
    output("""
import torch
state = torch.load('a.pt')
for value in state.values():
    if value.is_floating_point():
        value.mul_(2)
torch.save(state, 'b.pt')
""", cwd=tmp_path)
    again = io.BytesIO((tmp_path / "b.pt").read_bytes())
    loaded = torch.load(again, weights_only=True)
    net.load_state_dict(loaded)
    for name, value in torch.load(tmp_path / "a.pt").items():
        assert torch.equal(loaded[name], value * 2 if value.is_floating_point() else value)
