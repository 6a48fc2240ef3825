# For isinstance(); a name that is not here is only good for annotations.
from typing import Any as Callable

Sequence = (list, tuple, range, str, bytes)
MutableSequence = (list, bytearray)
Mapping = MutableMapping = (dict,)
Set = (set, frozenset)
Iterable = Sequence + Mapping + Set + (bytearray, memoryview)
Sized = Container = Collection = Iterable


def __getattr__(name):
    return Callable
