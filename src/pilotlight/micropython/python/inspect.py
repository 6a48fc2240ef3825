def isclass(value):
    return isinstance(value, type)


def isfunction(value):
    return isinstance(value, type(isclass))
