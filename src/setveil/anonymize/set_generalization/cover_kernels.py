"""Records of items as bits: unions, and what records hold of a few items together."""

# int and np.int64 are one type in compiled code.
# mypy: disable-error-code="assignment, return-value"

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.bitsets import ones
from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import Int32Array, Int64Array, SignArray


@compiled
def tid_bits(offsets: Int64Array, items: Int32Array, n_items: int) -> SignArray:
    """Return for each item the records that hold it, one bit each; items below 0 are left out.

    >>> tid_bits(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), 2).tolist()
    [[1], [3]]
    """
    n = len(offsets) - 1
    bits = np.zeros((n_items, (n + 63) >> 6), dtype=np.uint64)
    for record in range(n):
        bit = np.uint64(1) << np.uint64(record & 63)
        for place in range(offsets[record], offsets[record + 1]):
            item = items[place]
            if item >= 0:
                bits[item, record >> 6] |= bit
    return bits


@compiled
def common_bits(bits: SignArray, items: Int64Array) -> SignArray:
    """Return the records that hold all of some items: all records where there are none.

    >>> common_bits(np.array([[1], [3], [6]], np.uint64), np.array([1, 2])).tolist()
    [2]
    """
    common = np.full(bits.shape[1], ~np.uint64(0), dtype=np.uint64)
    for item in items:
        for word in range(len(common)):
            common[word] &= bits[item, word]
    return common


@compiled
def shared_supports(
    bits: SignArray, chosen: int, others: Int64Array, among: SignArray
) -> tuple[Int64Array, Int64Array]:
    """Return for each of `others` how many records hold it and the chosen item.

    Then how many of the records in `among` hold it or the chosen item.

    >>> shared_supports(np.array([[1], [3], [4]], np.uint64), 0, np.array([1, 2]),
    ...                 np.array([5], np.uint64))
    (array([1, 0]), array([1, 2]))
    """
    shared = np.zeros(len(others), dtype=np.int64)
    inside = np.zeros(len(others), dtype=np.int64)
    mine = bits[chosen]
    for i in range(len(others)):
        theirs = bits[others[i]]
        both, part = np.int64(0), np.int64(0)
        for word in range(len(mine)):
            both += ones(mine[word] & theirs[word])
            part += ones((mine[word] | theirs[word]) & among[word])
        shared[i], inside[i] = both, part
    return shared, inside


@compiled
def join(bits: SignArray, kept: int, other: int) -> int:
    """Give the records of one item to another, and return how many held both.

    >>> bits = np.array([[3], [6]], np.uint64)
    >>> join(bits, 0, 1), bits.tolist()
    (1, [[7], [6]])
    """
    both = np.int64(0)
    for word in range(bits.shape[1]):
        both += ones(bits[kept, word] & bits[other, word])
        bits[kept, word] |= bits[other, word]
    return both


@compiled
def record_patterns(bits: SignArray, chosen: Int64Array) -> SignArray:
    """Return what each record with any of up to 64 items holds of them, sorted; bit i is item i.

    >>> record_patterns(np.array([[1], [3], [4]], np.uint64), np.array([0, 1])).tolist()
    [2, 3]
    """
    words = bits.shape[1]
    # First how many records hold any of the items, then what each holds.
    total = np.int64(0)
    for word in range(words):
        some = np.uint64(0)
        for item in chosen:
            some |= bits[item, word]
        total += ones(some)
    patterns = np.empty(total, dtype=np.uint64)
    at = 0
    for word in range(words):
        some = np.uint64(0)
        for item in chosen:
            some |= bits[item, word]
        while some:
            # The lowest bit that is set: the others vanish in x & -x.
            bit = some & (~some + np.uint64(1))
            some ^= bit
            pattern = np.uint64(0)
            for i in range(len(chosen)):
                if bits[chosen[i], word] & bit:
                    pattern |= np.uint64(1) << np.uint64(i)
            patterns[at] = pattern
            at += 1
    patterns.sort()
    return patterns


@compiled
def rare_pattern(patterns: SignArray, k: int) -> tuple[np.uint64, int]:
    """Return, of the sorted patterns that fewer than `k` records hold all of, the most held one.

    A record holds all of a pattern when its own has these bits and perhaps more. Of equally held
    patterns the least number is taken. A support of 0 says that there is none.

    >>> rare_pattern(np.array([1, 1, 1, 2, 3], np.uint64), 3)
    (2, 2)
    >>> rare_pattern(np.array([1, 1], np.uint64), 2)
    (0, 0)
    """
    n = len(patterns)
    distinct = np.empty(n, dtype=np.uint64)
    counts = np.empty(n, dtype=np.int64)
    n_distinct = 0
    for i in range(n):
        if i == 0 or patterns[i] != patterns[i - 1]:
            distinct[n_distinct] = patterns[i]
            counts[n_distinct] = 0
            n_distinct += 1
        counts[n_distinct - 1] += 1
    best, most = np.uint64(0), np.int64(0)
    for i in range(n_distinct):
        # As many records have exactly this pattern: it is not rare.
        if counts[i] >= k:
            continue
        held = np.int64(0)
        for j in range(i, n_distinct):  # whoever has more bits is a larger number
            if distinct[j] & distinct[i] == distinct[i]:
                held += counts[j]
                if held >= k:
                    break
        if most < held < k:
            best, most = distinct[i], held
    return best, most
