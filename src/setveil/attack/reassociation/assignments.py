"""All ways to give pieces to rows, the best first.

References
----------
K. Murty: An algorithm for ranking all the assignments in order of increasing cost. Operations
Research 16 (3), 1968.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from setveil.core.arrays import FloatArray, Int64Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Branch:
    """Some of the ways: counts of the first cells are given, the next one's lies between bounds.

    Parameters
    ----------
    given
        Counts of the first cells, row by row of the table.
    low, high
        Bounds of the count of the cell after these.
    """

    given: Int64Array
    low: int
    high: int


def ranked(scores: FloatArray, copies: Int64Array, room: Int64Array) -> Iterator[Int64Array]:
    """Return how many copies of each piece go to rows of each value, by falling total score.

    Copies of a piece are alike, and so are rows of a value: each way comes once. A row takes one
    copy. The ways of a branch are parted by the count of one cell, and then of the next, so that
    each part is an assignment problem again.

    Parameters
    ----------
    scores
        What a copy of a piece (row) is worth in a row of a value (column).
    copies
        How many copies each piece has.
    room
        How many rows each value has; together no fewer than there are copies.

    Yields
    ------
    array of int
        Counts: a row for each piece, a column for each value.

    Examples
    --------
    >>> ways = ranked(np.array([[3.0, 1.0], [2.0, 1.5]]), np.array([1, 1]), np.array([1, 2]))
    >>> [way.tolist() for way in ways]
    [[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, 1], [0, 1]]]
    """
    from scipy.optimize import linear_sum_assignment

    whole = Branch(given=np.empty(0, np.int64), low=0, high=int(min(copies[0], room[0])))
    heap: list[tuple[float, int, Branch, Int64Array]] = []
    order = count()

    def offer(branch: Branch) -> None:
        best = _best(scores, copies, room, branch, linear_sum_assignment)
        if best is not None:
            heappush(heap, (-float((best * scores).sum()), next(order), branch, best))

    offer(whole)
    while heap:
        _, _, branch, best = heappop(heap)
        yield best
        for part in _parts(branch, best, copies, room):
            offer(part)


def _parts(
    branch: Branch, best: Int64Array, copies: Int64Array, room: Int64Array
) -> Iterator[Branch]:
    """Return the branch without its best way, in parts."""
    cells = best.ravel()
    low, high = branch.low, branch.high
    for place in range(len(branch.given), len(cells)):
        given, here = cells[:place], int(cells[place])
        if low < here:
            yield Branch(given=given, low=low, high=here - 1)
        if here < high:
            yield Branch(given=given, low=here + 1, high=high)
        if place + 1 < len(cells):
            piece, value = divmod(place + 1, best.shape[1])
            spare = copies[piece] - best[piece, :value].sum()
            low, high = 0, int(min(spare, room[value] - best[:piece, value].sum()))


def _best(
    scores: FloatArray,
    copies: Int64Array,
    room: Int64Array,
    branch: Branch,
    assign: Callable[[FloatArray], tuple[Int64Array, Int64Array]],
) -> Int64Array | None:
    """Return the best way of a branch; None if there is none."""
    pieces, values = scores.shape
    fixed = np.zeros(pieces * values, dtype=np.int64)
    place = len(branch.given)
    fixed[:place] = branch.given
    fixed[place] = branch.low
    fixed = fixed.reshape(pieces, values)
    left, free = copies - fixed.sum(axis=1), room - fixed.sum(axis=0)
    if left.min() < 0 or free.min() < 0 or left.sum() > free.sum():
        return None
    piece, value = divmod(place, values)
    if left[:piece].any():
        return None
    piece_of = np.repeat(np.arange(pieces), left)
    # More rows of one value than there are pieces left cannot all be taken.
    value_of = np.repeat(np.arange(values), np.minimum(free, left.sum()))
    costs = -scores[piece_of][:, value_of]
    own = np.flatnonzero(piece_of == piece)
    costs[np.ix_(own, value_of < value)] = np.inf
    # Only so many of the alike copies may still go to the cell with an upper bound.
    costs[np.ix_(own[branch.high - branch.low :], value_of == value)] = np.inf
    try:
        rows, columns = assign(costs)
    except ValueError:
        return None  # some copy has nowhere to go
    np.add.at(fixed, (piece_of[rows], value_of[columns]), 1)
    return fixed
