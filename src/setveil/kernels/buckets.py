"""Which bucket a record belongs to: walks down a tree of questions about its items.

A tree is three arrays: question `i` goes on with ``yes[i]`` or ``no[i]``; a number below zero is
the end, and ``-1 - number`` the bucket. Question 0 is the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.kernels.types import Int32Array, Int64Array


@compiled
def first_at_least(row: Int32Array, wanted: int) -> int:
    """Return the place of the first of ascending numbers that is not below `wanted`.

    >>> first_at_least(np.array([2, 5, 9], np.int32), 5), first_at_least(np.array([2], np.int32), 3)
    (1, 1)
    """
    low, high = 0, len(row)
    while low < high:
        middle = (low + high) // 2
        if row[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def route_by_counts(
    offsets: Int64Array,
    leaves: Int32Array,
    ends: Int32Array,
    nodes: Int64Array,
    least: Int64Array,
    yes: Int64Array,
    no: Int64Array,
) -> Int64Array:
    """Return the bucket of each record: question `i` is for ``least[i]`` leaves below a node.

    >>> route_by_counts(np.array([0, 2, 3]), np.array([1, 2, 2], np.int32),
    ...                 np.array([3, 2, 3], np.int32), np.array([0]), np.array([2]),
    ...                 np.array([-1]), np.array([-2])).tolist()
    [0, 1]
    """
    n = len(offsets) - 1
    bucket = np.zeros(n, dtype=np.int64)
    if len(nodes) == 0:
        return bucket
    for record in range(n):
        row = leaves[offsets[record] : offsets[record + 1]]
        at = np.int64(0)
        while at >= 0:
            node = nodes[at]
            held = first_at_least(row, ends[node]) - first_at_least(row, node)
            at = yes[at] if held >= least[at] else no[at]
        bucket[record] = -1 - at
    return bucket


@compiled
def route_by_items(
    offsets: Int64Array, items: Int32Array, wanted: Int64Array, yes: Int64Array, no: Int64Array
) -> Int64Array:
    """Return the bucket of each record: question `i` is whether it holds ``wanted[i]``.

    >>> route_by_items(np.array([0, 2, 3]), np.array([1, 2, 2], np.int32), np.array([1]),
    ...                np.array([-1]), np.array([-2])).tolist()
    [0, 1]
    """
    n = len(offsets) - 1
    bucket = np.zeros(n, dtype=np.int64)
    if len(wanted) == 0:
        return bucket
    for record in range(n):
        row = items[offsets[record] : offsets[record + 1]]
        at = np.int64(0)
        while at >= 0:
            place = first_at_least(row, wanted[at])
            holds = place < len(row) and row[place] == wanted[at]
            at = yes[at] if holds else no[at]
        bucket[record] = -1 - at
    return bucket


@compiled
def count_histograms(
    offsets: Int64Array,
    leaves: Int32Array,
    ends: Int32Array,
    heads: Int64Array,
    bucket: Int64Array,
    n_buckets: int,
    most: int,
) -> Int64Array:
    """Return for each bucket and head how many records have so many leaves below it.

    Numbers of `most` and more are one; records whose bucket is negative do not count. The last
    axis has the records and their leaves, all of them.

    >>> count_histograms(np.array([0, 2, 3]), np.array([1, 2, 2], np.int32),
    ...                  np.array([3, 2, 3], np.int32), np.array([0, 1]), np.array([0, 0]), 1, 2
    ...                  ).tolist()
    [[[[0, 0], [1, 1], [1, 2]], [[1, 1], [1, 2], [0, 0]]]]
    """
    found = np.zeros((n_buckets, len(heads), most + 1, 2), dtype=np.int64)
    for record in range(len(offsets) - 1):
        if bucket[record] < 0:
            continue
        row = leaves[offsets[record] : offsets[record + 1]]
        for h in range(len(heads)):
            held = first_at_least(row, ends[heads[h]]) - first_at_least(row, heads[h])
            found[bucket[record], h, min(held, most), 0] += 1
            found[bucket[record], h, min(held, most), 1] += len(row)
    return found


@compiled
def item_masks(
    offsets: Int64Array, items: Int32Array, bucket: Int64Array, tops: Int64Array
) -> Int64Array:
    """Return which of the top items of its bucket each record holds: item `i` is bit `i`.

    `tops` has a row for each bucket, filled up with -1; no bucket, no bits.

    >>> item_masks(np.array([0, 2, 3]), np.array([1, 2, 2], np.int32), np.array([0, -1]),
    ...            np.array([[2, 3, 1]])).tolist()
    [5, 0]
    """
    n = len(offsets) - 1
    mask = np.zeros(n, dtype=np.int64)
    for record in range(n):
        if bucket[record] < 0:
            continue
        row = items[offsets[record] : offsets[record + 1]]
        for i in range(tops.shape[1]):
            wanted = tops[bucket[record], i]
            if wanted < 0:
                break
            place = first_at_least(row, wanted)
            if place < len(row) and row[place] == wanted:
                mask[record] |= np.int64(1) << i
    return mask


@compiled
def content_buckets(offsets: Int64Array, items: Int32Array, n_buckets: int) -> Int64Array:
    """Return a bucket for each record that depends on its content and nothing else.

    >>> content_buckets(np.array([0, 1, 2]), np.array([7, 7], np.int32), 100).tolist()
    [82, 82]
    """
    n = len(offsets) - 1
    bucket = np.zeros(n, dtype=np.int64)
    for record in range(n):
        mixed = np.uint64(14695981039346656037)
        for at in range(offsets[record], offsets[record + 1]):
            mixed = (mixed ^ np.uint64(items[at])) * np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(29)
        bucket[record] = np.int64(mixed % np.uint64(n_buckets))
    return bucket
