# Files of tensors, read without running anything that is in them: torch.load.
import _torch
import torch


def _refuse_file(text):
    raise RuntimeError("the file cannot be loaded: " + text)


# a name out of a file, for an error
def _shown(name):
    return "".join([c if " " <= c <= "~" else "?" for c in str(name)[:60]])


# A file as bytes at places. A buffer (bytes, a memoryview, a file of MicroPython's ROM file system) is used where it
# is; a stream is read as far as needed, and as a whole if it cannot seek.
class _Source:
    def __init__(self, f, mmap):
        self.file = open(f, "rb") if isinstance(f, str) else None
        f = self.file or f
        self.view = self.stream = None
        try:
            self.view = memoryview(f)
        except TypeError:
            if not hasattr(f, "read"):
                raise AttributeError("expected a path, a stream or a buffer, got " + str(type(f)))
            try:
                self.bytes = f.seek(0, 2)
                self.bytes = f.tell() if self.bytes is None else self.bytes
                self.stream = f
            except (AttributeError, TypeError, OSError):
                self.view = memoryview(bytearray(f.read()))
        if self.view is not None:
            self.bytes = len(self.view)
        self.mapped = self.view is not None and mmap is not False
        if mmap and not self.mapped:
            self.close()
            _refuse_file("this file is not in memory: leave out mmap=True")

    def close(self):
        if self.file:
            self.file.close()

    def read(self, at, size):
        if at + size > self.bytes:
            _refuse_file("the file ends at byte %d, and %d bytes are said to be at %d" % (self.bytes, size, at))
        if self.view is not None:
            return self.view[at : at + size]
        self.stream.seek(at)
        data = self.stream.read(size)
        while len(data) < size:
            more = self.stream.read(size - len(data))
            if not more:
                _refuse_file("the file ended while it was read")
            data += more
        return data

    # bytes of our own, which can be written to
    def copy(self, at, size):
        if self.view is not None:
            return bytearray(self.read(at, size))
        into = memoryview(bytearray(size))
        done = 0
        self.stream.seek(at)
        while done < size:
            if hasattr(self.stream, "readinto"):
                count = self.stream.readinto(into[done:])
            else:
                data = self.stream.read(min(4096, size - done))
                count = len(data)
                into[done : done + count] = data
            if not count:
                _refuse_file("the file ended while it was read")
            done += count
        return into

    # how many bytes of these (place, size) tensors cannot stay where they are
    def needed(self, places):
        start = _torch.frombuffer(self.view, dtype=_torch.uint8).data_ptr() if self.mapped else 0
        return sum([size for at, size in places if not self.mapped or (start + at) % 4])

    # raises if the heap has no room for that
    def reserve(self, places):
        import gc

        size = self.needed(places)
        if hasattr(gc, "mem_free") and size > gc.mem_free():
            gc.collect()
            if size > gc.mem_free():
                raise MemoryError("the tensors take %d bytes, and the heap has %d free" % (size, gc.mem_free()))

    # the elements at a place, all of one storage
    def elements(self, dtype, at, size):
        if not size:
            return _torch.empty(0, dtype=dtype)
        if self.mapped:
            return _torch.frombuffer(self.view, dtype=dtype, count=size // dtype.itemsize, offset=at)
        return _torch.frombuffer(self.copy(at, size), dtype=dtype)


# The files of a zip archive: names without the archive's own, with (place, size). Nothing in it is compressed, unless
# it is code: that is (place, size here, size).
def _entries(source):
    from struct import unpack_from

    if source.bytes < 4 or bytes(source.read(0, 4)) != b"PK\3\4":
        _refuse_file("this is no archive of torch.save; write a file of PyTorch's old format again with torch.save")
    damaged = "PytorchStreamReader failed reading zip archive: "
    if source.bytes < 22:
        _refuse_file(damaged + "failed finding central directory")
    end = unpack_from("<IHHHHIIH", source.read(source.bytes - 22, 22))
    count, length, start = end[4:7]
    if end[0] != 0x06054B50 or end[1] or end[2] or end[3] != count or end[7] or start + length + 22 > source.bytes:
        _refuse_file(damaged + "failed finding central directory")
    directory = source.read(start, length)
    found, root = {}, None
    at = free = 0  # the next entry of the directory; what no part has
    for _ in range(count):
        if at + 46 > length:
            _refuse_file(damaged + "the central directory is shorter than its %d entries" % count)
        head = unpack_from("<IHHHHHHIIIHHHHHII", directory, at)
        packed, size, letters = head[8:11]
        where = head[16]
        name = bytes(directory[at + 46 : at + 46 + letters])
        at += 46 + letters + head[11] + head[12]
        if head[0] != 0x02014B50 or at > length:
            _refuse_file(damaged + "the central directory is damaged")
        local = source.read(where, 30 + letters)
        here = unpack_from("<IHHHHHIIIHH", local)
        try:
            text = str(name, "utf-8")
        except UnicodeError:
            _refuse_file(damaged + "a name is no text")
        compressed = head[4] == here[3] == 8 and name.find(b"/code/") > 0
        if not compressed and (head[4] or here[3]):
            _refuse_file(_shown(text) + " is compressed; torch.save compresses nothing")
        if (head[3] | here[2]) & 1:
            _refuse_file(_shown(text) + " is encrypted")
        if (
            here[0] != 0x04034B50 or bytes(local[30:]) != name or here[9] != letters
            or packed != size and not compressed
            or here[7] not in (packed, 0) or here[8] not in (size, 0) or (size != here[8] and not here[2] & 8)
        ):
            _refuse_file(_shown(text) + " differs between the archive's directory and its place in the archive")
        first = where + 30 + letters + here[10]
        if where < free or first + packed > start:
            _refuse_file("parts of the archive lie over each other, or not in order: " + _shown(text))
        free = first + packed
        folder, _, name = text.partition("/")
        root = folder if root is None else root
        if not name or root != folder or folder in ("", "..") or "\\" in text or "/../" in "/" + text + "/":
            _refuse_file("the name " + _shown(text) + " leads out of the archive")
        if name in found:
            _refuse_file(_shown(text) + " is there twice")
        found[name] = (first, packed, size) if compressed else (first, size)
    return found


# The value that a pickle describes. `find` gives what a global name stands for, or refuses it; `stored` the storage of
# a persistent id. No other name is looked up, and nothing else is called. `build` gives an object its state, and makes
# one where there is no state.
def _unpickle(p, find, stored, build=None, new_dict=dict):
    from struct import unpack

    stack, marks, memo = [], [], {}
    operands = {77: 2, 74: 4, 71: 8, 88: 4, 85: 1, 138: 1, 114: 4, 106: 4, 128: 1}  # bytes after an opcode
    at = 0
    try:
        while True:
            op = p[at]
            at += 1
            if op == 113:  # the most frequent ones first
                memo[p[at]] = stack[-1]
                at += 1
            elif op == 104 or op == 75:
                stack.append(p[at] if op == 75 else memo[p[at]])
                at += 1
            elif op in operands:
                n = operands[op]
                raw = p[at : at + n]
                at += n
                value = int.from_bytes(raw, "little")
                if op in (88, 85, 138):  # a length
                    n = value
                    raw = p[at : at + n]
                    at += n
                if len(raw) < n:
                    _refuse_file("data.pkl ends in the middle")
                if op == 114:
                    memo[value] = stack[-1]
                    continue
                if op == 128:
                    if value != 2:
                        _refuse_file("data.pkl is of pickle protocol %d, and only 2 is read" % value)
                    continue
                if op == 106:
                    value = memo[value]
                elif op in (74, 138):
                    value = int.from_bytes(raw, "little")
                    value -= 1 << 8 * n if raw and raw[-1] & 128 else 0
                elif op == 71:
                    value = unpack(">d", raw)[0]
                elif op in (88, 85):
                    value = str(raw, "utf-8")
                stack.append(value)
            elif op == 40:
                marks.append(len(stack))
            elif op in (116, 101, 117):  # all since a mark
                n = marks.pop()
                items = stack[n:]
                del stack[n:]
                if op == 116:
                    stack.append(tuple(items))
                elif op == 101:
                    stack[-1].extend(items)
                else:
                    for k in range(0, len(items), 2):
                        _put(stack[-1], items[k], items[k + 1])
            elif op in (133, 134, 135):
                n = len(stack) - (op - 132)
                items = tuple(stack[n:])
                if n < 0:
                    raise IndexError
                del stack[n:]
                stack.append(items)
            elif op == 99:
                n = p.find(b"\n", at)
                end = p.find(b"\n", n + 1)
                if n < 0 or end < 0:
                    _refuse_file("data.pkl ends in the middle")
                stack.append(find(str(p[at:n], "utf-8"), str(p[n + 1 : end], "utf-8")))
                at = end + 1
            elif op == 82:
                args = stack.pop()
                stack.append(stack.pop()(*(args if isinstance(args, tuple) else (args,))))
            elif op == 81:
                stack.append(stored(stack.pop()))
            elif op == 78:
                stack.append(None)
            elif op in (136, 137):
                stack.append(op == 136)
            elif op == 125:
                stack.append(new_dict())
            elif op == 93:
                stack.append([])
            elif op == 41:
                stack.append(())
            elif op == 97:
                value = stack.pop()
                stack[-1].append(value)
            elif op == 115:
                value = stack.pop()
                key = stack.pop()
                _put(stack[-1], key, value)
            elif op == 129 and build:
                stack.pop()
                stack.append(build(stack.pop(), None))
            elif op == 98:  # the _metadata of a state_dict
                value = stack.pop()
                if build and not isinstance(stack[-1], dict):
                    build(stack[-1], value)
                elif not isinstance(stack[-1], dict):
                    _refuse_file("data.pkl gives attributes to " + str(type(stack[-1])))
            elif op == 46:
                return stack.pop()
            else:
                _refuse_file("Unsupported operand %d in data.pkl" % op)
            if len(stack) > 32768:
                _refuse_file("data.pkl is nested too deeply: more than 32768 values wait to be used")
    except (IndexError, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        _refuse_file("data.pkl is damaged at byte %d" % at)


# Keys are of simple types: the hash of anything else could be made to take forever, or all of the stack.
def _key(key):
    simple = (str, int, float, bool, bytes, type(None))
    if not isinstance(key, simple) and not (isinstance(key, tuple) and all([isinstance(k, simple) for k in key])):
        _refuse_file("a key of data.pkl is of the type " + str(type(key)))
    return key


def _put(into, key, value):
    if not isinstance(into, dict):
        raise TypeError
    into[_key(key)] = value


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    if pickle_module is not None or pickle_load_args:
        _refuse_file("there is no pickle module: leave out pickle_module and its arguments")
    if isinstance(map_location, str):
        map_location = torch.device(map_location)
    source = _Source(f, mmap)
    try:
        entries = _entries(source)
        if "constants.pkl" in entries:
            _refuse_file("Cannot use weights_only=True with TorchScript archives: this is one, use torch.jit.load")
        if "data.pkl" not in entries:
            _refuse_file("the archive has no data.pkl")
        _check_order(source, entries)
        source.reserve([entries[name] for name in entries if name[:5] == "data/"])
        stored = _storages(source, entries, map_location)
        return _unpickle(bytes(source.read(*entries["data.pkl"])), _find_global, stored)
    finally:
        source.close()


def _check_order(source, entries):
    order = bytes(source.read(*entries["byteorder"])) if "byteorder" in entries else b"little"
    if order != b"little":
        _refuse_file("the byte order of its tensors is not little: " + _shown(order))


# What gives the storage of a persistent id: all its elements, one tensor for each storage.
def _storages(source, entries, map_location, folder="data/"):
    made = {}

    def stored(named):
        what, dtype, key, location, count = named
        if what != "storage" or not isinstance(dtype, _torch.dtype) or not isinstance(key + location, str):
            raise ValueError
        if key not in made:
            at, size = entries.get(folder + key, (0, -1))
            if size != count * dtype.itemsize:
                _refuse_file(
                    "a storage of %d elements of %s is to be in %s%s, which has %s bytes"
                    % (count, dtype, folder, _shown(key), "no" if size < 0 else size)
                )
            made[key] = _placed(source.elements(dtype, at, size), location, map_location)
        if made[key].dtype is not dtype:
            _refuse_file("%s%s is used as %s and as %s" % (folder, _shown(key), made[key].dtype, dtype))
        return made[key]

    return stored


def _placed(storage, location, map_location):
    if isinstance(map_location, _torch.device):
        return storage
    if isinstance(map_location, dict):
        location = str(map_location.get(location, location))
    elif map_location is not None:
        found = map_location(storage, location)
        if found is not None:
            return found
    if location not in ("cpu", "cpu:0"):
        raise RuntimeError(
            "Attempting to deserialize object on a %s device but torch.cuda.is_available() is False. Use torch.load "
            "with map_location=torch.device('cpu') to map your storages to the CPU." % _shown(location)
        )
    return storage


# The names that a pickle of torch.save may use.
def _find_global(module, name):
    from collections import OrderedDict

    if module == "torch":
        kind = {
            "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16", "LongStorage": "int64",
            "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8",
            "BoolStorage": "bool",
        }
        if name in kind or name in kind.values():
            return getattr(_torch, kind.get(name, name))
        if name == "Size":
            return _torch.Size
        if name == "device":
            return _torch.device
        if name[-7:] == "Storage":
            _refuse_file("torch.%s is of a type that there is not here: convert the tensors before torch.save" % _shown(name))
    elif module == "torch._utils":
        if name == "_rebuild_tensor_v2":
            return _rebuilt
        if name == "_rebuild_parameter":
            return _rebuilt_parameter
    elif module == "collections" and name == "OrderedDict":
        return lambda: OrderedDict()
    elif module in ("__builtin__", "builtins") and name in ("set", "bytes"):
        return (lambda items: set([_key(k) for k in items])) if name == "set" else lambda: b""
    elif module == "_codecs" and name == "encode":
        return lambda text, how: bytes([ord(c) for c in text])
    _refuse_file(
        "Unsupported global: GLOBAL %s.%s; only tensors, numbers, text and containers of them are read; "
        "of a module, save its state_dict()"
        % (_shown(module), _shown(name))
    )


def _rebuilt(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    if len(size) != len(stride) or len(size) > 8:
        raise ValueError
    count, last = 1, offset
    for n, step in zip(size, stride):
        if n < 0 or step < 0:
            raise ValueError
        count *= n
        last += (n - 1) * step
    if offset < 0 or count and last >= storage.numel() or count > 0x7FFFFFFF:
        _refuse_file("the tensor %s is not inside its storage of %d elements" % (_shown(list(size)), storage.numel()))
    found = storage.as_strided(size, stride, offset if count else 0)
    return found.requires_grad_(True) if requires_grad is True else found


def _rebuilt_parameter(data, requires_grad, hooks):
    return _torch.Parameter(data, requires_grad is True)
