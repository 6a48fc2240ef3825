class chain:
    def __init__(self, *groups):
        self._items = self._all(groups)

    def _all(self, groups):
        for group in groups:
            yield from group

    @staticmethod
    def from_iterable(groups):
        made = chain()
        made._items = made._all(groups)
        return made

    def __iter__(self):
        return self._items

    def __next__(self):
        return next(self._items)


def count(start=0, step=1):
    while True:
        yield start
        start += step


def repeat(item, times=None):
    while times is None or times > 0:
        yield item
        times = times and times - 1


def cycle(items):
    items = list(items)
    while items:
        yield from items


def islice(items, *bounds):
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (tuple(bounds) + (1,))[:3]
    for k, item in enumerate(items):
        if stop is not None and k >= stop:
            return
        if k >= (start or 0) and (k - (start or 0)) % (step or 1) == 0:
            yield item
            if stop is not None and k + 1 >= stop:
                return


def accumulate(items, function=None, initial=None):
    total = initial
    if initial is not None:
        yield initial
    for item in items:
        total = item if total is None else function(total, item) if function else total + item
        yield total


def product(*groups, repeat=1):
    found = [()]
    for group in [list(g) for g in groups] * repeat:
        found = [f + (item,) for f in found for item in group]
    return iter(found)


def _choose(items, count, ordered):
    if count == 0:
        yield ()
    else:
        for k, item in enumerate(items):
            rest = items[:k] + items[k + 1 :] if ordered else items[k + 1 :]
            for tail in _choose(rest, count - 1, ordered):
                yield (item,) + tail


def combinations(items, count):
    return _choose(tuple(items), count, False)


def permutations(items, count=None):
    items = tuple(items)
    return _choose(items, len(items) if count is None else count, True)


def starmap(function, items):
    for item in items:
        yield function(*item)


def takewhile(test, items):
    for item in items:
        if not test(item):
            return
        yield item


def zip_longest(*groups, fillvalue=None):
    groups = [list(g) for g in groups]
    for k in range(max([len(g) for g in groups] + [0])):
        yield tuple([g[k] if k < len(g) else fillvalue for g in groups])
