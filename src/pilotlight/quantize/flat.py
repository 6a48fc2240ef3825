"""An exported program as the module that PT2E works on.

- It is functional: a write in place, through a view or to a buffer, is a separate tensor. A tensor is quantized where
  it is made, so that a later write to it would be lost.
- Its states are its own. They are read once, as copies, before anything else, and written once, after everything else.
- It takes the flat tensors that the program was exported with, and gives a flat tuple.
"""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.graph import CodeGen

from pilotlight.quantize.constants import is_state
from pilotlight.quantize.expand import expanded

aten = torch.ops.aten


def flat_module(functional: ExportedProgram) -> GraphModule:
    """The module of a functionalized program, in the operators that the quantizer knows."""
    module = functional.module(check_guards=False)
    assert isinstance(module, GraphModule)
    graph = module.graph
    graph.set_codegen(CodeGen())
    for node in graph.find_nodes(op="placeholder"):
        if not isinstance(node.meta.get("val"), torch.Tensor) and not node.users:
            graph.erase_node(node)  # a number, which is part of the program
    for write in graph.find_nodes(op="call_function", target=aten.copy_.default):
        state = write.args[0]
        with graph.inserting_after(state):
            read = graph.call_function(aten.clone.default, (state,))
        read.meta["val"] = state.meta["val"]
        state.replace_all_uses_with(read, delete_user_cb=lambda user, kept=(read, write): user not in kept)
        if not read.users:
            graph.erase_node(read)
    flat = GraphModule(module, graph)
    for name, state in states_of(flat).items():
        owner, _, attribute = name.rpartition(".")
        setattr(flat.get_submodule(owner), attribute, state.clone())
    return expanded(flat)


def states_of(flat: GraphModule) -> dict[str, torch.Tensor]:
    """The buffers that a flat module writes, by name."""
    names = [str(n.target) for n in flat.graph.find_nodes(op="get_attr") if is_state(n)]
    return {name: flat.get_buffer(name) for name in names}
