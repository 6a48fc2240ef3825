class partial:
    def __init__(self, func, *args, **keywords):
        self.func, self.args, self.keywords = func, args, keywords

    def __call__(self, *args, **keywords):
        both = self.keywords.copy()
        both.update(keywords)
        return self.func(*(self.args + args), **both)


def reduce(function, items, *start):
    items = iter(items)
    value = start[0] if start else next(items)
    for item in items:
        value = function(value, item)
    return value


def update_wrapper(wrapper, wrapped, *args, **kwargs):
    return wrapper


def wraps(wrapped, *args, **kwargs):
    return lambda function: function


def lru_cache(maxsize=128, typed=False):
    if callable(maxsize):
        return cache(maxsize)
    return cache


def cache(function):
    kept = {}

    def run(*args, **kwargs):
        key = (args, tuple(sorted(kwargs.items())))
        if key not in kept:
            kept[key] = function(*args, **kwargs)
        return kept[key]

    return run


# the value hides the descriptor, which has no __set__
class cached_property:
    def __init__(self, function):
        self.function = function

    def __get__(self, owner, kind=None):
        value = self.function(owner)
        object.__setattr__(owner, self.function.__name__, value)
        return value
