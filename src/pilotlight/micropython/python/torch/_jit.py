# TorchScript archives: torch.jit.load. The archive's own source code runs, and can use only the names that it is given.
# These names are among those of the operators: jit_load brings them there.
import _torch
import torch


# An object of the archive: a module, or an instance of one of its classes.
class _Scripted:
    __parameters__ = __buffers__ = _order = ()
    _signatures = {}

    def __new__(cls):
        return object.__new__(cls)


class _ScriptInterface(_Scripted):
    pass


# A value of an enumeration; the class gets one for each of its names.
class _ScriptEnum:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(self) is type(other) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    @property
    def name(self):
        return [name for name in type(self)._order if getattr(type(self), name) == self][0]

    def __repr__(self):
        return "<%s.%s: %r>" % (type(self).__name__, self.name, self.value)

    def __str__(self):
        return type(self).__name__ + "." + self.name


class _Nothing:
    pass


# ---- from the archive to objects ----


def _script_load(source, entries, read):
    archive = _Archive(source.mapped)

    def unpickled(name):
        def stored(named):
            if named[1] is not _script_double:
                return plain(named)
            return _script_double(source, entries.get(name + "/" + named[2], (0, 0)), named[4])

        plain = read(name + "/")
        data = bytes(source.read(*entries[name + ".pkl"]))
        return _unpickle(data, archive.find, stored, archive.build, archive.new_dict)

    for k, constant in enumerate(unpickled("constants")):
        setattr(archive.names["CONSTANTS"], "c%d" % k, constant)
    for name in entries:
        if name[:14] == "code/__torch__" and name[-3:] == ".py":
            archive.add(name, _code(source, name, entries[name]))
    value = unpickled("data")
    archive.parts.clear()
    if not isinstance(value, _Scripted):
        _refuse_file("data.pkl holds no module, but " + str(type(value)))
    return archive.view(value)


# The one number of a storage of float64: tracing makes a tensor of such a number. Here it is float32.
def _script_double(source, place, count):
    from struct import unpack

    if place[1] != 8 or count != 1:
        _refuse_file("torch.float64 is a type that there is not here: save the model after .float()")
    return _torch.tensor(unpack("<d", source.read(*place)))


def _code(source, name, place):
    if place[-1] > 1 << 18:
        _refuse_file("%s has %d bytes, and at most 262144 are read" % (_shown(name), place[-1]))
    data = source.read(*place[:2])
    try:
        return str(data if len(place) == 2 else _torch._nn._jit_inflate(data, place[2]), "utf-8")
    except ValueError as error:
        _refuse_file("%s: %s" % (_shown(name), error))


