"""Channels last without transposes: move every permute down the graph until it meets its inverse.

Capture wraps each convolution and pooling in a pair of permutes, because the kernels are channels last and
PyTorch is not. A permute slides through operators that do not care about the order of dimensions; two that
meet become one; those that reach the border of the graph become the memory order of an input, an output or a
state; one before a linear layer is a reordering of its weight. What is left is a transposition that the
model itself asks for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pilotlight import ops
from pilotlight.graph import Graph, Node, Shape, Value
from pilotlight.passes.clean import remove_dead
from pilotlight.passes.edit import Editor
from pilotlight.passes.shuffle import join_shuffles, split_shuffles

Perm = tuple[int, ...]


def inverse(perm: Perm) -> Perm:
    result = [0] * len(perm)
    for i, p in enumerate(perm):
        result[p] = i
    return tuple(result)


def compose(first: Perm, then: Perm) -> Perm:
    """`x.permute(first).permute(then)` as one permutation."""
    return tuple(first[p] for p in then)


def _memory_order(first: Perm | None, then: Perm) -> Perm | None:
    """The order of a port in memory, None for PyTorch's own."""
    order = then if first is None else compose(first, then)
    return None if order == tuple(range(len(order))) else order


def is_reshape(perm: Perm, shape: Shape) -> bool:
    """Whether a permutation of `shape` only moves dimensions of size 1."""
    moved = [p for p in perm if shape[p] != 1]
    return moved == sorted(moved)


def optimize_layout(graph: Graph, *, keep_io: bool = False, keep_states: bool = False) -> Graph:
    """Run the rules until none applies; `keep_io` leaves inputs and outputs in PyTorch's order, `keep_states` the
    states."""
    layout = _Layout(join_shuffles(graph), keep_io)
    while layout.borders() or (not keep_states and layout.states()) or layout.round() or layout.settle():
        pass
    return remove_dead(split_shuffles(layout.edit.done()))


