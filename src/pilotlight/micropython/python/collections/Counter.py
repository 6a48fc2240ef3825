class Counter(dict):
    def __init__(self, items=(), **counts):
        super().__init__()
        self.update(items, **counts)

    def __getitem__(self, key):
        return self.get(key, 0)

    def _add(self, sign, items, counts):
        if isinstance(items, dict):
            for key in items:
                self[key] = self[key] + sign * items[key]
        else:
            for key in items:
                self[key] = self[key] + sign
        for key in counts:
            self[key] = self[key] + sign * counts[key]

    def update(self, items=(), **counts):
        self._add(1, items, counts)

    def subtract(self, items=(), **counts):
        self._add(-1, items, counts)

    def total(self):
        return sum(self.values())

    def most_common(self, n=None):
        return sorted(self.items(), key=lambda item: -item[1])[:n]

    def elements(self):
        for key, count in self.items():
            for _ in range(count):
                yield key

    def copy(self):
        return Counter(self)

    def _joined(self, other, count):
        made = Counter()
        for key in set(self) | set(other):
            both = count(self[key], other[key])
            if both > 0:
                made[key] = both
        return made

    def __add__(self, other):
        return self._joined(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self._joined(other, lambda a, b: a - b)

    def __or__(self, other):
        return self._joined(other, max)

    def __and__(self, other):
        return self._joined(other, min)

    def __repr__(self):
        return "Counter({%s})" % ", ".join(["%r: %r" % item for item in self.most_common()]) if self else "Counter()"

    __str__ = __repr__
