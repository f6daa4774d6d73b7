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
from setveil.kernels.rows import ensure_room

if TYPE_CHECKING:
    from setveil.core.arrays import FloatArray, Int32Array, Int64Array

FOUND, STEPS, SETS = range(3)
LENGTH, ITEM, START, END, SUPPORT, FRAME = range(6)


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
    # From the end: what is rarer, or as rare and earlier in order, stays before it.
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
    # Make room; the last one falls out.
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
        places = ensure_room(places, high - low)
        for i in range(high - low):
            places[i] = occurrences[low + i]
        push(frames, 0, 1, root, 0, high - low)
        frames[END] = high - low
        depth = FRAME
        # A stack instead of recursion: a compiled function that calls itself cannot be kept.
        while depth > 0:
            if state[STEPS] > limit:
                return False
            depth -= FRAME
            length, start, top = frames[depth], frames[depth + START], frames[depth + END]
            support = frames[depth + SUPPORT]
            prefix[length - 1] = frames[depth + ITEM]
            # Records ascend, so only what stands behind a place can extend the set: each set is met
            # once.
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
            # The last item is only counted; no places are kept for it.
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
            frames = ensure_room(frames, depth + n_touched * FRAME)
            filled = top
            for i in range(n_touched):
                other = touched[i]
                count = counts[other]
                counts[other] = -1
                # As many as the set itself: all its records hold the item, which is passed over.
                if count < support:
                    push(frames, depth, length + 1, other, filled, count)
                    counts[other] = depth
                    depth += FRAME
                    filled += count
            # A second scan of the same places fills the runs. Runs above `top` belong to sets that
            # are done with.
            places = ensure_room(places, filled)
            for i in range(start, top):
                for at in range(places[i] + 1, ends[places[i]]):
                    frame = counts[items[at]]
                    if frame >= 0:
                        places[frames[frame + END]] = at
                        frames[frame + END] += 1
            for i in range(n_touched):
                counts[touched[i]] = 0
    return True


@compiled
def probe_itemsets(
    items: Int32Array,
    ends: Int64Array,
    occurrence_offsets: Int64Array,
    occurrences: Int64Array,
    roots: Int64Array,
    weights: FloatArray,
    draws: FloatArray,
    k: int,
    limit: int,
    levels: FloatArray,
    rarest: Int32Array,
) -> tuple[int, int]:
    """Go down the search of :func:`rare_itemsets` on single paths, to tell how large it is.

    This is Knuth's estimate of the size of a tree (1975): a path goes from an itemset to one of
    its extensions at random, and what it meets is weighted by one over the chance to get there.
    The mean over paths is then right for each level. Extensions are chosen in proportion to the
    places that they have behind them. Where `draws` has no columns, the rarest is taken instead.

    Parameters
    ----------
    items, ends, occurrence_offsets, occurrences
        As for :func:`rare_itemsets`.
    roots, weights
        For each path its first item, and one over the chance that it was chosen.
    draws
        For each path and each step a random number from 0 to 1.
    k
        Least support that is not rare.
    limit
        When so many places have been read, no path goes on.
    levels
        Receives for itemsets of 1, 2, … items how many places are behind them, summed over paths.
    rarest
        Receives the smallest rare itemset that was met, then -1.

    Returns
    -------
    tuple of int
        How many paths were gone, and the support of the rare itemset (-1 if there is none).

    Examples
    --------
    >>> levels, rarest = np.zeros(1), np.full(2, -1, np.int32)
    >>> probe_itemsets(np.array([0, 2, 1, 2, 1, 2], np.int32), np.array([2, 2, 4, 4, 6, 6]),
    ...                np.array([0, 1, 3, 6]), np.array([0, 2, 4, 1, 3, 5]), np.array([0, 1]),
    ...                np.ones(2), np.zeros((2, 0)), 2, 99, levels, rarest)
    (2, 1)
    >>> levels.tolist(), rarest.tolist()
    ([6.0], [0, 2])
    """
    counts = np.zeros(len(occurrence_offsets) - 1, dtype=np.int64)
    behind = np.zeros(len(counts), dtype=np.int64)
    touched = np.empty(len(counts), dtype=np.int32)
    prefix = np.empty(len(rarest), dtype=np.int32)
    places = np.empty(1024, dtype=np.int64)
    # `least` is the size of the smallest rare set so far, `best` its support.
    least, best, steps, done = len(rarest) + 1, -1, 0, 0
    while done < len(roots) and steps <= limit:
        low, high = occurrence_offsets[roots[done]], occurrence_offsets[roots[done] + 1]
        n_places = high - low
        places = ensure_room(places, n_places)
        for i in range(n_places):
            places[i] = occurrences[low + i]
        prefix[0] = roots[done]
        weight = weights[done]
        for length in range(1, len(levels) + 1):
            n_touched = 0
            read = 0
            for i in range(n_places):
                end = ends[places[i]]
                read += end - places[i]
                for at in range(places[i] + 1, end):
                    other = items[at]
                    if counts[other] == 0:
                        touched[n_touched] = other
                        n_touched += 1
                    counts[other] += 1
                    behind[other] += end - at
            steps += read
            # An unbiased estimate: what the path meets here, over the chance of its getting here.
            levels[length - 1] += weight * read
            # An item that all records of the itemset hold is passed over, as in the search.
            total, chosen = 0, -1
            for i in range(n_touched):
                other = touched[i]
                if counts[other] < n_places:
                    total += behind[other]
                    if chosen < 0 or counts[other] < counts[chosen]:
                        chosen = other
                if counts[other] < k and length + 1 < least:
                    least, best = length + 1, counts[other]
                    rarest[:length] = prefix[:length]
                    rarest[length] = other
                    rarest[length + 1 :] = -1
            if chosen >= 0 and draws.shape[1]:
                # A draw in proportion to what lies behind the extensions.
                left = draws[done, length - 1] * total
                for i in range(n_touched):
                    other = touched[i]
                    if counts[other] < n_places:
                        chosen = other
                        left -= behind[other]
                        if left < 0:
                            break
            if chosen >= 0:
                # One over the chance of this choice.
                weight *= total / behind[chosen]
                n_next = counts[chosen]
            for i in range(n_touched):
                counts[touched[i]] = 0
                behind[touched[i]] = 0
            if chosen < 0 or length == len(levels) or steps > limit:
                break
            prefix[length] = chosen
            # The run of places shrinks, so it can be overwritten from its start.
            filled = 0
            for i in range(n_places):
                for at in range(places[i] + 1, ends[places[i]]):
                    if items[at] == chosen:
                        places[filled] = at
                        filled += 1
                        break
            n_places = n_next
        done += 1
    return done, best
