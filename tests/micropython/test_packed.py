"""Packed Python: operators and modules as bytecode in compressed blocks."""

from __future__ import annotations

import zlib
from itertools import pairwise

from pilotlight.micropython import pack
from pilotlight.micropython.bytecode import bytecode_version
from pilotlight.micropython.composed import units
from pilotlight.micropython.select import ALL, SMALL, modules
from support.micropython_scripts import output, run_script


def _blocks(source: str) -> list[bytes]:
    """The blocks of the generated C, unpacked."""
    arrays = {
        line.partition("[")[0].split()[-1]: [int(v) for v in line.partition("{")[2].rstrip("};\n").split(",")]
        for line in source.splitlines() if "[]" in line
    }
    data, starts = bytes(arrays["pt_blocks"]), arrays["pt_block_starts"]
    found = [zlib.decompress(data[a:b], -15) for a, b in pairwise(starts)]
    assert arrays["pt_block_sizes"] == [len(block) for block in found]
    return found


def test_every_unit_is_in_a_block_before_those_that_it_needs() -> None:
    heads = []
    for block in _blocks(pack.pack(modules(), ALL.units(), {}).source):
        at = 0
        while at < len(block):
            end = at + 2 + int.from_bytes(block[at : at + 2], "little")
            heads.append(block[at + 2 : end].partition(b"\n")[0].decode().split())
            at = end
    places = {words[0]: k for k, words in enumerate(heads)}
    assert set(places) == {*(f".{name}" for name in pack.PACKED), *units()}
    for words in heads:
        assert all(places[need] > places[words[0]] for need in words[1:] if need[0] != ":")


def test_names_of_parts_that_a_build_is_without_are_a_unit() -> None:
    absent = SMALL.with_parts(["utils", "load"]).absent()
    assert not {"utils", "load"} & absent.keys() and {"inverse", "linalg_inv"} <= set(absent["linalg"])
    unit = _blocks(pack.pack(modules(), SMALL.units(), absent).source)[-1].rpartition(b"_absent\n")[2]
    assert b";linalg " in unit and b" linalg_inv " in unit and b" inverse " in unit and b"vector" not in unit
    assert not any(block.count(b"_absent\n") for block in _blocks(pack.pack(modules(), ALL.units(), {}).source))


def test_another_version_of_bytecode_is_refused_when_built() -> None:
    source = pack.pack(modules(), ALL.units(), {}).source
    assert f"#if MPY_VERSION != {bytecode_version()}\n#error" in source and bytecode_version() >= 6


def test_operators_and_modules_are_loaded_once_and_alone() -> None:
    said = output("""
import torch
from torch import _packed
print(torch.diag(torch.ones(2)).tolist(), "diag" in _packed._made, "kron" in _packed._made)
print(torch.diag is torch.diag, torch.nn.Embedding(2, 3), "torch.nn.modules.others" in _packed._loaded)
print(hasattr(torch, "no_such_operator"), torch.moveaxis(torch.ones(1, 2), 0, 1).shape)
""")
    assert said.splitlines() == [
        "[[1.0, 0.0], [0.0, 1.0]] True False", "True Embedding(2, 3) True", "False torch.Size([2, 1])",
    ]


def test_without_memory_a_unit_is_loaded_the_next_time() -> None:
    done = run_script("""
import gc
import torch
torch.zeros(2).diag_embed
kept = []
try:
    while True:
        kept.append(bytearray(500))
except MemoryError:
    pass
try:
    torch.kron(torch.ones(1), torch.ones(1))
    print("there was memory")
except MemoryError:
    print("MemoryError")
kept = None
gc.collect()
print(torch.kron(torch.ones(1), torch.ones(1)).tolist())
""", heap="200k")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["MemoryError", "[1.0]"]
