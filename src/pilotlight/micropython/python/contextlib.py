class nullcontext:
    def __init__(self, enter_result=None):
        self.enter_result = enter_result

    def __enter__(self):
        return self.enter_result

    def __exit__(self, *error):
        pass


class suppress:
    def __init__(self, *kinds):
        self.kinds = kinds

    def __enter__(self):
        pass

    def __exit__(self, kind, value, trace):
        return kind is not None and issubclass(kind, self.kinds)


class _Generated:
    def __init__(self, items):
        self.items = items

    def __enter__(self):
        return next(self.items)

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                next(self.items)
            else:
                self.items.throw(value)
        except StopIteration:
            return kind is not None
        return False


def contextmanager(function):
    return lambda *args, **kwargs: _Generated(function(*args, **kwargs))
