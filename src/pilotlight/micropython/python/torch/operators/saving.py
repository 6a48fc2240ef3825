# torch.save, in PyTorch's own form: a zip archive with nothing compressed, a pickle, and tensors at multiples of 64.
import _torch


# Writes a value as a pickle of protocol 2, and collects the memory of its tensors.
class _Pickler:
    def __init__(self):
        self.out = bytearray(b"\x80\x02")
        self.memo = {}  # by id: numbers of objects, and the objects, whose ids are theirs as long as they are kept
        self.storages = {}  # by address: number, type, elements, a tensor in it, where the pickle has the elements

    def put(self, value):
        from struct import pack

        out = self.out
        if value is None or value is True or value is False:
            out.extend(b"N" if value is None else b"\x88" if value else b"\x89")
        elif isinstance(value, int):
            if -0x80000000 <= value < 0x80000000:
                out.extend(b"J" + pack("<i", value))
            else:
                n = 5
                while not -1 << 8 * n - 1 <= value < 1 << 8 * n - 1:
                    n += 1
                out.extend(bytes([0x8A, n]) + (value & (1 << 8 * n) - 1).to_bytes(n, "little"))
        elif isinstance(value, float):
            out.extend(b"G" + pack(">d", value))
        elif isinstance(value, str):
            data = value.encode()
            out.extend(b"X" + pack("<I", len(data)) + data)
        elif id(value) in self.memo:
            out.extend(b"j" + pack("<I", self.memo[id(value)][0]))
        else:
            self.compound(value)
            number = len(self.memo)
            self.memo[id(value)] = (number, value)
            out.extend(b"r" + pack("<I", number))
            self.fill(value)

    # something that is made once, empty if it is a list or a dictionary
    def compound(self, value):
        from collections import OrderedDict

        out = self.out
        if isinstance(value, _torch.Tensor):
            self.tensor(value)
        elif isinstance(value, _torch.Size):
            self.call("torch\nSize", tuple(value))
        elif isinstance(value, _torch.dtype):
            out.extend(b"c" + str(value).replace(".", "\n").encode() + b"\n")
        elif isinstance(value, _torch.device):
            self.call("torch\ndevice", str(value))
        elif isinstance(value, bytes):
            self.call("_codecs\nencode", "".join([chr(c) for c in value]), "latin1")
        elif isinstance(value, set):
            self.call("__builtin__\nset", list(value))
        elif isinstance(value, OrderedDict):
            self.call("collections\nOrderedDict")
        elif isinstance(value, (dict, list)):
            out.extend(b"}" if isinstance(value, dict) else b"]")
        elif isinstance(value, tuple):
            out.extend(b"(")
            for item in value:
                self.put(item)
            out.extend(b"t")
        else:
            raise TypeError(
                "torch.save: %s cannot be saved; of a module, save its state_dict()" % type(value).__name__
            )

    def fill(self, value):
        if isinstance(value, dict):
            self.out.extend(b"(")
            for key, item in value.items():
                self.put(key)
                self.put(item)
            self.out.extend(b"u")
        elif isinstance(value, list):
            self.out.extend(b"(")
            for item in value:
                self.put(item)
            self.out.extend(b"e")

    def call(self, name, *args):
        self.out.extend(b"c" + name.encode() + b"\n(")
        for arg in args:
            self.put(arg)
        self.out.extend(b"tR")

    def tensor(self, t):
        from collections import OrderedDict

        if isinstance(t, _torch.Parameter):
            return self.call("torch._utils\n_rebuild_parameter", t.detach(), t.requires_grad, OrderedDict())
        out, dtype, count = self.out, t.dtype, t.numel()
        offset = t.storage_offset() if count else 0
        start = t.data_ptr() - offset * dtype.itemsize if count else -1 - len(self.storages)
        last = offset + 1
        for n, step in zip(t.shape, t.stride()):
            last += (n - 1) * step
        storage = self.storages.setdefault(start, [len(self.storages), dtype, 0, t, []])
        if storage[1] is not dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types"
            )
        storage[2] = max(storage[2], last if count else 0)
        kinds = {
            "float32": "Float", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
            "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool",
        }
        out.extend(b"ctorch._utils\n_rebuild_tensor_v2\n((")
        self.put("storage")
        out.extend(b"ctorch\n" + kinds[str(dtype)[6:]].encode() + b"Storage\n")
        self.put(str(storage[0]))
        self.put("cpu")
        storage[4].append(len(out) + 1)
        out.extend(b"J\0\0\0\0tQ")
        for value in (offset, tuple(t.shape), tuple(t.stride()), t.requires_grad):
            self.put(value)
        out.extend(b"ccollections\nOrderedDict\n)RtR")


# The elements of a storage as bytes.
def _memory(t, count):
    return memoryview(t.as_strided((count,), (1,), 0).view(_torch.uint8)) if count else b""


def _write_archive(write, parts):
    from binascii import crc32
    from struct import pack

    at, directory = 0, bytearray()
    for name, data in parts:
        name = ("archive/" + name).encode()
        gap = 4 + -(at + 34 + len(name)) % 64  # a field that PyTorch fills so, too
        checked = pack("<HHIIIHH", 0, 0, crc32(data), len(data), len(data), len(name), gap)
        write(b"PK\3\4\0\0\0\0\0\0" + checked + name + b"FB" + pack("<H", gap - 4) + b"Z" * (gap - 4))
        write(data)
        directory.extend(b"PK\1\2\0\0\0\0\0\0\0\0" + checked[:-2] + bytes(12) + pack("<I", at) + name)
        at += 30 + len(name) + gap + len(data)
    write(directory)
    write(b"PK\5\6" + pack("<HHHHIIH", 0, 0, len(parts), len(parts), len(directory), at, 0))


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True):
    from struct import pack_into

    if pickle_module is not None or pickle_protocol != 2 or not _use_new_zipfile_serialization:
        raise RuntimeError("torch.save: there is no pickle module, and only protocol 2 in a zip archive is written")
    pickler = _Pickler()
    pickler.put(obj)
    pickler.out.extend(b".")
    storages = sorted(pickler.storages.values(), key=lambda storage: storage[0])
    for _, _, count, _, places in storages:
        for place in places:
            pack_into("<i", pickler.out, place, count)
    parts = [("data.pkl", pickler.out), ("byteorder", b"little")]
    parts += [("data/" + str(number), _memory(t, count)) for number, _, count, t, _ in storages]
    file = open(f, "wb") if isinstance(f, str) else f
    try:
        _write_archive(file.write, parts + [("version", b"3\n")])
    finally:
        if file is not f:
            file.close()
