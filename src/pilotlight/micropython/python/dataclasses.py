# Annotations are not kept by the compiler: fields and their order are read from the class's source. Without a source
# the fields are the attributes with a value, and arguments go by name only.
import sys
from collections import OrderedDict


class _Missing:
    pass


MISSING = _Missing()


class FrozenInstanceError(AttributeError):
    pass


class Field:
    def __init__(self, default=MISSING, default_factory=MISSING, init=True, repr=True, compare=True, **kwargs):
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.compare = init, repr, compare

    def value(self):
        return self.default if self.default_factory is MISSING else self.default_factory()


def field(**kwargs):
    return Field(**kwargs)


def _path(module):
    if module == "__main__":
        return sys.argv[0] if getattr(sys, "argv", None) else None
    return getattr(sys.modules.get(module), "__file__", None)


def _lines(path):
    try:
        with open(path) as file:
            for line in file:
                yield line
    except (OSError, TypeError):
        pass


# names of the annotated lines right inside of a class
def _annotated(cls):
    names, outer, inner, quoted = [], None, None, False
    for line in _lines(_path(cls.__module__)):
        text = line.strip()
        depth = len(line) - len(line.lstrip())
        if outer is None:
            words = text.replace("(", " ").replace(":", " ").split()
            if words[:2] == ["class", cls.__name__]:
                outer = depth
            continue
        if not quoted and text and text[0] != "#":
            if depth <= outer:
                break
            inner = inner or depth
            name, colon, kind = text.partition(":")
            if depth == inner and colon and _is_name(name.strip()) and "ClassVar" not in kind:
                names.append(name.strip())
        quoted ^= text.count('"""') % 2 == 1
    return names


def _is_name(text):
    return all([c.isalpha() or c.isdigit() or c == "_" for c in text]) and not text[:1].isdigit()


def dataclass(cls=None, **options):
    if cls is None:
        return lambda c: dataclass(c, **options)
    fields = OrderedDict()
    for base in cls.__bases__:
        fields.update(getattr(base, "__dataclass_fields__", {}))
    own = cls.__dict__
    names = _annotated(cls)
    cls.__dataclass_order__ = bool(names)
    for name in names or sorted([n for n in own if n[0] != "_" and not _is_method(own[n])]):
        value = own.get(name, MISSING)
        made = value if isinstance(value, Field) else Field(value)
        made.name = name
        fields[name] = made
        if isinstance(value, Field) and value.default is not MISSING:
            setattr(cls, name, value.default)
    cls.__dataclass_fields__ = fields
    for name, method in (("__init__", _init), ("__repr__", _repr), ("__eq__", _eq)):
        if name not in own and options.get(name.strip("_"), True):
            setattr(cls, name, method)
    if options.get("frozen"):
        cls.__setattr__ = _frozen
    return cls


def _is_method(value):
    return callable(value) or type(value).__name__ in ("property", "staticmethod", "classmethod")


def _init(self, *args, **kwargs):
    cls = type(self)
    fields = [f for f in cls.__dataclass_fields__.values() if f.init]
    what = cls.__name__ + ".__init__() "
    if args and not cls.__dataclass_order__:
        raise TypeError(what + "takes arguments by name only: the source of the class is not here")
    if len(args) > len(fields):
        raise TypeError(
            what + "takes %d positional arguments but %d were given" % (len(fields) + 1, len(args) + 1)
        )
    for k, f in enumerate(fields):
        if k < len(args):
            if f.name in kwargs:
                raise TypeError(what + "got multiple values for argument '%s'" % f.name)
            value = args[k]
        else:
            value = kwargs.pop(f.name) if f.name in kwargs else f.value()
            if value is MISSING:
                raise TypeError(what + "missing 1 required positional argument: '%s'" % f.name)
        object.__setattr__(self, f.name, value)
    for name in kwargs:
        if cls.__dataclass_order__:
            raise TypeError(what + "got an unexpected keyword argument '%s'" % name)
        object.__setattr__(self, name, kwargs[name])
    for f in cls.__dataclass_fields__.values():
        if not f.init and f.value() is not MISSING:
            object.__setattr__(self, f.name, f.value())
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _repr(self):
    texts = [f.name + "=" + repr(getattr(self, f.name)) for f in fields(self) if f.repr]
    return type(self).__name__ + "(" + ", ".join(texts) + ")"


def _eq(self, other):
    if type(self) is not type(other):
        return NotImplemented
    return all([getattr(self, f.name) == getattr(other, f.name) for f in fields(self) if f.compare])


def _frozen(self, name, value):
    raise FrozenInstanceError("cannot assign to field '" + name + "'")


def fields(value):
    if not is_dataclass(value):
        raise TypeError("must be called with a dataclass type or instance")
    return tuple(value.__dataclass_fields__.values())


def is_dataclass(value):
    return hasattr(value, "__dataclass_fields__")


def _plain(value):
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, (list, tuple)):
        return type(value)([_plain(v) for v in value])
    if isinstance(value, dict):
        return type(value)([(k, _plain(v)) for k, v in value.items()])
    return value


def asdict(value):
    return dict([(f.name, _plain(getattr(value, f.name))) for f in fields(value)])


def replace(value, **changes):
    for f in fields(value):
        if f.init and f.name not in changes:
            changes[f.name] = getattr(value, f.name)
    return type(value)(**changes)
