# Types are never looked at: every name is an object that can be subscripted, called and joined with `|`.
from collections import namedtuple

TYPE_CHECKING = False


class _Type:
    def __getitem__(self, key):
        return self

    def __call__(self, *args, **kwargs):
        return self

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


def cast(kind, value):
    return value


def overload(function):
    return function


final = no_type_check = runtime_checkable = override = overload


def NewType(name, kind):
    return overload


def NamedTuple(name, fields):
    return namedtuple(name, tuple([field for field, _ in fields]))


def __getattr__(name):
    if name[0] == "_":
        raise AttributeError(name)
    return _any
