"""Python's builtins and containers over tensors: MicroPython gives CPython's answer, or raises."""

from __future__ import annotations

from support.micropython_compare import differences

SETUP = """
T = torch.tensor
a, b, c = T(1), T(5), T(3)
x, y = torch.arange(3.), torch.arange(3.)
n = T(float('nan'))

def changed(items, what):
    what(items)
    return items

class Box:
    def __init__(self, value):
        self.value = value
    def __lt__(self, other):
        return self.value < other.value
    def __gt__(self, other):
        return self.value > other.value
"""

# Each is evaluated by CPython with PyTorch and by MicroPython: the same value, or the same kind of exception.
EXPRESSIONS = [
    "max(a, b)", "max(b, a)", "min(a, b)", "min(b, a)", "max([a, b, c])", "min((c, a, b))", "max(a, 3)", "max(3, a)",
    "max(T([2, 7, 4]))", "min(T([2, 7, 4]))", "max(T(2.5), 2, T(3))", "min(T(2.5), 2, T(3))", "max(x, y)", "max(x)",
    "max([x])", "min(x, x)", "max(a, a) is a", "max([])", "max([], default=a)", "max([a, b], key=lambda t: -t)",
    "min(['p', 'qqq', 'rr'], key=lambda s: T(-len(s)))", "max(range(5), key=lambda k: (T(k) - 2) ** 2 * (5 - k))",
    "max(T([1.]), T([[2.]]))", "max(torch.ones(0), a)", "max(T(True), T(False))", "max(a, 'p')",
    "max(enumerate([a, b, c]), key=lambda p: p[1])[0]", "max(b, c, a, T(9), T(-1))", "min(b, c, a, T(9), T(-1))",
    "sorted([b, a, c])", "sorted([b, a, c], reverse=True)", "sorted((b, a, c))", "sorted(T([3, 1, 2]))",
    "sorted([3, a, T(2.5)])", "sorted([T(2), 1, T(3), 0], reverse=True)", "sorted([x, y])", "sorted([x])",
    "sorted(['ppp', 'q', 'rr'], key=lambda s: T(len(s)))", "sorted(range(6), key=lambda k: T((k * 5) % 7))",
    "changed([b, a, c], lambda q: q.sort())", "changed([b, a, c], lambda q: q.sort(reverse=True))",
    "changed([3, 1, 2], lambda q: q.sort(key=lambda k: T(-k)))", "changed([x, y], lambda q: q.sort())",
    "sorted([(b, 1), (a, 2), (c, 3)])", "sorted([[b, 1], [a, 2], [c, 3]])", "sorted([(a, 2), (T(1), 1)])",
    "sorted(T([[3, 1], [2, 5]]))", "[q.value for q in sorted([Box(b), Box(a), Box(c)])]", "max(Box(a), Box(b)).value",
    "any([a, b])", "any([T(0), T(False)])", "all([a, b])", "all([a, T(0)])", "any(x)", "all(x)", "any([x])", "all([])",
    "any(T([[1, 2]]))", "any([T([0.])])", "sum([a, b, c])", "sum([x, y])", "sum(x)", "sum([], a)", "sum([a], 2.5)",
    "sum([x, torch.ones(2)])", "sum(T([[1, 2], [3, 4]]))", "sum(t for t in (a, b))", "a in [a]", "T(1) in [a, b]",
    "T(2) in [a, b]", "1 in [a, b]", "x in [x]", "x in [y, x]", "y in [x]", "x in [a]", "x in (1, x)", "a in (b, a)",
    "'p' in [a]", "a in ['p', None]", "None in [a]", "a not in [b]", "n in [n]", "T(float('nan')) in [n]", "a in {a}",
    "T(1) in {a}", "1 in {a}", "a in {1: 2}", "1.0 in x", "4 in x", "b in T([5, 6])", "[a, b].index(b)",
    "[a, b].index(T(5))", "[a, b].index(5)", "[a, b].index(c)", "[x, y].index(x)", "[x, y].index(y)", "(a, b).index(b)",
    "(x, a).index(x)", "[a, b, a, T(1)].count(a)", "[x, x].count(x)", "[x, y].count(x)", "(a, b, 1).count(1)",
    "changed([b, a, c], lambda q: q.remove(a))", "changed([b, a, c], lambda q: q.remove(T(3)))",
    "changed([b, a], lambda q: q.remove(c))", "changed([x, a], lambda q: q.remove(x))",
    "changed([x, y], lambda q: q.remove(y))", "changed([1, a, b], lambda q: q.remove(T(5)))", "[a, b] == [T(1), T(5)]",
    "[a, b] == [a, c]", "[a] == [a, b]", "[a] != [T(1)]", "[x] == [x]", "[x] == [y]", "[x] != [x]", "[a] == (a,)",
    "(a, b) == (1, 5)", "(1, 5) == (a, b)", "(x, 1) == (x, 1)", "(x, 1) == (x, 2)", "(1, x) == (2, y)", "(x,) == (y,)",
    "[[a], [b]] == [[T(1)], [T(5)]]", "[a] == [None]", "['p'] == [a]", "[n] == [n]", "{1: a} == {1: T(1)}",
    "{1: a} == {1: b}", "{1: x} == {1: x}", "{1: x} == {1: y}", "{1: x} != {1: x}", "{'p': [a]} == {'p': [T(1)]}",
    "{a: 1} == {T(1): 1}", "{a: 1} == {a: 1}", "{x: 1} == {x: 1}", "bool((a,) < (b,))", "bool((b,) < (a,))",
    "bool((a, 2) < (T(1), 3))", "bool([a] >= [b])", "bool([b] >= [a])", "bool((a,) <= (T(1),))", "bool((a,) > (T(1),))",
    "(a, 1) < (a,)", "(x, 1) < (x, 2)", "bool((x,) < (y,))", "bool((1, a) < (1, 2))", "bool((1, 2) < (1, b))",
    "bool((2,) > (a,))", "len({a: 1, T(1): 2})", "len({T(k % 3): k for k in range(60)})",
    "len({torch.ones(2) for k in range(60)})", "{T(k): k for k in range(60)}.get(T(3))",
    "{T(k): k for k in range(60)}.get(3)", "{x: 1, y: 2}[y]", "{x: 1}.get(y)", "{a: 1}.pop(T(1), 7)",
    "changed({x, y}, lambda q: q.discard(x)) == {y}", "{x} == {x}", "{x} == {y}", "hash(x) == hash(x)",
    "len(set([a, a, b]))", "{1: 'p', a: 'q'}[1]", "bool(a), bool(T([0.])), bool(n)", "bool(x)", "bool(torch.ones(0))",
    "not a", "not x", "a and b", "T(0) or b", "x and 1", "1 if T([[2]]) else 0", "a if a < b else b", "a < b < T(9)",
    "a < b < T(2)", "x < y < x", "a == b", "a != b", "x == y", "a == 'p'", "a != 'p'", "a == None", "None == a",
    "a is None", "x == None", "x == [0., 1., 2.]", "len(x), len([x])", "list(reversed([a, b]))",
    "list(map(lambda t: t + 1, [a, b]))", "list(filter(lambda t: t > 1, [a, b, c]))", "list(filter(None, [T(0), a]))",
    "list(zip(x, [a, b, c]))", "abs(T(-2.5)), abs(T([-1, 2]))", "pow(T(2), 3), pow(2, T(3))", "divmod(7, 2)",
    "dict(enumerate(x))[1]", "(lambda *p: p)(*T([1, 2]))", "isinstance(a, torch.Tensor)", "callable(a)",
    "id(a) == id(a)", "int(b), float(T(2.5))", "[10, 20][T(1)]", "'pq'[T(1)]", "[5] * T(2)", "range(T(3))[1]", "x[a]",
]


def test_builtins_and_containers_give_the_answer_of_cpython() -> None:
    assert differences(SETUP, EXPRESSIONS) == []


def test_a_heap_of_tensors() -> None:
    assert differences("import heapq\nT = torch.tensor\n\ndef drained(items):\n    heap = []\n    for item in items:\n"
                       "        heapq.heappush(heap, item)\n    return [heapq.heappop(heap) for _ in items]\n",
                       ["drained([T(3), T(1), T(2), T(0)])", "drained([(T(3), 'p'), (T(1), 'q')])",
                        "drained([torch.ones(2), torch.zeros(2)])"]) == []