# The classes and functions of an archive, and what its code may use.
class _Archive:
    def __init__(self, mapped):
        from collections import OrderedDict

        self.mapped = mapped
        self.parts = {}  # by the id of a tensor: itself, its storage and its form there
        self.copies = {}  # of storages
        self.root = _Nothing()  # __torch__
        self.fields = {}  # of named tuples: the types
        self.parameters = {}  # by the id of the tensor that each was made from, and the tensor
        self.views = {}
        self.new_dict = lambda: OrderedDict()
        self.names = _script_names(self)

    # the classes and functions of a file, one after another
    def add(self, name, text):
        scope = self.root
        for part in name[15:-3].split("/"):
            if part:
                if not hasattr(scope, part):
                    setattr(scope, part, _Nothing())
                scope = getattr(scope, part)
        path = name[5:-3].replace("/", ".") + "."
        start = lines = 0
        while start < len(text):
            end = min([k for k in (text.find("\n" + w, start) + 1 for w in ("class ", "def ")) if k] + [len(text)])
            lines += self.run(scope, path, name, text[start:end], lines)
            start = end

    def run(self, scope, path, file, text, lines):
        import builtins

        head = text.partition(":\n")[0]
        word, _, title = head.partition(" ")
        if word not in ("class", "def"):
            if text.strip():
                _refuse_file("%s:%d: this is neither a class nor a function" % (_shown(file), lines + 1))
            return 0
        name, _, base = title.partition("(")
        found = {}
        if word == "class" and base[:-1] == "NamedTuple":
            from collections import namedtuple

            rows = [line.split(" : ") for line in text.split("\n") if " : " in line]
            self.fields[path + name] = [row[1] for row in rows]
            found[name] = namedtuple(name, [row[0].strip() for row in rows])
        else:
            if word == "class" and not base:
                text = text[: len(head)] + "(Module)" + text[len(head) :]
            try:
                source = "\n" * lines + _torch._nn._jit_source(text)
                exec(builtins.compile(source, file, "exec"), self.names, found)
            except MemoryError:
                raise
            except Exception as error:
                at, _, what = str(error).partition(": ")
                if at.isdigit():
                    what += " is none of TorchScript's words, so this code is not run"
                else:
                    at, what = 1, "this is no TorchScript: " + str(error)
                _refuse_file("%s:%d: %s" % (_shown(file), lines + int(at), what))
        for key in found:
            made = found[key]
            if word == "class" and key == name and base[:-1] != "NamedTuple":
                self.describe(made, text, base[:-1])
            setattr(scope, key, made)
        return text.count("\n")

    # what Python does not keep of a class
    def describe(self, made, text, base):
        if base == "Enum":
            order = [line.split()[0] for line in text.split("\n")[1:] if " = " in line]
            made._order = tuple(order)
            for name in order:
                setattr(made, name, made(getattr(made, name)))
            return
        made._signatures = {}
        for part in text.split("\n  def ")[1:]:
            name, _, rest = part.partition(":\n")[0].partition("(")
            made._signatures[name] = rest

    # what a qualified name stands for
    def look(self, path):
        found = self.root
        for part in path.split(".")[1:]:
            found = getattr(found, part, None)
        return found

    # the names in its pickles
    def find(self, module, name):
        if module[:9] == "__torch__":
            found = self.look(module + "." + name)
            if not isinstance(found, type) or not issubclass(found, (_Scripted, _ScriptEnum)):
                _refuse_file("the archive has no class " + _shown(module + "." + name))
            return found
        if module == "torch.jit._pickle":
            return lambda value, *tag: value
        if module == "torch" and name == "DoubleStorage":
            return _script_double
        if name == "_rebuild_tensor_v2" and self.mapped:
            return self.rebuilt
        return _find_global(module, name)

    def rebuilt(self, storage, *form):
        made = _rebuilt(storage, *form)
        self.parts[id(made)] = (made, storage, form)
        return made

    # Of a file in memory parameters and large tensors stay there: the code may write to the others.
    def own(self, value):
        made, storage, form = self.parts.get(id(value), (None, None, ()))
        if made is None or storage.nbytes > 16384:
            return value
        if id(storage) not in self.copies:
            self.copies[id(storage)] = storage.clone()
        return _rebuilt(self.copies[id(storage)], *form)

    # a new object, or the state of one
    def build(self, it, state):
        if state is None and isinstance(it, type) and issubclass(it, _Scripted):
            return object.__new__(it)
        if not isinstance(it, _Scripted):
            _refuse_file("data.pkl gives attributes to " + str(type(it)))
        if hasattr(it, "__setstate__"):
            it.__setstate__(state)
            return
        kind = type(it)
        kind._order = tuple(state)
        for name, value in state.items():
            if name in kind.__parameters__ and isinstance(value, _torch.Tensor):
                if id(value) not in self.parameters:
                    self.parameters[id(value)] = (_torch.Parameter(value, value.requires_grad), value)
                value = self.parameters[id(value)][0]
            elif self.mapped:
                value = self.changed(value, self.own)
            setattr(it, name, value)

    # ---- values that go in and out ----

    # a value as one of a type; ValueError if it is none
    def to_script(self, value, kind):
        head, args = kind
        if isinstance(value, _torch.dtype):
            value = _SCRIPT_TYPES.index(str(value)[6:])
        elif isinstance(value, _torch.Tensor) and head in ("int", "float") and value.numel() == 1:
            if head == "float" or not value.is_floating_point():
                value = value.item()
        simple = {
            "int": (int, bool), "float": (int, float, bool), "number": (int, float), "bool": (int, float, bool), "str": str,
            "Tensor": _torch.Tensor, "NoneType": type(None), "Device": (_torch.device, str),
        }.get(head)
        many = isinstance(value, (list, tuple))
        if simple:
            if isinstance(value, simple):
                change = {"int": int, "float": float, "bool": bool, "Device": torch.device}.get(head)
                return change(value) if change and type(value) is not _torch.device else value
        elif head == "Any":
            return self.any(value)
        elif head in ("Optional", "Union"):
            if head == "Optional" and value is None:
                return None
            for one in args:
                try:
                    return self.to_script(value, one)
                except ValueError:
                    pass
        elif head == "List" and many:
            return [self.to_script(v, args[0]) for v in value]
        elif head == "Dict" and isinstance(value, dict):
            made = self.new_dict()
            for k, v in value.items():
                made[self.to_script(k, args[0])] = self.to_script(v, args[1])
            return made
        elif many and (head == "Tuple" or head in self.fields):
            args = [_parsed(kind) for kind in self.fields[head]] if head in self.fields else args
            if len(value) == len([kind for kind in args if kind[0] != "()"]):
                made = [self.to_script(v, k) for v, k in zip(value, args)]
                return self.look(head)(*made) if head in self.fields else tuple(made)
        elif head[:9] == "__torch__":
            inner = getattr(value, "_c", value)
            found = self.look(head)
            if isinstance(found, type) and (isinstance(inner, found) or issubclass(found, _ScriptInterface)):
                return inner
        raise ValueError

    # the same for any type, and for attributes
    def any(self, value):
        def single(value):
            return _SCRIPT_TYPES.index(str(value)[6:]) if isinstance(value, _torch.dtype) else getattr(value, "_c", value)

        return self.changed(value, single)

    # a value of the archive for the user
    def out(self, value):
        return self.changed(value, lambda value: self.view(value) if isinstance(value, _Scripted) else value)

    # a value with copies of its containers
    def changed(self, value, single):
        if isinstance(value, dict):
            made = self.new_dict()
            for k, v in value.items():
                made[k] = self.changed(v, single)
            return made
        if not isinstance(value, (list, tuple)):
            return single(value)
        items = [self.changed(v, single) for v in value]
        return items if isinstance(value, list) else tuple(items) if type(value) is tuple else type(value)(*items)

    # what the user sees of an object, one for each
    def view(self, it):
        if id(it) not in self.views:
            self.views[id(it)] = RecursiveScriptModule(it, self)
        return self.views[id(it)]

    # calls a method as the user does
    def call(self, it, name, args, kwargs):
        known = type(it)._signatures
        if name not in known:
            raise AttributeError("'RecursiveScriptModule' object has no attribute '%s'" % name)
        if isinstance(known[name], str):
            known[name] = _signature(known[name])
        wanted = known[name]
        if len(args) > len(wanted):
            raise RuntimeError(
                "%s() expected at most %d argument(s) but received %d argument(s)."
                % (name, len(wanted) + 1, len(args) + 1)
            )
        given, named = [], {}
        for k, (key, kind, text, has_default) in enumerate(wanted):
            if k < len(args):
                value = args[k]
            elif key in kwargs:
                value = kwargs.pop(key)
            elif has_default:
                continue
            else:
                raise RuntimeError("%s() is missing value for argument '%s'." % (name, key))
            try:
                value = self.to_script(value, kind)
            except ValueError:
                raise RuntimeError(
                    "%s() Expected a value of type '%s' for argument '%s' but instead found type '%s'.\nPosition: %d\n"
                    "Value: %r" % (name, text, key, type(value).__name__, k + 1, value)
                )
            if k < len(args):
                given.append(value)
            else:
                named[key] = value
        for key in kwargs:
            raise RuntimeError("Unknown keyword argument '%s' for operator '%s'." % (key, name))
        try:
            return self.out(getattr(it, name)(*given, **named))
        except NotImplementedError as error:
            import io
            import sys

            text = io.StringIO()
            sys.print_exception(error, text)
            place = text.getvalue().rpartition('File "code/')[2].partition("\n")[0]
            raise RuntimeError('%s; "code/%s uses it' % (error, place))


