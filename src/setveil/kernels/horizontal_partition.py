"""Splitting records into clusters by their most frequent items, without recursion."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled
from setveil.kernels.km_check import grown

if TYPE_CHECKING:
    from setveil.kernels.types import Int32Array, Int64Array

LOW, HIGH, NODE, FRAME = range(4)
PARENT, TERM, PAIR = range(3)


@compiled
def horizontal_partition(
    offsets: Int64Array,
    items: Int32Array,
    n_items: int,
    k: int,
    most: int,
    used: Int64Array,
) -> tuple[Int64Array, Int64Array]:
    """Split records by the most frequent item until parts are small; none is smaller than `k`.

    A part of `most` records or more is split into those with its most frequent item and those
    without; an item that all of a part hold splits nothing and is left aside below it. Where one
    side would have some, but fewer than `k` records, a part of less than twice `most` stays as it
    is; in a larger one the item is left aside and the next one tried. Ties go to the item of the
    lowest number.

    Parameters
    ----------
    offsets, items
        The records as compressed rows of distinct items.
    n_items
        All items are below it.
    k
        Least size of a cluster; there are as many records or more.
    most
        Size from which a part is split.
    used
        Items that are left aside from the start, as these records are a part of more.

    Returns
    -------
    tuple of array and array
        The records, cluster by cluster, ascending within each; and where the clusters begin and
        end in it.

    Notes
    -----
    The records without the item are split next, and so on: such a chain reads its records once,
    for lists of the records of each item. Counts then only fall, so a heap whose entries may be
    out of date gives the most frequent item.

    Examples
    --------
    {0, 1}, {0, 1, 2}, {0, 2}, {1, 3}, {2, 3}, {3} in parts below 4:

    >>> horizontal_partition(np.array([0, 2, 5, 7, 9, 11, 12]),
    ...                      np.array([0, 1, 0, 1, 2, 0, 2, 1, 3, 2, 3, 3], np.int32), 4, 2, 4,
    ...                      np.zeros(0, np.int64))
    (array([0, 1, 2, 3, 4, 5]), array([0, 3, 6]))
    """
    n = len(offsets) - 1
    order = np.arange(n)
    is_border = np.zeros(n + 1, dtype=np.bool_)
    is_border[0] = is_border[n] = True
    counts = np.zeros(n_items, dtype=np.int64)
    touched = np.empty(n_items, dtype=np.int64)
    starts = np.empty(n_items, dtype=np.int64)
    # Items left aside are kept as a tree, from each part to what it came from.
    aside = np.empty((1024 + len(used)) * PAIR, dtype=np.int64)
    n_aside = 0
    for item in used:
        aside[n_aside + PARENT], aside[n_aside + TERM] = n_aside - PAIR, item
        n_aside += PAIR
    frames = np.empty(1024 * FRAME, dtype=np.int64)
    frames[LOW], frames[HIGH], frames[NODE] = 0, n, n_aside - PAIR if n_aside else -1
    depth = FRAME
    while depth > 0:
        depth -= FRAME
        low, high, node = frames[depth + LOW], frames[depth + HIGH], frames[depth + NODE]
        if high - low < most:
            continue
        rows = order[low:high].copy()
        n_touched = count_items(offsets, items, rows, counts, touched)
        up = node
        while up >= 0:
            counts[aside[up + TERM]] = 0
            up = aside[up + PARENT]
        places = place_rows(offsets, items, rows, counts, touched[:n_touched], starts, k)
        heap = [np.int64(0) for _ in range(0)]
        for item in touched[:n_touched]:
            if counts[item] >= k:
                heap.append(item - counts[item] * n_items)
        heapq.heapify(heap)
        stays = np.ones(len(rows), dtype=np.bool_)
        while high - low >= most and len(heap) > 0:
            key = heapq.heappop(heap)
            item = key % n_items
            count = counts[item]
            if item - count * n_items != key:
                if count >= k:
                    heapq.heappush(heap, item - count * n_items)
                continue
            rest = high - low - count
            if 0 < rest < k and high - low < 2 * most:
                break
            aside = grown(aside, n_aside, n_aside + PAIR)
            aside[n_aside + PARENT], aside[n_aside + TERM] = node, item
            n_aside += PAIR
            if rest < k:
                node = n_aside - PAIR
                counts[item] = 0
                continue
            first = low
            place = starts[item]
            while low < first + count:
                row = places[place]
                place += 1
                if stays[row]:
                    stays[row] = False
                    order[low] = rows[row]
                    low += 1
                    for at in range(offsets[rows[row]], offsets[rows[row] + 1]):
                        counts[items[at]] -= 1
            is_border[low] = True
            frames = grown(frames, depth, depth + FRAME)
            frames[depth + LOW], frames[depth + HIGH] = first, low
            frames[depth + NODE] = n_aside - PAIR
            depth += FRAME
        for row in range(len(rows)):
            if stays[row]:
                order[low] = rows[row]
                low += 1
        for item in touched[:n_touched]:
            counts[item] = 0
    return order, np.flatnonzero(is_border)


@compiled
def count_items(
    offsets: Int64Array,
    items: Int32Array,
    rows: Int64Array,
    counts: Int64Array,
    touched: Int64Array,
) -> int:
    """Count the items of some rows and list those that occur; returns how many these are.

    >>> counts, touched = np.zeros(3, np.int64), np.empty(3, np.int64)
    >>> count_items(np.array([0, 2, 3]), np.array([0, 2, 2], np.int32), np.array([0, 1]),
    ...             counts, touched)
    2
    >>> counts.tolist(), touched[:2].tolist()
    ([1, 0, 2], [0, 2])
    """
    n_touched = 0
    for row in rows:
        for at in range(offsets[row], offsets[row + 1]):
            item = items[at]
            if counts[item] == 0:
                touched[n_touched] = item
                n_touched += 1
            counts[item] += 1
    return n_touched


@compiled
def place_rows(
    offsets: Int64Array,
    items: Int32Array,
    rows: Int64Array,
    counts: Int64Array,
    touched: Int64Array,
    starts: Int64Array,
    k: int,
) -> Int64Array:
    """Return lists of the places of the rows that hold each item counted `k` times or more.

    ``starts`` receives where the list of each begins.

    >>> starts = np.zeros(3, np.int64)
    >>> place_rows(np.array([0, 2, 3]), np.array([0, 2, 2], np.int32), np.array([0, 1]),
    ...            np.array([1, 0, 2]), np.array([0, 2]), starts, 2)
    array([0, 1])
    """
    total = np.int64(0)
    for item in touched:
        starts[item] = total
        if counts[item] >= k:
            total += counts[item]
    places = np.empty(total, dtype=np.int64)
    for row in range(len(rows)):
        for at in range(offsets[rows[row]], offsets[rows[row] + 1]):
            item = items[at]
            if counts[item] >= k:
                places[starts[item]] = row
                starts[item] += 1
    for item in touched:
        if counts[item] >= k:
            starts[item] -= counts[item]
    return places
