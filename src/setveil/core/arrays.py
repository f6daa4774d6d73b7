"""Compressed rows (CSR), their order and their repetitions; names for types of arrays.

Row i is ``values[offsets[i]:offsets[i + 1]]``.

>>> offsets_of([2, 0, 1]).tolist()
[0, 2, 2, 3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
SignArray = npt.NDArray[np.uint64]
"""Bits, 64 to a word."""
Weights = npt.NDArray[Any]
"""Integers of 32 or 64 bits, as large as the data needs."""


def offsets_of(lengths: npt.NDArray[Any] | Sequence[int]) -> Int64Array:
    """Return where rows of these lengths begin, one after the other, and where the last ends."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:], dtype=np.int64)
    return offsets


def kept_offsets(offsets: Int64Array, kept: npt.NDArray[Any]) -> Int64Array:
    """Return the offsets of rows of which only some values are kept.

    >>> kept_offsets(np.array([0, 2, 3]), np.array([True, False, True])).tolist()
    [0, 1, 2]
    """
    return offsets_of(kept)[offsets]


AT_ONCE = 1 << 20
"""How many items are gathered at a time where all at once would take memory."""

Signs = npt.NDArray[np.int8]


def neighbour_order(offsets: Int64Array, nodes: Int32Array) -> Signs:
    """Compare each row with the next: -1 it stands rightly before it, 0 equal, 1 wrongly.

    Rows stand in canonical order, longer ones first, then by content, when no 1 occurs; equal
    rows are then neighbours, so the zeros also delimit the distinct rows.

    >>> nodes = np.array([4, 5, 1, 1, 0], dtype=np.int32)
    >>> neighbour_order(np.array([0, 2, 3, 4, 5]), nodes).tolist()
    [-1, 0, 1]
    """
    n = len(offsets) - 1
    order: Signs = np.zeros(max(n - 1, 0), dtype=np.int8)
    first = 0
    while first < n - 1:
        # The last row of a part is the first of the next.
        last = int(np.searchsorted(offsets, offsets[first] + AT_ONCE, side="right")) - 1
        last = min(max(last, first + 2), n)
        start, end = offsets[[first, last]]
        order[first : last - 1] = _neighbour_order(
            offsets[first : last + 1] - start, nodes[start:end]
        )
        first = last - 1
    return order


def _neighbour_order(offsets: Int64Array, nodes: Int32Array) -> Signs:
    lengths = np.diff(offsets)
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


def is_ascending(offsets: Int64Array, items: Int32Array) -> bool:
    """Tell whether the items of each row are sorted and distinct.

    >>> is_ascending(np.array([0, 2, 3]), np.array([1, 4, 4], dtype=np.int32))
    True
    """
    falls = items[1:] <= items[:-1]
    borders = offsets[1:-1]
    falls[borders[(borders > 0) & (borders < len(items))] - 1] = False
    return not falls.any()


def occurring(numbers: Int32Array) -> Int64Array:
    """Return the distinct numbers, ascending; for many small numbers faster than sorting.

    >>> occurring(np.array([2, 0, 2], dtype=np.int32)).tolist()
    [0, 2]
    """
    seen = np.zeros(int(numbers.max(initial=-1)) + 1, dtype=bool)
    for start in range(0, len(numbers), AT_ONCE):
        seen[numbers[start : start + AT_ONCE]] = True
    return np.flatnonzero(seen)


def renumbered(numbers: Int32Array, new: Int32Array) -> Int32Array:
    """Return for each number its new one, by parts: numpy makes indexes of eight bytes of them.

    >>> renumbered(np.array([1, 0, 1], dtype=np.int32), np.array([7, 9], dtype=np.int32)).tolist()
    [9, 7, 9]
    """
    found = np.empty(len(numbers), dtype=np.int32)
    for start in range(0, len(numbers), AT_ONCE):
        found[start : start + AT_ONCE] = new[numbers[start : start + AT_ONCE]]
    return found


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
    return kept_offsets(offsets, fresh), items[fresh]


class RowsByItem(NamedTuple):
    """The rows that hold each item, ascending, one item after the other.

    Those of item `i` are ``rows[starts[i]:starts[i + 1]]``.

    >>> found = RowsByItem.of(np.array([0, 2, 3]), np.array([0, 2, 2], dtype=np.int32), 3)
    >>> found.holding(2).tolist(), found.holding_all([0, 2], 2).tolist()
    ([0, 1], [0])
    """

    starts: Int64Array
    rows: Int64Array

    @classmethod
    def of(cls, offsets: Int64Array, items: Int32Array, n_items: int) -> RowsByItem:
        """Find the rows of `n_items` items."""
        order = np.argsort(items, kind="stable")
        row = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
        return cls(np.searchsorted(items[order], np.arange(n_items + 1)), row[order])

    def holding(self, item: int) -> Int64Array:
        """Return the rows that hold an item."""
        return self.rows[self.starts[item] : self.starts[item + 1]]

    def holding_all(self, items: Iterable[int], n_rows: int) -> Int64Array:
        """Return the rows that hold all of some items; of no items, all rows."""
        held = sorted((self.holding(item) for item in items), key=len)
        common = held[0] if held else np.arange(n_rows, dtype=np.int64)
        for rows in held[1:]:
            common = np.intersect1d(common, rows, assume_unique=True)
        return common
