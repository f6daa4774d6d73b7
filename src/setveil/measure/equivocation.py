"""Equivocation: how many bits an adversary still lacks about a confidential value."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.core.errors import ParameterError
from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import FloatArray

SLACK = 1e-12
"""What rounding may add to a difference, as a share of the greatest value."""
SUM = 1e-9
"""How far the sum of probabilities may be from 1."""
MOST = 200
"""Distinct values up to which the area is taken over all their differences."""


def equivocation(
    values: npt.ArrayLike, probabilities: npt.ArrayLike, epsilon: float = 0.0
) -> float:
    """Return the equivocation H(ε) of a value with a known distribution, in bits.

    The least entropy over all partitions of the sorted values into runs no wider than ε: somebody
    who is content with knowing the value up to ε need not tell the values of a run apart. H(0) is
    Shannon's entropy; it falls with ε, down to 0 where ε spans all values. Dynamic programming:
    H(i) = min over j with x_i − x_j ≤ ε of H(j − 1) + p lg(1/p), where p = p_j + … + p_i; the
    time is that of all runs no wider than ε.

    Parameters
    ----------
    values
        Numbers in any order; equal ones count as one.
    probabilities
        How likely each is; they sum to 1. Values of probability 0 count for nothing.
    epsilon
        Width up to which values need not be told apart, at least 0.

    Examples
    --------
    >>> chances = [0.1, 0.2, 0.3, 0.15, 0.25]
    >>> [round(equivocation([1, 2, 4, 5, 9], chances, e), 6) for e in (0, 1, 3, 4, 8)]
    [2.228213, 1.539491, 1.23616, 0.811278, 0.0]

    References
    ----------
    M. Alfalayleh, L. Brankovic: Quantifying privacy: a novel entropy-based measure of disclosure
    risk. IWOCA 2014. L. Brankovic: Advancements in privacy preserving data mining, lecture 11.

    Departures: the lecture's inner loop updates H(ε, j) where H(ε, i) is meant.
    """
    return float(equivocation_curve(values, probabilities, [epsilon])[0])


def equivocation_curve(
    values: npt.ArrayLike, probabilities: npt.ArrayLike, epsilons: npt.ArrayLike
) -> FloatArray:
    """Return H(ε) for several ε.

    Examples
    --------
    >>> equivocation_curve([1, 2], [0.5, 0.5], [0, 0.5, 1]).tolist()
    [1.0, 1.0, 0.0]
    """
    ordered, chances = _distribution(values, probabilities)
    widths = np.asarray(epsilons, dtype=np.float64)
    if widths.ndim != 1 or not (widths >= 0).all():
        raise ParameterError(
            f"epsilon is {epsilons!r}", fix="use numbers of at least 0, one or a list"
        )
    return _least_entropy(ordered, chances, widths)


def equivocation_area(
    values: npt.ArrayLike, probabilities: npt.ArrayLike, epsilons: npt.ArrayLike | None = None
) -> float:
    """Return the area under the curve of H(ε): one number for all ε.

    Without `epsilons` it is exact, from 0 to where the curve ends: H is constant between the
    differences of values. With them the curve is taken as straight between the given points.

    Parameters
    ----------
    values, probabilities
        As in :func:`equivocation`.
    epsilons
        Where the curve is looked at, ascending; needed for more than 200 distinct values.

    Examples
    --------
    >>> equivocation_area([1, 2], [0.5, 0.5])
    1.0
    >>> equivocation_curve([0, 1, 3], [0.25, 0.25, 0.5], [0, 1, 2, 3]).round(3).tolist()
    [1.5, 1.0, 0.811, 0.0]
    >>> round(equivocation_area([0, 1, 3], [0.25, 0.25, 0.5]), 3)
    3.311
    """
    ordered, chances = _distribution(values, probabilities)
    if epsilons is not None:
        widths = np.asarray(epsilons, dtype=np.float64)
        if widths.ndim != 1 or not (widths >= 0).all() or (np.diff(widths) < 0).any():
            raise ParameterError("the epsilons do not ascend from 0", fix="sort them")
        return float(np.trapezoid(_least_entropy(ordered, chances, widths), widths))
    if len(ordered) > MOST:
        raise ParameterError(
            f"the area of {len(ordered)} distinct values would take long",
            fix="name the epsilons at which the curve is looked at",
        )
    steps = np.unique(ordered[:, None] - ordered)
    steps = steps[steps >= 0]
    return float(_least_entropy(ordered, chances, steps[:-1]) @ np.diff(steps))


def conditional_equivocation(
    values: npt.ArrayLike, known: npt.ArrayLike, epsilon: float = 0.0
) -> float:
    """Return the mean equivocation of a value to somebody who knows other attributes.

    Who knows the attributes of a record cannot tell it from others that have the same: the value
    is that of any of them. The mean over all records.

    Parameters
    ----------
    values
        The confidential number of each record.
    known
        The known attributes, a row of numbers or texts for each record; a row may be empty.
    epsilon
        As in :func:`equivocation`.

    Examples
    --------
    >>> pay, job = [10, 20, 30, 30], [["nurse"], ["nurse"], ["clerk"], ["clerk"]]
    >>> conditional_equivocation(pay, [[], [], [], []]), conditional_equivocation(pay, job)
    (1.5, 0.5)
    """
    numbers = np.asarray(values, dtype=np.float64)
    rows = np.asarray(known)
    if numbers.ndim != 1 or not len(numbers) or rows.ndim != 2 or len(rows) != len(numbers):
        raise ParameterError(
            f"{numbers.size} values and known attributes of the shape {rows.shape} do not fit",
            fix="give for each value a row of known attributes, if it is an empty one",
        )
    group = np.zeros(len(numbers), dtype=np.int64)
    for column in rows.T:
        _, codes = np.unique(column, return_inverse=True)
        _, group = np.unique(group * (codes.max() + 1) + codes, return_inverse=True)
    lacking = 0.0
    for number, size in enumerate(np.bincount(group).tolist()):
        alike = numbers[group == number]
        lacking += size * equivocation(alike, np.full(size, 1 / size), epsilon)
    return lacking / len(numbers)


def _distribution(
    values: npt.ArrayLike, probabilities: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return distinct values in ascending order with their probabilities, which are above 0."""
    numbers = np.asarray(values, dtype=np.float64)
    chances = np.asarray(probabilities, dtype=np.float64)
    if numbers.ndim != 1 or numbers.shape != chances.shape or not len(numbers):
        raise ParameterError(
            f"{numbers.size} values and {chances.size} probabilities do not fit together",
            fix="give a probability for each value, and at least one",
        )
    if not np.isfinite(numbers).all():
        raise ParameterError("a value is not a number", fix="leave such values out")
    if not (chances >= 0).all() or not abs(chances.sum() - 1) <= SUM:
        raise ParameterError(
            f"the probabilities sum to {chances.sum():g}, the least is {chances.min():g}",
            fix="use numbers of at least 0 that sum to 1",
        )
    distinct, place = np.unique(numbers, return_inverse=True)
    summed = np.bincount(place, weights=chances)
    there = summed > 0
    return distinct[there], summed[there] / summed.sum()


def _least_entropy(ordered: FloatArray, chances: FloatArray, widths: FloatArray) -> FloatArray:
    return least_entropy(ordered, chances, widths + SLACK * np.abs(ordered).max())


@compiled
def least_entropy(values: FloatArray, chances: FloatArray, widths: FloatArray) -> FloatArray:
    """Return for each width the least entropy over partitions into runs no wider than that.

    `values` ascend, `chances` are above 0. The best partition of the first i values ends with a
    run that begins at some j; runs that may end at i are few where the width is small.
    """
    n = len(values)
    found = np.empty(len(widths))
    best = np.zeros(n + 1)
    for w in range(len(widths)):
        # best[i]: the least entropy of the first i values. best[0] = 0, and best[i] needs smaller
        # places only.
        for i in range(1, n + 1):
            least = np.inf
            share = 0.0  # summed run by run: differences of sums would lose small chances
            j = i
            while j >= 1 and values[i - 1] - values[j - 1] <= widths[w]:
                share += chances[j - 1]
                bits = best[j - 1] - share * log2(share)
                least = min(least, bits)
                j -= 1
            best[i] = least
        found[w] = max(best[n], 0.0)
    return found
