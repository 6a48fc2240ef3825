"""The C of a subgraph inside the step of the node that owns it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pilotlight.codegen.step import Step, pointer
from pilotlight.codegen.subplan import Subplan
from pilotlight.graph import Value
from pilotlight.graph.names import in_comment
from pilotlight.ops.base import get
from pilotlight.ops.describe import describe_node

Place = tuple[str, int]  # the name of a base pointer, and bytes from there


class Inner:
    """A planned subgraph that lives in the scratch memory of its node.

    `inputs` says where the subgraph's inputs are: in the memory of the graph around it; nothing is copied in.
    """

    def __init__(self, c: Step, tag: str, plan: Subplan, inputs: Mapping[Value, Place]):
        self.c, self.tag, self.plan, self.inputs = c, tag, plan, inputs

    def locate(self, value: Value) -> Place:
        if value.is_constant:
            return self.c.locate(value)
        root, within = self.plan.roots[value]
        if root in self.inputs:
            base, offset = self.inputs[root]
            return base, offset + within
        return "a", self.c.scratch_offset + self.plan.offsets[root] + within

    def read(self, value: Value, ctype: str) -> str:
        base, offset = self.locate(value)
        return pointer(f"const {ctype}", base, offset)

    def write_steps(self) -> None:
        """Every step of the subgraph, one after another."""
        for index, (node, scratch, reverse) in enumerate(self.plan.steps):
            step = Step(
                f"{self.c.index}{self.tag}{index}", self.locate,
                None if scratch is None else self.c.scratch_offset + scratch, reverse,
            )
            get(node.op).emit(node, step)
            self.c.take(step)
            self.c.line(f"/* {in_comment(describe_node(node))} */")
            for line in step.lines:
                self.c.line(line)

    def copy_out(self, target: Callable[[int], str]) -> None:
        """Copy output k of the subgraph to `target(k)`."""
        self.c.use("mem")
        for k, port in enumerate(self.plan.graph.outputs):
            if port.value.bytes:
                self.c.call("pl_copy", target(k), self.read(port.value, "uint8_t"), port.value.bytes)
