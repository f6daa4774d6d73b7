"""Compressed rows: their canonical order, equal neighbours, repetitions within a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from setveil.data.table import Int32Array, Int64Array

Signs = npt.NDArray[np.int8]


def neighbour_order(offsets: Int64Array, nodes: Int32Array) -> Signs:
    """Compare each row with the next: -1 it stands rightly before it, 0 equal, 1 wrongly.

    Rows stand in canonical order, longer ones first, then by content, when no 1 occurs; equal
    rows are then neighbours, so the zeros also delimit the distinct rows.

    >>> nodes = np.array([4, 5, 1, 1, 0], dtype=np.int32)
    >>> neighbour_order(np.array([0, 2, 3, 4, 5]), nodes).tolist()
    [-1, 0, 1]
    """
    lengths = np.diff(offsets)
    if len(lengths) < 2:
        return np.zeros(0, dtype=np.int8)
    order: Signs = np.sign(lengths[1:] - lengths[:-1]).astype(np.int8)
    # Where two neighbours are equally long, entry p of the first faces entry p + length.
    rows = np.repeat(np.arange(len(lengths)), lengths)
    facing = np.zeros(len(lengths), dtype=bool)
    facing[:-1] = order == 0
    here = np.flatnonzero(facing[rows])
    difference = nodes[here].astype(np.int64) - nodes[here + lengths[rows[here]]]
    here, difference = here[difference != 0], difference[difference != 0]
    owner = rows[here]
    first = np.ones(len(owner), dtype=bool)
    first[1:] = owner[1:] != owner[:-1]
    order[owner[first]] = np.sign(difference[first])
    return order


def occurring(numbers: Int32Array) -> Int64Array:
    """Return the distinct numbers, ascending; for many small numbers faster than sorting.

    >>> occurring(np.array([2, 0, 2], dtype=np.int32)).tolist()
    [0, 2]
    """
    return np.flatnonzero(np.bincount(numbers))


def distinct_in_rows(offsets: Int64Array, items: Int32Array) -> tuple[Int64Array, Int32Array]:
    """Drop repetitions within rows whose items are sorted.

    >>> distinct_in_rows(np.array([0, 2, 3]), np.array([4, 4, 4], dtype=np.int32))
    (array([0, 1, 2]), array([4, 4], dtype=int32))
    """
    fresh = np.ones(len(items), dtype=bool)
    fresh[1:] = items[1:] != items[:-1]
    starts = offsets[:-1]
    fresh[starts[starts < len(items)]] = True
    if fresh.all():
        return offsets, items
    return np.concatenate([[0], np.cumsum(fresh)])[offsets], items[fresh]
