"""Clusters in which no record chunk holds an item so often that a link to it is too likely.

An item of a record chunk that more records of the cluster hold than a cap allows is taken out of
some of them (partial suppression), as far as the sets of its chunk stay frequent; otherwise it
goes to the term chunk, which hides how often it occurs. The records of each item are bits of a row
of 64-bit words; records are numbered within a cluster.
"""

# int and np.int64 are one type in compiled code.
# mypy: disable-error-code="assignment, return-value"

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.bitsets import ones
from setveil.kernels.compiling import compiled
from setveil.kernels.vertical_partition import (
    TERM_CHUNK,
    all_reach,
    cluster_terms,
    greedy_chunks,
    is_narrow,
    last_of,
    sub_records,
    term_covers,
)

if TYPE_CHECKING:
    from setveil.core.arrays import BoolArray, Int32Array, Int64Array, SignArray


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
    # The sub-record of a chunk: the items of the chunk that this record still holds.
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
    # Scratch for `all_reach`: one row of bits for each size of a set.
    held = np.empty((min(m, len(chunk) + 1), covers.shape[1]), dtype=np.uint64)
    left = support(covers[item])
    while left > cap:
        # Costs are at most 2 * len(chunk), so the first record that qualifies is below this.
        best, least = -1, np.int64(2 * len(chunk) + 1)
        for record in range(n):
            # A record must keep another item, or it would be published empty.
            if not has(covers[item], record) or lengths[record] < 2:
                continue
            found = chunk_mates(covers, chunk, item, record, mates)
            cost = 2 * len(chunk) if keep_filled and found == 0 else found
            # Sets with the item lose one record: more than k must have them before.
            if cost < least and left > k and all_reach(covers, item, mates[:found], k + 1, m, held):
                best, least = record, cost
        if best < 0:
            return False
        # The bit is set, so this clears it.
        covers[item, best >> 6] ^= np.uint64(1) << np.uint64(best & 63)
        lengths[best] -= 1
        left -= 1
    return True


@compiled
def put_back(covers: SignArray, whole: SignArray, item: int, lengths: Int64Array) -> None:
    """Give an item back to the records that it was taken out of.

    >>> covers, lengths = np.array([[1]], np.uint64), np.array([1, 0])
    >>> put_back(covers, np.array([[3]], np.uint64), 0, lengths)
    >>> covers.tolist(), lengths.tolist()
    ([[3]], [1, 1])
    """
    for record in range(len(lengths)):
        if has(whole[item], record) and not has(covers[item], record):
            lengths[record] += 1
    covers[item] = whole[item]


@compiled
def thin_to_one(
    covers: SignArray, chunk: Int64Array, lengths: Int64Array, excess: int, k: int
) -> bool:
    """Take items out of records until each record has one sub-record; tells whether that worked.

    Taken out are items that are alone in their sub-record and in more than `k` records, the most
    frequent first, then those of the first record. ``covers`` and ``lengths`` are changed only if
    it works.

    >>> covers, lengths = np.array([[25], [14]], np.uint64), np.array([1, 1, 1, 2, 1])
    >>> thin_to_one(covers, np.array([0, 1]), lengths, 1, 2), covers.tolist()
    (True, [[17], [14]])
    """
    # What was taken out, so that it can be put back if the rest fails.
    taken = np.empty((excess, 2), dtype=np.int64)
    mates = np.empty(len(chunk), dtype=np.int64)
    for done in range(excess):
        # An item in k records or fewer must not become rarer.
        best, most, where = -1, np.int64(k), -1
        for item in range(len(chunk)):
            if support(covers[item]) <= most:
                continue
            for record in range(len(lengths)):
                if (
                    lengths[record] > 1
                    and has(covers[item], record)
                    and chunk_mates(covers, chunk, item, record, mates) == 0
                ):
                    best, most, where = item, support(covers[item]), record
                    break
        if best < 0:
            # Undo: all or nothing.
            for item, record in taken[:done]:
                covers[item, record >> 6] ^= np.uint64(1) << np.uint64(record & 63)
                lengths[record] += 1
            return False
        covers[best, where >> 6] ^= np.uint64(1) << np.uint64(where & 63)
        lengths[where] -= 1
        taken[done, 0], taken[done, 1] = best, where
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
    put_back(covers, whole, item, lengths)
    chunk[item] = TERM_CHUNK


@compiled
def set_apart(chunk: Int64Array, item: int) -> bool:
    """Give an item a chunk of its own, the last one; tells whether it had others beside it.

    >>> chunk = np.array([0, 0, 1])
    >>> set_apart(chunk, 0), set_apart(chunk, 1), chunk.tolist()
    (True, False, [2, 0, 1])
    """
    mates, last = 0, chunk[item]
    for other in range(len(chunk)):
        mates += chunk[other] == chunk[item]
        last = max(last, chunk[other])
    # It stands in a chunk of its own already.
    if mates < 2:
        return False
    chunk[item] = last + 1
    return True