class _Layout:
    def __init__(self, graph: Graph, keep_io: bool):
        self.graph = graph
        self.edit = Editor(graph)
        self.keep_io = keep_io

    def round(self) -> bool:
        """Apply to every node the first rule that fits; False when none did.

        Later nodes see what a rule put in during the same round: a permute slides down a whole network at once.
        """
        self.edit.prune()
        changed = False
        for node in self.edit:
            changed |= self._apply(node)
        return changed

    def _apply(self, node: Node) -> bool:
        if node.op == "permute":
            return self._simplify(node) or self._pull_up(node) or self._hoist(node)
        if node.op == "reshape":
            return self._merge_reshapes(node) or self._through_reshape(node)
        return (node.op == "linear" and self._into_linear(node)) or self._slide(node)

    # ---- rules ---------------------------------------------------------------------------------------------

    def _simplify(self, node: Node) -> bool:
        """Merge two permutes; drop the identity; permute constants now."""
        x, perm = node.inputs[0], node.attrs["perm"]
        above = self.edit.producers.get(x)
        if above is not None and above.op == "permute":
            self.edit.read(node, list(above.inputs))
            node.attrs = {"perm": compose(above.attrs["perm"], perm)}
            return True
        if perm == tuple(range(len(perm))):
            self._bypass(node)
            return True
        if x.data is not None:
            node.output.data = np.ascontiguousarray(x.data.transpose(perm))
            self.edit.remove(node)
            return True
        return False

    def _merge_reshapes(self, node: Node) -> bool:
        x = node.inputs[0]
        if x.shape == node.output.shape:
            self._bypass(node)
            return True
        above = self.edit.producers.get(x)
        if above is not None and above.op == "reshape":
            self.edit.read(node, list(above.inputs))
            return True
        if x.data is not None:
            node.output.data = x.data.reshape(node.output.shape)
            self.edit.remove(node)
            return True
        return False

    def _through_reshape(self, node: Node) -> bool:
        """permute → reshape as reshape → permute, where the reshape splits and merges whole dimensions."""
        above = self.edit.producers.get(node.inputs[0])
        if above is None or above.op != "permute":
            return False
        swapped = swap_permute_reshape(above.inputs[0].shape, above.attrs["perm"], node.output.shape)
        if swapped is None:
            return False
        shape, perm = swapped
        middle = self.graph.fresh("reshape", node.output.dtype, shape)
        reshape = Node("reshape", [above.inputs[0]], [middle], {"shape": shape}, node.place)
        self.edit.exchange(node, reshape, Node("permute", [middle], node.outputs, {"perm": perm}, above.place))
        return True

    def _pull_up(self, node: Node) -> bool:
        """permute → reshape → permute as permute → reshape: one transposition instead of two."""
        reshape = self.edit.producers.get(node.inputs[0])
        if reshape is None or reshape.op != "reshape" or not self._sole(reshape.output):
            return False
        above = self.edit.producers.get(reshape.inputs[0])
        if above is None or above.op != "permute":
            return False
        # reshape → permute is the mirror of permute → reshape: seen from the output, undo the permute first
        undone = swap_permute_reshape(node.output.shape, inverse(node.attrs["perm"]), reshape.inputs[0].shape)
        if undone is None:
            return False
        shape, back = undone
        perm = compose(above.attrs["perm"], inverse(back))
        middle = self.graph.fresh("permute", node.output.dtype, shape)
        first = Node("permute", [above.inputs[0]], [middle], {"perm": perm}, above.place)
        second = Node("reshape", [middle], node.outputs, {"shape": node.output.shape}, node.place)
        self.edit.exchange(node, first, second)
        self.edit.remove(reshape)
        return True

    def _hoist(self, node: Node) -> bool:
        """Operators between an input and a permute take the order in which their result is wanted."""
        perm = node.attrs["perm"]
        rank, back = len(perm), inverse(perm)
        inputs = {port.value for port in self.graph.inputs}
        chain: list[tuple[Node, Value, dict[str, Any]]] = []  # (operator, what it reads, its new attributes)
        value = node.inputs[0]
        while value not in inputs:
            inner = self.edit.producers.get(value)
            found = self._only_operand(inner, back, rank) if inner is not None and self._sole(value) else None
            if inner is None or found is None:
                return False
            value, attrs = found
            chain.append((inner, value, attrs))
        if self.keep_io or not chain or not self._sole(value) or len(value.shape) != rank:
            return False
        value = self._reorder_input(value, perm)
        for inner, operand, attrs in reversed(chain):
            others = [value if v is operand else self._unpermute(inner, v, back, perm, rank) for v in inner.inputs]
            out = inner.output
            fresh = self.graph.fresh(out.name, out.dtype, tuple(out.shape[p] for p in perm))
            self.edit.exchange(inner, Node(inner.op, others, [fresh], attrs, inner.place))
            value = fresh
        self.edit.remove(node)
        self.edit.replace(node.output, value)
        return True

    def _sole(self, value: Value) -> bool:
        return self.edit.alone(value)

    def _only_operand(self, node: Node, back: Perm, rank: int) -> tuple[Value, dict[str, Any]] | None:
        """The one operand that the other order does not come free for, and the attributes in that order."""
        if len(node.outputs) != 1 or len(node.output.shape) != rank:
            return None
        attrs = ops.get(node.op).permuted(node, back)
        moving = [v for v in dict.fromkeys(node.inputs) if not v.is_constant and len(v.shape) == rank]
        rest = [v for v in node.inputs if v not in moving]
        if attrs is None or len(moving) != 1 or not all(self._free(v, back, rank) for v in rest):
            return None
        return moving[0], attrs

    def _into_linear(self, node: Node) -> bool:
        """permute → flatten → linear: reorder the columns of the weight instead."""
        x, weight, bias = node.inputs
        reshape = self.edit.producers.get(x)
        above = self.edit.producers.get(reshape.inputs[0]) if reshape is not None and reshape.op == "reshape" else None
        if above is None or above.op != "permute" or weight.data is None or "weight_group" in node.attrs:
            return False
        perm, source = above.attrs["perm"], above.inputs[0]
        if perm[0] != 0 or source.shape[0] != x.shape[0]:
            return False
        inner = tuple(source.shape[p] for p in perm[1:])
        order = np.arange(x.shape[1]).reshape(inner).transpose([p - 1 for p in inverse(perm)[1:]]).reshape(-1)
        flat = self.graph.fresh("reshape", x.dtype, x.shape)
        self.edit.insert(node, Node("reshape", [source], [flat], {"shape": x.shape}, node.place))
        self.edit.read(node, [flat, self.graph.constant(weight.data[:, order], weight.name), bias])
        return True

    def _slide(self, node: Node) -> bool:
        """Move the permutes before an operator to after it, when that costs no new transposition."""
        above = [a for v in node.inputs if (a := self.edit.producers.get(v)) is not None and a.op == "permute"]
        if not above or len(node.outputs) != 1:
            return False
        held = {s.value for s in self.graph.states}  # permutes of these go into the state, not down the graph
        perms = [a.attrs["perm"] for a in above if a.inputs[0] not in held]
        if not perms:
            return False
        perm = perms[0]
        rank = len(perm)
        attrs = ops.get(node.op).permuted(node, perm) if len(node.output.shape) == rank else None
        if attrs is None or not all(self._free(v, perm, rank) for v in node.inputs):
            return False
        back = inverse(perm)
        inputs = [self._unpermute(node, v, perm, back, rank) for v in node.inputs]
        shape = tuple(node.output.shape[p] for p in back)
        inner = self.graph.fresh(node.output.name, node.output.dtype, shape)
        moved = Node(node.op, inputs, [inner], attrs, node.place)
        self.edit.exchange(node, moved, Node("permute", [inner], node.outputs, {"perm": perm}, node.place))
        return True

    def _free(self, value: Value, perm: Perm, rank: int) -> bool:
        """Whether an operand can take the other order without moving data."""
        above = self.edit.producers.get(value)
        if above is not None and above.op == "permute" and above.attrs["perm"] == perm:
            return True
        shape = (1,) * (rank - len(value.shape)) + value.shape
        if value.is_constant or is_reshape(inverse(perm), shape):
            return True
        return any(s.value is value for s in self.graph.states) or self._turns(value, inverse(perm))

    def _turns(self, value: Value, perm: Perm) -> bool:
        """Whether a value is an input that all but one of its readers want in the order `perm`."""
        if self.keep_io or all(port.value is not value for port in self.graph.inputs):
            return False
        readers = self.edit.readers(value)
        wanted = sum(r.op == "permute" and r.attrs["perm"] == perm for r in readers)
        return wanted == len(readers) - 1 > 0 and value not in self.graph.leaving()

    def _unpermute(self, node: Node, value: Value, perm: Perm, back: Perm, rank: int) -> Value:
        above = self.edit.producers.get(value)
        if above is not None and above.op == "permute" and above.attrs["perm"] == perm:
            return above.inputs[0]
        shape = (1,) * (rank - len(value.shape)) + value.shape
        new = tuple(shape[p] for p in back)
        if value.data is not None:
            return self.graph.constant(value.data.reshape(shape).transpose(back), value.name)
        out = self.graph.fresh(value.name, value.dtype, new)
        if is_reshape(back, shape):
            self.edit.insert(node, Node("reshape", [value], [out], {"shape": new}, node.place))
        else:
            self.edit.insert(node, Node("permute", [value], [out], {"perm": back}, node.place))
        return out

    # ---- borders -------------------------------------------------------------------------------------------

    def borders(self) -> bool:
        """Inputs read only through one permute, and outputs written only through one, take that order in memory."""
        if self.keep_io:
            return False
        leaving = self.graph.leaving()
        for port in self.graph.inputs:
            readers = self.edit.readers(port.value)
            perms = {r.attrs["perm"] if r.op == "permute" else None for r in readers}
            if len(perms) != 1 or None in perms or port.value in leaving:
                continue
            (perm,) = perms
            assert perm is not None
            value = self._reorder_input(port.value, perm)
            for reader in readers:
                self.edit.remove(reader)
                self.edit.replace(reader.output, value)
            return True
        for port in self.graph.outputs:
            above = self.edit.producers.get(port.value)
            if above is None or above.op != "permute" or self.edit.readers(port.value):
                continue
            back = inverse(above.attrs["perm"])
            port.value, port.perm = above.inputs[0], _memory_order(port.perm, back)
            self._drop_if_unused(above)
            return True
        return False

    def states(self) -> bool:
        """A state read only through one permute and written after its inverse changes its own order."""
        for state in self.graph.states:
            if state.value in self.edit.leaving:
                continue
            readers = self.edit.readers(state.value)
            perms = {r.attrs["perm"] if r.op == "permute" else None for r in readers}
            above = self.edit.producers.get(state.next)
            if len(perms) != 1 or None in perms or above is None or above.op != "permute":
                continue
            (perm,) = perms
            if perm is None or above.attrs["perm"] != inverse(perm):
                continue
            value = self.graph.fresh(state.value.name, state.value.dtype, readers[0].output.shape)
            for reader in readers:
                self.edit.remove(reader)
                self.edit.replace(reader.output, value)
            state.value, state.next = value, above.inputs[0]
            state.initial = np.ascontiguousarray(state.initial.transpose(perm))
            self._drop_if_unused(above)
            return True
        return False

    def settle(self) -> bool:
        """What is left of permutes that only move dimensions of size 1 are reshapes."""
        found = [n for n in self.edit if n.op == "permute" and is_reshape(n.attrs["perm"], n.inputs[0].shape)]
        for node in found:
            node.op, node.attrs = "reshape", {"shape": node.output.shape}
        return bool(found)

    # ---- helpers -------------------------------------------------------------------------------------------

    def _reorder_input(self, old: Value, perm: Perm) -> Value:
        """Give an input the memory order `perm` and return its new value."""
        (port,) = [p for p in self.graph.inputs if p.value is old]
        port.value = self.graph.fresh(old.name, old.dtype, tuple(old.shape[p] for p in perm))
        port.perm = _memory_order(port.perm, perm)
        return port.value

    def _bypass(self, node: Node) -> None:
        self.edit.remove(node)
        self.edit.replace(node.output, node.inputs[0])

    def _drop_if_unused(self, node: Node) -> None:
        if not self.edit.readers(node.output) and node.output not in self.graph.leaving():
            self.edit.remove(node)


