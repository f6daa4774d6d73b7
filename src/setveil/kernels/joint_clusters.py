"""Which items of the term chunks of two neighbouring clusters can be published in shared chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled
from setveil.kernels.disassociation import greedy_chunks, term_covers

if TYPE_CHECKING:
    from setveil.kernels.types import BoolArray, Int32Array, Int64Array

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
        if n_shared > 0 and occurrences * listing >= listed * sizes[pair]:
            mine = shared[cut : cut + n_shared]
            by_support(mine, counts, last - first)
            covers = term_covers(row_offsets, items, first, last, mine, place)
            chunk[cut : cut + n_shared] = greedy_chunks(covers, k, m)
            borders[pair + 1] = cut + n_shared
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
