"""A seed becomes a program: inputs of one of several kinds, statements, and what is returned."""

from __future__ import annotations

import warnings
from dataclasses import replace

import torch

from fuzz.maker import Maker
from fuzz.program import Program, load, tensors
from fuzz.statements import FAMILIES
from fuzz.statements.residual import deep
from pilotlight.graph.ports import as_floats

MODES = ("float", "int8", "int16x8", "weights-int8", "weights-int4")
FORMS = ("entries", "lengths")  # float models in other forms, only where asked for
CALLS = 4
MIXED = {family: 1.0 for family in FAMILIES if family != "complex"}
# Families of statements by kind, each with a weight; and what the first input looks like.
KINDS: dict[str, tuple[str, dict[str, float]]] = {
    "mixed": ("any", MIXED | {"pointwise": 2.0, "views": 2.0, "recurrent": 0.5, "control": 0.5}),
    "convolution": (
        "image",
        {
            "convolution": 4,
            "pointwise": 2,
            "norms": 1,
            "pooling": 2,
            "residual": 2,
            "reductions": 1,
            "dense": 1,
            "views": 1,
            "indexing": 0.5,
            "recurrent": 0.7,
            "in_place": 0.7,
            "states": 0.3,
        },
    ),
    "sequence": (
        "sequence",
        {
            "recurrent": 2,
            "attention": 2,
            "dense": 2,
            "norms": 1,
            "pointwise": 2,
            "views": 2,
            "masks": 1,
            "indexing": 1,
            "reductions": 1,
            "in_place": 0.7,
            "states": 0.5,
            "convolution": 0.7,
        },
    ),
    "views": ("any", {"views": 6, "in_place": 3, "pointwise": 2, "reductions": 1, "dense": 1, "convolution": 0.5}),
    "in_place": (
        "any",
        {"in_place": 5, "views": 2, "pointwise": 2, "dense": 1, "states": 1, "convolution": 0.7, "masks": 0.5},
    ),
    "states": (
        "any",
        {"states": 4, "in_place": 1, "pointwise": 2, "dense": 1.5, "views": 1, "convolution": 1, "reductions": 0.5},
    ),
    "indexing": (
        "any",
        {"indexing": 5, "masks": 2, "reductions": 2, "pointwise": 1.5, "views": 1, "dense": 1, "convolution": 0.7},
    ),
    "control": (
        "any",
        {"control": 4, "pointwise": 2, "masks": 1, "views": 1, "dense": 1, "states": 0.5, "residual": 0.5},
    ),
    "complex": ("any", {"complex": 6, "pointwise": 1.5, "views": 1, "in_place": 1, "reductions": 0.7, "dense": 0.5}),
    "deep": ("image", {"pointwise": 1, "pooling": 1, "reductions": 1, "dense": 1, "views": 1}),
}
# How often a kind is chosen where none is asked for; "complex" is only where it is, so that seeds keep their models.
WEIGHTS = {
    "mixed": 4.0,
    "convolution": 3.0,
    "sequence": 2.5,
    "views": 2.0,
    "in_place": 2.5,
    "states": 2.0,
    "indexing": 2.0,
    "control": 1.2,
    "deep": 0.4,
}
DENSE_KINDS = ("convolution", "sequence", "mixed")  # have weights to quantize
NAMES = (
    "Net",
    "Net",
    "Net",
    "Model",
    "MyNet",
    "TinyModel",
    "Classifier",
    "Main",
    "Float",
    "Io",
    "Fault",
    "Protocol",
    "Server",
    "Stdint",
    "Switch",
    "Double",
    "Model_Weights",
    "Init",
    "Static",
    "String",
    "_Net",
    "Ünet",
    "Kernel",
    "Reset",
)
INPUTS = (
    "x",
    "x",
    "x",
    "input",
    "data",
    "image",
    "inputs",
    "arena",
    "weights",
    "state",
    "n",
    "float_",
    "signal",
    "model",
    "t",
)


def generate(seed: int, kind: str | None = None, mode: str | None = None) -> Program:
    """The same program for the same arguments, always."""
    for attempt in range(20):
        program = _attempt(seed, attempt, kind, mode)
        if program is not None:
            return program
    raise AssertionError(f"no program for seed {seed}")


def _attempt(seed: int, attempt: int, kind: str | None, mode: str | None) -> Program | None:
    m = Maker(seed * 100 + attempt, quantized=mode not in ("float", *FORMS))
    chosen_mode = m.random.choices(MODES, (50, 33, 9, 4, 4))[0]
    mode = mode or chosen_mode
    chosen_kind = m.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    if mode.startswith("weights") and chosen_kind not in DENSE_KINDS:
        chosen_kind = m.choice(DENSE_KINDS)
    kind = kind or chosen_kind
    _inputs(m, KINDS[kind][0])
    m.begin()
    weights = KINDS[kind][1]
    if kind == "deep":
        deep(m)
    wanted, tries = m.integer(2, 11), 0
    while len(m.statements) < wanted and tries < 60:
        tries += 1
        family = m.random.choices(list(weights), list(weights.values()))[0]
        m.choice(FAMILIES[family])(m)
    result = _result(m)
    if result is None or not m.statements:
        return None
    program = Program(
        seed,
        tuple(m.statements),
        tuple(m.inputs),
        result,
        m.choice(NAMES) if m.chance(0.5) else "Net",
        mode,
        kind,
        dicts=frozenset(("batch", "sample")),
    )
    return replace(program, inputs=program.used_inputs()) if usable(program) else None