def groups(before: Shape, after: Shape) -> list[tuple[list[int], list[int]]] | None:
    """Dimensions of `before` and `after` in smallest runs of equal size; None for tensors without elements."""
    if 0 in before or 0 in after:
        return None
    result: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(before) or j < len(after):
        left, right, a, b = [], [], 1, 1
        if i < len(before):
            left, a, i = [i], before[i], i + 1
        if j < len(after) and (a != 1 or not left):
            right, b, j = [j], after[j], j + 1
        while a != b:
            if a < b:
                left.append(i)
                a, i = a * before[i], i + 1
            else:
                right.append(j)
                b, j = b * after[j], j + 1
        result.append((left, right))
    return result


def swap_permute_reshape(source: Shape, perm: Perm, after: Shape) -> tuple[Shape, Perm] | None:
    """`x.permute(perm).reshape(after)` as `x.reshape(shape).permute(new)`; None where it cannot be done."""
    permuted = tuple(source[p] for p in perm)
    runs = groups(permuted, after)
    if runs is None:
        return None
    pieces: list[tuple[int, list[int]]] = []  # (where in x, dimensions of `after`)
    for left, right in runs:
        dims = [perm[i] for i in left if source[perm[i]] != 1] or [perm[i] for i in left][:1]
        if not dims:
            pieces.append((len(source), right))
            continue
        between = range(dims[0], dims[-1] + 1)
        if dims != sorted(dims) or any(source[d] != 1 and d not in dims for d in between):
            return None
        pieces.append((dims[0], right))
    order = sorted(range(len(pieces)), key=lambda k: pieces[k][0])
    shape: list[int] = []
    position: dict[int, int] = {}
    for k in order:
        for j in pieces[k][1]:
            position[j] = len(shape)
            shape.append(after[j])
    return tuple(shape), tuple(position[j] for j in range(len(after)))
