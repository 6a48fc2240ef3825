"""The program that a kernel is checked with: a model of one step, which calls it somewhere in a memory that is its
input and its output. What is in the memory before and after is looked at from outside."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from pilotlight.check.cases import Site
from pilotlight.check.registers import flags_in_c, guard_files, guard_name, guards
from pilotlight.codegen.step import Step
from pilotlight.codegen.target import Target
from pilotlight.custom.kernel import Kernel
from pilotlight.custom.op import numbers, stack_of
from pilotlight.emit.module import Module, emit_module
from pilotlight.graph import INT32, UINT8, Graph, Node, Port
from pilotlight.ops.base import Op, Result, register
from pilotlight.plan import make_plan

MEASURED = 8  # bytes at the end of the memory: the stack that the call used, and the registers that it did not keep
# The device's server paints the stack before each run (csrc/device/model.c); on the host nothing is measured.
_BEFORE = """int32_t used = 0;
#if defined(__arm__) || defined(__riscv)
extern uint32_t pl_stack_low[] __attribute__((weak));
uintptr_t sp = 0u;
#if defined(__arm__)
__asm volatile("mov %0, sp" : "=r"(sp));
#else
__asm volatile("mv %0, sp" : "=r"(sp));
#endif
#endif"""
_AFTER = """#if defined(__arm__) || defined(__riscv)
if (pl_stack_low != 0) {
    const volatile uint32_t *low = pl_stack_low;
    while (((uintptr_t)low < sp) && (*low == 0x5AFE57ACu)) {
        low++;
    }
    used = (int32_t)(sp - (uintptr_t)low);
}
#endif"""


@register
class KernelCalls(Op):
    """The second input says which call is made, in the bytes of the first one."""

    name = "kernel_calls"

    def infer(self, node: Node) -> Result:
        return [(node.inputs[0].dtype, node.inputs[0].shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        raise NotImplementedError("what a call does is known to the kernel alone")

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0}

    def emit(self, node: Node, c: Step) -> None:
        kernel: Kernel = node.attrs["kernel"]
        memory, number = node.inputs
        guarded = guard_files(kernel, node.attrs["target"]) if guards(node.attrs["target"]) else {}
        called = guard_name(kernel) if guarded else kernel.function
        c.bring({**kernel.all_files, **guarded}, {**stack_of(kernel), **({called: 0} if guarded else {})})
        if c.locate(memory) != c.locate(node.output):
            c.use("mem")
            c.call("pl_copy", c.write(node.output), c.read(memory), memory.bytes)
        base = c.write(node.output)
        c.line(_BEFORE)
        with c.block(f"switch (*{c.read(number)})"):
            for k, site in enumerate(node.attrs["sites"]):
                c.line(f"case {k}:")
                c.call(called, *_arguments(kernel, site, base))
                c.line("break;")
            c.line("default:")
            c.line("break;")
        c.line(_AFTER)
        c.line(f"*(int32_t *)(void *)({base} + {memory.bytes - MEASURED}) = used;")
        flags = flags_in_c(kernel) if guarded else "0u"
        c.line(f"*(uint32_t *)(void *)({base} + {memory.bytes - MEASURED + 4}) = {flags};")


def _arguments(kernel: Kernel, site: Site, base: str) -> list[str]:
    reads = [f"(const {t.dtype.c} *)(const void *)({base} + {at})"
             for t, at in zip(kernel.inputs, site.inputs, strict=True)]
    writes = [f"({t.dtype.c} *)(void *)({base} + {at})" for t, at in zip(kernel.outputs, site.outputs, strict=True)]
    scratch = [f"(void *)({base} + {site.scratch})"] if kernel.has_scratch else []
    case = site.case
    return [*reads, *writes, *scratch, *numbers(case.bound, case.parameters, case.quants)]


def harness(kernel: Kernel, sites: Sequence[Site], size: int, target: Target) -> Module:
    """The files of the program, for memory of so many bytes."""
    graph = Graph(f"check_{kernel.name}")
    memory, number = graph.fresh("memory", UINT8, (size,)), graph.fresh("number", INT32, (1,))
    after = graph.fresh("after", UINT8, (size,))
    graph.inputs = [Port("memory", memory, memory.shape), Port("number", number, number.shape)]
    graph.outputs = [Port("after", after, after.shape)]
    graph.nodes = [Node(KernelCalls.name, [memory, number], [after], {
        "kernel": kernel, "sites": list(sites), "target": target,
    })]
    return emit_module(make_plan(graph), target)
