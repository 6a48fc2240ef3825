"""A failing program made smaller, statement by statement, as long as it fails in the same way."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from fuzz.check import BOARDS, QUICK, Verdict
from fuzz.child import isolated
from fuzz.generate import CALLS, usable
from fuzz.program import Program, Statement, load
from fuzz.truth import eager

_ASSIGNED = re.compile(r"^(\w+) = (.*)$", re.DOTALL)
_TARGETS = re.compile(r"^(\w+(?:, \w+)*) = ", re.MULTILINE)
_WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*")


Judge = Callable[[str, str, Sequence[str], int], tuple[Verdict, float]]


def shrink(
    program: Program, verdict: Verdict, patience: float = 300.0, judge: Judge = isolated
) -> tuple[Program, Verdict]:
    """The smallest program found, and its verdict."""
    deadline = time.monotonic() + patience
    boards: Sequence[str] = [b for b in BOARDS if b in verdict.where]
    boards = QUICK if verdict.where == "reference" else boards
    seconds = 15 if verdict.where == "time" else 60
    best = verdict

    def fails(candidate: Program) -> bool:
        nonlocal best
        runs = usable if verdict.outcome == "wrong" else _runs  # what is wrong has to be wrong in a telling way
        if time.monotonic() > deadline or not candidate.inputs or not runs(candidate):
            return False
        found, _ = judge(candidate.text(), candidate.mode, boards, seconds)
        if found.signature == verdict.signature:
            best = found
            return True
        return False

    smaller = True
    while smaller and time.monotonic() < deadline:
        smaller = False
        for step in (_results, _halves, _statements, _lines, _inputs):
            program, changed = _greedy(program, step, fails)
            smaller |= changed
    return program, best


def _greedy(
    program: Program, step: Callable[[Program], Iterator[Program]], fails: Callable[[Program], bool]
) -> tuple[Program, bool]:
    """Take the first candidate that still fails, and start over from it."""
    changed = False
    found = True
    while found:
        found = False
        for candidate in step(program):
            candidate = replace(candidate, inputs=candidate.used_inputs())
            if candidate != program and fails(candidate):
                program, changed, found = candidate, True, True
                break
    return program, changed


def _runs(program: Program) -> bool:
    try:
        loaded = load(program.text())
        return bool(eager(loaded.model, [loaded.inputs(call) for call in range(CALLS)])[0])
    except Exception:
        return False


def _results(program: Program) -> Iterator[Program]:
    """Each of the results alone, then all but one; then what one result is made of."""
    tree = ast.parse(program.result, mode="eval").body
    leaves = [ast.unparse(leaf) for leaf in _leaves(tree)]
    if len(leaves) == 1:
        if program.result != leaves[0]:
            yield replace(program, result=leaves[0])
        made = _made(program)
        for name in made[: made.index(leaves[0])] if leaves[0] in made else made:
            yield replace(program, result=name)
        return
    for leaf in leaves:
        yield replace(program, result=leaf)
    for k in range(len(leaves)):
        yield replace(program, result=", ".join(leaves[:k] + leaves[k + 1 :]))


def _leaves(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.Tuple | ast.List):
        return [leaf for item in tree.elts for leaf in _leaves(item)]
    if isinstance(tree, ast.Dict):
        return [leaf for item in tree.values for leaf in _leaves(item)]
    return [tree]


def _halves(program: Program) -> Iterator[Program]:
    count = len(program.statements)
    size = count // 2
    while size >= 2:
        for start in range(0, count, size):
            yield program.without(range(start, min(start + size, count)))
        size //= 2


def _statements(program: Program) -> Iterator[Program]:
    """Without one statement; its name then stands for something that it was made of."""
    for k in reversed(range(len(program.statements))):
        yield program.without([k])
        found = _ASSIGNED.match(program.statements[k].body)
        if found:
            name, expression = found.groups()
            for source in dict.fromkeys(_names(program, expression)):
                rest = program.without([k])
                yield replace(
                    rest,
                    statements=tuple(replace(s, body=_renamed(s.body, name, source)) for s in rest.statements),
                    result=_renamed(rest.result, name, source),
                )


def _names(program: Program, text: str) -> list[str]:
    """The inputs and earlier results that an expression reads."""
    known = {i.name for i in program.inputs} | set(_made(program))
    return [word for word in _WORD.findall(text) if word in known]


def _made(program: Program) -> list[str]:
    """Names that statements give their results."""
    return [name for s in program.statements for names in _TARGETS.findall(s.body) for name in names.split(", ")]


def _renamed(text: str, name: str, source: str) -> str:
    return re.sub(rf"\b{name}\b", source, text)


def _lines(program: Program) -> Iterator[Program]:
    """Without one line of a statement of several, or one change of a chain."""
    for k, statement in enumerate(program.statements):
        lines = statement.body.splitlines()
        for number in range(len(lines)) if len(lines) > 1 else ():
            yield _with(program, k, replace(statement, body="\n".join(lines[:number] + lines[number + 1 :])))
        for chain in re.finditer(r"\.\w+_\([^()]*\)", statement.body):
            shorter = statement.body[: chain.start()] + statement.body[chain.end() :]
            yield _with(program, k, replace(statement, body=shorter))
        for count in re.finditer(r"range\((\d\d)\)", " ".join(statement.init)):
            half = int(count.group(1)) * 3 // 4
            yield _with(
                program,
                k,
                replace(
                    statement, init=tuple(line.replace(count.group(0), f"range({half})") for line in statement.init)
                ),
            )


def _with(program: Program, k: int, statement: Statement) -> Program:
    return replace(program, statements=(*program.statements[:k], statement, *program.statements[k + 1 :]))


def _inputs(program: Program) -> Iterator[Program]:
    """Plain inputs, a plain name."""
    if program.name != "Net":
        yield replace(program, name="Net")
    for k, given in enumerate(program.inputs):
        if given.place:
            yield replace(program, inputs=tuple(replace(i, place="") for i in program.inputs))
        make = re.sub(r"\)( \* .*|\.transpose.*|\[.*)$", ")", given.make)
        if make != given.make:
            yield replace(program, inputs=(*program.inputs[:k], replace(given, make=make), *program.inputs[k + 1 :]))
