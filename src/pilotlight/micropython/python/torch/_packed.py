# Rarely used modules, and operators that are written in Python: their source in one compressed stream, of which a unit
# is compiled when it is first asked for. A line stands before each: its name and size, for an operator its forms and
# the types of its arguments behind a colon, and the units that it needs, which come later. Words that are often there
# are bytes of their own.
from io import BytesIO

import _torch
from deflate import RAW, DeflateIO

_DATA = b""  # a build puts the stream here
_loaded = {}  # the names of modules
_names = {"_torch": _torch}  # of all operators
_names["_names"] = _names
_made = {}  # operators by their forms


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


# the lines before the units; the number in it is what is left of the unit's text
def _units(stream):
    skipped = bytearray(64)
    while True:
        words = _torch._expand(stream.readline()).decode().split()
        if not words:
            break
        words[1] = int(words[1])
        yield words
        while words[1]:
            words[1] -= stream.readinto(skipped, min(words[1], 64))


# executes the units that are wanted and what they need; `heads` gets what is said of operators
def _find(wanted, names, heads):
    stream = DeflateIO(BytesIO(_DATA), RAW, 12)
    for words in _units(stream):
        name = words[0]
        if name in wanted:
            wanted.remove(name)
            if words[1]:
                _run(stream, words[1], names)
                words[1] = 0
            for word in words[2:]:
                if word[0] == ":":
                    heads[name] = word[1:]
                elif word not in names:
                    wanted.add(word)
            if not wanted:
                break
    return wanted


# of an error
def text(number):
    stream = DeflateIO(BytesIO(_DATA), RAW, 12)
    for words in _units(stream):
        if words[0] == "_texts":
            for _ in range(number):
                line = stream.readline()
            return _torch._expand(line).decode()[:-1]


# the names of a module; with `names` it is not kept
def load(name, names=None):
    if name in _loaded:
        return _loaded[name]
    keep = names is None
    names = {"__name__": name} if keep else names
    if _find({name}, names, {}):
        raise ImportError(name + " is not in this build")
    if keep:
        _loaded[name] = names
    return names


# the operator of a name as a function of torch (f), of its parts (n), or as a method (m): None, or its name in C
def operator(name, form):
    plain = name[:-1] if name[-1] == "_" else name
    if name not in _made and "i" not in _made.get(plain, ""):
        _names["torch"] = __import__("torch")
        heads = {}
        _find({name, plain, "_wrap"}.difference(_names), _names, heads)
        for known in heads:
            _made[known] = _names["_wrap"](known, heads[known])
    made = _made.get(name) or _made.get(plain, {})
    found = made.get(form if name in _made else "i")
    if isinstance(found, str) and form != "m":
        found = getattr(_torch if hasattr(_torch, found) else _torch._nn, found)
    return found
