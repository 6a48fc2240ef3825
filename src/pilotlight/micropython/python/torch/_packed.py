# Rarely used modules, and operators that are written in Python: their source in one compressed stream, of which a unit
# is compiled when it is first asked for. A line stands before each: its name and size, for an operator its forms and
# the types of its arguments behind a colon, and the units that it needs, which come later.
from io import BytesIO

import _torch
from deflate import RAW, DeflateIO

_DATA = b""  # a build puts the stream here
_loaded = {}  # the names of modules
_names = {"_torch": _torch}  # of all operators
_made = {}  # forms and function, or the name of another operator


def _run(stream, size, names):
    text = b""
    while size:
        line = stream.readline()
        size -= len(line)
        if text and line[0] != 32 and text[0] != 64:
            exec(text, names)
            text = b""
        text += line
    exec(text, names)


# executes the units that are wanted and what they need
def _find(wanted, names):
    stream = DeflateIO(BytesIO(_DATA), RAW, 12)
    skipped = bytearray(64)
    while wanted:
        words = stream.readline().decode().split()
        if not words:
            break
        name, size = words[0], int(words[1])
        if name not in wanted:
            while size:
                size -= stream.readinto(skipped, min(size, 64))
            continue
        wanted.remove(name)
        if size:
            _run(stream, size, names)
        for word in words[2:]:
            if word[0] == ":":
                _made[name] = _wrap(name, names, *word[1:].split(":"))
            elif word not in names:
                wanted.add(word)
    return wanted


# the names of a module; with `names` it is not kept
def load(name, names=None):
    if name in _loaded:
        return _loaded[name]
    keep = names is None
    names = {"__name__": name} if keep else names
    if _find({name}, names):
        raise ImportError(name + " is not in this build")
    if keep:
        _loaded[name] = names
    return names


def _wrap(name, names, forms, types=""):
    forms, alias, other = forms.partition("=")
    if alias:
        return forms, other
    function = names[name]
    known = [item.split("=") for item in types.split(",")] if types else []
    by_name = dict(known)

    def call(*args, **kwargs):
        out = None if forms[-1] == "0" else kwargs.pop("out", None)
        for k in range(min(2, len(known), len(args))):
            if known[k][1][0] == "*" and not isinstance(args[k], (tuple, list)):
                args = args[:k] + (args[k:],)
                break
        args = [_torch._check(name, known[k][0], known[k][1], x) if k < len(known) else x for k, x in enumerate(args)]
        for key in list(kwargs):
            own = {"axis": "dim", "keepdims": "keepdim"}.get(key, key)
            x = kwargs.pop(key)
            kwargs[own] = _torch._check(name, key, by_name[own], x) if own in by_name else x
        y = function(*args, **kwargs)
        if out is None:
            return y
        if forms[-1] == "1":
            return _torch._into(out, y, False)
        return tuple([_torch._into(t, x, False) for t, x in zip(out, y)])

    return forms, call


# the operator of a name as a function of torch (f), of its parts (n), or as a method (m): None, or its name in C
def operator(name, form):
    plain = name[:-1] if name[-1] == "_" else name
    if name not in _made and plain not in _made:
        _names["torch"] = __import__("torch")
        _find({name, plain}, _names)
    in_place = name not in _made
    forms, found = _made.get(plain if in_place else name, ("", None))
    if (("i" if in_place else form) not in forms):
        return None
    if isinstance(found, str):
        found += "_" if in_place else ""
        return found if form == "m" else getattr(_torch if hasattr(_torch, found) else _torch._nn, found)
    if in_place:
        return lambda self, *args, **kwargs: _torch._into(self, found(self, *args, **kwargs), True)
    return found
