"""Taking items out of some records of a cluster, as far as the sets of their chunks stay frequent.

The records of each item are bits of a row of 64-bit words; records are numbered within a cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled
from setveil.kernels.disassociation import all_reach
from setveil.kernels.postings import ones

if TYPE_CHECKING:
    from setveil.kernels.types import Int64Array, SignArray


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
    taken = np.empty((excess, 2), dtype=np.int64)
    mates = np.empty(len(chunk), dtype=np.int64)
    for done in range(excess):
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
            for item, record in taken[:done]:
                covers[item, record >> 6] ^= np.uint64(1) << np.uint64(record & 63)
                lengths[record] += 1
            return False
        covers[best, where >> 6] ^= np.uint64(1) << np.uint64(where & 63)
        lengths[where] -= 1
        taken[done, 0], taken[done, 1] = best, where
    return True
