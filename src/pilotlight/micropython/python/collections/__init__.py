from ucollections import *


# what MicroPython's own module lacks
def __getattr__(name):
    from torch._packed import load

    try:
        if name == "defaultdict":
            return load("collections.defaultdict", globals())[name]
        return load("collections." + name)[name]
    except ImportError:
        raise AttributeError(name)
