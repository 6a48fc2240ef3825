# Rarely used modules, operators that are written in Python, and texts of errors, in compressed blocks; pack.py says how.
# What is asked for is compiled, alone with what it needs.
from io import BytesIO

import _torch
from deflate import RAW, DeflateIO

_DATA = b""  # a build puts the blocks here
_loaded = {}  # the names of modules
_names = {"_torch": _torch}  # of all operators
_names["_names"] = _names
_made = {}  # operators by their forms


def _open(what):
    stream = BytesIO(_DATA)
    stream.seek(_torch._block(what))
    return DeflateIO(stream, RAW, 12)


# a statement at a time
def _run(stream, size, names):
    text = b""
    while size:
        line = stream.readline()
        size -= len(line)
        line = _torch._expand(line)
        if text and line[0] != 32 and text[0] != 64:
            exec(text, names)
            text = b""
        text += line
    exec(text, names)


# executes a unit and what it needs; `heads` gets what is said of operators
def _find(name, names, heads):
    if _torch._block(name) < 0:
        return False
    stream = _open(name)
    skipped = bytearray(64)
    while True:
        words = _torch._expand(stream.readline()).decode().split()
        if not words:
            return False
        size = int(words[1])
        if words[0] == name:
            break
        while size:
            size -= stream.readinto(skipped, min(size, 64))
    if size:
        _run(stream, size, names)
    stream = None
    for word in words[2:]:
        if word[0] == ":":
            heads[name] = word[1:]
        elif word not in names:
            try:
                _find(word, names, heads)
            except BaseException:  # no memory: next time all of it again
                names.pop(name, None)
                raise
    return True


# of an error
def text(number):
    stream = _open(number - 1)
    for _ in range((number - 1) % 64 + 1):
        line = stream.readline()
    return _torch._expand(line).decode()[:-1]


# the names of a module; with `names` it is not kept
def load(name, names=None):
    if name in _loaded:
        return _loaded[name]
    keep = names is None
    names = {"__name__": name} if keep else names
    if not _find("." + name, names, {}):
        raise ImportError(name + " is not in this build")
    if keep:
        _loaded[name] = names
    return names


# the operator of a name as a function of torch (f), of its parts (n), or as a method (m): None, or its name in C
def operator(name, form, in_place):
    if name not in _made:
        heads = {}
        if "_wrap" not in _names:
            _names["torch"] = __import__("torch")
            _find("_wrap", _names, heads)
        _find(name, _names, heads)
        for known in heads:
            _made[known] = _names["_wrap"](known, heads[known])
    found = _made.get(name, {}).get("i" if in_place else form)
    if isinstance(found, str) and form != "m":
        found = getattr(_torch if hasattr(_torch, found) else _torch._nn, found)
    return found
