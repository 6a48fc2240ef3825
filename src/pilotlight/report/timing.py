"""The lines on cycles, time and energy, in the terminal and on the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pilotlight.report.style import duration, number

_RULES = {
    "once": "if each line of code and weights is fetched once an inference",
    "cached": "as code and weights fit into the cache together, after the first inference",
    "uncached": "as each line of code is fetched whenever it is executed",
}


def timing_rows(figures: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Name, value and what it means, of a run that was counted on a board with a table of cycles."""
    found = figures.get("timing")
    if not found:
        if figures.get("cycles_estimate") is not None:  # of a record that says no more
            yield "cycles", number(figures["cycles_estimate"]), "estimate"
        return
    clock, waits = found["clock_hz"], found["waits"]
    assumed = "" if found["published"] else "; its timings are not published, so they are assumed"
    yield "cycles", number(found["cycles"]), f"estimate, {found['core']} whose memory never waits{assumed}"
    if waits is not None:
        yield "waits", number(waits["cycles"]), _waits_text(waits, clock)
    if clock is not None:
        yield "time", duration(found["total"], clock), _time_text(found)
    if figures.get("energy"):
        yield from _energy_rows(figures["energy"])


def _energy_rows(found: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    ms, active = 1000 * found["seconds"], found["active_microamps"] / 1000
    yield "energy", f"{_three(found['microjoules'])} µJ", (
        f"an inference: {_three(active)} mA at {found['volts']:g} V for {_three(ms)} ms ({found['source']})"
    )
    yield "current", f"{_three(found['mean_microamps'])} µA", (
        f"on average with an inference every {found['every']:g} s, {_three(found['sleep_microamps'])} µA asleep; "
        "the chip alone"
    )
    if found["days"] is not None:
        yield "battery", f"{_three(found['days'])} days", f"on {found['battery_mah']:g} mAh, if it gives all of them"


def _three(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _time_text(found: dict[str, Any]) -> str:
    clock, waits = found["clock_hz"], found["waits"]
    more = waits["cycles"] if waits else 0
    low, high = duration(found["least"] + more, clock), duration(found["most"] + more, clock)
    between = "" if low == high else f", {low} to {high}"
    if found["measured"]:
        off = " to ".join(dict.fromkeys(f"{share:+.0%}" for share in found["measured"]))
        sure = f"for software that was measured, estimates are off by {off} ({found['measured_on']})"
    else:
        sure = "not checked, as no measurement on this core was found"
    nothing = "; without waits for memory, which the board file does not have" if waits is None else ""
    return f"at {clock / 1e6:g} MHz{between}; {sure}{nothing}"


def _waits_text(waits: dict[str, Any], clock: int | None) -> str:
    memories = "; ".join(
        f"{m['name']}: {m['waits']} cycles a line of {m['line']} bytes, "
        + (f"cache of {number(m['cache'])} bytes" if m["cache"] else "no cache")
        + (", fetches code ahead" if m["prefetch"] else "")
        for m in waits["memories"]
    )
    most = number(waits["most"]) + (f" ({duration(waits['most'], clock)})" if clock else "")
    return f"cycles more, {_RULES[waits['rule']]} ({memories}); {most} if every fetch and load waited"
