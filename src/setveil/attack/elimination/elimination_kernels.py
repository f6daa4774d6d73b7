"""Taking cells out of a distance table, one by one.

Rows and columns are *groups*. Each keeps its live cells sorted by weighted distance, and the
largest gap between neighbours, its vulnerability. Taking a cell out changes one row and one
column as a whole, but only one cell in every other group: that one is moved to its new place, and
the gaps of the group are looked at again only where the largest one was touched.

Of equal distances, the one of the lower row (or column) counts as larger. Distances are weighted
in floating point, so what is equal on paper may differ in its last digit and be ordered by that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import BoolArray, FloatArray, Int32Array, Int64Array


ROUNDING = 1e-12
"""A mean of equal numbers may come out a little off; nothing exceeds itself for that."""


@compiled
def below(a: float, i: int, b: float, j: int) -> bool:
    """Tell whether the cell at `i` of distance `a` is sorted before the one at `j` of distance `b`.

    >>> below(1.0, 5, 2.0, 0), below(1.0, 5, 1.0, 4), below(1.0, 4, 1.0, 5)
    (True, True, False)
    """
    return a < b or (a == b and i > j)


@compiled
def resort(values: FloatArray, order: Int32Array, place: Int32Array, n: int) -> None:
    """Sort the first `n` cells of `order` by insertion: quick where little has changed.

    >>> order, place = np.array([0, 1, 2]), np.zeros(3, np.int64)
    >>> resort(np.array([5.0, 9.0, 5.0]), order, place, 3)
    >>> order.tolist(), place.tolist()
    ([2, 0, 1], [1, 2, 0])
    """
    for p in range(n):
        cell = order[p]
        q = p
        while q > 0 and below(values[cell], cell, values[order[q - 1]], order[q - 1]):
            order[q] = order[q - 1]
            q -= 1
        order[q] = cell
    for p in range(n):
        place[order[p]] = p


@compiled
def largest_gap(values: FloatArray, order: Int32Array, n: int) -> tuple[float, int]:
    """Return the largest gap between sorted neighbours and the place below it, the uppermost one.

    >>> largest_gap(np.array([1.0, 4.0, 2.0]), np.array([0, 2, 1]), 3)
    (2.0, 1)
    >>> largest_gap(np.array([1.0]), np.array([0]), 1)
    (0.0, -1)
    """
    gap, at = 0.0, -1
    for p in range(n - 1):
        here = values[order[p + 1]] - values[order[p]]
        if here >= gap:
            gap, at = here, p
    return gap, at


@compiled
def moved(
    values: FloatArray, order: Int32Array, place: Int32Array, n: int, cell: int, value: float,
    gap: float,
) -> float:  # fmt: skip
    """Give one cell another value and its new place; return the largest gap after it.

    >>> values, order, place = np.array([1.0, 4.0, 6.0]), np.arange(3), np.arange(3)
    >>> moved(values, order, place, 3, 2, 3.0, 3.0), order.tolist(), place.tolist()
    (2.0, [0, 2, 1], [0, 2, 1])
    """
    p = place[cell]
    old = values[cell]
    lost = 0.0  # the largest gap that is no more
    if p > 0:
        lost = old - values[order[p - 1]]
    if p < n - 1:
        lost = max(lost, values[order[p + 1]] - old)
    made = 0.0  # the largest gap that is new
    q = p
    while q > 0 and below(value, cell, values[order[q - 1]], order[q - 1]):
        q -= 1
    while q < n - 1 and below(values[order[q + 1]], order[q + 1], value, cell):
        q += 1
    if q != p:
        if 0 < p < n - 1:
            made = values[order[p + 1]] - values[order[p - 1]]
        step = 1 if q > p else -1
        before, after = q + min(step, 0), q + max(step, 0)  # neighbours of the new place
        if before >= 0 and after < n:
            lost = max(lost, values[order[after]] - values[order[before]])
        r = p
        while r != q:
            order[r] = order[r + step]
            place[order[r]] = r
            r += step
        order[q] = cell
        place[cell] = q
    values[cell] = value
    if q > 0:
        made = max(made, value - values[order[q - 1]])
    if q < n - 1:
        made = max(made, values[order[q + 1]] - value)
    if made >= gap:
        return made
    if lost >= gap:
        return largest_gap(values, order, n)[0]
    return gap


@compiled
def taken_out(order: Int32Array, place: Int32Array, n: int, cell: int) -> None:
    """Close the row of sorted cells over one that is gone.

    >>> order, place = np.array([2, 0, 1]), np.array([1, 2, 0])
    >>> taken_out(order, place, 3, 0)
    >>> order[:2].tolist(), place[[2, 1]].tolist()
    ([2, 1], [0, 1])
    """
    for p in range(place[cell], n - 1):
        order[p] = order[p + 1]
        place[order[p]] = p


@compiled
def inherit(
    values: FloatArray, order: Int32Array, place: Int32Array, n: int, cell: int, weights: FloatArray
) -> None:
    """Share the weight of a cell among the lower cluster of its group, itself left out.

    >>> weights = np.full(4, 0.25)
    >>> inherit(np.array([1.0, 1.5, 4.0, 5.0]), np.arange(4), np.arange(4), 4, 3, weights)
    >>> weights.tolist()
    [0.375, 0.375, 0.25, 0.25]
    """
    _, at = largest_gap(values, order, n)
    heirs = at + 1
    if place[cell] <= at:
        heirs -= 1
    for p in range(at + 1):
        if order[p] != cell:
            weights[order[p]] += weights[cell] / heirs


@compiled
def most_vulnerable(
    row_gaps: FloatArray, column_gaps: FloatArray, lower: FloatArray, row_order: Int32Array,
    column_order: Int32Array, in_row: Int64Array, in_column: Int64Array,
) -> tuple[float, int, int]:  # fmt: skip
    """Return the greatest vulnerability of a group whose largest cell may go, and that cell.

    -1 says that there is none. `lower` are the weighted distances.
    """
    best, row, column = -1.0, -1, -1
    rows, columns = lower.shape
    for group in range(rows + columns):
        if group < rows:
            gap, n = row_gaps[group], in_row[group]
        else:
            gap, n = column_gaps[group - rows], in_column[group - rows]
        if n < 2 or gap < best:
            continue
        if group < rows:
            i, j = group, row_order[group, n - 1]
        else:
            i, j = column_order[group - rows, n - 1], group - rows
        if in_row[i] < 2 or in_column[j] < 2:
            continue
        if (
            gap > best
            or lower[i, j] > lower[row, column]
            or (lower[i, j] == lower[row, column] and (i < row or (i == row and j < column)))
        ):
            best, row, column = gap, i, j
    return best, row, column


@compiled
def eliminate_by_groups(
    distances: FloatArray, redistribute: bool
) -> tuple[Int64Array, FloatArray, float, FloatArray]:
    """Take out the largest cell of the most vulnerable group, again and again: GBA and RBA.

    Parameters
    ----------
    distances
        The table; at least 0, and at least one row and one column.
    redistribute
        Whether the weight of a cell goes to the lower clusters of its row and column (RBA), or
        weights depend on how many cells are left (GBA).

    Returns
    -------
    tuple
        The cells (rows, columns) in order; the vulnerability that decided each; the threshold,
        the mean vulnerability at the start; and the weighted table at the end, NaN where a cell
        is gone.

    Examples
    --------
    >>> table = np.array([[0.1, 0.9], [0.8, 0.2]])
    >>> cells, decided, threshold, weighted = eliminate_by_groups(table, False)
    >>> cells.tolist(), decided.round(3).tolist(), round(threshold, 3)
    ([[0, 1], [1, 0]], [0.2, 0.2], 0.175)
    """
    rows, columns = distances.shape
    alive = np.ones((rows, columns), dtype=np.bool_)
    by_row = np.full((rows, columns), 1 / columns)
    by_column = np.full((columns, rows), 1 / rows)
    in_row = np.full(rows, columns, dtype=np.int64)
    in_column = np.full(columns, rows, dtype=np.int64)
    along = np.empty((rows, columns))
    for i in range(rows):
        for j in range(columns):
            along[i, j] = weighted(distances[i, j], in_row[i], in_column[j], by_row[i, j],
                                   by_column[j, i], redistribute)  # fmt: skip
    down = along.T.copy()
    row_order, row_place, row_gaps = sorted_groups(along)
    column_order, column_place, column_gaps = sorted_groups(down)
    threshold = (row_gaps.sum() + column_gaps.sum()) / (rows + columns)
    cells = np.empty((rows * columns, 2), dtype=np.int64)
    decided = np.empty(rows * columns)
    n = 0
    while True:
        gap, i, j = most_vulnerable(
            row_gaps, column_gaps, along, row_order, column_order, in_row, in_column
        )
        if not gap > threshold * (1 + ROUNDING):  # also where no group is left: -1
            break
        cells[n, 0], cells[n, 1], decided[n] = i, j, gap
        n += 1
        if redistribute:
            inherit(along[i], row_order[i], row_place[i], in_row[i], j, by_row[i])
            inherit(down[j], column_order[j], column_place[j], in_column[j], i, by_column[j])
        alive[i, j] = False
        taken_out(row_order[i], row_place[i], in_row[i], j)
        taken_out(column_order[j], column_place[j], in_column[j], i)
        in_row[i] -= 1
        in_column[j] -= 1
        for p in range(in_row[i]):  # the row, and one cell of each other column
            c = row_order[i, p]
            value = weighted(distances[i, c], in_row[i], in_column[c], by_row[i, c],
                             by_column[c, i], redistribute)  # fmt: skip
            if value != along[i, c]:
                along[i, c] = value
                column_gaps[c] = moved(down[c], column_order[c], column_place[c], in_column[c], i,
                                       value, column_gaps[c])  # fmt: skip
        for p in range(in_column[j]):  # the column, and one cell of each other row
            r = column_order[j, p]
            value = weighted(distances[r, j], in_row[r], in_column[j], by_row[r, j],
                             by_column[j, r], redistribute)  # fmt: skip
            if value != down[j, r]:
                down[j, r] = value
                row_gaps[r] = moved(along[r], row_order[r], row_place[r], in_row[r], j, value,
                                    row_gaps[r])  # fmt: skip
        resort(along[i], row_order[i], row_place[i], in_row[i])
        resort(down[j], column_order[j], column_place[j], in_column[j])
        row_gaps[i] = largest_gap(along[i], row_order[i], in_row[i])[0]
        column_gaps[j] = largest_gap(down[j], column_order[j], in_column[j])[0]
    return cells[:n].copy(), decided[:n].copy(), threshold, np.where(alive, along, np.nan)


@compiled
def weighted(
    distance: float, in_row: int, in_column: int, by_row: float, by_column: float,
    redistribute: bool,
) -> float:  # fmt: skip
    """Return the weighted distance of a cell: by its own weights, or by the cells beside it.

    >>> weighted(1.0, 4, 2, 0.0, 0.0, False), weighted(1.0, 4, 2, 0.25, 0.75, True)
    (0.375, 0.1875)
    """
    if redistribute:
        return distance * max(1 - by_row, 0.0) * max(1 - by_column, 0.0)
    return distance * (1 - 1 / in_row) * (1 - 1 / in_column)


@compiled
def sorted_groups(values: FloatArray) -> tuple[Int32Array, Int32Array, FloatArray]:
    """Return for each row its cells sorted, the place of each, and the largest gap.

    >>> order, place, gaps = sorted_groups(np.array([[3.0, 1.0, 1.5]]))
    >>> order.tolist(), place.tolist(), gaps.tolist()
    ([[1, 2, 0]], [[2, 0, 1]], [1.5])
    """
    groups, n = values.shape
    order = np.empty((groups, n), dtype=np.int32)  # half the memory: half the time
    place = np.empty((groups, n), dtype=np.int32)
    gaps = np.empty(groups)
    for g in range(groups):
        # Backwards: of equal ones, a stable sort then leaves the last of them in front.
        order[g] = n - 1 - np.argsort(values[g, ::-1], kind="mergesort")
        for p in range(n):
            place[g, order[g, p]] = p
        gaps[g] = largest_gap(values[g], order[g], n)[0]
    return order, place, gaps


@compiled
def eliminate_by_weight(distances: FloatArray) -> tuple[Int64Array, FloatArray, float]:
    """Take out the greatest weighted distance, again and again: WBA.

    Weights are those of GBA. Returns the cells in order, the weighted distance that decided each,
    and the threshold, the mean weighted distance at the start. The last cell of a row or column
    weighs nothing, and so never exceeds it.

    >>> cells, decided, threshold = eliminate_by_weight(np.array([[0.1, 0.9], [0.8, 0.2]]))
    >>> cells.tolist(), decided.tolist(), threshold
    ([[0, 1], [1, 0]], [0.225, 0.2], 0.125)
    """
    rows, columns = distances.shape
    alive = np.ones((rows, columns), dtype=np.bool_)
    in_row = np.full(rows, columns, dtype=np.int64)
    in_column = np.full(columns, rows, dtype=np.int64)
    values = np.empty((rows, columns))
    best = np.empty(rows, dtype=np.int64)
    for i in range(rows):
        for j in range(columns):
            values[i, j] = weighted(distances[i, j], columns, rows, 0.0, 0.0, False)
        best[i] = greatest(values[i], alive[i])
    threshold = values.mean()
    cells = np.empty((rows * columns, 2), dtype=np.int64)
    decided = np.empty(rows * columns)
    n = 0
    while True:
        i = 0
        for r in range(rows):
            if values[r, best[r]] > values[i, best[i]]:
                i = r
        j = best[i]
        if not values[i, j] > threshold * (1 + ROUNDING):
            break
        cells[n, 0], cells[n, 1], decided[n] = i, j, values[i, j]
        n += 1
        alive[i, j] = False
        in_row[i] -= 1
        in_column[j] -= 1
        for c in range(columns):
            values[i, c] = weighted(distances[i, c], in_row[i], in_column[c], 0.0, 0.0, False)
        best[i] = greatest(values[i], alive[i])
        for r in range(rows):
            if alive[r, j]:
                values[r, j] = weighted(distances[r, j], in_row[r], in_column[j], 0.0, 0.0, False)
                if best[r] == j:  # it shrank; what was not the greatest still is not
                    best[r] = greatest(values[r], alive[r])
    return cells[:n].copy(), decided[:n].copy(), threshold


@compiled
def greatest(values: FloatArray, alive: BoolArray) -> int:
    """Return the place of the greatest live value, the first of equal ones.

    >>> greatest(np.array([3.0, 5.0, 5.0]), np.array([True, True, True]))
    1
    """
    best = -1
    for j in range(len(values)):
        if alive[j] and (best < 0 or values[j] > values[best]):
            best = j
    return best


@compiled
def eliminate_in_order(rows: Int64Array, columns: Int64Array, shape: tuple[int, int]) -> Int64Array:
    """Return which cells of a sequence go if the last of a row or column always stays.

    >>> eliminate_in_order(np.array([0, 0, 1]), np.array([0, 1, 1]), (2, 2)).tolist()
    [0, 2]
    """
    in_row = np.full(shape[0], shape[1], dtype=np.int64)
    in_column = np.full(shape[1], shape[0], dtype=np.int64)
    gone = np.empty(len(rows), dtype=np.int64)
    n = 0
    for place in range(len(rows)):
        i, j = rows[place], columns[place]
        if in_row[i] >= 2 and in_column[j] >= 2:
            in_row[i] -= 1
            in_column[j] -= 1
            gone[n] = place
            n += 1
    return gone[:n].copy()
