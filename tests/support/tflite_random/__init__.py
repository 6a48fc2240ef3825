"""Random models of one TensorFlow Lite operator, or of a chain, as files; each is made from its seed alone."""

from tests.support.tflite_random import axes, dense, images, moving, networks, pointwise, recurrent
from tests.support.tflite_random.draw import FLOAT_CASES, HYBRID_CASES, INT8_CASES, INT16_CASES, UINT8_CASES, Draw

__all__ = ["CASES", "FLOAT_CASES", "INT8_CASES", "INT16_CASES", "random_model"]
CASES = {
    "INT8": INT8_CASES, "INT16": INT16_CASES, "FLOAT32": FLOAT_CASES, "UINT8": UINT8_CASES, "HYBRID": HYBRID_CASES,
}
_FAMILIES = (axes, dense, images, moving, networks, pointwise, recurrent)  # each adds its cases


def random_model(name: str, seed: int, kind: str = "INT8") -> bytes:
    draw = Draw(seed, name, kind)
    CASES[kind][name](draw)
    return draw.bytes()