# A type as (name, types in its brackets).
def _parsed(text):
    head, bracket, rest = text.strip().partition("[")
    return head, [_parsed(item) for item in _separated(rest[:-1])] if bracket else []


# what commas separate, up to a bracket that is not opened in it
def _separated(text):
    items, depth, start, quoted, k = [], 0, 0, False, 0
    while k < len(text) and depth >= 0:
        c = text[k]
        if c == "\\":
            k += 1
        elif c == '"':
            quoted = not quoted
        elif not quoted:
            depth += (c in "([{") - (c in ")]}")
            if c == "," and not depth:
                items.append(text[start:k])
                start = k + 1
        k += 1
    last = text[start : k - 1 if depth < 0 else k]
    return items + ([last] if last.strip() else [])


# (name, type, its text, whether there is a default) of the parameters of a method
def _signature(text):
    found = []
    for item in _separated(text)[1:]:
        name, _, rest = item.partition(":")
        kind, default, _ = rest.partition("=")
        kind = kind.strip()
        found.append((name.strip(), _parsed(kind), kind, bool(default)))
    return found


# ---- what the user sees ----


class RecursiveScriptModule(torch.nn.Module):
    def __init__(self, inner, archive):
        object.__setattr__(self, "_c", inner)
        object.__setattr__(self, "_archive", archive)

    def _table(self, names):
        table = _ScriptTable()
        for name in names:
            value = getattr(self._c, name, None)
            table[name] = self._archive.view(value) if isinstance(value, _Scripted) else value
        table.owner = self._c
        return table

    _parameters = property(lambda self: self._table(self._c.__parameters__))
    _buffers = property(lambda self: self._table(self._c.__buffers__))
    _modules = property(
        lambda self: self._table([n for n in self._c._order if isinstance(getattr(self._c, n, None), _Scripted)])
    )
    training = property(
        lambda self: getattr(self._c, "training", True), lambda self, mode: setattr(self._c, "training", mode)
    )
    original_name = property(lambda self: type(self._c).__name__)

    def __getattr__(self, name):
        inner = self._c
        if name in type(inner)._signatures:
            return lambda *args, **kwargs: self._archive.call(inner, name, args, kwargs)
        try:
            return self._archive.out(getattr(inner, name))
        except AttributeError:
            raise AttributeError("'RecursiveScriptModule' object has no attribute '%s'" % name)

    def __setattr__(self, name, value):
        if hasattr(self._c, name):
            setattr(self._c, name, self._archive.any(value))
        else:
            object.__setattr__(self, name, value)

    def forward(self, *args, **kwargs):
        return self._archive.call(self._c, "forward", args, kwargs)

    def extra_repr(self):
        return "original_name=" + self.original_name


# parameters, buffers or modules by name: what is written to it is written to their owner
class _ScriptTable(__import__("collections").OrderedDict):
    owner = None

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        if self.owner:
            setattr(self.owner, name, getattr(value, "_c", value))
