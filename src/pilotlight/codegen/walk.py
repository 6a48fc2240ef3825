"""How closely a kernel's writes may follow its reads: the distances by which the planner overlaps buffers."""

from __future__ import annotations

import numpy as np


def forward_distance(reads: np.ndarray, written: np.ndarray) -> int:
    """The largest safe `out_offset - in_offset` of a kernel that runs in steps.

    `reads[i]` is the lowest input byte that step i reads after it has begun to write (or that a later step
    reads), `written[i]` the end of the output bytes written up to and including step i.
    """
    if len(reads) == 0:
        return 0
    still_to_read = np.minimum.accumulate(reads[::-1])[::-1]
    return int((still_to_read - written).min())


def backward_distance(read_to: np.ndarray, written: np.ndarray) -> int:
    """The smallest safe `out_offset - in_offset` of a kernel that runs from its last step to the first.

    `read_to[i]` is the end of the input bytes that step i reads after it has begun to write (or that an earlier
    step reads), `written[i]` the start of the output bytes written from the last step down to step i.
    """
    if len(read_to) == 0:
        return 0
    return int((np.maximum.accumulate(read_to) - written).max())


def copy_distances(reads: np.ndarray, writes: np.ndarray, size: int) -> tuple[int, int]:
    """The largest safe `out_offset - in_offset` of a loop that moves element `reads[i]` to `writes[i]`, and the
    smallest safe one when it runs from the last i to the first. Elements have `size` bytes."""
    first, last = int(reads.min()), int(reads.max())
    reach = np.maximum.accumulate(writes)[:-1] + 1
    forward = (np.minimum.accumulate(reads[::-1])[::-1][1:] - reach).min(initial=last + 1 - int(writes.min()))
    floor = np.minimum.accumulate(writes[::-1])[::-1][1:]
    backward = (np.maximum.accumulate(reads)[:-1] + 1 - floor).max(initial=first - 1 - int(writes.max()))
    return int(forward) * size, int(backward) * size


def elementwise_distance(reads: np.ndarray, size_in: int, size_out: int, base: int = 0) -> int:
    """The same for a loop whose i-th step reads element `reads[i]` and then writes element `base + i`."""
    count = len(reads)
    if count == 0:
        return 0
    written = (base + np.arange(1, count + 1, dtype=np.int64)) * size_out
    later = np.full(count, np.iinfo(np.int64).max // 4, dtype=np.int64)
    later[:-1] = reads[1:].astype(np.int64) * size_in
    return min(forward_distance(later, written), int(reads.min()) * size_in - base * size_out)
