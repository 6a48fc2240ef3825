"""Runs a kernel against its reference and looks at every byte of its memory."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pilotlight import boards, device, toolchain
from pilotlight.boards import Board
from pilotlight.cache import cache_folder, once, scratch_folder
from pilotlight.check import registers
from pilotlight.check.cases import (
    GUARD,
    RANDOM,
    Case,
    Plan,
    Site,
    draw,
    generated,
    is_promised,
    noise,
    sites,
    tensors_of,
)
from pilotlight.check.harness import MEASURED, harness
from pilotlight.codegen.target import Target
from pilotlight.custom.kernel import Kernel
from pilotlight.custom.registry import operator_of
from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.graph.dtypes import to_torch
from pilotlight.options import Options
from pilotlight.toolchain.find import find
from pilotlight.version import __version__

_SEED = 20
_TIMEOUT = 60.0
_MEMORY = 2  # of a board's RAM, the part that a check may use: one of so many
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:?) [`'\"]?(\w+)")


class KernelError(PilotlightError):
    """A kernel that does not do what it declares."""

    def __init__(self, kernel: Kernel, board: Board | None, message: str, hint: str | None = None):
        place = f", board {board.name}" if board is not None else ""
        super().__init__(f"kernel {kernel.name}: {message}", where=f"{Path(kernel.where).name}{place}", hint=hint,
                         kind="bad-kernel")


@dataclass(frozen=True)
class Passed:
    """What a kernel was found to do right."""

    kernel: str
    board: str
    shapes: int  # sets of sizes and parameters
    calls: int
    stack: int | None  # bytes that a call used at most; None where only this computer ran it
    on: list[str]  # the boards that ran it: this one or one with its core, and `host` if it is portable


def check_kernel(
    kernel: Kernel, board: str | Board = "mps2-an386", *, own: Sequence[Case] = (), options: Options | None = None,
) -> Passed:
    """Run a kernel on a board, and on this computer where it is portable, against its reference; a `KernelError` says
    what it does not do as declared. `own` are cases of a model, besides those that are generated. A check that passed
    is not repeated until the kernel's text changes."""
    target = boards.load(board) if isinstance(board, str) else board
    chosen = options or Options()
    told = (_own_digest(), kernel.digest, target, chosen.optimize, chosen.toolchain, [_key(case) for case in own])
    key = hashlib.sha256(repr(told).encode()).hexdigest()[:32]
    kept = cache_folder() / "kernels" / f"{kernel.name}-{target.name}-{key}.json"

    def make(path: Path) -> None:
        passed = _Check(kernel, target, own, chosen).run()
        path.write_text(json.dumps(asdict(passed)), encoding="utf-8", newline="\n")

    return Passed(**json.loads(once(kept, make).read_text(encoding="utf-8")))


@cache
def _own_digest() -> str:
    """Of what checks: a kernel that passed an older check is checked again."""
    texts = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(b"\0".join([__version__.encode(), *texts])).hexdigest()


def _key(case: Case) -> tuple[Any, ...]:
    return case.bound.dims, case.bound.leading, dict(case.parameters), case.quants