@compiled
def widen(covers: SignArray, chunk: Int64Array, n: int, k: int, m: int) -> bool:
    """Set one item apart, or several, so that there are sub-records enough; tells whether it works.

    Items of the last chunk come first, and of a chunk the rarest. ``chunk`` is changed if it works.

    >>> chunk = np.array([0, 0, 1])
    >>> widen(np.array([[11], [10], [6]], np.uint64), chunk, 4, 2, 2), chunk.tolist()
    (True, [0, 2, 1])
    """
    first = chunk.copy()
    # First each item by itself is tried, then more and more of them together.
    for together in (False, True):
        for number in range(first[last_of(first)], -1, -1):
            for item in range(len(chunk) - 1, -1, -1):
                if first[item] == number and set_apart(chunk, item):
                    if not is_narrow(covers, chunk, n, k, m):
                        return True
                    # One by one: this item alone was not enough, so it goes back.
                    if not together:
                        chunk[item] = number
    chunk[:] = first
    return False


@compiled
def lost_occurrences(covers: SignArray, whole: SignArray, chunk: Int64Array) -> int:
    """Return how many occurrences are in no record chunk; those taken out count twice.

    They are lost for good, and those of a term chunk may come back in a shared chunk.

    >>> lost_occurrences(np.array([[1], [3]], np.uint64), np.array([[3], [3]], np.uint64),
    ...                  np.array([0, -1]))
    4
    """
    total = np.int64(0)
    for item in range(len(chunk)):
        if chunk[item] < 0:
            total += support(whole[item])
        else:
            total += 2 * (support(whole[item]) - support(covers[item]))
    return total


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
    Where items have to go to the term chunk, it is tried again with items set apart instead, and
    the way that leaves more occurrences in record chunks is taken.

    Parameters
    ----------
    covers
        For each frequent item the records that hold it, as bits; changed.
    chunk
        For each frequent item the number of its chunk; changed, also to ``TERM_CHUNK``.
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
    # Both ways start from the same chunks; they change their arguments.
    whole, chunks, full = covers.copy(), chunk.copy(), lengths.copy()
    make_safe_by(covers, chunk, lengths, has_rare, cap, k, m, False)
    if np.all(chunk >= 0):
        return
    apart = whole.copy()
    make_safe_by(apart, chunks, full, has_rare, cap, k, m, True)
    if lost_occurrences(apart, whole, chunks) < lost_occurrences(covers, whole, chunk):
        covers[:], chunk[:], lengths[:] = apart, chunks, full


@compiled
def make_safe_by(
    covers: SignArray,
    chunk: Int64Array,
    lengths: Int64Array,
    has_rare: bool,
    cap: int,
    k: int,
    m: int,
    apart: bool,
) -> None:
    """Do as :func:`make_safe` says, in one way: items may be `apart` in chunks of their own."""
    n = len(lengths)
    whole = covers.copy()
    has_terms = has_rare
    # Until no record chunk has an item in more than `cap` records: each turn mends one item, or the
    # width of the cluster.
    while True:
        if not has_terms and is_narrow(covers, chunk, n, k, m):
            # Without a term chunk too few sub-records are no disguise: wider, or one each, or a
            # term chunk.
            excess = sub_records(covers, chunk)[1] - n
            rarest = rarest_of_last(covers, chunk)
            if apart and (
                widen(covers, chunk, n, k, m)
                or (
                    excess < support(covers[rarest])
                    and thin_to_one(covers, chunk, lengths, excess, k)
                )
            ):
                continue
            demote(covers, whole, chunk, rarest, lengths)
            has_terms = True
            continue
        chunks, _ = sub_records(covers, chunk)
        # Nothing is linked across chunks: one chunk, or a term chunk alone.
        if chunks == 0 or (chunks == 1 and not has_terms):
            return
        item = most_frequent(covers, chunk, cap)
        if item < 0:
            return
        if thin_out(covers, chunk, item, lengths, cap, k, m, not has_terms):
            continue
        # What could not be finished is undone before the next way is tried.
        put_back(covers, whole, item, lengths)
        if not (
            apart
            and set_apart(chunk, item)
            and thin_out(covers, chunk, item, lengths, cap, k, m, not has_terms)
        ):
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
        As for :func:`~setveil.kernels.vertical_partition.partition_clusters`.
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
        # `cluster_terms` wants zeros; only what it counted is cleared.
        for term in terms[low : low + found]:
            counts[term] = 0
        mine = terms[low : low + frequent]
        covers = term_covers(offsets, items, first, last, mine, place)
        within = greedy_chunks(covers, k, m)
        # A record has as many items as it is long, until some are taken out.
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
