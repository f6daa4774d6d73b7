"""Counting itemsets of one size for the check of k^m-anonymity, without making them.

Items are numbered from the rarest to the most frequent and stand in that order within a record.
A search goes depth-first over the itemsets that occur, each held as the places in the records
where its last item stands: what follows such a place is what the itemset can be extended by, so
one scan behind the places counts all extensions by one item at once. A set of the last size is
only counted, never stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.kernels.types import Int32Array, Int64Array

FOUND, STEPS, SETS = range(3)
LENGTH, ITEM, START, END, SUPPORT, FRAME = range(6)


@compiled
def grown(values: Int64Array, used: int, needed: int) -> Int64Array:
    """Return an array of at least `needed` places that begins with the `used` ones of `values`.

    >>> grown(np.array([7, 8]), 1, 3)[:1].tolist()
    [7]
    """
    if needed <= len(values):
        return values
    longer = np.empty(2 * needed, dtype=np.int64)
    for i in range(used):
        longer[i] = values[i]
    return longer


@compiled
def push(frames: Int64Array, place: int, length: int, item: int, start: int, support: int) -> None:
    """Write a frame whose run of places is still empty.

    >>> frames = np.zeros(FRAME, dtype=np.int64)
    >>> push(frames, 0, 2, 7, 30, 4)
    >>> frames.tolist()
    [2, 7, 30, 30, 4]
    """
    frames[place + LENGTH] = length
    frames[place + ITEM] = item
    frames[place + START] = start
    frames[place + END] = start
    frames[place + SUPPORT] = support


@compiled
def keep_rarest(
    supports: Int64Array, itemsets: Int32Array, support: int, prefix: Int32Array, last: int
) -> None:
    """Put the itemset `prefix` + `last` into its place among the rarest, if it belongs there.

    Rows are ordered by support, then by their items; a place not taken yet has the greatest
    support there is.

    >>> supports, itemsets = np.array([1, 3]), np.array([[0, 4], [1, 2]], np.int32)
    >>> keep_rarest(supports, itemsets, 1, np.array([0, 9], np.int32), 3)
    >>> supports.tolist(), itemsets.tolist()
    ([1, 1], [[0, 3], [0, 4]])
    """
    size = itemsets.shape[1]
    place = len(supports)
    while place > 0 and supports[place - 1] >= support:
        if supports[place - 1] == support:
            # Which of the two comes first is told by the first item in which they differ.
            at = 0
            while at < size - 1 and itemsets[place - 1, at] == prefix[at]:
                at += 1
            mine = last if at == size - 1 else prefix[at]
            if itemsets[place - 1, at] < mine:
                break
        place -= 1
    for i in range(len(supports) - 1, place, -1):
        supports[i] = supports[i - 1]
        for at in range(size):
            itemsets[i, at] = itemsets[i - 1, at]
    if place < len(supports):
        supports[place] = support
        for at in range(size):
            itemsets[place, at] = prefix[at]
        itemsets[place, size - 1] = last


@compiled
def rare_itemsets(
    items: Int32Array,
    ends: Int64Array,
    occurrence_offsets: Int64Array,
    occurrences: Int64Array,
    first: int,
    last: int,
    k: int,
    limit: int,
    supports: Int64Array,
    itemsets: Int32Array,
    state: Int64Array,
) -> bool:
    """Count the itemsets of a size with support below `k` that begin with an item in a range.

    All smaller itemsets that occur must have support `k` or more. An item that all records of
    an itemset hold is passed over: with it, no support is less than without it.

    Parameters
    ----------
    items, ends
        The records one after the other, each ascending; at each place the end of its record.
    occurrence_offsets, occurrences
        For each item the places where it stands.
    first, last
        The range of first items.
    k
        Least support that is not rare.
    limit
        When ``state[STEPS]`` passes it, the search stops.
    supports, itemsets
        Receive the rarest; the second has one column per item of a set (two or more).
    state
        Receives in FOUND how many are rare, in STEPS how many places were read, in SETS how many
        itemsets of the size were counted.

    Returns
    -------
    bool
        Whether the range was searched to its end.

    Examples
    --------
    The pairs of {0, 2}, {1, 2}, {1, 2}: one of them is in one record only.

    >>> rarest, state = np.full((1, 2), -1, np.int32), np.zeros(3, np.int64)
    >>> rare_itemsets(np.array([0, 2, 1, 2, 1, 2], np.int32), np.array([2, 2, 4, 4, 6, 6]),
    ...               np.array([0, 1, 3, 6]), np.array([0, 2, 4, 1, 3, 5]), 0, 3, 2, 99,
    ...               np.array([9]), rarest, state)
    True
    >>> int(state[FOUND]), rarest.tolist()
    (1, [[0, 2]])
    """
    size = itemsets.shape[1]
    counts = np.zeros(len(occurrence_offsets) - 1, dtype=np.int64)
    touched = np.empty(len(counts), dtype=np.int32)
    prefix = np.empty(size, dtype=np.int32)
    places = np.empty(1024, dtype=np.int64)
    # A frame is an itemset to extend: its length, its last item, its run of `places`, its support.
    frames = np.empty(1024 * FRAME, dtype=np.int64)
    for root in range(first, last):
        low, high = occurrence_offsets[root], occurrence_offsets[root + 1]
        places = grown(places, 0, high - low)
        for i in range(high - low):
            places[i] = occurrences[low + i]
        push(frames, 0, 1, root, 0, high - low)
        frames[END] = high - low
        depth = FRAME
        while depth > 0:
            if state[STEPS] > limit:
                return False
            depth -= FRAME
            length, start, top = frames[depth], frames[depth + START], frames[depth + END]
            support = frames[depth + SUPPORT]
            prefix[length - 1] = frames[depth + ITEM]
            n_touched = 0
            for i in range(start, top):
                end = ends[places[i]]
                state[STEPS] += end - places[i]
                for at in range(places[i] + 1, end):
                    other = items[at]
                    if counts[other] == 0:
                        touched[n_touched] = other
                        n_touched += 1
                    counts[other] += 1
            if length == size - 1:
                state[SETS] += n_touched
                for i in range(n_touched):
                    other = touched[i]
                    count = counts[other]
                    counts[other] = 0
                    if count < k:
                        state[FOUND] += 1
                        if count <= supports[-1]:
                            keep_rarest(supports, itemsets, count, prefix, other)
                continue
            # Lay out one run of places per extension; `counts` then says which frame is its own.
            frames = grown(frames, depth, depth + n_touched * FRAME)
            filled = top
            for i in range(n_touched):
                other = touched[i]
                count = counts[other]
                counts[other] = -1
                if count < support:
                    push(frames, depth, length + 1, other, filled, count)
                    counts[other] = depth
                    depth += FRAME
                    filled += count
            places = grown(places, top, filled)
            for i in range(start, top):
                for at in range(places[i] + 1, ends[places[i]]):
                    frame = counts[items[at]]
                    if frame >= 0:
                        places[frames[frame + END]] = at
                        frames[frame + END] += 1
            for i in range(n_touched):
                counts[touched[i]] = 0
    return True
