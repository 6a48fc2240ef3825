"""Worst-case stack of a model: over the call graph, from the compiler's own figures where it has them.

A C function's frame comes from the compiler (GCC's -fstack-usage, clang's -fstack-size-section), a generated assembly
function's from the generator. Library functions may have neither: their instructions are followed, and every change of
the stack pointer is added up. Calls are read from the disassembly; a call into the middle of the same function is a
long jump, as Armv6-M makes them. A call through a register, or recursion, is an error: the bound would not be one. A
jump through a register is a return where the register was loaded from the place on the stack that the return address
was put into: Armv6-M returns like this from functions whose arguments were pushed before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pilotlight.errors import PilotlightError
from pilotlight.toolchain.disassembly import Disassembly, MachineInstruction, disassemble
from pilotlight.toolchain.find import Toolchain
from pilotlight.toolchain.flow import ControlFlow, flow_of
from pilotlight.toolchain.sizes import functions, stack_sizes

NO_ANALYSIS = "no stack analysis for this instruction set"
_NUMBERED = re.compile(r"\.\d+$")
# Deeper than any real function: a loop that pushes more each time round.
_ENDLESS = 1 << 20


def stack_bytes(
    toolchain: Toolchain, elf: Path, entries: Iterable[str], usage_files: Iterable[Path], asm: dict[str, int]
) -> int | None:
    """Bytes below the stack pointer at the call of one of `entries`, in the worst case; None: see NO_ANALYSIS."""
    flow = flow_of(elf)
    if flow is None:
        return None
    known = functions(elf)
    frames = _frames(usage_files) | frames_inside(elf, known) | asm
    graph = _Graph(disassemble(toolchain, elf), flow, known, frames)
    return max(graph.depth(graph.symbols[entry][0]) for entry in entries)


def frames_inside(elf: Path, known: dict[str, tuple[int, int]]) -> dict[str, int]:
    """Function name -> frame bytes, from the section that clang writes."""
    sizes = stack_sizes(elf)
    return {name: sizes[start] for name, (start, _) in known.items() if start in sizes}


def _frames(usage_files: Iterable[Path]) -> dict[str, int]:
    """Function name -> frame bytes, from the .su files the compiler wrote."""
    frames: dict[str, int] = {}
    for path in usage_files:
        for line in path.read_text(encoding="utf-8").splitlines():
            place, size, kind = line.split("\t")
            name = place.rsplit(":", 1)[-1]
            if kind not in ("static", "dynamic,bounded"):
                raise PilotlightError(
                    f"the stack of {name} has no bound known to the compiler ({kind})",
                    where=place,
                    kind="stack",
                )
            frames[name] = max(frames.get(name, 0), int(size))
    return frames


@dataclass
class _Graph:
    code: Disassembly
    flow: ControlFlow
    symbols: dict[str, tuple[int, int]]
    frames: dict[str, int]
    known: dict[int, int] = field(default_factory=dict)
    path: list[int] = field(default_factory=list)

    def depth(self, address: int) -> int:
        """Stack needed by a call of the function at an address."""
        if address in self.known:
            return self.known[address]
        if address in self.path:
            names = " -> ".join(self.name_of(a) for a in [*self.path, address])
            raise PilotlightError(f"recursion, so the stack has no bound: {names}", kind="stack")
        self.path.append(address)
        framed = self._framed(address)
        result = self._by_frame(*framed) if framed else self._by_flow(address)
        self.path.pop()
        self.known[address] = result
        return result

    def _by_frame(self, start: int, size: int, frame: int) -> int:
        """A function whose frame is known: jumps out of it happen after the frame is released."""
        frame = max(frame, self._entered(start, start + size))
        frame = deepest = frame + self.flow.aligned(self.code.between(start, start + size))
        for instruction in self.code.between(start, start + size):
            step = self.flow.step(instruction)
            if step.unknown or (step.indirect and not self.returns(instruction, start)):
                raise self.unknown(instruction)
            if step.call is not None and not start < step.call < start + size:
                deepest = max(deepest, frame + self.depth(step.call))
            for target in step.jumps:
                if not start <= target < start + size:
                    deepest = max(deepest, self.depth(target))
        return deepest

    def returns(self, jump: MachineInstruction, start: int) -> bool:
        """Whether the jump through a register at the end of the function at `start` goes back to its caller."""
        saved = self.flow.saved_return(self.code.after(start))
        return saved is not None and saved == self.flow.popped_target(jump, self.code.before(jump.address))

    def _entered(self, start: int, end: int) -> int:
        """What the instructions up to the first jump or call push: -fstack-usage leaves out the space that a
        function makes for arguments which come in registers but belong together in memory."""
        used = deepest = 0
        for instruction in self.code.between(start, end):
            step = self.flow.step(instruction)
            if not step.straight:
                break
            used += step.pushed
            deepest = max(deepest, used)
        return deepest

    def _by_flow(self, address: int) -> int:
        """A function nobody measured: walk every path through it, adding up what is pushed.

        The targets of a jump table are what no other path reaches, at the depth of the jump.
        """
        walk = _StackWalk(self, address)
        walk.follow(address, 0)
        while walk.tables:
            used = walk.tables.pop()
            start, size = self._range(address)
            for instruction in self.code.between(start, start + size):
                if instruction.address not in walk.seen:
                    walk.follow(instruction.address, used)
        return walk.deepest

    def _range(self, address: int) -> tuple[int, int]:
        for start, size in self.symbols.values():
            if start <= address < start + size:
                return start, size
        raise PilotlightError(f"cannot follow the jump table of {self.name_of(address)}", kind="stack")

    def _framed(self, address: int) -> tuple[int, int, int] | None:
        """Address, size and frame; the compiler lists a specialised copy f.constprop.0 as f.constprop."""
        for name in self.at.get(address, ()):
            frame = self.frames.get(name, self.frames.get(_NUMBERED.sub("", name)))
            if frame is not None:
                return address, self.symbols[name][1], frame
        return None

    @cached_property
    def at(self) -> dict[int, list[str]]:
        """Functions by their address."""
        found: dict[int, list[str]] = {}
        for name, (start, _) in self.symbols.items():
            found.setdefault(start, []).append(name)
        return found

    def name_of(self, address: int) -> str:
        for name, (start, size) in self.symbols.items():
            if start <= address < start + max(size, 1):
                return name
        return hex(address)

    def unknown(self, instruction: MachineInstruction) -> PilotlightError:
        return PilotlightError(
            f"the stack has no known bound: {self.name_of(instruction.address)} goes where only the running "
            f"program knows ({instruction.mnemonic} {instruction.operands})",
            kind="stack",
        )


@dataclass
class _StackWalk:
    """All paths from some instructions of one function; `tables` are the depths of jumps through a table."""

    graph: _Graph
    function: int
    deepest: int = 0
    seen: dict[int, int] = field(default_factory=dict)
    tables: list[int] = field(default_factory=list)

    def follow(self, address: int, used: int) -> None:
        code, flow = self.graph.code, self.graph.flow
        todo = [(address, used)]
        while todo:
            at, used = todo.pop()
            if self.seen.get(at, -1) >= used:
                continue
            if at not in code.index or used > _ENDLESS:
                name = self.graph.name_of(self.function)
                raise PilotlightError(f"cannot follow the stack of {name} beyond {at:#x}", kind="stack")
            self.seen[at] = used
            instruction = code.instructions[code.index[at]]
            step = flow.step(instruction)
            if step.unknown or step.opaque:
                raise self.graph.unknown(instruction)
            used += step.pushed
            self.deepest = max(self.deepest, used)
            if step.table or (step.indirect and not self.graph.returns(instruction, self.function)):
                self.tables.append(used)
            if step.call is not None and self._inside(step.call):
                todo.append((step.call, used))
            elif step.call is not None:
                self.deepest = max(self.deepest, used + self.graph.depth(step.call))
            todo += [(target, used) for target in step.jumps]
            if step.falls_through:
                todo.append((code.instructions[code.index[at] + 1].address, used))

    def _inside(self, address: int) -> bool:
        """In the middle of the function that is walked."""
        return any(
            start <= self.function < address < start + size for start, size in self.graph.symbols.values()
        )
