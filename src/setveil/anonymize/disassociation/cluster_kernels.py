"""Clusters of records, and the shared chunks of neighbouring clusters.

Records are split into clusters by their most frequent items, without recursion. Then pairs of
clusters are asked which items of their term chunks could be published in chunks that they share.
"""

# int and np.int64 are one type in compiled code.
# mypy: disable-error-code="assignment, return-value"

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled
from setveil.kernels.rows import ensure_room
from setveil.kernels.vertical_partition import greedy_chunks, term_covers

if TYPE_CHECKING:
    from setveil.core.arrays import BoolArray, Int32Array, Int64Array

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
    # A stack of parts: a run of `order`, and the last item left aside on the way to it.
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
        # Items left aside on the way here split nothing: their counts are struck out.
        up = node
        while up >= 0:
            counts[aside[up + TERM]] = 0
            up = aside[up + PARENT]
        places = place_rows(offsets, items, rows, counts, touched[:n_touched], starts, k)
        # Keys that ascend with falling count, then with the number: the smallest is the item
        # wanted.
        heap = [np.int64(0) for _ in range(0)]
        for item in touched[:n_touched]:
            if counts[item] >= k:
                heap.append(item - counts[item] * n_items)
        heapq.heapify(heap)
        # Invariant of the chain: rows that stay are those of the part from `low` on; `counts` are
        # theirs.
        stays = np.ones(len(rows), dtype=np.bool_)
        while high - low >= most and len(heap) > 0:
            key = heapq.heappop(heap)
            item = key % n_items
            count = counts[item]
            # The count has fallen since this entry was made: put the item back where it belongs
            # now.
            if item - count * n_items != key:
                if count >= k:
                    heapq.heappush(heap, item - count * n_items)
                continue
            rest = high - low - count
            # One side would be too small, and the part is small enough to stay as it is.
            if 0 < rest < k and high - low < 2 * most:
                break
            aside = ensure_room(aside, n_aside + PAIR)
            aside[n_aside + PARENT], aside[n_aside + TERM] = node, item
            n_aside += PAIR
            # The item splits nothing here, or too little: it is left aside, and the next one is
            # tried.
            if rest < k:
                node = n_aside - PAIR
                counts[item] = 0
                continue
            # The records with the item move to the front, where they are a part of their own.
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
            frames = ensure_room(frames, depth + FRAME)
            frames[depth + LOW], frames[depth + HIGH] = first, low
            frames[depth + NODE] = n_aside - PAIR
            depth += FRAME
        # What no item has split off follows, in the order it had.
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
    # Only frequent items get a list: others can never split a part.
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
    # Filling has moved the starts to the ends; back.
    for item in touched:
        if counts[item] >= k:
            starts[item] -= counts[item]
    return places


BANNED = -1
WITHDRAWN = -2


@compiled
def share_terms(
    row_borders: Int64Array,
    row_offsets: Int64Array,
    items: Int32Array,
    row_cluster: Int64Array,
    cluster_sizes: Int64Array,
    can_empty: BoolArray,
    banned_borders: Int64Array,
    banned: Int32Array,
    sizes: Int64Array,
    caps: Int64Array,
    n_items: int,
    k: int,
    m: int,
) -> tuple[Int64Array, Int32Array, Int64Array]:
    """Find the shared chunks of pairs of clusters, joint or not, that are worth joining.

    An item can be shared if it is in `k` records of the pair or more and in no record chunk or
    shared chunk of it. Every member keeps an item in its term chunk, unless it may do without: so
    the rarest item of a member that would not stays where it is. The pair is worth joining if the
    shared items are in a greater share of its records than the term chunks that lose them tell.

    Parameters
    ----------
    row_borders
        Where the rows of each pair begin and end.
    row_offsets, items
        The items of the term chunks that each record holds, for records with any; those of a
        member one after the other.
    row_cluster
        For each row the member cluster.
    cluster_sizes, can_empty
        For each member cluster its number of records, and whether its term chunk may become empty.
    banned_borders, banned
        For each pair the items that stand in its record chunks and shared chunks.
    sizes, caps
        For each pair its number of records, and the greatest number of them that may hold a
        shared item.
    n_items
        All items are below it.
    k, m
        Sets of up to `m` items of a shared chunk are in `k` of its sub-records or more, or in
        none.

    Returns
    -------
    tuple of array, array and array
        Where the shared items of each pair begin and end (nowhere: it is not joined); these
        items; and for each the number of its shared chunk.

    Examples
    --------
    Two clusters of two records; items 0 and 1 in the term chunk of both, 2 in that of one.

    >>> share_terms(np.array([0, 4]), np.array([0, 1, 2, 4, 5]),
    ...             np.array([0, 1, 0, 1, 2], np.int32), np.array([0, 0, 1, 1]), np.array([2, 2]),
    ...             np.array([True, True]), np.array([0, 0]), np.array([], np.int32),
    ...             np.array([4]), np.array([4]), 3, 2, 2)
    (array([0, 2]), array([0, 1], dtype=int32), array([0, 1]))
    """
    n_pairs = len(row_borders) - 1
    borders = np.zeros(n_pairs + 1, dtype=np.int64)
    shared = np.empty(len(items), dtype=np.int32)
    chunk = np.empty(len(items), dtype=np.int64)
    counts = np.zeros(n_items, dtype=np.int64)
    seen = np.full(n_items, -1, dtype=np.int64)
    place = np.full(n_items, -1, dtype=np.int64)
    touched = np.empty(n_items, dtype=np.int32)
    for pair in range(n_pairs):
        first, last = row_borders[pair], row_borders[pair + 1]
        low, high = row_offsets[first], row_offsets[last]
        n_touched = 0
        for at in range(low, high):
            item = items[at]
            if counts[item] == 0:
                touched[n_touched] = item
                n_touched += 1
            counts[item] += 1
        for at in range(banned_borders[pair], banned_borders[pair + 1]):
            if counts[banned[at]] > 0:
                # An item of a record chunk or shared chunk of the pair would stand in two chunks.
                counts[banned[at]] = BANNED
        for item in touched[:n_touched]:
            if counts[item] > caps[pair]:
                counts[item] = BANNED
        cut = borders[pair]
        listed, listing = withdraw_last(
            first, last, row_offsets, items, row_cluster, cluster_sizes, can_empty, counts, seen, k
        )
        n_shared, occurrences = 0, np.int64(0)
        for item in touched[:n_touched]:
            if counts[item] >= k:
                shared[cut + n_shared] = item
                n_shared += 1
                occurrences += counts[item]
        borders[pair + 1] = cut
        # occurrences / size of the pair >= listed / listing, without a division.
        if n_shared > 0 and occurrences * listing >= listed * sizes[pair]:
            mine = shared[cut : cut + n_shared]
            by_support(mine, counts, last - first)
            covers = term_covers(row_offsets, items, first, last, mine, place)
            chunk[cut : cut + n_shared] = greedy_chunks(covers, k, m)
            borders[pair + 1] = cut + n_shared
        # Only what was touched is cleared: pairs are many and small.
        for item in touched[:n_touched]:
            counts[item] = 0
    used = borders[n_pairs]
    return borders, shared[:used].copy(), chunk[:used].copy()


