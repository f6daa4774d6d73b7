"""Chances of cells, given that every row and every column of a table keeps at least one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import BoolArray, FloatArray, Int64Array


@compiled
def kept_given_cover(
    logits: FloatArray, crowding: FloatArray, sweeps: int, warm_up: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the chance that each cell is kept, and for each number how often a row keeps so many.

    Cells are kept independently, each with the given log-odds, times a weight by how many its row
    keeps; and given that no row and no column keeps none. Rows are drawn anew one after the
    other, each exactly from its conditional distribution, whose chances are averaged; between
    sweeps pairs of rows exchange what they keep in a pair of columns.

    Parameters
    ----------
    logits
        Log-odds of each cell to be kept.
    crowding
        ``crowding[n]`` is the log weight of a row that keeps n cells, for n of at least 1; the
        last one is for so many and more.
    sweeps, warm_up
        How many sweeps are averaged, and how many go before.
    rng
        Draws.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> chances, rows = kept_given_cover(np.zeros((1, 2)), np.zeros(3), 1, 0, rng)
    >>> chances.tolist()  # and neither column may be empty
    [[1.0, 1.0]]
    >>> chances, rows = kept_given_cover(np.zeros((2, 1)), np.zeros(3), 10, 0, rng)
    >>> rows.tolist()
    [0.0, 2.0, 0.0]
    """
    rows, columns = logits.shape
    most = len(crowding) - 1
    share = 1 / (1 + np.exp(-logits))
    # All kept: a state that satisfies the conditions, from which the chain starts.
    kept = np.ones((rows, columns), dtype=np.bool_)
    in_column = np.full(columns, rows, dtype=np.int64)
    chances = np.zeros((rows, columns))
    sizes = np.zeros(most + 1)
    final = np.zeros(most + 1)
    final[1:] = np.exp(crowding[1:] - crowding[1:].max())
    worth = np.empty((columns + 1, most + 1))
    before = np.empty(most + 1)
    after = np.empty(most + 1)
    for sweep in range(warm_up + sweeps):
        for i in range(rows):
            for j in range(columns):
                # in_column: how many other rows keep each column. A column with none must be kept
                # here.
                in_column[j] -= kept[i, j]
            fill_worth(share[i], in_column, final, worth)
            # The exact chances are summed instead of the draws: the same mean with less noise.
            if sweep >= warm_up:
                add_chances(share[i], in_column, worth, before, after, chances[i], sizes)
            n = 0
            for j in range(columns):
                kept[i, j] = rng.random() < chance(share[i, j], in_column[j], worth[j + 1], n)
                n = min(n + kept[i, j], most)
                in_column[j] += kept[i, j]
        exchange(logits, kept, rows * columns, rng)
    return chances / sweeps, sizes / sweeps


@compiled
def chance(share: float, others: int, worth: FloatArray, n: int) -> float:
    """Return the chance that a cell is kept, when its row has kept n before it.

    `worth` says how much the rest of the row weighs by how many were kept; a column that no other
    row keeps must be kept.

    >>> chance(0.5, 1, np.array([0.0, 1.0, 1.0]), 0), chance(0.5, 1, np.array([0.0, 1.0, 1.0]), 1)
    (1.0, 0.5)
    """
    if others == 0:
        return 1.0
    # Bayes: the prior odds of the cell times what the rest of the row weighs after either choice.
    yes: float = share * worth[min(n + 1, len(worth) - 1)]
    no: float = (1 - share) * worth[n]
    return yes / (yes + no)


@compiled
def fill_worth(share: FloatArray, others: Int64Array, final: FloatArray, worth: FloatArray) -> None:
    """Fill in how much the cells from each column on weigh, by how many the row kept before it.

    >>> worth = np.empty((3, 2))
    >>> fill_worth(np.array([0.5, 0.5]), np.array([1, 1]), np.array([0.0, 1.0]), worth)
    >>> worth.tolist()
    [[0.75, 1.0], [0.5, 1.0], [0.0, 1.0]]
    """
    columns, most = len(share), len(final) - 1
    worth[columns] = final
    # Backward recursion over the columns.
    for j in range(columns - 1, -1, -1):
        for n in range(most + 1):
            value = share[j] * worth[j + 1, min(n + 1, most)]
            if others[j] > 0:
                value += (1 - share[j]) * worth[j + 1, n]
            worth[j, n] = value
        worth[j] /= worth[j].max()  # only ratios count, and long rows would vanish


@compiled
def add_chances(
    share: FloatArray,
    others: Int64Array,
    worth: FloatArray,
    before: FloatArray,
    after: FloatArray,
    chances: FloatArray,
    sizes: FloatArray,
) -> None:
    """Add a row's exact chances, and the distribution of how many it keeps, to running sums.

    `before` and `after` are room to work in.

    >>> worth, chances, sizes = np.empty((3, 3)), np.zeros(2), np.zeros(3)
    >>> share, others = np.array([0.5, 0.5]), np.array([1, 1])
    >>> fill_worth(share, others, np.array([0.0, 1.0, 1.0]), worth)
    >>> add_chances(share, others, worth, np.empty(3), np.empty(3), chances, sizes)
    >>> chances.round(3).tolist(), sizes.round(3).tolist()
    ([0.667, 0.667], [0.0, 0.667, 0.333])
    """
    most = len(sizes) - 1
    # Forward recursion: before[n] is the chance that n were kept in the columns so far.
    before[:] = 0.0
    before[0] = 1.0
    for j in range(len(share)):
        after[:] = 0.0
        for n in range(most + 1):
            if before[n] > 0:
                p = chance(share[j], others[j], worth[j + 1], n)
                chances[j] += before[n] * p
                after[min(n + 1, most)] += before[n] * p
                after[n] += before[n] * (1 - p)
        before[:] = after
    sizes += before


@compiled
def exchange(logits: FloatArray, kept: BoolArray, tries: int, rng: np.random.Generator) -> None:
    """Let pairs of rows exchange a cell for a cell; what rows and columns keep stays as many.

    >>> kept = np.array([[True, False], [False, True]])
    >>> exchange(np.array([[-90.0, 90.0], [90.0, -90.0]]), kept, 100,
    ...          np.random.default_rng(1))
    >>> kept.tolist()
    [[False, True], [True, False]]
    """
    rows, columns = logits.shape
    if rows < 2 or columns < 2:
        return
    for _ in range(tries):
        i, r = rng.integers(0, rows), rng.integers(0, rows)
        j, c = rng.integers(0, columns), rng.integers(0, columns)
        if kept[i, j] and kept[r, c] and not kept[i, c] and not kept[r, j]:
            # Metropolis: the weights by row sizes and the conditions on columns are untouched by
            # the exchange.
            gain = logits[i, c] + logits[r, j] - logits[i, j] - logits[r, c]
            if gain >= 0 or rng.random() < np.exp(gain):
                kept[i, j] = kept[r, c] = False
                kept[i, c] = kept[r, j] = True
