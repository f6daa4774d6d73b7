"""Which terms of a term chunk belong together: rows as clusters of terms, by mean-field steps.

Each term has a chance for each row of its cluster. Rows draw the terms that fit their anchor, and
terms that are like those they hold; no row may hold more than its share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.attack.elimination.evidence import double_centred

if TYPE_CHECKING:
    from setveil.core.arrays import FloatArray, Int64Array

STEPS = 30
SWEEPS = 10
"""Times that rows and terms are balanced in turn, at each step."""
JITTER = 0.5
"""Deviation of what is begun with: without it, equal rows would stay equal."""
LEAST = 1e-300
LEVEL = 1e-9
"""Deviation below which a table says nothing."""


def likeness(pairs: FloatArray) -> FloatArray:
    """Return how like terms are, as one table with deviation of about 1.

    Each kind of evidence is double-centred and scaled, and all are averaged: what is worth
    nothing between a term and an anchor of frequent terms may be worth much between rare ones.

    Parameters
    ----------
    pairs
        Kinds of evidence by terms by terms; NaN where nothing is known.

    Examples
    --------
    >>> near = np.array([[[0.0, 9.0, 1.0], [9.0, 0.0, 1.0], [1.0, 1.0, np.nan]]])
    >>> likeness(near).round(2).tolist()
    [[0.0, 1.73, -0.87], [1.73, 0.0, -0.87], [-0.87, -0.87, 0.0]]
    """
    kinds, size, _ = pairs.shape
    total = np.zeros((size, size))
    apart = ~np.eye(size, dtype=bool)
    for table in pairs:
        there = np.isfinite(table) & apart
        if not there.any():
            continue
        filled = double_centred(np.where(there, table, table[there].mean()))
        filled[~apart] = 0.0
        deviation = filled.std()
        if deviation > LEVEL:
            total += filled / deviation / kinds
    return total


def clustered(
    fit: FloatArray,
    alike: FloatArray,
    strength: float,
    rng: np.random.Generator,
    *,
    starts: int = 1,
) -> FloatArray:
    """Return for each term the chances of the rows.

    Parameters
    ----------
    fit
        Terms by rows: how well a term fits a row's anchor, as log-odds.
    alike
        Terms by terms: how like they are.
    strength
        How much likeness counts.
    rng
        Draws what is begun with.
    starts
        How often it is begun anew; the best outcome is returned.

    Examples
    --------
    Two kinds of terms, two equal rows: each kind gets a row.

    >>> alike = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.ones((2, 2)))
    >>> found = clustered(np.zeros((4, 2)), alike, 8.0, np.random.default_rng(1))
    >>> rows = found.argmax(axis=1).tolist()
    >>> rows[0] == rows[1] != rows[2] == rows[3]
    True
    """
    runs = [_run(fit, alike, strength, rng) for _ in range(starts)]
    return max(runs, key=lambda run: run[0])[1]


def _run(
    fit: FloatArray, alike: FloatArray, strength: float, rng: np.random.Generator
) -> tuple[float, FloatArray]:
    """Return how good a solution is (its negative free energy), and the solution."""
    terms, rows = fit.shape
    pull = strength * rows / terms
    chances = balanced(fit + JITTER * rng.standard_normal(fit.shape))
    for _ in range(STEPS):
        drawn = fit + pull * (alike @ (chances - 1 / rows))
        # Half a step: whole ones may go back and forth between two solutions.
        chances = (chances + balanced(drawn)) / 2
    apart = chances - 1 / rows
    gain = (chances * fit).sum() + pull / 2 * (apart * (alike @ apart)).sum()
    return float(gain - (chances * np.log(np.maximum(chances, LEAST))).sum()), chances


def balanced(logits: FloatArray) -> FloatArray:
    """Return chances that sum to 1 for each term, and to about the same for each row (Sinkhorn).

    >>> balanced(np.log([[1.0, 3.0], [1.0, 3.0]])).round(3).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    terms, rows = logits.shape
    chances: FloatArray = np.exp(logits - logits.max(axis=1, keepdims=True))
    for _ in range(SWEEPS):
        chances *= terms / rows / np.maximum(chances.sum(axis=0, keepdims=True), LEAST)
        chances /= np.maximum(chances.sum(axis=1, keepdims=True), LEAST)
    return chances


def shared_out(chances: FloatArray) -> Int64Array:
    """Return a row for each term, by the greatest chances, with no row above its equal share.

    >>> shared_out(np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]])).tolist()
    [0, 0, 1]
    """
    terms, rows = chances.shape
    left = [-(-terms // rows)] * rows
    found = [-1] * terms
    for cell in np.argsort(-chances, axis=None, kind="stable").tolist():
        term, row = divmod(cell, rows)
        if found[term] < 0 and left[row]:
            found[term] = row
            left[row] -= 1
    return np.array(found, dtype=np.int64)