class _Check:
    """One kernel for one board."""

    def __init__(self, kernel: Kernel, board: Board, own: Sequence[Case], options: Options):
        self.kernel, self.board, self.own, self.options = kernel, board, own, options
        self.op = operator_of(kernel)
        self.calls = 0
        self.stack = 0  # bytes that a call was seen to use

    def run(self) -> Passed:
        cases = [*generated(self.kernel, np.random.default_rng(_SEED)), *self.own]
        portable = not self.kernel.needs and not self.kernel.is_assembly
        where = _runnable(self.board)
        if where is None and not portable:
            raise KernelError(self.kernel, self.board, "no board with this core is emulated, so it cannot be checked",
                              "use a kernel in C that needs no feature of a core")
        there = [where] if where is not None and not where.is_host else []
        used = [*there, *([boards.load("host")] if portable else [])]
        for board in used:
            self._on(board, cases, alone=not there)
        measured = self.stack if there else None
        return Passed(self.kernel.name, self.board.name, len(cases), self.calls, measured, [b.name for b in used])

    def _on(self, board: Board, cases: Sequence[Case], alone: bool) -> None:
        """Every case that fits the board; `alone`: no other board is tried."""
        room = None if board.is_host else board.memory(board.placement(None, None).arena).size // _MEMORY
        plan = Plan([site for case in cases for site in sites(self.kernel, case) if room is None or site.size <= room])
        if not plan.sites:
            raise KernelError(self.kernel, board, "the board is too small for any case that it takes",
                              "allow smaller sizes, or choose another board")
        module = harness(self.kernel, plan.sites, plan.size + MEASURED, Target.of(board))
        sanitize = board.is_host and find(board, self.options.toolchain).kind == "gcc"
        with scratch_folder(f"check-{self.kernel.name}-") as work:
            module.write(Path(work) / "files")
            info = self._built(Path(work), board, sanitize, alone)
            static = info.sizes.static - (registers.BYTES if registers.guards(Target.of(board)) else 0)
            if static > 0:
                raise KernelError(
                    self.kernel, board, f"it keeps {static} bytes in static variables, which no plan knows",
                    "use scratch= for memory, and const for tables",
                )
            self._tried(board, info, plan)

    def _built(self, work: Path, board: Board, sanitize: bool, alone: bool) -> toolchain.BuildInfo:
        try:
            if sanitize and alone:  # these have no sizes: static variables are found in a build without
                plain = toolchain.build_model(work / "files", board, work / "plain", self.options.optimize)
                if plain.sizes.static:
                    return plain
            return toolchain.build_model(
                work / "files", board, work / "build", self.options.optimize, sanitize=sanitize,
                compiler=self.options.toolchain, harness=not board.is_host,
            )
        except MissingToolError:
            raise
        except PilotlightError as error:
            raise self._not_built(error, board) from error

    def _not_built(self, error: PilotlightError, board: Board) -> KernelError:
        missing = _UNDEFINED.search(error.message)
        if missing and missing[1] == self.kernel.function:
            return KernelError(self.kernel, board, f"its source has no function {missing[1]}, as its prototype says")
        if missing:
            return KernelError(self.kernel, board, f"it calls {missing[1]}, which is nowhere",
                               "programs have no C library: bring the function along in source or files")
        if error.kind == "stack":
            return KernelError(self.kernel, board, error.message)
        told = re.sub(r"^\S+ failed: ", "", error.message)
        told = re.sub(r"\S*/([^/\s]+:\d+)", r"\1", told)
        return KernelError(self.kernel, board, f"it does not compile: {told}")

    def _tried(self, board: Board, info: toolchain.BuildInfo, plan: Plan) -> None:
        first: dict[tuple[int, str], tuple[int, list[bytes]]] = {}
        with device.open(board, info, _TIMEOUT, False, self.options.emulator) as dev:
            for number, (site_number, site, kind) in enumerate(plan.trials(self.kernel)):
                # The first trial of a case and the last have the same inputs and other bytes around them.
                random = np.random.default_rng([_SEED, site_number, len(kind)])
                values = draw(self.kernel, site.case, kind, random)
                before = self._memory(site, values, plan.size + MEASURED, number)
                try:
                    (after,) = dev.run([before, np.array([site_number], np.int32)])
                except PilotlightError as error:
                    raise KernelError(
                        self.kernel, board, f"with {_situation(site, kind)}: the program crashed: {first_line(error)}"
                    ) from error
                self.calls += 1
                self._look(board, site, kind, values, before, np.asarray(after, np.uint8))
                if kind == RANDOM:
                    results = [bytes(part) for part in self._outputs(site, np.asarray(after, np.uint8))]
                    known = first.setdefault((site_number, kind), (number, results))
                    if known[1] != results:
                        raise KernelError(
                            self.kernel, board, f"with {_situation(site, kind)}: it gives another result when memory "
                            "that it should not read holds other bytes, or when it is called again",
                            "it reads scratch or outputs before it has written them, or beyond a tensor",
                        )
                self._measure(board, after)

    def _measure(self, board: Board, after: np.ndarray) -> None:
        used, changed = (int(n) for n in np.frombuffer(np.asarray(after, np.uint8)[-MEASURED:].tobytes(), np.int32))
        if changed:
            raise KernelError(
                self.kernel, board, f"it changes {registers.told(changed)} and does not put back what was in there",
                "what belongs to the caller has to be put back",
            )
        self.stack = max(self.stack, used)
        if self.kernel.stack is not None and used > self.kernel.stack:
            raise KernelError(self.kernel, board, f"it declares {self.kernel.stack} bytes of stack and uses {used}",
                              "correct stack=")

    def _memory(self, site: Site, values: Sequence[np.ndarray], size: int, number: int) -> np.ndarray:
        memory = noise(size, np.random.default_rng([_SEED + 1, number]))
        for at, value in zip(site.inputs, values, strict=True):
            data = np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8)
            memory[at : at + data.size] = data
        return memory

    def _ranges(self, site: Site) -> list[tuple[str, int, int]]:
        tensors = tensors_of(self.kernel, site.case.bound).outputs
        found = [(f"output {k}", at, at + int(np.prod(shape)) * dtype.size)
                 for k, (at, (dtype, shape)) in enumerate(zip(site.outputs, tensors, strict=True))]
        scratch = self.kernel.scratch_bytes(site.case.bound.dims)
        return [*found, *([("scratch", site.scratch, site.scratch + scratch)] if self.kernel.has_scratch else [])]

    def _outputs(self, site: Site, memory: np.ndarray) -> list[np.ndarray]:
        return [memory[start:end] for name, start, end in self._ranges(site) if name != "scratch"]

    def _look(
        self, board: Board, site: Site, kind: str, values: Sequence[np.ndarray], before: np.ndarray, after: np.ndarray
    ) -> None:
        """Raise an error where the memory is not as it should be."""
        allowed = np.zeros(before.size, bool)
        for _, start, end in self._ranges(site):
            allowed[start:end] = True
        allowed[-MEASURED:] = True
        changed = np.flatnonzero((before != after) & ~allowed)
        if changed.size:
            raise KernelError(
                self.kernel, board, f"with {_situation(site, kind)}: it writes {self._whose(site, int(changed[0]))}",
                "it may write its outputs and its scratch only",
            )
        wanted = self._reference(site.case, values)
        tensors = tensors_of(self.kernel, site.case.bound).outputs
        for k, (want, part, (dtype, shape)) in enumerate(zip(wanted, self._outputs(site, after), tensors, strict=True)):
            got = np.frombuffer(part.tobytes(), dtype.numpy).reshape(shape)
            wrong = _wrong(to_torch(got.copy()), want, self.kernel)
            if wrong is not None:
                place = f"[{', '.join(map(str, wrong))}]" if wrong else ""
                was, should = (_number(t[wrong]) for t in (to_torch(got.copy()), want))
                raise KernelError(
                    self.kernel, board, f"with {_situation(site, kind)}: output {k}{place} is {was}; "
                    f"the reference gives {should}",
                    None if is_promised(kind) else "finite=True says that such numbers are not promised",
                )

    def _whose(self, site: Site, at: int) -> str:
        """Words for a byte that was changed."""
        tensors = tensors_of(self.kernel, site.case.bound)
        for k, (start, (dtype, shape)) in enumerate(zip(site.inputs, tensors.inputs, strict=True)):
            if start <= at < start + int(np.prod(shape)) * dtype.size:
                return f"byte {at - start} of input {k}"
        for name, start, end in self._ranges(site):
            if start - GUARD <= at < start:
                return f"{start - at} bytes before {name}"
            if end <= at < end + GUARD:
                return f"byte {at - start} of {name}, which has {end - start}"
        return "memory that is neither an output nor scratch"

    def _reference(self, case: Case, values: Sequence[np.ndarray]) -> list[torch.Tensor]:
        try:
            given = self.op.compute(
                self.kernel, case.bound, [to_torch(v.copy()) for v in values], case.parameters, case.quants
            )
        except PilotlightError:
            raise
        except Exception as error:  # the user's own code may raise anything
            raise KernelError(
                self.kernel, None, f"its reference failed with {case}: {type(error).__name__}: {first_line(error)}"
            ) from error
        return list(given) if isinstance(given, tuple) else [given]


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]


def _runnable(board: Board) -> Board | None:
    """The board, or an emulated one with the same core."""
    if board.runnable:
        return board
    alike = [b for b in boards.all_boards() if b.runnable and b.cpu == board.cpu and b.isa == board.isa]
    return alike[0] if alike else None


def _situation(site: Site, kind: str) -> str:
    how = f", {site.how}" if site.how else ""
    return f"{site.case} and {kind}{how}"


def _wrong(got: torch.Tensor, want: torch.Tensor, kernel: Kernel) -> tuple[int, ...] | None:
    """The place of the first element that is not what it should be."""
    if not want.dtype.is_floating_point:
        same = got == want
    else:
        x, y = got.double(), want.double()
        finite = y[torch.isfinite(y)].abs()
        limit = kernel.atol + kernel.rtol * (float(finite.max()) if finite.numel() else 0.0)
        same = (x == y) | (x.isnan() & y.isnan()) | ((x - y).abs() <= limit)
    if bool(same.all()):
        return None
    return tuple(int(i) for i in (~same).nonzero()[0])


def _number(element: torch.Tensor) -> str:
    value = element.item()
    return f"{value:.7g}" if isinstance(value, float) else str(value)

