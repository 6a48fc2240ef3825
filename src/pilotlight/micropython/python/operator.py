from builtins import abs


def _attribute(value, path):
    for name in path.split("."):
        value = getattr(value, name)
    return value


def itemgetter(*keys):
    return (lambda value: value[keys[0]]) if len(keys) == 1 else lambda value: tuple([value[key] for key in keys])


def attrgetter(*paths):
    if len(paths) == 1:
        return lambda value: _attribute(value, paths[0])
    return lambda value: tuple([_attribute(value, path) for path in paths])


def methodcaller(name, *args, **kwargs):
    return lambda value: getattr(value, name)(*args, **kwargs)


def setitem(a, key, value):
    a[key] = value


def delitem(a, key):
    del a[key]


def length_hint(value, default=0):
    return len(value) if hasattr(value, "__len__") else default


def countOf(a, b):
    return list(a).count(b)


def indexOf(a, b):
    return list(a).index(b)


def index(a):
    return range(a).stop


neg, pos, invert, truth, not_ = lambda a: -a, lambda a: +a, lambda a: ~a, bool, lambda a: not a
is_, is_not = lambda a, b: a is b, lambda a, b: a is not b
contains, getitem, pow = lambda a, b: b in a, lambda a, b: a[b], lambda a, b: a**b
add, sub, mul, matmul = lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a @ b
truediv, floordiv, mod = lambda a, b: a / b, lambda a, b: a // b, lambda a, b: a % b
and_, or_, xor = lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b
lshift, rshift, concat = lambda a, b: a << b, lambda a, b: a >> b, add
eq, ne, lt, le = lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b
gt, ge, inv = lambda a, b: a > b, lambda a, b: a >= b, invert


def iadd(a, b):
    a += b
    return a


def isub(a, b):
    a -= b
    return a


def imul(a, b):
    a *= b
    return a


def itruediv(a, b):
    a /= b
    return a
