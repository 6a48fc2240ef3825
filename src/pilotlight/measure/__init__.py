"""Measure: instructions and cycles of a run, per operator.

    measure.profile.profile(build, device.counts) -> Profile      # rows per operator and totals, first run
    measure.profile.cycles_estimate(build, device.counts) -> int | None
    device.counts.totals                                          # instructions of every run

Instructions are exact, from the first of NAME_run to its return. Cycles are an estimate, and only for boards
whose core has a table in measure/cycles/.
"""
