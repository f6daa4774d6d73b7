"""Steering a ratio of a choice of records by swapping records in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import Int32Array, Int64Array


@compiled
def swap_towards(
    offsets: Int64Array,
    items: Int32Array,
    parts: Int64Array,
    wholes: Int64Array,
    counts: Int64Array,
    order: Int64Array,
    sums: Int64Array,
    target: float,
    tolerance: float,
    leaving: Int64Array,
    entering: Int64Array,
) -> int:
    """Try swaps in turn, keep those that bring the ratio nearer to `target`; return how many.

    The ratio of a choice is (sum of `parts` + number of different items) / (sum of `wholes`).
    Swap j puts the record at place ``entering[j]`` of `order`, not chosen so far, in the place
    ``leaving[j]`` of a chosen one. `order`, `counts` (chosen records that hold an item) and
    `sums` (numerator and denominator) are kept up to date. It ends early once the ratio lies
    within `tolerance`.
    """
    kept = 0
    # Distance from the target; it falls with every swap that is kept.
    away = np.inf if sums[1] == 0 else abs(sums[0] / sums[1] - target)
    for j in range(len(leaving)):
        if away <= tolerance:
            break
        old, new = order[leaving[j]], order[entering[j]]
        part = sums[0] + parts[new] - parts[old]
        whole = sums[1] + wholes[new] - wholes[old]
        # Count as if the swap were made: items that vanish with the old record, and that come with
        # the new.
        for at in range(offsets[old], offsets[old + 1]):
            counts[items[at]] -= 1
            if counts[items[at]] == 0:
                part -= 1
        # First out, then in: an item in both records is counted right.
        for at in range(offsets[new], offsets[new + 1]):
            if counts[items[at]] == 0:
                part += 1
            counts[items[at]] += 1
        if whole > 0 and abs(part / whole - target) < away:
            away = abs(part / whole - target)
            sums[0], sums[1] = part, whole
            order[leaving[j]], order[entering[j]] = new, old
            kept += 1
        else:
            # Undo the counts.
            for at in range(offsets[new], offsets[new + 1]):
                counts[items[at]] -= 1
            for at in range(offsets[old], offsets[old + 1]):
                counts[items[at]] += 1
    return kept
