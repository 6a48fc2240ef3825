"""Operators that are written in Python: where they are found, what they take, and that each is loaded alone."""

from __future__ import annotations

import ast

import pytest
import torch
from torchgen.model import Argument

from pilotlight.micropython.build import build
from pilotlight.micropython.composed import operators, schemas, units
from pilotlight.micropython.pack import shares
from pilotlight.micropython.ports import unix
from pilotlight.micropython.select import select
from support.micropython_scripts import output, run_script

# PyTorch's binding reads "Mean" as no reduction; torch.nn.functional always says which it wants.
NAMED = {"Mean": 0, "None": None, "long": None, "True": True, "False": False}


def value(argument: Argument) -> object:
    """A default of a schema's."""
    assert argument.default is not None
    return NAMED[argument.default] if argument.default in NAMED else ast.literal_eval(argument.default)


def arguments(name: str) -> ast.arguments | None:
    """The parameters of an operator that are those of one schema."""
    body = ast.parse(units()[name].source).body
    if not body or not isinstance(body[0], ast.FunctionDef) or ":" not in units()[name].head or body[0].args.vararg:
        return None
    return body[0].args


@pytest.mark.parametrize("name", [name for name in operators() if schemas(name) and arguments(name)])
def test_defaults_are_those_of_a_schema(name: str) -> None:
    given = arguments(name)
    assert given is not None
    last = given.args[len(given.args) - len(given.defaults) :]
    defaults = {a.arg: d for a, d in zip(last, given.defaults, strict=True)}
    defaults |= {a.arg: d for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is not None}
    for parameter, default in defaults.items():
        known = [a for o in schemas(name) for a in o.schema.arguments.flat_non_out if a.name == parameter]
        values = [value(a) for a in known if a.default is not None]
        ours = ast.literal_eval(default)
        assert not values or (list(ours) if isinstance(ours, tuple) else ours) in values, f"{name}: {parameter}"


def test_all_are_found_where_pytorch_has_them() -> None:
    places = []
    for name in (name for name in operators() if name[0] != "_" and name not in ("complex64", "cfloat")):
        forms = units()[name].head.partition("=")[0].partition(":")[0]
        places += [f"torch.{name}"] if "f" in forms else [f"torch._torch._nn.{name}"] if "n" in forms else []
        places += [f"torch.ones(1).{name}"] if "m" in forms else []
        places += [f"torch.ones(1).{name}_"] if "i" in forms and hasattr(torch.Tensor, f"{name}_") else []
    assert len(places) > 300
    assert output(f"import torch\nfor place in {places!r}:\n    assert callable(eval(place)), place\n") == ""


def test_calls_are_checked_by_the_schema() -> None:
    said = output("""
import torch
a = torch.ones(2, 3)
for call in ("a.swapaxes('x', 1)", "torch.swapaxes(a)", "torch.swapaxes(a, 0, 1, 2)", "a.swapaxes(0, axis=1)",
             "torch.swapaxes([1], 0, 1)", "torch.multiply(a, 'x')", "a.einsum", "torch.no_such_name"):
    try:
        eval(call)
        print("taken")
    except Exception as error:
        print(type(error).__name__)
print(a.swapaxes(axis1=0, axis0=1).shape, torch.swapaxes(input=a, axis0=0, axis1=1).shape, a.multiply(2).sum())
print(a.swapaxes_(0, 1).shape, a.shape, a.negative_()[0, 0], torch.special.expit(torch.zeros(1)))
""")
    assert said.splitlines() == [*["TypeError"] * 6, *["AttributeError"] * 2,
                                 "torch.Size([3, 2]) torch.Size([3, 2]) tensor(12.)",
                                 "torch.Size([3, 2]) torch.Size([3, 2]) tensor(-1.) tensor([0.5000])"]


def test_one_is_compiled_without_the_others() -> None:
    said = output("""
import torch
from torch import _packed
torch.swapaxes(torch.ones(2, 3), 0, 1)
print(sorted(_packed._made), hasattr(torch, "arccos"), sorted(_packed._made))
""")
    assert said == "['swapaxes'] True ['acos', 'arccos', 'swapaxes']\n"


def test_a_selection_brings_what_the_operator_calls() -> None:
    chosen = select(["swapaxes", "tensor", "__repr__"], [], "here")
    assert {"transpose.int", "swapaxes"} <= set(chosen.operators or ()) and "torch._packed" in (chosen.python or ())
    assert [unit.name for unit in chosen.units() if unit.head] == ["swapaxes"]
    assert output("import torch\nprint(torch.tensor([[1, 2]]).swapaxes(0, 1))", binary=build(unix(), chosen)) == (
        f"{torch.tensor([[1, 2]]).swapaxes(0, 1)}\n")
    assert shares(chosen.units())["swapaxes"] > 0


def test_what_had_no_memory_is_there_when_there_is_some() -> None:
    done = run_script("""
import gc
import torch
x = torch.arange(4.0).reshape(2, 2)
failed = 0
for free in range(2000, 60000, 1500):
    room = bytearray(free)
    rest = []
    try:
        while True:
            rest.append(bytearray(500))
    except MemoryError:
        room = None
    try:
        torch.kron(x, x)
        torch.einsum("ij,jk->ik", x, x)
    except MemoryError:
        failed += 1
    rest = None
    gc.collect()
print(failed > 3, torch.kron(x, x).shape, torch.einsum("ij,jk->ik", x, x))
""", heap="300k")
    product = torch.arange(4.0).reshape(2, 2).matrix_power(2)
    assert done.stdout == f"True torch.Size([4, 4]) {product}\n", done.stderr
