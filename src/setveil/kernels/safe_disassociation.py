"""Clusters in which no record chunk holds an item so often that a link to it is too likely.

An item of a record chunk that more records of the cluster hold than a cap allows is taken out of
some of them (partial suppression), as far as the sets of its chunk stay frequent; otherwise it
goes to the term chunk, which hides how often it occurs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled
from setveil.kernels.disassociation import (
    TERM_CHUNK,
    all_reach,
    cluster_terms,
    greedy_chunks,
    is_narrow,
    last_of,
    sub_records,
    term_covers,
)
from setveil.kernels.postings import ones

if TYPE_CHECKING:
    from setveil.kernels.types import BoolArray, Int32Array, Int64Array, SignArray


@compiled
def support(cover: SignArray) -> int:
    """Return how many records a row of bits names.

    >>> support(np.array([3, 1], np.uint64))
    3
    """
    total = np.int64(0)
    for word in cover:
        total += ones(word)
    return total


@compiled
def has(cover: SignArray, record: int) -> bool:
    """Tell whether a row of bits names a record.

    >>> has(np.array([5], np.uint64), 1)
    False
    """
    bit = np.uint64(1) << np.uint64(record & 63)
    return bool(cover[record >> 6] & bit)


@compiled
def chunk_mates(
    covers: SignArray, chunk: Int64Array, item: int, record: int, mates: Int64Array
) -> int:
    """List the other items of a sub-record; returns how many there are.

    >>> mates = np.empty(2, np.int64)
    >>> chunk_mates(np.array([[1], [3], [1]], np.uint64), np.array([0, 0, 1]), 0, 0, mates)
    1
    """
    found = 0
    for other in range(len(chunk)):
        if other != item and chunk[other] == chunk[item] and has(covers[other], record):
            mates[found] = other
            found += 1
    return found


@compiled
def thin_out(
    covers: SignArray,
    chunk: Int64Array,
    item: int,
    lengths: Int64Array,
    cap: int,
    k: int,
    m: int,
    keep_filled: bool,
) -> bool:
    """Take an item out of records until at most `cap` of them hold it; tells whether that worked.

    Every set with it that a record loses must be in more than `k` sub-records before, and the
    record keeps another item. Records with the shortest sub-records come first: the fewest sets
    become rarer; those with the item alone in it come last if `keep_filled`. Ties go to the first.

    ``covers`` and ``lengths``, the number of items that each record still has, are changed.

    >>> covers, lengths = np.array([[15], [13]], np.uint64), np.array([2, 2, 2, 2])
    >>> thin_out(covers, np.array([0, 0]), 0, lengths, 3, 2, 2, True), covers.tolist()
    (True, [[14], [13]])
    """
    n = len(lengths)
    mates = np.empty(len(chunk), dtype=np.int64)
    held = np.empty((min(m, len(chunk) + 1), covers.shape[1]), dtype=np.uint64)
    left = support(covers[item])
    while left > cap:
        best, least = -1, np.int64(2 * len(chunk) + 1)
        for record in range(n):
            if not has(covers[item], record) or lengths[record] < 2:
                continue
            found = chunk_mates(covers, chunk, item, record, mates)
            cost = 2 * len(chunk) if keep_filled and found == 0 else found
            if cost < least and left > k and all_reach(covers, item, mates[:found], k + 1, m, held):
                best, least = record, cost
        if best < 0:
            return False
        covers[item, best >> 6] ^= np.uint64(1) << np.uint64(best & 63)
        lengths[best] -= 1
        left -= 1
    return True


@compiled
def demote(
    covers: SignArray,
    whole: SignArray,
    chunk: Int64Array,
    item: int,
    lengths: Int64Array,
) -> None:
    """Move an item to the term chunk; what was taken out of records comes back.

    >>> covers, chunk, lengths = np.array([[1]], np.uint64), np.array([0]), np.array([1, 0])
    >>> demote(covers, np.array([[3]], np.uint64), chunk, 0, lengths)
    >>> covers.tolist(), chunk.tolist(), lengths.tolist()
    ([[3]], [-1], [1, 1])
    """
    for record in range(len(lengths)):
        if has(whole[item], record) and not has(covers[item], record):
            lengths[record] += 1
    covers[item] = whole[item]
    chunk[item] = TERM_CHUNK


@compiled
def make_safe(
    covers: SignArray,
    chunk: Int64Array,
    lengths: Int64Array,
    has_rare: bool,
    cap: int,
    k: int,
    m: int,
) -> None:
    """Change the chunks of a cluster until no item of one is in more than `cap` records.

    A cluster that is one record chunk and nothing else links nothing across chunks and stays.

    Parameters
    ----------
    covers
        For each frequent item the records that hold it, as bits; changed.
    chunk
        For each frequent item the number of its chunk, or ``TERM_CHUNK``; changed.
    lengths
        For each record its number of items; changed.
    has_rare
        Whether there are rare items, which are in the term chunk anyway.
    cap
        Greatest number of records of an item.
    k, m
        Sets of up to `m` items stay in `k` sub-records or more.

    Examples
    --------
    Records {0, 1}, {0, 1, 2}, {0, 2}, {0, 1}: 0 is in all, so whoever holds 2 holds 0.

    >>> covers, chunk = np.array([[15], [11], [6]], np.uint64), np.array([0, 0, 1])
    >>> make_safe(covers, chunk, np.array([2, 3, 2, 2]), False, 3, 2, 2)
    >>> covers.tolist(), chunk.tolist()
    ([[14], [11], [6]], [0, 0, 1])
    """
    n = len(lengths)
    whole = covers.copy()
    has_terms = has_rare
    for number in chunk:
        has_terms |= number < 0
    while True:
        if not has_terms and is_narrow(covers, chunk, n, k, m):
            demote(covers, whole, chunk, rarest_of_last(covers, chunk), lengths)
            has_terms = True
            continue
        chunks, _ = sub_records(covers, chunk)
        if chunks == 0 or (chunks == 1 and not has_terms):
            return
        item = most_frequent(covers, chunk, cap)
        if item < 0:
            return
        if not thin_out(covers, chunk, item, lengths, cap, k, m, not has_terms):
            demote(covers, whole, chunk, item, lengths)
            has_terms = True


@compiled
def rarest_of_last(covers: SignArray, chunk: Int64Array) -> int:
    """Return the item of fewest records in the last chunk; ties go to the last one.

    >>> rarest_of_last(np.array([[7], [3], [7]], np.uint64), np.array([0, 1, 1]))
    1
    """
    best = last_of(chunk)
    number, least = chunk[best], support(covers[best])
    for item in range(best - 1, -1, -1):
        if chunk[item] == number and support(covers[item]) < least:
            best, least = item, support(covers[item])
    return best


@compiled
def most_frequent(covers: SignArray, chunk: Int64Array, cap: int) -> int:
    """Return the item of a record chunk in most records, if that is more than `cap`; else -1.

    >>> most_frequent(np.array([[7], [3]], np.uint64), np.array([-1, 0]), 1)
    1
    """
    best, most = -1, np.int64(cap)
    for item in range(len(chunk)):
        if chunk[item] >= 0 and support(covers[item]) > most:
            best, most = item, support(covers[item])
    return best


@compiled
def safe_clusters(
    offsets: Int64Array,
    items: Int32Array,
    borders: Int64Array,
    n_items: int,
    k: int,
    m: int,
    caps: Int64Array,
) -> tuple[Int64Array, Int32Array, Int64Array, Int64Array]:
    """Part the items of every cluster into chunks, with no item of one in too many records.

    Parameters
    ----------
    offsets, items, borders, n_items, k, m
        As for :func:`~setveil.kernels.disassociation.partition_clusters`.
    caps
        For each cluster the most records that may hold an item of a record chunk.

    Returns
    -------
    tuple of array, array, array and array
        As from that function, and then the places in `items` of the occurrences taken out.

    Examples
    --------
    >>> safe_clusters(np.array([0, 2, 5, 7, 9]), np.array([0, 1, 0, 1, 2, 0, 2, 0, 1], np.int32),
    ...               np.array([0, 4]), 3, 2, 2, np.array([3]))
    (array([0, 3]), array([0, 1, 2], dtype=int32), array([0, 0, 1]), array([0]))
    """
    n_clusters = len(borders) - 1
    term_offsets = np.zeros(n_clusters + 1, dtype=np.int64)
    terms = np.empty(len(items), dtype=np.int32)
    chunk = np.full(len(items), TERM_CHUNK, dtype=np.int64)
    removed = np.zeros(len(items), dtype=np.bool_)
    counts = np.zeros(n_items, dtype=np.int64)
    place = np.full(n_items, -1, dtype=np.int64)
    for cluster in range(n_clusters):
        first, last = borders[cluster], borders[cluster + 1]
        low = term_offsets[cluster]
        frequent, found = cluster_terms(offsets, items, first, last, k, counts, terms[low:])
        for term in terms[low : low + found]:
            counts[term] = 0
        mine = terms[low : low + frequent]
        covers = term_covers(offsets, items, first, last, mine, place)
        within = greedy_chunks(covers, k, m)
        lengths = offsets[first + 1 : last + 1] - offsets[first:last]
        make_safe(covers, within, lengths, frequent < found, caps[cluster], k, m)
        mark_removed(offsets, items, first, last, mine, covers, place, removed)
        chunk[low : low + frequent] = within
        term_offsets[cluster + 1] = low + found
    used = term_offsets[n_clusters]
    return term_offsets, terms[:used].copy(), chunk[:used].copy(), np.flatnonzero(removed)


@compiled
def mark_removed(
    offsets: Int64Array,
    items: Int32Array,
    first: int,
    last: int,
    terms: Int32Array,
    covers: SignArray,
    place: Int64Array,
    removed: BoolArray,
) -> None:
    """Mark the occurrences that the bits do not name any more.

    >>> removed = np.zeros(2, np.bool_)
    >>> mark_removed(np.array([0, 1, 2]), np.array([0, 0], np.int32), 0, 2,
    ...              np.array([0], np.int32), np.array([[2]], np.uint64), np.full(1, -1), removed)
    >>> removed.tolist()
    [True, False]
    """
    for i in range(len(terms)):
        place[terms[i]] = i
    for record in range(first, last):
        for at in range(offsets[record], offsets[record + 1]):
            i = place[items[at]]
            if i >= 0 and not has(covers[i], record - first):
                removed[at] = True
    for term in terms:
        place[term] = -1
