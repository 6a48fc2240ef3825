# MicroPython's own, and CPython's clocks.
from utime import *

_ms, _us = ticks_ms(), ticks_us()


# microseconds are counted for eight minutes on a board, milliseconds for six days
def perf_counter():
    ms = ticks_diff(ticks_ms(), _ms)
    return ticks_diff(ticks_us(), _us) / 1000000 if 0 <= ms < 500000 else ms / 1000


def perf_counter_ns():
    return int(perf_counter() * 1000000) * 1000


monotonic, process_time, monotonic_ns, process_time_ns = perf_counter, perf_counter, perf_counter_ns, perf_counter_ns
