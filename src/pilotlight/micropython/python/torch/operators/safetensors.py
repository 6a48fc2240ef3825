# Files in the form of the package safetensors: the length of a text in JSON, that text, and the elements.
import _torch


def _safe_type(name):
    types = {
        "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32", "I16": "int16",
        "I8": "int8", "U8": "uint8", "BOOL": "bool",
    }
    if isinstance(name, _torch.dtype):
        return [key for key in types if types[key] == str(name)[6:]][0]
    if name not in types:
        _refuse_file("the type %s is not here: convert the tensors before they are saved" % _shown(name))
    return getattr(_torch, types[name])


# A file whose tensors are made when they are asked for.
class safetensors_safe_open:
    def __init__(self, filename, framework="pt", device="cpu"):
        import json

        self._source = source = _Source(filename, None)
        self._tensors = []
        try:
            size = int.from_bytes(bytes(source.read(0, 8)), "little")
            self._start = 8 + size
            try:
                found = json.loads(str(bytes(source.read(8, size)), "utf-8"))
                self._metadata = found.pop("__metadata__", None)
                for name, about in found.items():
                    first, end = about["data_offsets"]
                    dtype, shape = _safe_type(about["dtype"]), about["shape"]
                    count = 1
                    for n in shape:
                        if not isinstance(n, int) or n < 0 or count > 0x7FFFFFFF:
                            raise ValueError
                        count *= n
                    if first < 0 or count * dtype.itemsize != end - first or len(shape) > 8:
                        _refuse_file("%s has %d bytes, and its shape needs others" % (_shown(name), end - first))
                    self._tensors.append((first, end, name, dtype, shape))
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
                _refuse_file("this is not a safetensors file: what it says about its tensors is damaged")
            self._tensors.sort(key=lambda tensor: tensor[:3])
            last = 0
            for first, end, name, _, _ in self._tensors:
                if first != last:
                    _refuse_file("%s begins at %d, and the tensor before it ends at %d" % (_shown(name), first, last))
                last = end
            if self._start + last != source.bytes:
                _refuse_file("it has %d bytes, and its tensors end at %d" % (source.bytes, self._start + last))
        except BaseException:
            source.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._source.close()

    def keys(self):
        return [tensor[2] for tensor in self._tensors]

    def metadata(self):
        return self._metadata

    def _made(self, first, end, name, dtype, shape):
        return self._source.elements(dtype, self._start + first, end - first).view(shape)

    def get_tensor(self, name):
        for tensor in self._tensors:
            if tensor[2] == name:
                return self._made(*tensor)
        raise KeyError(name)


def safetensors_load_file(filename, device="cpu"):
    from collections import OrderedDict

    with safetensors_safe_open(filename) as file:
        file._source.reserve([(file._start + first, end - first) for first, end, _, _, _ in file._tensors])
        return OrderedDict([(tensor[2], file._made(*tensor)) for tensor in file._tensors])


def safetensors_load(data):
    return safetensors_load_file(data)


def safetensors_save_file(tensors, filename, metadata=None):
    from json import dumps

    about = {} if metadata is None else {"__metadata__": metadata}
    at, starts = 0, []
    # as the package does: wide types first, so that all are aligned
    order = sorted([(-t.dtype.itemsize, name) for name, t in tensors.items()])
    for _, name in order:
        t = tensors[name]
        if not t.is_contiguous():
            raise ValueError(
                "You are trying to save a non contiguous tensor: `%s` which is not allowed: call .contiguous()" % name
            )
        start = t.data_ptr() - t.storage_offset() * t.dtype.itemsize
        if t.numel() and start in starts:
            raise RuntimeError("Some tensors share memory, %s with one before it: clone() one of them" % name)
        starts.append(start)
        size = t.numel() * t.dtype.itemsize
        about[name] = {"dtype": _safe_type(t.dtype), "shape": list(t.shape), "data_offsets": [at, at + size]}
        at += size
    head = dumps(about).encode()
    head += b" " * (-len(head) % 8)
    file = open(filename, "wb") if isinstance(filename, str) else filename
    try:
        file.write(len(head).to_bytes(8, "little") + head)
        for _, name in order:
            t = tensors[name]
            if t.numel():
                file.write(memoryview(t.reshape(-1).view(_torch.uint8)))
    finally:
        if file is not filename:
            file.close()


def safetensors_save(tensors, metadata=None):
    from io import BytesIO

    file = BytesIO()
    safetensors_save_file(tensors, file, metadata)
    return file.getvalue()
