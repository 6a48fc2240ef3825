"""Control flow and variables."""

from __future__ import annotations

import numpy as np

from pilotlight.capture.tflite.model import FileTensor
from pilotlight.capture.tflite.registry import operator
from pilotlight.capture.tflite.site import DTYPES, Site
from pilotlight.graph import BOOL, State, Value


def _resource(site: Site) -> str:
    """The name of the variable that the first input stands for."""
    tensor = site.tensor(0)
    name = site.resources.get(tensor.index)
    if name is None:
        raise site.refuse(f"{tensor} is no variable of this subgraph")
    return name


def _variable(site: Site, name: str, tensor: FileTensor) -> Value:
    """Its value at this point of the run; it begins as its zero point, or as CALL_ONCE says."""
    variables = site.variables
    if name not in variables.now:
        if site.inside:
            raise site.refuse(f"the variable {name} inside IF or WHILE")
        dtype = DTYPES[tensor.type]
        zero = int(tensor.affine.zero_points[0]) if tensor.affine is not None else 0
        raw = np.full(int(np.prod(tensor.shape, dtype=np.int64)) * dtype.size, zero & 255, np.uint8)
        initial = variables.initial.get(name, raw.view(dtype.numpy).reshape(tensor.shape))
        value = site.b.graph.fresh(name or "variable", dtype, tensor.shape)
        variables.states[name] = State(value.name, value, value, np.ascontiguousarray(initial))
        variables.now[name] = value
    return variables.now[name]


@operator("VAR_HANDLE", options="VarHandleOptions")
def var_handle(site: Site) -> Value:
    name = (site.options.SharedName or b"").decode("utf-8", "replace")
    site.resources[site.result.index] = name or f"variable_{site.result.index}"
    return site.b.constant(np.zeros(site.result.shape, np.int32), hint="handle")


@operator("READ_VARIABLE")
def read_variable(site: Site) -> Value:
    name = _resource(site)
    return _variable(site, name, site.result)


@operator("ASSIGN_VARIABLE")
def assign_variable(site: Site) -> None:
    name, value = _resource(site), site.x(1)
    if site.once:
        site.variables.now[name] = value
        return
    before = _variable(site, name, site.tensor(1))
    if (before.shape, before.dtype) != (value.shape, value.dtype):
        raise site.refuse(f"{name} is {before.dtype}{list(before.shape)}, not {site.tensor(1)}")
    if site.inside:
        raise site.refuse(f"the variable {name} inside IF or WHILE")
    site.variables.now[name] = value


@operator("CALL_ONCE", options="CallOnceOptions")
def call_once(site: Site) -> None:
    site.run_once(site.options.InitSubgraphIndex)


@operator("IF", options="IfOptions")
def if_(site: Site) -> list[Value]:
    chosen, operands = site.x(0), [site.x(k) for k in range(1, len(site.given))]
    if chosen.dtype != BOOL or chosen.elements != 1:
        raise site.refuse(f"{site.tensor(0)}; expected one bool")
    moving = [v for v in operands if not v.is_constant]
    then, otherwise = (
        site.subgraph(number, operands, name)
        for number, name in ((site.options.ThenSubgraphIndex, "then"), (site.options.ElseSubgraphIndex, "otherwise"))
    )
    return site.b.nodes("cond", [chosen, *moving], then=then, otherwise=otherwise)


@operator("WHILE", options="WhileOptions")
def while_(site: Site) -> list[Value]:
    """Every operand is carried; constants too."""
    operands = [site.x(k) for k in range(len(site.given))]
    carried = [site.b.node("copy", [v]) if v.is_constant else v for v in operands]
    test = site.subgraph(site.options.CondSubgraphIndex, carried, "test")
    body = site.subgraph(site.options.BodySubgraphIndex, carried, "body")
    if [(p.value.dtype, p.value.shape) for p in body.outputs] != [(v.dtype, v.shape) for v in carried]:
        raise site.refuse("its body gives other types than it takes")
    return site.b.nodes("while", carried, test=test, body=body, carried=len(carried))
