# Standard modules that MicroPython lacks, as model files use them.
from __future__ import annotations
from dataclasses import dataclass, field, fields, asdict, replace, is_dataclass
from typing import List, Optional, Dict, Tuple, Union, Any, Callable, TypeVar, Generic, TYPE_CHECKING, cast
import typing, functools, itertools, collections.abc, abc, copy, numbers, warnings, contextlib, collections
from functools import partial, reduce, wraps, lru_cache, cached_property
from collections import OrderedDict, namedtuple, defaultdict
T = TypeVar('T')
Size = Union[int, Tuple[int, int]]
Alias = Optional[List[Dict[str, Callable[..., Any]]]]
def show(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, *e.args)
@dataclass
class A:
    """Doc: with a colon.

    name: not a field
    """
    zeta: int
    alpha: float = 2.5
    # comment: no
    beta: str = 'x'
    items: List[int] = field(default_factory=list)
    hidden: int = field(default=3, repr=False)
    n: typing.ClassVar[int] = 4

    def method(self, x: int) -> int:
        y: int = 3
        return x + y + self.zeta
    @property
    def twice(self): return self.zeta * 2
    def __post_init__(self): self.extra = self.zeta + 1
@dataclass(frozen=True)
class B:
    gamma: Optional[int] = None
@dataclass
class C:
    a: A
    b: Tuple[int, ...] = (1, 2)
a = A(1)
print(a, a.method(2), a.twice, a.extra, a == A(1), a == A(2), A(1, 3.5, 'q', [1], hidden=7))
show(lambda: A())
show(lambda: A(1, q=2))
show(lambda: A(1, zeta=2))
print([f.name for f in fields(a)], asdict(a) == {'zeta': 1, 'alpha': 2.5, 'beta': 'x', 'items': [], 'hidden': 3}, replace(a, beta='new'), is_dataclass(A), is_dataclass(3))
b = B(1, gamma=3) if 0 else None
print(asdict(C(a))['a']['beta'])
@dataclass(frozen=True)
class F:
    x: int = 1
f = F(2)
show(lambda: setattr(f, 'x', 3))
print(f.x, f)
print(partial(lambda a, b, c=0: (a, b, c), 1, c=5)(2), reduce(lambda a, b: a * b, [1, 2, 3]), reduce(lambda a, b: a + b, [], 7))
calls = []
@lru_cache(maxsize=None)
def fib(n):
    calls.append(n); return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(10), len(calls))
@functools.cache
def q(x): return x
print(q(3))
class P:
    @cached_property
    def v(self): calls.append('v'); return 9
p = P(); print(p.v, p.v, calls.count('v'))
@wraps(fib)
def w(): return 1
print(w())
print(list(itertools.chain([1], (2, 3))), list(itertools.chain.from_iterable([[1], [2]])), list(itertools.islice(itertools.count(3), 4)), list(itertools.islice(range(10), 2, 8, 3)), list(itertools.product('ab', [1, 2])), list(itertools.product([0, 1], repeat=2)), list(itertools.combinations(range(3), 2)), list(itertools.permutations([1, 2, 3], 2)), list(itertools.accumulate([1, 2, 3])), list(itertools.repeat(1, 2)), list(itertools.zip_longest([1], [2, 3])), list(itertools.starmap(lambda a, b: a + b, [(1, 2)])), list(itertools.takewhile(lambda x: x < 2, [1, 2, 1])), list(itertools.islice(itertools.cycle([1, 2]), 3)), next(itertools.chain([5])))
print(isinstance([], collections.abc.Sequence), isinstance({}, collections.abc.Mapping), isinstance(3, collections.abc.Iterable), isinstance(3, numbers.Number), isinstance(True, numbers.Integral), isinstance('', numbers.Number))
class Base(abc.ABC):
    @abc.abstractmethod
    def f(self): ...
class G(Generic[T]):
    pass
print(cast(int, 3), TYPE_CHECKING, G() is not None)
d = defaultdict(list); d['a'].append(1); print(d['a'], 'b' in d, len(d))
x = [1, [2, 3], {'a': (4, [5])}]; y = copy.deepcopy(x); y[1][0] = 9; y[2]['a'][1].append(6); print(x, y, copy.copy(x)[1] is x[1])
with contextlib.nullcontext(4) as v: print(v)
@contextlib.contextmanager
def cm():
    print('in'); yield 3; print('out')
with cm() as v: print(v)
with contextlib.suppress(ValueError): int('x')
NT = typing.NamedTuple('NT', [('a', int), ('b', int)]); print(NT(1, 2).b)
