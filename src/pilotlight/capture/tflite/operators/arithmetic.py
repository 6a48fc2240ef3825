"""Operators of two tensors, element by element.

What TFLM computes with integers is in `ops/pointwise/tflm_binary.py`; comparisons and PRELU are written here.
"""

from __future__ import annotations

from pilotlight.capture.tflite.operators.dense import limited
from pilotlight.capture.tflite.operators.integers import clamped, compute, scaled
from pilotlight.capture.tflite.registry import operator
from pilotlight.capture.tflite.site import LIMITS, Site
from pilotlight.graph import BOOL, INT8, INT16, Quant, Value
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.pointwise.tflm_binary import make_tflm_add, make_tflm_mul, make_tflm_squared_difference

_NARROW = {"INT8": INT8, "INT16": INT16}
_PLAIN = ("FLOAT32", "INT32", "INT64")


def _same_types(site: Site) -> str:
    """The type of both operands."""
    kinds = {site.tensor(k).type for k in (0, 1)}
    if len(kinds) != 1:
        raise site.refuse(f"{site.tensor(0)} with {site.tensor(1)}")
    return kinds.pop()


def _plain(site: Site, op: str) -> Value | None:
    """Without scales: floats and whole numbers."""
    kind = _same_types(site)
    if kind not in _PLAIN:
        if site.quantized not in _NARROW:
            raise site.refuse(f"{site.tensor(0)} with {site.tensor(1)}")
        return None
    y = apply(site.b, op, site.x(0), site.x(1))
    if kind == "FLOAT32":
        return limited(site, y)
    if site.options.FusedActivationFunction:
        raise site.refuse(f"a fused activation of {site.result}")
    return y


def _centred(site: Site, k: int, quant: Quant, left: int = 0) -> Value:
    """An operand without its zero point, times 2^left."""
    x = compute(site.b, "sub", site.x(k), quant.zero_point)
    return compute(site.b, "mul", x, 1 << left) if left else x


def _result(site: Site, y: Value, quant: Quant, limits: tuple[int, int]) -> Value:
    return clamped(site.b, compute(site.b, "add", y, quant.zero_point), limits, _NARROW[site.quantized])


def _sum(site: Site, op: str, sign: int) -> Value:
    plain = _plain(site, op)
    if plain is not None:
        return plain
    bits = 16 if site.quantized == "INT16" else 8
    q0, q1, qy = site.quants(0, 1)
    (y,) = make_tflm_add(q0, q1, qy, site.limits(), bits, sign).build(site.b, site.x(0), site.x(1))
    return y


@operator("ADD", options="AddOptions")
def add(site: Site) -> Value:
    return _sum(site, "add", 1)


@operator("SUB", options="SubOptions")
def sub(site: Site) -> Value:
    return _sum(site, "sub", -1)


@operator("MUL", options="MulOptions")
def mul(site: Site) -> Value:
    plain = _plain(site, "mul")
    if plain is not None:
        return plain
    q0, q1, qy = site.quants(0, 1)
    (y,) = make_tflm_mul(q0, q1, qy, site.limits()).build(site.b, site.x(0), site.x(1))
    return y


@operator("SQUARED_DIFFERENCE")
def squared_difference(site: Site) -> Value:
    if _same_types(site) in _PLAIN:
        return apply(site.b, "square", apply(site.b, "sub", site.x(0), site.x(1)))
    if site.quantized not in _NARROW:
        raise site.refuse(f"{site.tensor(0)} with {site.tensor(1)}")
    q0, q1, qy = site.quants(0, 1)
    bits = 16 if site.quantized == "INT16" else 8
    spec = make_tflm_squared_difference(q0, q1, qy, LIMITS[site.quantized], bits)
    (y,) = spec.build(site.b, site.x(0), site.x(1))
    return y


def _floor(name: str, op: str) -> None:
    @operator(name)
    def function(site: Site) -> Value:
        if _same_types(site) != "FLOAT32":
            raise site.refuse(f"{site.tensor(0)} with {site.tensor(1)}; expected float32")
        return apply(site.b, op, site.x(0), site.x(1))


_floor("FLOOR_DIV", "floor_divide")
_floor("FLOOR_MOD", "remainder")


def _extreme(name: str, op: str) -> None:
    @operator(name)
    def function(site: Site) -> Value:
        """Integers as they are: TFLM takes them to have one scale."""
        _same_types(site)
        return apply(site.b, op, site.x(0), site.x(1))


