"""Files that nobody saved: archives and pickles made byte by byte, each broken or hostile in one way."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from dataclasses import dataclass, replace

import torch


@dataclass(frozen=True)
class Part:
    """A file of an archive, and what its two headers say about it."""

    name: str
    data: bytes
    flags: int = 0
    method: int = 0
    declared: int | None = None  # its size in the directory
    local: str | None = None  # its name at its place
    at: int | None = None  # where the directory says that it is


def archive(*parts: Part) -> bytes:
    made, directory = b"", b""
    for part in parts:
        size, name = len(part.data) if part.declared is None else part.declared, part.name.encode()
        here = (part.local or part.name).encode()
        at = len(made) if part.at is None else part.at
        local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 0, part.flags, part.method, 0, 0, 0, size, size, len(here), 0)
        made += local + here + part.data
        directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 0, 0, part.flags, part.method, 0, 0, 0, size, size,
                                 len(name), 0, 0, 0, 0, 0, at) + name
    count = len(parts)
    return made + directory + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(directory), len(made), 0)


def pickled(code: bytes, *more: Part) -> bytes:
    return archive(Part("a/data.pkl", b"\x80\x02" + code), *more)


STORAGE = Part("a/data/0", bytes(range(16)))


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def whole(value: int) -> bytes:
    size = value.bit_length() // 8 + 1
    return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)


def tensor(count: int = 4, offset: int = 0, size: tuple[int, ...] = (4,), stride: tuple[int, ...] = (1,),
           kind: str = "FloatStorage", key: str = "0") -> bytes:
    """The pickle of a tensor whose storage is a part of the archive."""
    tuples = [b"(" + b"".join(map(whole, numbers)) + b"t" for numbers in (size, stride)]
    named = text("storage") + b"ctorch\n" + kind.encode() + b"\n" + text(key) + text("cpu") + whole(count)
    storage = b"(" + named + b"tQ"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + whole(offset) + tuples[0] + tuples[1] + b"\x89}tR"


def saved(value: object, zipped: bool = True) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer, _use_new_zipfile_serialization=zipped)
    return buffer.getvalue()


def compressed() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a/data.pkl", b"\x80\x02" + tensor(2_500_000) + b".")
        file.writestr("a/data/0", bytes(10_000_000))
    return buffer.getvalue()


def scripted() -> bytes:
    return archive(Part("a/data.pkl", b"\x80\x02N."), Part("a/constants.pkl", b"\x80\x02)."), Part("a/code/x.py", b""))


def overlapping() -> bytes:
    """The second part lies in the data of the first."""
    inner = archive(Part("a/data/1", b"12345678"))[: 30 + 8 + 8]
    first = Part("a/data/0", inner)
    return archive(Part("a/data.pkl", b"\x80\x02N."), first, Part("a/data/1", b"12345678", at=30 + 10 + 4 + 30 + 8))


DAMAGED = "data.pkl is damaged at byte"
OUTSIDE = "is not inside its storage of 4 elements"
# What each is, the file, and the sentence that refuses it.
ARCHIVES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "this is no archive of torch.save"),
    "text": (b"hello, world" * 9, "this is no archive of torch.save"),
    "the old format": (saved([1, 2], zipped=False), "write a file of PyTorch's old format again with torch.save"),
    "only a beginning": (b"PK\3\4", "failed finding central directory"),
    "half of a file": (saved(torch.ones(99))[:600], "failed finding central directory"),
    "bytes after the end": (saved(torch.ones(9)) + b"x", "failed finding central directory"),
    "a bomb": (compressed(), "a/data.pkl is compressed; torch.save compresses nothing"),
    "an encrypted part": (pickled(b"N.", replace(STORAGE, flags=1)), "a/data/0 is encrypted"),
    "a way out": (pickled(b"N.", Part("a/../../etc/passwd", b"x")), "a/../../etc/passwd leads out of the archive"),
    "a way from the root": (pickled(b"N.", Part("/etc/passwd", b"x")), "/etc/passwd leads out of the archive"),
    "another folder": (pickled(b"N.", Part("b/data/0", b"x")), "b/data/0 leads out of the archive"),
    "a name that is none": (pickled(b"N.", STORAGE).replace(b"a/data/0", b"a/data/\xff"), "a name is no text"),
    "a part twice": (pickled(b"N.", STORAGE, STORAGE), "a/data/0 is there twice"),
    "two names of a part": (pickled(b"N.", replace(STORAGE, local="a/data/1")), "a/data/0 differs between"),
    "two sizes of a part": (pickled(b"N.", replace(STORAGE, at=0)), "a/data/0 differs between"),
    "parts over each other": (overlapping(), "lie over each other, or not in order: a/data/1"),
    "a huge part": (pickled(b"N.", replace(STORAGE, declared=0x7FFFFFF0)), "lie over each other, or not in order: a/"),
    "a part after the end": (pickled(b"N.", replace(STORAGE, at=1 << 30)), "the file ends at byte"),
    "no pickle": (archive(STORAGE), "the archive has no data.pkl"),
    "TorchScript": (scripted(), "use torch.jit.load"),
    "the other byte order": (pickled(b"N.", Part("a/byteorder", b"big")), "byte order of its tensors is not little"),
    "os.system": (pickled(b"cos\nsystem\n" + text("echo no") + b"\x85R."), "GLOBAL os.system; only tensors"),
    "posix.system": (pickled(b"cposix\nsystem\n" + text("echo no") + b"\x85R."), "GLOBAL posix.system; only tensors"),
    "eval": (pickled(b"cbuiltins\neval\n" + text("1/0") + b"\x85R."), "GLOBAL builtins.eval; only tensors"),
    "a module": (pickled(b"ctorch.nn.modules.linear\nLinear\n)\x81."), "GLOBAL torch.nn.modules.linear.Linear; only"),
    "a hidden name": (pickled(b"ctorch\n__import__\n" + text("os") + b"\x85R."), "GLOBAL torch.__import__; only"),
    "a stack of names": (pickled(b"cos.path\n" + b"x" * 500 + b"\n."), "GLOBAL os.path." + "x" * 60 + "; only"),
    "float64": (pickled(tensor(2, kind="DoubleStorage") + b".", STORAGE), "torch.DoubleStorage is of a type that"),
    "an unknown storage": (pickled(tensor(kind="OddStorage") + b".", STORAGE), "torch.OddStorage is of a type that"),
    "another protocol": (archive(Part("a/data.pkl", b"\x80\x04N.")), "data.pkl is of pickle protocol 4, and only 2"),
    "an unknown operation": (pickled(b"\x93."), "Unsupported operand 147 in data.pkl"),
    "a pickle without an end": (pickled(b"N"), DAMAGED),
    "half of a text": (pickled(b"X\xff\xff\xff\x7fabc"), "data.pkl ends in the middle"),
    "half of a name": (pickled(b"cos"), "data.pkl ends in the middle"),
    "text that is none": (pickled(b"X\x02\0\0\0\xff\xfe."), DAMAGED),
    "an empty stack": (pickled(b"."), DAMAGED),
    "no mark": (pickled(b"t."), DAMAGED),
    "no memo": (pickled(b"h\x05."), DAMAGED),
    "a call of a number": (pickled(b"K\x01)R."), DAMAGED),
    "a call with too much": (pickled(b"ccollections\nOrderedDict\n]\x85R."), DAMAGED),
    "too few arguments": (pickled(b"ctorch._utils\n_rebuild_tensor_v2\n)R."), DAMAGED),
    "an item of a tuple": (pickled(b")K\x01K\x02s."), DAMAGED),
    "an item of a tensor": (pickled(tensor() + b"K\x00G\x40\0\0\0\0\0\0\0s.", STORAGE), DAMAGED),
    "attributes": (pickled(b"]}" + text("x") + b"K\x01sb."), "data.pkl gives attributes to"),
    "a list as a key": (pickled(b"}]K\x01s."), "a key of data.pkl is of the type"),
    "a deep key": (pickled(b"}N" + b"\x85" * 30000 + b"K\x01s."), "a key of data.pkl is of the type"),
    "a deep nest": (pickled(b"]" * 40000 + b"a" * 39999 + b"."), "data.pkl is nested too deeply"),
    "marks": (pickled(b"(" * 1000 + b"N" * 40000 + b"."), "data.pkl is nested too deeply"),
    "a storage without a file": (pickled(tensor(key="7") + b".", STORAGE), "data/7, which has no bytes"),
    "a storage elsewhere": (pickled(tensor(key="../data.pkl") + b".", STORAGE), "data/../data.pkl, which has no bytes"),
    "a huge storage": (pickled(tensor(1 << 40) + b".", STORAGE), "data/0, which has 16 bytes"),
    "a negative storage": (pickled(tensor(-4) + b".", STORAGE), "data/0, which has 16 bytes"),
    "two types of a storage": (
        pickled(tensor() + tensor(kind="IntStorage") + b"\x86.", STORAGE), "data/0 is used as torch.float32 and as",
    ),
    "too many elements": (pickled(tensor(size=(5,)) + b".", STORAGE), OUTSIDE),
    "a large offset": (pickled(tensor(offset=1 << 62) + b".", STORAGE), OUTSIDE),
    "a negative offset": (pickled(tensor(offset=-1) + b".", STORAGE), OUTSIDE),
    "a large stride": (pickled(tensor(stride=(1 << 70,)) + b".", STORAGE), OUTSIDE),
    "a negative stride": (pickled(tensor(stride=(-1,)) + b".", STORAGE), DAMAGED),
    "a huge expansion": (pickled(tensor(size=(1 << 40,), stride=(0,)) + b".", STORAGE), OUTSIDE),
    "nine dimensions": (pickled(tensor(size=(1,) * 9, stride=(1,) * 9) + b".", STORAGE), DAMAGED),
}


def _safe(about: object, data: bytes = bytes(16)) -> bytes:
    head = about if isinstance(about, bytes) else json.dumps(about).encode()
    return len(head).to_bytes(8, "little") + head + data


def _floats(first: int, end: int, shape: list[object], kind: str = "F32") -> dict[str, object]:
    return {"dtype": kind, "shape": shape, "data_offsets": [first, end]}


NOT_SAFE = "this is not a safetensors file"
SAFETENSORS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "the file ends at byte 0"),
    "a huge length": (b"\xff" * 8 + b"{}", "the file ends at byte 10"),
    "no JSON": (_safe(b"{nothing}"), NOT_SAFE),
    "a list": (_safe([1, 2]), NOT_SAFE),
    "no offsets": (_safe({"a": {"dtype": "F32", "shape": [4]}}), NOT_SAFE),
    "deep JSON": (_safe(b"[" * 30000), NOT_SAFE),
    "a negative size": (_safe({"a": _floats(0, 16, [-4])}), NOT_SAFE),
    "a fraction": (_safe({"a": _floats(0, 16, [4.0])}), NOT_SAFE),
    "a huge shape": (_safe({"a": _floats(0, 16, [1 << 60, 1 << 60])}), NOT_SAFE),
    "another shape": (_safe({"a": _floats(0, 16, [5])}), "a has 16 bytes, and its shape needs others"),
    "bytes before": (_safe({"a": _floats(-16, 0, [4])}), "a has 16 bytes, and its shape needs others"),
    "bytes after": (_safe({"a": _floats(0, 32, [8])}), "and its tensors end at"),
    "a gap": (_safe({"a": _floats(4, 16, [3])}), "a begins at 4, and the tensor before it ends at 0"),
    "overlapping tensors": (
        _safe({"a": _floats(0, 16, [4]), "b": _floats(8, 16, [2])}), "b begins at 8, and the tensor before it ends",
    ),
    "float64": (_safe({"a": _floats(0, 16, [2], "F64")}), "the type F64 is not here"),
    "half of a file": (_safe({"a": _floats(0, 16, [4])})[:-3], "and its tensors end at"),
}
