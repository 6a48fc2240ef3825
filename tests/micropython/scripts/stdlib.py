# More standard modules that MicroPython lacks.
from enum import Enum, IntEnum, auto, unique
class Color(Enum):
    RED = 1
    GREEN = 2
    BLUE = 3
    def pretty(self):
        return self.name.lower()
    @property
    def twice(self):
        return self.value * 2
print(Color.RED, repr(Color.GREEN), Color(3), Color["RED"], [c.name for c in Color], len(Color), Color.RED is Color(1), Color.RED == Color.GREEN, Color.RED != Color.GREEN, Color.RED.pretty(), Color.BLUE.twice, Color.RED in Color, {Color.RED: 5}[Color.RED])
class P(IntEnum):
    LOW = 0
    HIGH = auto()
    TOP = auto()
print(P.HIGH + 1, 1 + P.HIGH, P.LOW < P.HIGH, P.HIGH == 1, [10, 20, 30][P.TOP], int(P.TOP), str(P.TOP), repr(P.TOP), list(P), sorted([P.TOP, P.LOW]), max(P), P.HIGH * 2, range(P.TOP))
@unique
class K(Enum):
    X = "x"
    Y = "y"
print(K("y"), K.X.value)
try: Color(9)
except ValueError as e: print(e)
import operator, logging, sys, time
from collections import Counter, defaultdict, deque, OrderedDict, namedtuple
from functools import reduce
print(reduce(operator.mul, [1,2,3]), operator.itemgetter(1)([4,5]), operator.itemgetter(0,2)("abc"), sorted([(1,'b'),(0,'a')], key=operator.itemgetter(0)), operator.attrgetter("real")(3) if 0 else '', operator.methodcaller("upper")("x"), operator.add(1,2), operator.truediv(1,2), operator.neg(3), operator.abs(-3), operator.contains([1],1), operator.not_(0), operator.index(4), operator.xor(5, 1))
c = Counter("abracadabra"); print(c["a"], c["z"], c.most_common(2) if 0 else c.most_common(1), sum(c.values()), c.total(), len(c), sorted(c.elements())[:3])
c["q"] += 3; c.update("aa"); c.update({"b": 4}); c.subtract("a"); print(sorted(c.items()))
print(Counter(a=1, b=3), Counter(), Counter({"x": 2}) + Counter("xy"), sorted((Counter("aab") - Counter("ab")).items()), isinstance(c, dict), Counter([1,1]) == Counter([1,1]))
d = defaultdict(int); d["x"] += 2; print(d["x"], d["y"])
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stdout, force=True)
log = logging.getLogger("net")
log.info("hello %d %s", 3, "x"); log.debug("no"); log.setLevel(logging.DEBUG); log.debug("yes"); logging.warning("careful"); log.error("bad")
print(log.isEnabledFor(logging.DEBUG), logging.getLevelName(20))
t = time.perf_counter(); time.sleep(0.02); e = time.perf_counter() - t; print(0.015 < e < 0.5, time.time() >= 0, time.monotonic() > 0, isinstance(time.perf_counter_ns(), int), hasattr(time, "time_ns"))
