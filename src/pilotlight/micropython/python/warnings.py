import sys


def warn(message, category=None, stacklevel=1, **kwargs):
    name = getattr(category or type(message), "__name__", "")
    print("Warning:" if name in ("", "str") else name + ":", message, file=getattr(sys, "stderr", None) or sys.stdout)


def filterwarnings(*args, **kwargs):
    pass


simplefilter = filterwarnings
