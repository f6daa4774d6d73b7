"""Vertical partitioning: which items of a cluster may stand together in a record chunk.

The records of each item are bits of a row of 64-bit words. Items are looked at from the most
frequent to the rarest, ties by number; a chunk takes each one with which no set of up to m of its
items is in some, but fewer than k sub-records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.bitsets import ones
from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import Int32Array, Int64Array, SignArray

TERM_CHUNK = -1
"""The number of the chunk of items that stand alone."""


@compiled
def all_reach(
    covers: SignArray, item: int, others: Int64Array, least: int, m: int, held: SignArray
) -> bool:
    """Tell whether all sets that occur, of `item` and up to m - 1 others, are in `least` records.

    Parameters
    ----------
    covers
        For each item the records that hold it, as bits.
    item, others
        Rows of it; `item` is not one of `others`.
    least
        Least support; that of `item` alone is not looked at.
    m
        Greatest size of a set.
    held
        Scratch, a row for each size of a set.

    Examples
    --------
    Records {0, 1}, {0, 1}, {0, 2}: with 0, item 1 is in two, item 2 in one.

    >>> covers, held = np.array([[7], [3], [4]], np.uint64), np.empty((2, 1), np.uint64)
    >>> all_reach(covers, 0, np.array([1]), 2, 2, held)
    True
    >>> all_reach(covers, 0, np.array([1, 2]), 2, 2, held)
    False
    """
    deepest = min(m - 1, len(others))
    if deepest == 0:
        return True
    words = covers.shape[1]
    at = np.zeros(deepest + 1, dtype=np.int64)  # the next of the others to be tried, by size
    count = np.zeros(deepest + 1, dtype=np.int64)
    for word in range(words):
        # held[d]: the records of the item and of the d others chosen so far.
        held[0, word] = covers[item, word]
        count[0] += ones(covers[item, word])
    depth = 0
    # Depth-first over sets of the others, in order, each set once; explicit, since kernels must not
    # recurse.
    while depth >= 0:
        if at[depth] == len(others):
            depth -= 1
            continue
        other = covers[others[at[depth]]]
        at[depth] += 1
        support = np.int64(0)
        for word in range(words):
            both = held[depth, word] & other[word]
            held[depth + 1, word] = both
            support += ones(both)
        # Sets that do not occur say nothing and are allowed.
        if 0 < support < least:
            return False
        # Where all records of a set hold the other too, sets with it are as frequent as without.
        if depth + 1 < deepest and 0 < support < count[depth]:
            count[depth + 1] = support
            at[depth + 1] = at[depth]
            depth += 1
    return True


@compiled
def greedy_chunks(covers: SignArray, k: int, m: int) -> Int64Array:
    """Return for each item the number of its chunk; items come in the order they are looked at.

    Parameters
    ----------
    covers
        For each item the records that hold it, as bits; `k` or more.
    k, m
        Sets of up to `m` items of a chunk are in `k` sub-records of it or more, or in none.

    Examples
    --------
    Records {0, 1}, {0, 1, 2}, {0, 2}: the pair of 1 and 2 is in one.

    >>> greedy_chunks(np.array([[7], [3], [6]], np.uint64), 2, 2).tolist()
    [0, 0, 1]
    """
    n = len(covers)
    chunk = np.full(n, TERM_CHUNK, dtype=np.int64)
    chosen = np.empty(n, dtype=np.int64)
    held = np.empty((min(m, n + 1), covers.shape[1]), dtype=np.uint64)
    left, number = n, 0
    # The first item left always fits into a new chunk, so each turn takes one at least.
    while left > 0:
        n_chosen = 0
        for item in range(n):
            if chunk[item] < 0 and all_reach(covers, item, chosen[:n_chosen], k, m, held):
                chosen[n_chosen] = item
                n_chosen += 1
                chunk[item] = number
        left -= n_chosen
        number += 1
    return chunk


@compiled
def cluster_terms(
    offsets: Int64Array,
    items: Int32Array,
    first: int,
    last: int,
    k: int,
    counts: Int64Array,
    terms: Int32Array,
) -> tuple[int, int]:
    """List the items of the records `first` to `last`: frequent ones in order, then the rare ones.

    Parameters
    ----------
    offsets, items
        The records as compressed rows.
    first, last
        The range of records.
    k
        Least number of records of a frequent item.
    counts
        Zero for every item; afterwards the counts of the listed ones.
    terms
        Receives the items.

    Returns
    -------
    tuple of int and int
        How many are frequent, and how many there are.

    Examples
    --------
    >>> counts, terms = np.zeros(3, np.int64), np.empty(3, np.int32)
    >>> cluster_terms(np.array([0, 2, 5]), np.array([1, 2, 0, 1, 2], np.int32), 0, 2, 2,
    ...               counts, terms)
    (2, 3)
    >>> terms.tolist()
    [1, 2, 0]
    """
    found = 0
    for at in range(offsets[first], offsets[last]):
        item = items[at]
        if counts[item] == 0:
            terms[found] = item
            found += 1
        counts[item] += 1
    keys = np.empty(found, dtype=np.int64)
    frequent = 0
    for i in range(found):
        count = counts[terms[i]]
        frequent += count >= k
        # One number for both criteria: most records first, then the lower item.
        keys[i] = (last - first - count) * len(counts) + terms[i]
    keys.sort()
    for i in range(found):
        terms[i] = keys[i] % len(counts)
    # Rare items go by number alone: their order carries no count.
    terms[frequent:found].sort()
    return frequent, found


@compiled
def term_covers(
    offsets: Int64Array,
    items: Int32Array,
    first: int,
    last: int,
    terms: Int32Array,
    place: Int64Array,
) -> SignArray:
    """Return for each term its records among those from `first` to `last`, as bits.

    ``place`` is scratch for every item: below 0 before and after.

    >>> term_covers(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), 0, 2,
    ...             np.array([1], np.int32), np.full(2, -1)).tolist()
    [[3]]
    """
    covers = np.zeros((len(terms), (last - first + 63) >> 6), dtype=np.uint64)
    for i in range(len(terms)):
        place[terms[i]] = i
    for record in range(first, last):
        word = (record - first) >> 6
        # Record r is bit r mod 64 of word r div 64.
        bit = np.uint64(1) << np.uint64((record - first) & 63)
        for at in range(offsets[record], offsets[record + 1]):
            i = place[items[at]]
            if i >= 0:
                covers[i, word] |= bit
    for term in terms:
        place[term] = -1
    return covers


@compiled
def sub_records(covers: SignArray, chunk: Int64Array) -> tuple[int, int]:
    """Return how many chunks there are, and how many non-empty sub-records in all of them.

    >>> sub_records(np.array([[3], [1], [6]], np.uint64), np.array([0, 1, 0]))
    (2, 4)
    """
    last = -1
    for i in range(len(chunk)):
        last = max(last, chunk[i])
    chunks, total = 0, np.int64(0)
    for number in range(last + 1):
        some = False
        for i in range(len(chunk)):
            some |= chunk[i] == number
        chunks += some
        for word in range(covers.shape[1]):
            # A record has a sub-record in a chunk if it holds any item of it.
            any_of = np.uint64(0)
            for i in range(len(chunk)):
                if chunk[i] == number:
                    any_of |= covers[i, word]
            total += ones(any_of)
    return chunks, total


@compiled
def is_narrow(covers: SignArray, chunk: Int64Array, n: int, k: int, m: int) -> bool:
    """Tell whether a cluster without a term chunk has too few sub-records to stack `k` of them.

    `n` is its number of records.

    >>> is_narrow(np.array([[3], [5]], np.uint64), np.array([0, 1]), 3, 2, 2)
    True
    """
    # Without a term chunk the sub-records must be shared out to all n records.
    chunks, total = sub_records(covers, chunk)
    return 0 < total - n < k * (min(m, chunks) - 1)


@compiled
def vertical_partition(
    offsets: Int64Array, items: Int32Array, n_items: int, k: int, m: int
) -> tuple[Int32Array, Int64Array]:
    """Part the items of a cluster into record chunks and the term chunk, as the method does.

    No repair: the condition on the cluster's size is left to the caller.

    Parameters
    ----------
    offsets, items
        The records of the cluster as compressed rows of distinct items.
    n_items
        All items are below it.
    k, m
        Sets of up to `m` items of a record chunk are in `k` of its sub-records or more, or in
        none.

    Returns
    -------
    tuple of array and array
        The items, the most frequent first; and for each the number of its record chunk, or
        ``TERM_CHUNK``.

    Examples
    --------
    >>> vertical_partition(np.array([0, 2, 5, 8]), np.array([0, 1, 0, 1, 2, 0, 2, 3], np.int32),
    ...                    4, 2, 2)
    (array([0, 1, 2, 3], dtype=int32), array([ 0,  0,  1, -1]))
    """
    n = len(offsets) - 1
    terms = np.empty(n_items, dtype=np.int32)
    counts = np.zeros(n_items, dtype=np.int64)
    frequent, found = cluster_terms(offsets, items, 0, n, k, counts, terms)
    place = np.full(n_items, -1, dtype=np.int64)
    chunk = np.full(found, TERM_CHUNK, dtype=np.int64)
    covers = term_covers(offsets, items, 0, n, terms[:frequent], place)
    chunk[:frequent] = greedy_chunks(covers, k, m)
    return terms[:found].copy(), chunk


@compiled
def partition_clusters(
    offsets: Int64Array, items: Int32Array, borders: Int64Array, n_items: int, k: int, m: int
) -> tuple[Int64Array, Int32Array, Int64Array]:
    """Part the items of every cluster into chunks; where sub-records are too few, mend it.

    Parameters
    ----------
    offsets, items
        The records as compressed rows of distinct items, cluster by cluster.
    borders
        Where the clusters begin and end among the records.
    n_items
        All items are below it.
    k, m
        As for :func:`vertical_partition`.

    Returns
    -------
    tuple of array, array and array
        Where the items of each cluster begin and end; these items; and for each the number of
        its record chunk in its cluster, or ``TERM_CHUNK``.

    Examples
    --------
    {0, 1}, {1}, {0}: two chunks of two sub-records each could not hold 0 and 1 together twice.

    >>> partition_clusters(np.array([0, 2, 3, 4]), np.array([0, 1, 1, 0], np.int32),
    ...                    np.array([0, 3]), 2, 2, 2)
    (array([0, 2]), array([0, 1], dtype=int32), array([ 0, -1]))
    """
    n_clusters = len(borders) - 1
    term_offsets = np.zeros(n_clusters + 1, dtype=np.int64)
    terms = np.empty(len(items), dtype=np.int32)
    chunk = np.full(len(items), TERM_CHUNK, dtype=np.int64)
    counts = np.zeros(n_items, dtype=np.int64)
    place = np.full(n_items, -1, dtype=np.int64)
    for cluster in range(n_clusters):
        first, last = borders[cluster], borders[cluster + 1]
        low = term_offsets[cluster]
        frequent, found = cluster_terms(offsets, items, first, last, k, counts, terms[low:])
        for term in terms[low : low + found]:
            counts[term] = 0
        covers = term_covers(offsets, items, first, last, terms[low : low + frequent], place)
        within = greedy_chunks(covers, k, m)
        if frequent == found and is_narrow(covers, within, last - first, k, m):
            # The term chunk then hides how often its item occurs, and can fill any record.
            within[last_of(within)] = TERM_CHUNK
        chunk[low : low + frequent] = within
        term_offsets[cluster + 1] = low + found
    used = term_offsets[n_clusters]
    return term_offsets, terms[:used].copy(), chunk[:used].copy()


@compiled
def last_of(chunk: Int64Array) -> int:
    """Return the place of the last item, the rarest, of the chunk of the greatest number.

    >>> last_of(np.array([0, 1, 1, 0]))
    2
    """
    best = 0
    for i in range(len(chunk)):
        if chunk[i] >= chunk[best]:
            best = i
    return best
