"""Control flow: nodes that own subgraphs and run them as the data says.

A subgraph is planned by itself. Its inputs stay in the memory of the graph around it, what it computes on the way
lives in the scratch memory of the control node, and its results are copied out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from pilotlight.codegen.step import Step
from pilotlight.codegen.subplan import Subgraph
from pilotlight.graph import Graph, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.graph.evaluate import evaluate
from pilotlight.ops.base import Op, Result, get, lowers, register, scratch_inside
from pilotlight.ops.inner import Inner


class Control(Op):
    """What all control nodes share: subgraphs that are prepared and planned like a model of their own."""

    def inside(self, node: Node) -> dict[str, Subgraph]:
        return {name: Subgraph(graph) for name, graph in node.subgraphs.items()}

    def macs(self, node: Node) -> int:
        return _macs(self.work(node))

    def scratch(self, node: Node) -> int:
        return scratch_inside(node)


def _work(graph: Graph, times: int = 1) -> list[tuple[Node, int]]:
    return [(inner, times * macs) for node in graph.nodes for inner, macs in get(node.op).work(node)]


def _macs(work: Iterable[tuple[Node, int]]) -> int:
    return sum(macs for _, macs in work)


def _result(graph: Graph) -> Result:
    return [(port.value.dtype, port.value.shape) for port in graph.outputs]


def _bytes(c: Step, value: Value) -> str:
    return c.write(value, "uint8_t")


def _places(c: Step, graph: Graph, values: list[Value]) -> dict[Value, tuple[str, int]]:
    """Where the inputs of a subgraph are, given the values that are passed to them."""
    return {port.value: c.locate(value) for port, value in zip(graph.inputs, values, strict=True)}


@register
class Cond(Control):
    """`then(inputs[1:])` if `inputs[0]`, else `otherwise(inputs[1:])`."""

    name = "cond"

    def infer(self, node: Node) -> Result:
        return _result(node.attrs["then"])

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return tuple(evaluate(node.attrs["then" if args[0] else "otherwise"], args[1:]))

    def work(self, node: Node) -> Iterator[tuple[Node, int]]:
        """That of the larger branch."""
        yield from max((_work(inner) for inner in node.subgraphs.values()), key=_macs)

    def emit(self, node: Node, c: Step) -> None:
        pred, *operands = node.inputs
        for head, name, tag in ((f"if (*{c.read(pred)} != 0u)", "then", "t"), ("else", "otherwise", "e")):
            with c.block(head):
                inner = Inner(c, tag, node.attrs["plans"][name], _places(c, node.attrs[name], operands))
                inner.write_steps()
                inner.copy_out(lambda k: _bytes(c, node.outputs[k]))


@register
class While(Control):
    """The first `carried` inputs go through `body` as long as `test` of all inputs gives true."""

    name = "while"

    def infer(self, node: Node) -> Result:
        return _result(node.attrs["body"])

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        count = node.attrs["carried"]
        carried, rest = args[:count], args[count:]
        while evaluate(node.attrs["test"], [*carried, *rest])[0]:
            carried = evaluate(node.attrs["body"], [*carried, *rest])
        return tuple(carried)

    def work(self, node: Node) -> Iterator[tuple[Node, int]]:
        """That of one turn: how many there will be is not known."""
        for inner in node.subgraphs.values():
            yield from _work(inner)

    def emit(self, node: Node, c: Step) -> None:
        count = node.attrs["carried"]
        _begin(c, node, count)
        values = [*node.outputs, *node.inputs[count:]]
        with c.block("for (;;)"):
            test = Inner(c, "t", node.attrs["plans"]["test"], _places(c, node.attrs["test"], values))
            test.write_steps()
            with c.block(f"if (*{test.read(test.plan.graph.outputs[0].value, 'uint8_t')} == 0u)"):
                c.line("break;")
            body = Inner(c, "b", node.attrs["plans"]["body"], _places(c, node.attrs["body"], values))
            body.write_steps()
            body.copy_out(lambda k: _bytes(c, node.outputs[k]))


@register
class ScanLoop(Control):
    """`body` once for each slice of the `sliced` inputs that follow the first `carried`; its results after the carried
    ones are stacked."""

    name = "scan"

    def infer(self, node: Node) -> Result:
        carried, length = node.attrs["carried"], node.attrs["length"]
        result = _result(node.attrs["body"])
        return result[:carried] + [(dtype, (length, *shape)) for dtype, shape in result[carried:]]

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        count, sliced = node.attrs["carried"], node.attrs["sliced"]
        carried, slices, rest = args[:count], args[count : count + sliced], args[count + sliced :]
        stacked: list[list[torch.Tensor]] = [[] for _ in node.outputs[count:]]
        for turn in range(node.attrs["length"]):
            results = evaluate(node.attrs["body"], [*carried, *(x[turn].contiguous() for x in slices), *rest])
            carried = results[:count]
            for row, result in zip(stacked, results[count:], strict=True):
                row.append(result)
        pairs = zip(stacked, node.outputs[count:], strict=True)
        return (*carried, *(torch.stack(r) if r else torch.zeros(v.shape, dtype=v.dtype.torch) for r, v in pairs))

    def work(self, node: Node) -> Iterator[tuple[Node, int]]:
        yield from _work(node.attrs["body"], int(node.attrs["length"]))

    def emit(self, node: Node, c: Step) -> None:
        count, sliced, length = (node.attrs[k] for k in ("carried", "sliced", "length"))
        _begin(c, node, count)
        turn = f"turn_{c.index}"
        with c.block(f"for (int32_t {turn} = 0; {turn} < {length}; {turn}++)"):
            inner = node.attrs["body"]
            places = _places(c, inner, [*node.outputs[:count], *node.inputs[count:]])
            read = node.attrs["plans"]["body"].read()
            for k, port in enumerate(inner.inputs[count : count + sliced]):
                if port.value not in read:
                    continue
                base, offset = places[port.value]
                name = f"x{c.index}_{k}"
                c.line(f"const uint8_t *const {name} = &{base}[{offset} + ({turn} * {port.value.bytes})];")
                places[port.value] = (name, 0)
            body = Inner(c, "b", node.attrs["plans"]["body"], places)
            body.write_steps()

            def target(k: int) -> str:
                start = _bytes(c, node.outputs[k])
                return start if k < count else f"{start} + ({turn} * {inner.outputs[k].value.bytes})"

            body.copy_out(target)


def _begin(c: Step, node: Node, count: int) -> None:
    """What a loop carries starts as the first inputs, in the memory of the results."""
    c.use("mem")
    for value, result in zip(node.inputs[:count], node.outputs[:count], strict=True):
        if value.bytes:
            c.call("pl_copy", _bytes(c, result), c.read(value, "uint8_t"), value.bytes)


@lowers("cond")
def cond(b: Builder, pred: Value, true_fn: Any, false_fn: Any, operands: list[Value]) -> list[Value]:
    kept = [v for v in operands if isinstance(v, Value) and not v.is_constant]
    then = b.subgraph(true_fn, operands, "then")
    otherwise = b.subgraph(false_fn, operands, "otherwise")
    return b.nodes("cond", [pred, *kept], then=then, otherwise=otherwise)


@lowers("while_loop")
def while_loop(
    b: Builder, cond_fn: Any, body_fn: Any, carried_inputs: list[Value], additional_inputs: list[Value],
    mutated_arg_indices: str = "",
) -> list[Value]:
    if mutated_arg_indices:
        raise b.refuse("a while_loop that changes its inputs in place is not supported")
    carried = [v if isinstance(v, Value) else _number(b, v) for v in carried_inputs]
    operands = [*carried, *additional_inputs]
    kept = [v for v in additional_inputs if isinstance(v, Value) and not v.is_constant]
    test = b.subgraph(cond_fn, operands, "test", carried=len(carried))
    body = b.subgraph(body_fn, operands, "body", carried=len(carried))
    return b.nodes("while", [*carried, *kept], test=test, body=body, carried=len(carried))


@lowers("scan")
def scan(
    b: Builder, combine_fn: Any, init: list[Value], xs: list[Value], additional_inputs: list[Value]
) -> list[Value]:
    length = xs[0].shape[0]
    kept = [v for v in additional_inputs if isinstance(v, Value) and not v.is_constant]
    body = b.subgraph(combine_fn, [*init, *xs, *additional_inputs], "body", carried=len(init) + len(xs))
    return b.nodes(
        "scan", [*init, *xs, *kept], body=body, carried=len(init), sliced=len(xs), length=length,
    )


def _number(b: Builder, number: Any) -> Value:
    if not isinstance(number, bool | int | float):
        raise b.refuse(f"a loop that carries {number!r} is not supported", "carry tensors")
    return b.constant(torch.tensor(number), hint="carried")
