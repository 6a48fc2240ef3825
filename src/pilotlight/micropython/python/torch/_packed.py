# Rarely used modules, and operators that are written in Python: bytecode in compressed blocks; pack.py says how.
# What is asked for is loaded, alone with what it needs.
import _torch

_loaded = {}  # the names of modules
_names = {"_torch": _torch}  # of all operators
_names["_names"] = _names
_made = {}  # operators by their forms


# Runs a unit and what it needs, which comes later in the same block or in a later one; `heads` gets what is said of
# operators.
def _find(name, names, heads):
    waiting = {_torch._block(name): name}
    if -1 in waiting:
        return False
    number = block = None
    done = []
    try:
        while waiting:
            place = min(waiting)
            name = waiting.pop(place)
            if place >> 8 != number:
                number, block = place >> 8, None
                block = _torch._open(number)
            unit = _torch._unit(block, place & 255)
            end = unit.find(b"\n") + 1
            words = unit[:end].decode().split()
            if words[0] != name:  # has but the hash of a unit
                return False
            done.append(name)
            if end < len(unit):
                _torch._run(memoryview(unit)[end:], names)
            for word in words[1:]:
                if word[0] == ":":
                    heads[name] = word[1:]
                elif word not in names:
                    waiting[_torch._block(word)] = word
    except BaseException:  # no memory: next time all of it again
        for name in done:
            names.pop(name, None)
        raise
    return True


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
        if "torch" not in _names:
            _names["torch"] = __import__("torch")
        _find(name, _names, heads)
        for known in heads:
            _made[known] = _wrap(known, heads[known])
    found = _made.get(name, {}).get("i" if in_place else form)
    if isinstance(found, str) and form != "m":
        found = getattr(_torch if hasattr(_torch, found) else _torch._nn, found)
    return found


# Raises if a part that this build is without has the name.
def refuse(name, prefix=""):
    if _find("_absent", _names, {}):
        for line in _names.pop("_absent").split(";"):
            words = line.split()
            if prefix + name in words[1:]:
                raise AttributeError("'%s' is not in this build: build it with `--with %s`" % (name, words[0]))


# How an operator is called: its arguments are checked by their types in the schema, out= and the form in place are made
# from its result.
def _wrap(name, head):
    forms, check, types = head.partition(":")
    forms, alias, found = forms.partition("=")
    outs = int(forms[-1])
    # letters of `_PLACES` in composed.py
    last = 0 if "v" in forms else 1 if "w" in forms else 99
    apart = 1 if "x" in forms else 0 if "y" in forms else 99

    def checked(types):
        function = _names[name]
        known = [item.split("=") for item in types.split(",") if item]
        by_name = dict(known)

        def call(*args, **kwargs):
            for x in args + tuple(kwargs.values()):
                if hasattr(x, "_torch_function"):  # a complex number, or their type
                    return x._torch_function(name, args, kwargs)
            out = kwargs.pop("out", None) if outs else None
            for k in range(min(2, len(known), len(args))):
                if known[k][1][0] == "*" and not (args[k] is None or isinstance(args[k], (tuple, list))):
                    args = args[:k] + (args[k:],)
                    break
            args = [_torch._check(name, known[k][0], known[k][1], x) if k < len(known) else x for k, x in enumerate(args)]
            for key in list(kwargs):
                x = kwargs.pop(key)
                key = {"axis": "dim", "keepdims": "keepdim"}.get(key, key)
                kwargs[key] = _torch._check(name, key, by_name[key], x) if key in by_name else x
            if outs == 1 and out is not None and "dtype" in by_name:
                kwargs["dtype"] = kwargs.get("dtype") or out.dtype
            y = function(*args, **kwargs)
            if out is None:
                return y
            both = list(zip((out,), (y,)) if outs == 1 else zip(out, y))
            if [t for t, x in both if t.shape != x.shape and [a for a in args if a is t]]:
                raise RuntimeError("unsupported operation: out= is the input, and of another shape than the result")
            read = (args + list(kwargs.values()))[:last]
            both = [_torch._into(t, x, False, read, apart) for t, x in both]
            return both[0] if outs == 1 else tuple(both)

        return call

    made = dict.fromkeys(forms, found if alias else checked(types) if check else _names[name])
    if "f" in made and "=*f" in types:  # a function of torch takes them as a list
        made["f"] = checked(types.replace("*", ""))
    if "i" in made:
        plain = made["i"]
        made["i"] = found + "_" if alias else (
            lambda self, *args, **kwargs: _torch._into(
                self, plain(self, *args, **kwargs), True, ((self,) + args + tuple(kwargs.values()))[:last], apart
            )
        )
    return made
