"""TorchScript's values and operators under MicroPython: every expression and type gives what it gives in PyTorch."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from support.micropython_jit import agree, saved

HEAD = """
import math
from enum import Enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Point(NamedTuple):
    x: Tensor
    y: int
    z: float = 2.5


class Color(Enum):
    RED = 1
    GREEN = 2

"""
GIVEN = "x: Tensor, a: Any, u: Union[int, str], n: int, f: float, s: str, l: List[int], d: Dict[str, int], p: Point"
ARGUMENTS = (
    "torch.tensor([[1.0, -2.0, 3.5], [0.25, 5.0, -0.5]]), 7, 'u', 3, 2.5, 'ab,ba', [3, 1, 2], "
    "OrderedDict([('b', 1), ('a', 2)]), (torch.ones(2), 4, 1.5)"
)
NUMBERS = """
math.floor(f); math.ceil(f); math.floor(-f); math.ceil(-f); math.sqrt(f); math.exp(f); math.log(f); math.log(f, 2.0)
math.log(0.0 * f); math.sqrt(-f); math.log10(f); math.sin(f); math.atan2(f, 2.0); math.tanh(f); math.isnan(f)
math.isinf(f); math.gcd(n, 6); math.copysign(f, -1.0); math.degrees(f); round(f); round(-f); abs(f); abs(-n)
math.fabs(f); math.pow(f, 2.0); f % 2.0; -f % 2.0; math.fmod(-f, 2.0); f // 2.0; -f // 2.0; -7 // n; -7 % n; 7 % -n
-7 // -n; min(n, 3); max(l); min(l); max(f, n); min(1, 2, n); sum(l); n ** 2; 2 ** f; n >> 1; n << 33; n & 6; n | 8
n ^ 1; divmod(n, 2); divmod(-7, n); n / 2; n / 0.0; -f / 0.0; n * f; n == 3; f < n; 3 != f; not n; bool(n); bool(f)
float(n); int(f); int(-f); int(str(n)); float(str(n)); n * 4611686018427387904; n * 1000000007 * 998244353
(n << 62) + (n << 61); -n - 9223372036854775807; n + 2147483647; n * 2147483648 // -7; (n > 2) & (f > 9.0)
(n > 2) | (f > 9.0); (n > 2) ^ (f > 1.0); n if n > 2 else 0; f > 1 and n > 1 or False
""".replace("\n", ";").split(";")
TEXTS = """
str(f)~str(n)~str(n > 2)~str(l)~str(d)~str(f * 4)~str(f / 3)~str(f * 1e20)~str(f * 4e9)~str(f * 1e-9)~str(-f)
str((n, s))
str([s, s])~str(f / 0.0)~s.upper()~s.lower()~s.strip()~s.strip('a')~s.lstrip('a')~s.rstrip('a')~s[1:]~s[0]~s[-1]~s[::2]
s[::-1]~s[1:4]~','.join([s, s])~s.replace('a', 'xy')~s + 'q'~s == 'q'~s < 'z'~'a' in s~'zz' in s~s in ['a']
s.startswith('a')~s.endswith('b')~s.split(',')~s.split()~s.split('b', 1)~s.rsplit(',', 1)~s.splitlines()~s.find('b')
s.find('b', 2)~s.find('a', 1, 4)~s.rfind('a')~s.count('a')~s.index('b')~s.isdigit()~s.isalpha()~s.isupper()~s.ljust(9)
s.rjust(9)~s.capitalize()~ord(s[0])~chr(n + 65)~hex(n)~oct(n)~bin(n)~'%s|%d|%f|%%' % (s, n, f)~'{}-{}'.format(s, f)
f'{f} {n} {s} {l} {True} {None} {(1, 2.5)} {d} {x.size()} {x.device}'~'%e' % f~'%d' % f~'{}{}'.format(s)~'%d %d' % (n,)
'größe ≤ 3 µs'~'\\n\\t \\'q\\' "z"'~'%s' % [s]
""".replace("\n", "~").split("~")
CONTAINERS = """
l[1:]; l[::2]; l[::-1]; l[-1]; l[:-1]; l[5:1:-2]; l * 2; l + [1]; l == [1]; l != l; [0] * n; sorted(l)
sorted(['b', 'a']); list(range(n)); list(range(5, 0, -2)); list(range(-n, n, 2)); len(l); len(s); len(d); len(x)
list(d.keys()); list(d.values()); list(d.items()); d.get('a', 3); d.get('zz'); d.get('zz', 9); 'a' in d; d['a']
dict(b=1, a=2); {k: 2 for k in d.keys()}; {i: str(i) for i in l}; [i * 2 for i in l]; 3 in l; l.count(1)
l.index(2); l.copy(); d.copy(); all([n > 1, False]); any([n > 9, True]); (n, (f, s)); [(n, s)]; {'a': l}
[x, x]; {'a': (x, n)}; None if n > 100 else n; None if n > 1 else n; p.x; p; p[1]; Point(x, n); Color.RED.value
Color.GREEN.name; Color.RED == Color.GREEN; isinstance(a, int); isinstance(a, float); isinstance(a, Tensor)
isinstance(u, str); isinstance(u, int); torch.jit.isinstance(a, Dict[str, int]); torch.float16; x.dtype
x.dtype == torch.float32; x.device; x.is_cuda; x.layout == torch.strided; str(x.dtype); str(x.device); x.device.type
""".replace("\n", ";").split(";")
TENSORS = """
x.shape; x.size(0); x.shape[-1]; x.dim(); x.numel(); x.stride(); x.is_floating_point(); x[0]; x[0, 1:, None]; x[..., -1]
x[x > 0]; x[torch.tensor([1, 0])]; x[torch.tensor([0]), 1]; x[:, 0:2]; x[:, ::2]; x[-1:]; x[0, 0].item(); int(x.sum())
float(x[0, 0]); bool(x.sum() > 0); x.to(torch.float16); x.to(torch.int64); x.long(); x.type_as(x.int()); x.to(x.int())
x.to('cpu'); x.to(x.device, torch.int32); x.to(torch.int32, copy=True); x.new_zeros(2); x.new_full((2,), 3)
torch.zeros(2, n); torch.zeros(2, dtype=torch.int64); torch.zeros_like(x, dtype=torch.int64); torch.full([2], n)
torch.ones(2, dtype=torch.bool, device=x.device); torch.arange(0, 5, 2); torch.arange(n, dtype=torch.float32)
torch.tensor([[1, 2], [3, n]]); torch.tensor(f); torch.tensor([f, f], dtype=torch.float16); torch.as_tensor(n)
x.sum(dim=1, keepdim=True); x.sum(dtype=torch.int64); x.mean((0, 1)); x.max(dim=1); torch.max(x, x * 2); x.std()
x.var(1, unbiased=False); x.norm(); torch.norm(x, dim=1); x.sort(1, descending=True); x.topk(1); x.T; x.permute(1, 0)
x.view(-1); x.reshape(3, 2); x.expand(2, 2, 3); x.chunk(3, 1); x.split(1, 1); x.split([1, 2], 1); x.unbind(0)
torch.cat((x, x)); torch.stack([x, x]); torch.where(x > 0, x, 0.0); x.masked_fill(x > 0, float('-inf')); x.clamp(min=0)
2 - x; 1 / x; x ** 2; 2 ** x; x // 2; x % 2; ~(x > 0); (x > 0) & (x < 1); x @ x.t(); torch.einsum('ij,kj->ik', x, x)
torch.equal(x, x); F.one_hot(torch.tensor([1, 2])); F.pad(x, (1, 1)); F.softmax(x, dim=-1, dtype=torch.float32)
F.gelu(x, approximate='tanh'); F.mse_loss(x, x * 2); F.cross_entropy(x, torch.tensor([0, 1])); F.normalize(x)
F.layer_norm(x, [3]); F.interpolate(x[None, None], scale_factor=2.0); F.max_pool1d(x[None], 2)
F.interpolate(x[None, None], size=[4, 6], mode='bilinear', align_corners=False); F.conv1d(x[None], torch.ones(1, 2, 2))
F.conv1d(x[None], torch.ones(1, 2, 2), padding='same'); F.scaled_dot_product_attention(x[None], x[None], x[None])
torch.meshgrid(x[0], x[0]); torch.cartesian_prod(x[0], x[0]); torch.tensordot(x, x, dims=([1], [1])); torch.unique(x)
torch.var_mean(x, 1); x.mul(2).add_(1); torch.add(x, x, alpha=2); torch._shape_as_tensor(x); x.view(7)
torch.index_select(x, 0, torch.tensor([1])); x.gather(1, torch.zeros(2, 1, dtype=torch.int64)); x.nonzero(); x.any()
""".replace("\n", ";").split(";")
FAILING = ["l[9]", "d['none']", "l.index(99)", "x[5]", "int(s)"]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[object]:
    """A file of Python, which torch.jit.script wants to read, as a module."""

    def make(text: str) -> ModuleType:
        path = tmp_path / "generated_cases.py"
        path.write_text(HEAD + text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module

    yield make
    sys.modules.pop("generated_cases", None)


@pytest.mark.parametrize("expressions", [NUMBERS, TEXTS, CONTAINERS, TENSORS], ids=["numbers", "text", "containers",
                                                                                    "tensors"])
def test_expressions(made: object, tmp_path: Path, expressions: Sequence[str]) -> None:
    cases = [case.strip() for case in expressions if case.strip()]
    methods = "".join(f"\n    @torch.jit.export\n    def c{k}(self, {GIVEN}):\n        return {case}\n"
                      for k, case in enumerate(cases))
    assert callable(made)
    module = made(f"class Cases(nn.Module):{methods}\n    def forward(self, x: Tensor):\n        return x\n")
    agree(saved(module.Cases(), tmp_path / "m.pt"), [f"m.c{k}({ARGUMENTS})" for k in range(len(cases))])


def test_expressions_that_raise(made: object, tmp_path: Path) -> None:
    """In words of Python's own, which are not PyTorch's."""
    assert callable(made)
    methods = "".join(f"\n    @torch.jit.export\n    def c{k}(self, {GIVEN}):\n        return {case}\n"
                      for k, case in enumerate(FAILING))
    module = made(f"class Cases(nn.Module):{methods}\n    def forward(self, x: Tensor):\n        return x\n")
    agree(saved(module.Cases(), tmp_path / "m.pt"), [
        f"tried(lambda: m.c{k}({ARGUMENTS})).startswith('(\\'raises\\'')" for k in range(len(FAILING))
    ])


LEAVES = {
    "int": "2**40", "float": "0.1", "bool": "True", "str": "'größe'", "Tensor": "torch.arange(3)",
    "torch.dtype": "torch.int16", "torch.device": "torch.device('cpu')",
}


def wrapped(container: str, kind: str, value: str, number: int) -> tuple[str, str, str]:
    """A container of a type: its own type, a value, and the text of a class that it needs."""
    if container == "list":
        return f"List[{kind}]", f"[{value}, {value}]", ""
    if container == "tuple":
        return f"Tuple[{kind}, int, {kind}]", f"({value}, {number}, {value})", ""
    if container == "dict":
        return f"Dict[str, {kind}]", f"OrderedDict([('z', {value}), ('a', {value}), ('m', {value})])", ""
    if container == "optional":
        return f"Optional[{kind}]", value if number % 3 else "None", ""
    named = f"class N{number}(NamedTuple):\n    first: {kind}\n    second: str\n\n\n"
    return f"N{number}", f"({value}, 'second')", named


def test_values_nested_three_deep_both_ways(made: object, tmp_path: Path) -> None:
    """Every type in every container in every container in every container, as an argument, a result and a state."""
    kinds = ("list", "tuple", "dict", "optional", "named")
    leaves = itertools.cycle(LEAVES.items())
    classes, methods, calls, states = [], [], [], []
    for number, nest in enumerate(itertools.product(kinds, repeat=3)):
        if any(a == b == "optional" for a, b in itertools.pairwise(nest)):
            continue  # an Optional of an Optional is an Optional
        kind, value = next(leaves)
        if kind == "torch.dtype" and nest[-1] == "list":  # PyTorch takes no list of them
            kind, value = "int", "-3"
        for level, container in enumerate(reversed(nest)):
            kind, value, text = wrapped(container, kind, value, 10 * number + level)
            classes.append(text)
        head = f"    @torch.jit.export\n    def c{number}(self, x: {kind}) -> Tuple[{kind}, Dict[int, {kind}]]:\n"
        if "torch.int16" in value:  # which cannot be an attribute
            methods.append(f"{head}        return x, {{7: x, 2: x}}\n")
            calls.append(f"m.c{number}({value})")
            continue
        methods.append(
            f"{head}        old = self.s{number}\n        self.s{number} = x\n        return x, {{7: old, 2: x}}\n"
        )
        states.append((number, kind, value))
        calls += [f"m.c{number}({value})", f"m.c{number}({value})", f"m.s{number}"]
    assert callable(made)
    annotations = "".join(f"    s{number}: {kind}\n" for number, kind, _ in states)
    values = "".join(f"        self.s{number} = {value}\n" for number, _, value in states)
    for number, kind, _ in states:  # a state that is a named tuple must be one from the start
        if kind.startswith("N"):
            values = values.replace(f"self.s{number} = (", f"self.s{number} = {kind}(", 1)
    module = made(f"from collections import OrderedDict\n\n{''.join(classes)}class Values(nn.Module):\n{annotations}\n"
                  f"    def __init__(self):\n        super().__init__()\n{values}\n{''.join(methods)}\n"
                  "    def forward(self, x: Tensor):\n        return x\n")
    agree(saved(module.Values(), tmp_path / "m.pt"), calls)


def test_arguments_of_other_types_are_converted_or_refused(made: object, tmp_path: Path) -> None:
    assert callable(made)
    module = made("""
