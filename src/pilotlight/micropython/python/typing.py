# Types are never looked at: every name is an object that can be subscripted, joined with `|`, and called, which gives the
# last argument: a cast value, a decorated function.
from ucollections import namedtuple

TYPE_CHECKING = False


class _Type:
    def __getitem__(self, key):
        return self

    def __call__(self, *args, **kwargs):
        return args[-1] if args and not isinstance(args[-1], str) else self

    def __or__(self, other):
        return self

    __ror__ = __or__


class Protocol:
    pass


# a base class, subscripted or not, has to be a class
class _Generic(_Type):
    def __getitem__(self, key):
        return Protocol


Generic = _Generic()
_any = _Type()


def NamedTuple(name, fields):
    return namedtuple(name, tuple([field for field, _ in fields]))


def __getattr__(name):
    if name[0] == "_":
        raise AttributeError(name)
    return _any
