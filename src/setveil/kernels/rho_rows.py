"""Rows as the check of ρ-uncertainty wants them: merged where equal, and turned both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.kernels.types import Int32Array, Int64Array, SignArray


@compiled
def merge_rows(
    offsets: Int64Array, items: Int32Array, hashes_of: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Find the distinct rows: the first of each, how many there are, and its hash.

    The hash of a row is the (wrapping) sum of the hashes of its items. Rows that share a hash are
    compared item by item; empty rows are left out.

    >>> items = np.array([1, 2, 1, 2, 5], dtype=np.int32)
    >>> first, copies, hashes = merge_rows(np.array([0, 2, 2, 4, 5]), items, np.arange(6))
    >>> first.tolist(), copies.tolist(), hashes.tolist()
    ([0, 3], [2, 1], [3, 5])
    """
    n = len(offsets) - 1
    size = 16
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1, dtype=np.int64)
    first = np.empty(n, dtype=np.int64)
    copies = np.empty(n, dtype=np.int64)
    hashes = np.empty(n, dtype=np.int64)
    found = 0
    for row in range(n):
        start, end = offsets[row], offsets[row + 1]
        if start == end:
            continue
        value = np.int64(0)
        for at in range(start, end):
            value += hashes_of[items[at]]
        slot = value & (size - 1)
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = found
                first[found], copies[found], hashes[found] = row, 1, value
                found += 1
                break
            if hashes[other] == value:
                begin = offsets[first[other]]
                length = end - start
                same = offsets[first[other] + 1] - begin == length
                if same:
                    for at in range(length):
                        if items[begin + at] != items[start + at]:
                            same = False
                            break
                if same:
                    copies[other] += 1
                    break
            slot = (slot + 1) & (size - 1)
    return first[:found].copy(), copies[:found].copy(), hashes[:found].copy()


@compiled
def transpose(starts: Int64Array, columns: Int32Array, width: int) -> tuple[Int64Array, Int32Array]:
    """Turn rows of columns into columns of rows, ascending within each.

    >>> transpose(np.array([0, 2, 3]), np.array([1, 0, 1], dtype=np.int32), 3)
    (array([0, 1, 3, 3]), array([0, 0, 1], dtype=int32))
    """
    turned = np.zeros(width + 1, dtype=np.int64)
    for at in range(len(columns)):
        turned[columns[at] + 1] += 1
    for column in range(width):
        turned[column + 1] += turned[column]
    fill = turned[:-1].copy()
    rows = np.empty(len(columns), dtype=np.int32)
    for row in range(len(starts) - 1):
        for at in range(starts[row], starts[row + 1]):
            rows[fill[columns[at]]] = row
            fill[columns[at]] += 1
    return turned, rows


@compiled
def bit_rows(starts: Int64Array, columns: Int32Array, begin: int, width: int) -> SignArray:
    """Return the rows from `begin` on with one bit per column.

    >>> bit_rows(np.array([0, 1, 3]), np.array([5, 0, 2], dtype=np.int32), 1, 3)
    array([[5]], dtype=uint64)
    """
    bits = np.zeros((len(starts) - 1 - begin, (width + 63) >> 6), dtype=np.uint64)
    for row in range(begin, len(starts) - 1):
        for at in range(starts[row], starts[row + 1]):
            column = columns[at]
            bits[row - begin, column >> 6] |= np.uint64(1) << np.uint64(column & 63)
    return bits
