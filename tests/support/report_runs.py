"""Runs as `run --json` prints them, made by hand: a network in modules, without a board or a compiler."""

from __future__ import annotations

from typing import Any


def step(index: int, what: str, module: str, reads: list[str], instructions: int, kind: str) -> dict[str, Any]:
    """One that writes the buffer b<index>."""
    out = {"buffer": f"b{index}", "dtype": kind, "shape": [1, 8], "bytes": 32, "scale": None, "zero_point": None}
    return {
        "index": index, "op": what.split()[0], "what": what, "group": what.split()[0], "type": kind,
        "shapes": "(8) -> (8)", "module": module, "source": f"net.py:{index + 1}", "macs": 64, "weights": 256,
        "reads": reads, "writes": [out], "scratch": None, "instructions": instructions,
    }


def run(blocks: int = 20, instructions: int = 1000, kind: str = "float32") -> dict[str, Any]:
    """`blocks` of three layers with a line around each: block.0.expand, block.0.project, then an add."""
    steps = [step(0, "conv2d 3x3", "stem", ["x"], instructions, kind)]
    for block in range(blocks):
        at = len(steps)
        before = f"b{at - 1}"
        steps.append(step(at, "conv2d 1x1 + relu", f"block.{block}.expand", [before], instructions, kind))
        steps.append(step(at + 1, "linear", f"block.{block}.project", [f"b{at}"], instructions, kind))
        steps.append(step(at + 2, "add", f"block.{block}", [before, f"b{at + 1}"], 10, kind))
    count = len(steps)
    last = {name: max([s["index"] for s in steps if name in s["reads"]], default=count)
            for name in ["x", *(f"b{s['index']}" for s in steps)]}
    buffers = [{"name": "x", "offset": 0, "bytes": 32, "first": -1, "last": last["x"], "what": "input x",
                "group": "input", "module": ""}]
    buffers += [
        {"name": f"b{s['index']}", "offset": 32 * (1 + s["index"] % 3), "bytes": 32, "first": s["index"],
         "last": last[f"b{s['index']}"], "what": s["what"], "group": s["group"], "module": s["module"]} for s in steps
    ]
    total = sum(s["instructions"] for s in steps)
    port = {"dtype": kind, "shape": [1, 8], "c_shape": [1, 8], "perm": None, "scale": None, "zero_point": None,
            "offset": 0, "bytes": 32, "is_size": False}
    return {
        "format": 1, "name": "net", "board": "mps2-an386", "target": "cortex-m4", "match": True,
        "compared_with": "PyTorch", "warnings": [], "max_abs_error": 0.0, "macs": 64 * count,
        "macs_executed": 64 * count, "instructions": total, "cycles_estimate": 2 * total, "counts_reason": None,
        "stack_painted": None,
        "flash": {"code": 2000, "weights": 256 * count, "harness": 100, "total": 2100 + 256 * count},
        "ram": {"arena": 128, "state": 0, "static": 0, "stack": 64, "weights": 0, "arena_lower_bound": 96,
                "arena_no_overlap": 128, "total": 192},
        "placement": None, "quantization": None, "saving": None, "unknown": [], "accuracy": None, "snr_db": None,
        "agreement": None, "snr_against": "the float model", "worst_layers": None, "fallbacks": [], "runs": 8,
        "outputs": [{"name": "0", "match": True, "max_abs_error": 1e-7, "limit": 1e-6, "largest": 1.0, "not_finite": 0,
                     "warnings": []}],
        "operators": [{"index": s["index"], "instructions": s["instructions"], "cycles": 2 * s["instructions"]}
                      for s in steps],
        "memory": [{"name": "flash", "kind": "flash", "size": 4 << 20, "used": 9000, "free": (4 << 20) - 9000}],
        "hardware": {"title": "A board", "cpu": "cortex-m4", "clock_hz": 25_000_000, "place": None},
        "network": {
            "steps": [{k: v for k, v in s.items() if k != "instructions"} for s in steps],
            "inputs": [{**port, "name": "x", "buffer": "x"}],
            "outputs": [{**port, "name": "0", "buffer": f"b{count - 1}"}], "states": [], "buffers": buffers,
            "arena": {"bytes": 128, "lower_bound": 96, "peak_step": 2},
        },
        "made": {"date": "2026-01-02T03:04:05+00:00", "command": "pilotlight run net.py:net --json",
                 "options": {"quantize": None if kind == "float32" else kind, "optimize": "speed"},
                 "versions": {"pilotlight": "0.1.0", "torch": "2.13.0", "Python": "3.12", "compiler": "gcc 12.2",
                              "emulator": None}},
    }