_extreme("MAXIMUM", "maximum")
_extreme("MINIMUM", "minimum")


def _comparison(name: str, op: str) -> None:
    @operator(name)
    def function(site: Site) -> Value:
        kind = _same_types(site)
        if kind in (*_PLAIN, "BOOL"):
            return apply(site.b, op, site.x(0), site.x(1))
        if kind == "INT16":
            raise site.refuse("16-bit integers, which TFLM compares by factors that it never sets")
        if kind not in ("INT8", "UINT8"):
            raise site.refuse(f"{site.tensor(0)} with {site.tensor(1)}")
        quants = [site.quant(site.tensor(k)) for k in (0, 1)]
        if any(q.scale >= 1 for q in quants):
            raise site.refuse("a scale of 1 or more, which TFLM does not take here")
        operands = [scaled(site.b, _centred(site, k, q, 8), q.scale) for k, q in enumerate(quants)]
        return apply(site.b, op, *operands)


for _name, _op in (
    ("EQUAL", "eq"), ("NOT_EQUAL", "ne"), ("LESS", "lt"), ("LESS_EQUAL", "le"), ("GREATER", "gt"),
    ("GREATER_EQUAL", "ge"),
):
    _comparison(_name, _op)


@operator("LOGICAL_AND")
def logical_and(site: Site) -> Value:
    return apply(site.b, "logical_and", site.x(0), site.x(1))


@operator("LOGICAL_OR")
def logical_or(site: Site) -> Value:
    return apply(site.b, "logical_or", site.x(0), site.x(1))


@operator("LOGICAL_NOT")
def logical_not(site: Site) -> Value:
    return apply(site.b, "logical_not", site.x())


@operator("SELECT", "SELECT_V2")
def select(site: Site) -> Value:
    """SELECT with a vector chooses rows."""
    chosen, left, right = site.x(0), site.x(1), site.x(2)
    if chosen.dtype != BOOL or left.dtype != right.dtype:
        raise site.refuse(f"{site.tensor(0)}, {site.tensor(1)} and {site.tensor(2)}")
    if site.operator.name == "SELECT" and len(chosen.shape) == 1 and len(left.shape) > 1:
        chosen = site.b.reshape(chosen, (*chosen.shape, *(1 for _ in left.shape[1:])))
    return apply(site.b, "where", chosen, left, right)


@operator("PRELU")
def prelu(site: Site) -> Value:
    """The slopes of 16-bit numbers have 8 bits."""
    narrow_slope = (site.tensor(0).type, site.tensor(1).type) == ("INT16", "INT8")
    if not narrow_slope and _same_types(site) == "FLOAT32":
        below = apply(site.b, "mul", site.x(0), site.x(1))
        return apply(site.b, "where", apply(site.b, "ge", site.x(0), 0.0), site.x(0), below)
    if site.quantized != ("INT16" if narrow_slope else "INT8"):
        raise site.refuse(f"{site.tensor(0)} with {site.tensor(1)}")
    q0, q1, qy = site.quants(0, 1)
    x = _centred(site, 0, q0)
    above = scaled(site.b, x, q0.scale / qy.scale)
    product = compute(site.b, "mul", x, _centred(site, 1, q1))
    below = scaled(site.b, product, q0.scale * q1.scale / qy.scale)
    y = apply(site.b, "where", compute(site.b, "ge", x, 0), above, below)
    return _result(site, y, qy, LIMITS[site.quantized])


def _integer_sum(site: Site) -> Value:
    """All have one scale; TFLM's sum begins with the zero point's negative."""
    count = len(site.given)
    first, qy = site.quant(site.tensor(0)), site.quant(site.result)
    if any(site.quant(site.tensor(k)) != first for k in range(count)):
        raise site.refuse("its operands have several scales")
    total = scaled(site.b, -first.zero_point * (1 << 20), 0.5)
    for k in range(count):
        total = compute(site.b, "add", total, scaled(site.b, _centred(site, k, first, 20), 0.5))
    factor = 2 * first.scale / ((1 << 20) * qy.scale)
    return _result(site, scaled(site.b, total, factor), qy, (-128, 127))


@operator("ADD_N")
def add_n(site: Site) -> Value:
    if site.quantized == "INT8":
        return _integer_sum(site)
    if any(t is None or t.type not in _PLAIN for t in site.tensors):
        raise site.refuse(f"{site.tensor(0)}; expected float32")
    y = site.x(0)
    for k in range(1, len(site.given)):
        y = apply(site.b, "add", y, site.x(k))
    return y