def _sizes(m: Maker, kind: str) -> tuple[int, ...]:
    batch = m.choice((1, 1, 1, 2))
    if kind == "image":
        return batch, m.integer(1, 6), m.integer(4, 11), m.integer(4, 11)
    if kind == "sequence":
        return batch, m.integer(2, 8), m.choice((2, 3, 4, 6, 8))
    return m.choice(
        (
            (m.integer(2, 9),),
            (batch, m.integer(2, 12)),
            (m.integer(2, 5), m.integer(1, 6)),
            (batch, m.integer(2, 5), m.integer(2, 7)),
            (batch, m.integer(1, 4), m.integer(3, 8), m.integer(3, 8)),
            (1, 1, m.integer(2, 9)),
        )
    )


def _inputs(m: Maker, kind: str) -> None:
    """One to three inputs; plain, in a dict or tuple, or by keyword; some with odd strides."""
    shape = _sizes(m, kind)
    names = [m.choice(INPUTS)]
    _float_input(m, names[0], shape, "")
    place = m.choice(("", "", "", "", "batch", "pair", "*", "*"))
    more = m.choice((0, 0, 1, 1, 2))
    if place not in ("", "*"):
        m.inputs[0] = replace(m.inputs[0], place=place)
        more = max(more, 1)
    for number in range(more):
        name = f"{m.choice(('y', 'mask', 'ids', 'extra', 'other'))}{number}"
        what = m.choice(("float", "float", "float", "same", "index", "mask"))
        if what == "index":
            m.give(
                name,
                f"torch.randint(0, {m.integer(2, 6)}, {m.choice((shape, shape[:1], shape[:2], (3,)))}, generator=g)",
                place,
            )
        elif what == "mask":
            m.give(name, f"torch.rand({shape}, generator=g) > 0.4", place)
        else:
            _float_input(m, name, shape if what == "same" else _sizes(m, m.choice((kind, "any"))), place)


def _float_input(m: Maker, name: str, shape: tuple[int, ...], place: str) -> None:
    scale = m.choice(("", "", "", " * 2 + 1", " * 0.3"))
    make = f"torch.randn({shape}, generator=g){scale}"
    if len(shape) > 1 and m.chance(0.12):  # the same shape from memory of another order
        turned = (shape[1], shape[0], *shape[2:])
        make = m.choice(
            (
                f"torch.randn({turned}, generator=g).transpose(0, 1)",
                f"torch.randn({(*shape[:-1], 2 * shape[-1])}, generator=g)[..., ::2]",
                f"torch.randn({(shape[0], shape[1] + 1, *shape[2:])}, generator=g)[:, 1:]",
            )
        )
    m.give(name, make, place)


def _result(m: Maker) -> str | None:
    """What is returned: newer and unused results first; at times an input, a state, one thing twice, a dict."""
    given = {i.name for i in m.inputs}
    made = [n for n in m.names(lambda t: True) if n not in given and not n.startswith("self.")]
    made = [n for n in made if not (m.quantized and m.value(n).is_complex())]
    made = [n for n in made if not m.value(n).is_floating_point() or _varies(m.value(n)) or m.value(n).numel() == 1]
    if not made:
        return None
    unused = [n for n in made if n not in m.used] or made[-1:]
    m.random.shuffle(unused)
    chosen = unused[: m.integer(1, 6)]
    if m.chance(0.3):
        chosen.append(m.choice(made))
    if m.states and m.chance(0.3):
        chosen.append(m.choice(m.states) + m.choice(("", "", ".clone()", " * 2")))
    if m.chance(0.08):
        chosen.append(m.choice(sorted(given)))
    if m.chance(0.08):
        chosen.append(chosen[0])
    if m.chance(0.1) and m.value(made[-1]).dim():
        chosen.append(
            m.choice(
                (
                    f"{made[-1]}.t()",
                    f"{made[-1]}.flatten()",
                    f"{made[-1]}[:1]",
                    f"{made[-1]}.transpose(0, -1)",
                    f"{made[-1]} > 0",
                )
            )
        )
    m.random.shuffle(chosen)
    if len(chosen) == 1:
        return str(m.choice((chosen[0], chosen[0], f"({chosen[0]},)", f'{{"out": {chosen[0]}}}')))
    if m.chance(0.25):
        keys = ("out", "logits", "hidden", "aux", "extra", "mask", "last", "more")
        return "{" + ", ".join(f'"{k}": {v}' for k, v in zip(keys, chosen, strict=False)) + "}"
    if m.chance(0.15):
        return f"{chosen[0]}, [{', '.join(chosen[1:])}]"
    return ", ".join(chosen)


def _varies(t: torch.Tensor) -> bool:
    return t.numel() > 1 and float(t.std()) > 1e-3 * (float(t.abs().max()) + 1e-9)


def usable(program: Program) -> bool:
    """Runs eagerly over several calls in both float types, with numbers that stay finite, and says something: every
    float result varies over its elements and calls."""
    try:
        loaded = load(program.text())
        for dtype in (torch.float32, torch.float64):
            module = loaded.model().to(dtype)
            before = torch.get_default_dtype()
            torch.set_default_dtype(dtype)
            rows = []
            try:
                for call in range(CALLS):
                    args, kwargs = loaded.inputs(call)
                    with torch.no_grad(), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        rows.append([as_floats(t.clone()) for t in tensors(module(*args, **kwargs))])
            finally:
                torch.set_default_dtype(before)
            for column in zip(*rows, strict=True):
                if not column[0].is_floating_point():
                    continue
                values = torch.cat([t.flatten() for t in column])
                if not bool(values.isfinite().all()) or float(values.abs().max()) > 1e4 or not _varies(values):
                    return False
    except Exception:  # grown with single statements, wrong as a whole: rare, and no program
        return False
    return bool(rows[0])
