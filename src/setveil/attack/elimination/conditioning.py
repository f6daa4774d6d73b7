"""Chances of cells when every row and column keeps one, and rows keep as many as is usual."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.arrays import BoolArray, FloatArray


FARTHEST = 12.0
"""Log-odds beyond which a cell is as good as decided; keeps the sampling in motion."""
SWEEPS = 1_000
FIRST = 100
"""Sweeps that are not counted."""
WORK = 20_000_000
"""Cells drawn per table, at most; large tables get fewer sweeps."""
MOST = 4
"""Rows that keep so many members or more are treated alike."""
ROUNDS = 6


class Drawn(NamedTuple):
    """What sampling a table gave.

    Parameters
    ----------
    chances
        For each cell the chance that it was kept.
    rows
        ``rows[n]`` is the expected number of rows that keep n cells; the last, so many and more.
    """

    chances: FloatArray
    rows: FloatArray


def conditioned(
    logits: FloatArray, crowding: FloatArray, *, seed: int, sweeps: int = SWEEPS
) -> Drawn:
    """Return the chance of each cell to be kept, given that no row and no column keeps none.

    Parameters
    ----------
    logits
        Log-odds of each cell by itself.
    crowding
        Log weights of rows by how many cells they keep, from 0; the last is for so many and more.
    seed
        Of the random numbers.
    sweeps
        How often the table is drawn.

    Examples
    --------
    >>> conditioned(np.array([[9.0, -9.0], [-9.0, -9.0]]), np.zeros(5), seed=1).chances.round(2)
    array([[1., 0.],
           [0., 1.]])
    """
    from setveil.attack.elimination.gibbs_kernels import kept_given_cover

    limited = np.clip(logits, -FARTHEST, FARTHEST)
    times = int(np.clip(WORK // max(1, limited.size), 50, sweeps))
    return Drawn(*kept_given_cover(limited, crowding, times, FIRST, np.random.default_rng(seed)))


def usual_crowding(
    logits: Sequence[FloatArray], truth: Sequence[BoolArray], *, seed: int
) -> FloatArray:
    """Learn the weights of rows by how many cells they keep, from tables whose truth is known.

    Anonymizers seldom join items that stand together in a record, so that most rows keep one
    cell. Weights are moved until as many rows are expected to keep 1, 2, ... cells as do.

    >>> apart = [np.eye(2, dtype=bool)] * 30
    >>> crowding = usual_crowding([np.zeros((2, 2))] * 30, apart, seed=1)
    >>> bool(crowding[1] == 0 and crowding[2] < -2)
    True
    """
    kept = np.concatenate([np.minimum(table.sum(axis=1), MOST) for table in truth])
    there = np.bincount(kept, minlength=MOST + 1)
    crowding = np.zeros(MOST + 1)
    for _ in range(ROUNDS):
        expected = np.zeros(MOST + 1)
        for number, table in enumerate(logits):
            expected += conditioned(table, crowding, seed=seed + number, sweeps=SWEEPS // 4).rows
        # One row more of each kind: numbers that never occurred are rare, not impossible.
        crowding += np.log((there + 1) / (expected + 1))
        crowding -= crowding[1]
    return crowding