@compiled
def by_support(terms: Int32Array, counts: Int64Array, most: int) -> None:
    """Sort items in place by their counts, none above `most`, falling; ties by number.

    >>> terms = np.array([0, 1, 2], np.int32)
    >>> by_support(terms, np.array([4, 5, 4]), 5)
    >>> terms.tolist()
    [1, 0, 2]
    """
    # One number for both criteria, so that a plain sort will do.
    keys = np.empty(len(terms), dtype=np.int64)
    for i in range(len(terms)):
        keys[i] = (most - counts[terms[i]]) * len(counts) + terms[i]
    keys.sort()
    for i in range(len(terms)):
        terms[i] = keys[i] % len(counts)


@compiled
def withdraw_last(
    first: int,
    last: int,
    row_offsets: Int64Array,
    items: Int32Array,
    row_cluster: Int64Array,
    cluster_sizes: Int64Array,
    can_empty: BoolArray,
    counts: Int64Array,
    seen: Int64Array,
    k: int,
) -> tuple[int, int]:
    """Withdraw an item from sharing for every member that would be left without a term.

    Parameters
    ----------
    first, last
        The rows of a pair.
    row_offsets, items, row_cluster, cluster_sizes, can_empty
        As for :func:`share_terms`.
    counts
        For each item its records in the pair, or a negative number where it cannot be shared;
        withdrawn items become such.
    seen
        Scratch for every item: negative, or any row that is not in the range.
    k
        Least count of what is shared.

    Returns
    -------
    tuple of int and int
        How many entries of term chunks are lost by sharing, and the number of records of the
        members that lose one.

    Examples
    --------
    The second member has nothing but item 0.

    >>> counts = np.array([2, 2])
    >>> withdraw_last(0, 3, np.array([0, 2, 3, 4]), np.array([0, 1, 1, 0], np.int32),
    ...               np.array([0, 0, 1]), np.array([2, 1]), np.array([True, False]),
    ...               counts, np.full(2, -1), 2)
    (1, 2)
    >>> counts.tolist()
    [-2, 2]
    """
    row = first
    while row < last:
        cluster = row_cluster[row]
        # Of one member: whether some item stays in its term chunk, and the rarest that would leave.
        start, stays, rarest = row, False, np.int64(-1)
        while row < last and row_cluster[row] == cluster:
            for at in range(row_offsets[row], row_offsets[row + 1]):
                item = items[at]
                if counts[item] < k:
                    stays = True
                elif rarest < 0 or (counts[item], item) < (counts[rarest], rarest):
                    rarest = item
            row += 1
        if not stays and not can_empty[cluster] and row > start:
            counts[rarest] = WITHDRAWN
    # Withdrawing leaves a term to all members that list it, so one pass is enough.
    listed, listing, row = np.int64(0), np.int64(0), first
    while row < last:
        cluster = row_cluster[row]
        # Each item counts once for a member; `seen` holds the member's first row, which no other
        # has.
        start, loses = row, False
        while row < last and row_cluster[row] == cluster:
            for at in range(row_offsets[row], row_offsets[row + 1]):
                item = items[at]
                if counts[item] >= k and seen[item] != start:
                    seen[item] = start
                    listed += 1
                    loses = True
            row += 1
        if loses:
            listing += cluster_sizes[cluster]
    return listed, listing
