"""What a streaming model costs each second of signal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pilotlight.compiler import Build
from pilotlight.graph.streaming import StreamedOutput, Streaming
from pilotlight.measure.profile import Profile


def stream_figures(streaming: Streaming) -> dict[str, Any]:
    """What is known without a run; per second where the rate is known."""
    per_second = None if streaming.rate is None else streaming.rate / streaming.hop
    return {
        "hop": streaming.hop, "rate": streaming.rate, "stride": streaming.stride, "exact": streaming.exact,
        "window": streaming.window, "latency": streaming.latency,
        "latency_ms": None if streaming.rate is None else 1000.0 * streaming.latency / streaming.rate,
        "hop_ms": None if streaming.rate is None else 1000.0 * streaming.hop / streaming.rate,
        "state_bytes": streaming.state_bytes, "buffer": streaming.capacity,
        "macs_step": streaming.macs, "macs_window": streaming.macs_window,
        "macs_second": None if per_second is None else round(streaming.macs * per_second),
        "macs_second_window": None if per_second is None else round(streaming.macs_window * per_second),
        "padded": list(streaming.padded), "outputs": [_output(output) for output in streaming.outputs],
    }


def _output(output: StreamedOutput) -> dict[str, Any]:
    return {
        "name": output.name, "kind": output.kind, "frames": output.frames, "samples": output.samples,
        "warm": output.warm, "latency": output.latency,
    }


def load_figures(build: Build, counted: Profile | None, totals: Sequence[int]) -> dict[str, Any]:
    """With what was counted: instructions or cycles a second of signal, the load of the core, the worst step."""
    streaming = build.graph.streaming
    assert streaming is not None
    found = stream_figures(streaming)
    if counted is None or not totals:
        return found
    worst, per_instruction = max(totals), (counted.cycles or 0) / max(counted.instructions, 1)
    in_cycles = counted.cycles is not None
    typical = sum(totals) / len(totals)
    steps_a_second = None if streaming.rate is None else streaming.rate / streaming.hop
    unit = per_instruction if in_cycles else 1.0
    clock = build.board.clock_hz
    return found | {
        "unit": "cycles" if in_cycles else "instructions",
        "worst_step": round(worst * unit),
        "worst_step_ms": None if clock is None else 1000.0 * worst * unit / clock,
        "second": None if steps_a_second is None else round(typical * unit * steps_a_second),
        "load": None if steps_a_second is None or not clock else typical * unit * steps_a_second / clock,
        "worst_load": None if steps_a_second is None or not clock else worst * unit * steps_a_second / clock,
    }
