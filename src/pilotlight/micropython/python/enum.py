# MicroPython has no metaclasses, but the type of the first base makes a class: Enum is an object, and so is a class of
# it. Its members are instances of a hidden class that has its methods.
_count = 0


# in the order of calls: a class's dictionary has none
class auto:
    def __init__(self):
        global _count
        _count += 1
        self.value = _count


class _Member:
    def __init__(self, owner, name, value):
        self._owner, self.name, self.value = owner, name, value

    def __repr__(self):
        return "<%s.%s: %r>" % (self._owner.__name__, self.name, self.value)

    def __str__(self):
        return self._owner.__name__ + "." + self.name

    def __hash__(self):
        return hash(self.name)


class _Number(_Member):
    def __int__(self):
        return self.value

    def __str__(self):
        return str(self.value)

    def __hash__(self):
        return hash(self.value)


def _operator(function):
    return lambda a, b: function(a.value, b.value if isinstance(b, _Number) else b)


for _name, _function in {
    "__eq__": lambda a, b: a == b, "__ne__": lambda a, b: a != b, "__lt__": lambda a, b: a < b,
    "__le__": lambda a, b: a <= b, "__gt__": lambda a, b: a > b, "__ge__": lambda a, b: a >= b,
    "__add__": lambda a, b: a + b, "__radd__": lambda a, b: b + a, "__sub__": lambda a, b: a - b,
    "__rsub__": lambda a, b: b - a, "__mul__": lambda a, b: a * b, "__rmul__": lambda a, b: b * a,
    "__and__": lambda a, b: a & b, "__or__": lambda a, b: a | b, "__lshift__": lambda a, b: a << b,
    "__mod__": lambda a, b: a % b, "__floordiv__": lambda a, b: a // b, "__truediv__": lambda a, b: a / b,
}.items():
    setattr(_Number, _name, _operator(_function))


class _EnumClass:
    def __init__(self, name, bases, names):
        self.__name__ = name
        self._bases, self._members = bases, {}
        if not bases:
            self._kind = names["kind"]
            return
        base = bases[-1]
        if base._members:
            raise TypeError("<enum '%s'> cannot extend <enum '%s'>" % (name, base.__name__))
        plain, given = {}, []
        for key, value in names.items():
            member = key[0] != "_" and not callable(value) and not isinstance(value, (property, staticmethod, classmethod))
            if member or isinstance(value, auto):
                given.append((key, value))
            else:
                plain[key] = value
        self._kind = type(name, (base._kind,), plain)
        numbered = sorted([(value.value, key) for key, value in given if isinstance(value, auto)])
        first = max([value for _, value in given if isinstance(value, int)], default=0) + 1
        values = dict([(key, first + k) for k, (_, key) in enumerate(numbered)])
        given = [(key, values.get(key, value)) for key, value in given]
        try:
            given.sort(key=lambda item: item[1])
        except TypeError:
            given.sort()
        self._order = []
        for key, value in given:
            same = [member for member in self._order if member.value == value]
            if not same:
                same.append(self._kind(self, key, value))
                self._order.append(same[0])
            self._members[key] = same[0]

    def __getattr__(self, name):
        members = self._members if name[0] != "_" else ()
        if name in members:
            return members[name]
        if name == "__members__":
            return self._members
        return getattr(self._kind, name)

    def __getitem__(self, name):
        return self._members[name]

    def __call__(self, value):
        for member in self._order:
            if member is value or member.value == value:
                return member
        raise ValueError("%r is not a valid %s" % (value, self.__name__))

    def __iter__(self):
        return iter(self._order)

    def __len__(self):
        return len(self._order)

    def __contains__(self, value):
        return any([member is value or member.value == value for member in self._order])

    def __repr__(self):
        return "<enum '%s'>" % self.__name__


Enum, IntEnum = _EnumClass("Enum", (), {"kind": _Member}), _EnumClass("IntEnum", (), {"kind": _Number})


def unique(made):
    for name, member in made._members.items():
        if member.name != name:
            raise ValueError("duplicate values found in %r: %s -> %s" % (made, name, member.name))
    return made
