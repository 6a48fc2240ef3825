# ruff: noqa: N802, PTH123, SIM105, SIM115, UP031 - MicroPython has no pathlib and no contextlib
"""Runs on MicroPython: executes calls and prints what they give, one line each."""
import sys
from binascii import hexlify, unhexlify
from struct import pack

import torch

for name in ("nn", "nn.functional", "special", "linalg"):
    try:
        __import__("torch." + name)
    except ImportError:  # a selective build
        pass

inputs = []
seed = getattr(torch, "manual_seed", None)


def T(data, dtype, sizes, strides=None, offset=0):
    """A tensor with these bytes."""
    dtype = getattr(torch, dtype)
    if not data:
        return torch.zeros(sizes, dtype=dtype)
    buffer = bytearray(unhexlify(data))
    flat = torch.frombuffer(buffer, dtype=dtype)
    tensor = flat.view(sizes) if strides is None else flat.as_strided(sizes, strides, offset)
    inputs.append((buffer, bytes(buffer), tuple(sizes), tuple(tensor.stride()), tensor))
    return tensor


def V(base, sizes, strides, offset):
    """A tensor over the memory of another one."""
    buffer, before = next((row[0], row[1]) for row in inputs if row[4] is base)
    tensor = base.as_strided(sizes, strides, offset)
    inputs.append((buffer, before, tuple(sizes), tuple(strides), tensor))
    return tensor


def show(x, texts):
    if isinstance(x, torch.Tensor):
        data = hexlify(x.contiguous().reshape(-1)).decode() if x.numel() else ""
        texts.append("t:%s:%s:%s" % (str(x.dtype)[6:], ",".join([str(n) for n in x.shape]), data))
    elif isinstance(x, bool):
        texts.append("b:%d" % x)
    elif isinstance(x, int):
        texts.append("i:%d" % x)
    elif isinstance(x, float):
        texts.append("f:" + hexlify(pack("<d", x)).decode())
    elif isinstance(x, dict):
        for key in x:
            show(x[key], texts)
    elif x is not None and not isinstance(x, str):
        for y in x:
            show(y, texts)


def run(number, text):
    """Prints the result and the tensors among the arguments that the call has changed."""
    del inputs[:]
    space = {"torch": torch, "T": T, "V": V}
    texts = []
    if seed is not None:
        seed(42)
    try:
        exec(text, space)
        show(space["r"], texts)
        for k in range(len(inputs)):
            buffer, before, sizes, strides, tensor = inputs[k]
            if buffer != before or tuple(tensor.shape) != sizes or tuple(tensor.stride()) != strides:
                texts.append("c:%d" % k)
                show(tensor, texts)
        print("=", number, "ok", " ".join(texts))
    except Exception as error:
        print("=", number, "error", type(error).__name__, " ".join(str(error).split())[:300])


def known(name):
    """Whether a dotted name exists: torch.add, torch.Tensor.add, torch.Tensor.T."""
    parts = name.split(".")[1:]
    x = torch
    if parts[0] == "Tensor":
        x = torch.zeros(1, 1)
        parts = parts[1:]
    try:
        for part in parts:
            x = getattr(x, part)
        return True
    except AttributeError:
        return False
    except Exception:
        return True


def main():
    for line in open(sys.argv[-1]):
        number, text = line.split(" ", 1)
        if number == "?":
            print("?", text.strip(), known(text.strip()))
        else:
            run(int(number), text)