class Typed(nn.Module):
    def forward(self, x: Tensor, n: int = 2, l: Optional[List[float]] = None, flag: bool = False,
                text: str = 'a, b: ["c') -> Tuple[Tensor, int, Optional[List[float]], bool, str]:
        return x, n, l, flag, text
""").Typed
    t = "torch.ones(2)"
    agree(saved(module(), tmp_path / "m.pt"), [f"m({given})" for given in (
        t, f"{t}, 5", f"{t}, n=5", f"x={t}", f"{t}, l=[1, 2]", f"{t}, 1, (1.5, 2)", f"{t}, True",
        f"{t}, torch.tensor(3)", f"{t}, 1, None, True, 'q'", f"{t}, torch.int64", "", "1",
        f"{t}, 'x'", f"{t}, 2.5", f"{t}, l=['a']",
        f"{t}, l=3", f"{t}, flag=1", f"{t}, text=3", f"{t}, None", f"{t}, 1, None, True, 'q', 6", f"{t}, wrong=1",
    )])


TRAPS = '''
class Node(nn.Module):
    def __init__(self, depth: int):
        super().__init__()
        self.weight = nn.Parameter(torch.full((2,), float(depth)))

    def forward(self, x: Tensor, times: int) -> Tensor:
        for _ in range(times):
            x = x * self.weight
        return x


@torch.jit.script
class Stack:
    def __init__(self, first: int):
        self.items = [first]

    def push(self, item: int) -> int:
        self.items.append(item)
        return len(self.items)

    def __len__(self) -> int:
        return len(self.items)


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, x: Tensor, times: int) -> Tensor:
        pass


class Traps(nn.Module):
    layer: Layer
    log: List[str]

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Node(1), Node(2), Node(3)])
        self.table = nn.ModuleDict({"z": Node(2), "a": Node(3)})
        self.layer = self.layers[1]
        self.tied = self.layers[2].weight
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("seen", torch.zeros(3), persistent=False)
        self.log = []
        self.plain = torch.ones(2)
        self.view = self.plain[1:]

    def forward(self, x: Tensor, n: int) -> Dict[str, Tensor]:
        self.count += 1
        self.seen[int(self.count) % 3] = x.sum()
        out: Dict[str, Tensor] = {}
        for k, layer in enumerate(self.layers):
            out["layer " + str(k)] = layer(x, n)
        for name, layer in self.table.items():
            out[name] = layer(x, 1)
        if n < 0:
            return {"early": x}
        out["through"] = self.layer.forward(x, 2)
        del out["layer 1"]
        y = x.clone()
        part = y[1:]
        part *= 10
        out["written"] = y
        return out

    @torch.jit.export
    def notes(self, text: str) -> List[str]:
        self.log.append(text)
        while len(self.log) > 2:
            self.log.pop(0)
        return self.log

    @torch.jit.export
    def stack(self, n: int) -> Tuple[int, int, List[int]]:
        s = Stack(n)
        for k in range(n, 0, -2):
            if k == 3:
                continue
            if k < 2:
                break
            s.push(k * k)
        return s.push(-1), len(s), s.items

    @torch.jit.export
    def fail(self, n: int) -> int:
        assert n != 1, f"n is {n}"
        if n == 2:
            raise ValueError("n may not be " + str(n))
        return [0][n]

    @torch.jit.export
    def changed(self, l: List[int], d: Dict[str, List[int]]) -> Tuple[List[int], Dict[str, List[int]]]:
        l.append(1)
        d["new"] = l
        l[0] = 9
        return l, d
'''


def test_state_views_objects_and_errors(made: object, tmp_path: Path) -> None:
    assert callable(made)
    path = saved(made(TRAPS).Traps(), tmp_path / "m.pt")
    x = "torch.tensor([1.0, 2.0])"
    agree(path, [
        f"m({x}, 2)", f"m({x} * 3, 0)", f"m({x}, n=-1)", "m.count", "m.seen", "[len(m.notes(c)) for c in 'abc']",
        "m.log", "m.notes('last')", "m.stack(6)", "m.stack(0)", "m.fail(0)", "m.fail(1)", "m.fail(2)", "m.fail(3)",
        "list(m.state_dict())", "len(list(m.parameters()))", "[n for n, _ in m.named_parameters()]",
        "[n for n, _ in m.named_buffers()]", "m.tied.data_ptr() == getattr(m.layers, '2').weight.data_ptr()",
        "m.layer is m.layers", "m.plain.data_ptr() + 4 == m.view.data_ptr()",
        "(lambda l, d: (m.changed(l, d), l, d))([5], OrderedDict([('k', [1])]))",
        "[setattr(m, 'plain', torch.zeros(2)), m.plain]", "getattr(m.layers, '0')(torch.ones(2), 3)",
        "[p.zero_() is None for p in m.parameters()]", f"m({x}, 1)",
    ])
