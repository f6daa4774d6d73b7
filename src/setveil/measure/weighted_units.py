"""Ratios of sums over units with random weights, and one further unit that was not seen.

The method behind :mod:`setveil.measure.interval`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

    from setveil.core.arrays import FloatArray


TAIL = 0.025
"""Chance of missing the truth at either end."""
PRECISION = 1e-5
"""How near the chance comes to that."""
LARGE = 8000
"""Above this number of different units, similar ones are taken together."""
LEAST_STEP = 1e-9
"""Least step towards an end, as a share of the way: squares of tiny values may be 0."""
OWN_SIDE = 5 / 7
"""Chance that the further unit lies at the end in question, not at the other one. With 1, trials
have Clopper–Pearson's interval, with 1/2 that of mid-P. Here either end misses the truth in at most
0.025 / (5/7) = 3.5% of the samples, and in 2.5% where samples are large."""


def ends_of_ratio(
    parts: FloatArray, wholes: FloatArray, *, bottom: float, top: float
) -> tuple[float, float, float]:
    """Return Σ part / Σ whole and the ends of its 95% interval.

    The further unit is as large as the unit of a randomly drawn cell, Σ whole² / Σ whole.

    Parameters
    ----------
    parts, wholes
        For each unit; the wholes are 0 and more, and some are more.
    bottom, top
        Ratio of the further unit at the lower and at the upper end.

    Examples
    --------
    Five of ten trials, as :meth:`~setveil.measure.interval.Rate.sampled` has them exactly:

    >>> [round(each, 3) for each in ends_of_ratio(np.repeat([0.0, 1.0], 5), np.ones(10),
    ...                                           bottom=0.0, top=1.0)]
    [0.5, 0.199, 0.801]
    """
    total = float(wholes.sum())
    value = min(max(float(parts.sum()) / total, bottom), top)
    size = float((wholes**2).sum()) / total
    units, copies = _grouped(parts, wholes, value)
    ends = {}
    for side, own, other in ((1, top, bottom), (-1, bottom, top)):

        def excess(ratio: float, side: int = side, own: float = own, other: float = other) -> float:
            """Return by how much the chance of a ratio beyond this one is above 2.5%."""
            chance = 0.0
            for end, weight in ((own, OWN_SIDE), (other, 1 - OWN_SIDE)):
                terms = np.append(units[0] - ratio * units[1], size * (end - ratio))
                chance += weight * chance_above(side * terms, np.append(copies, 1))
            return chance - TAIL

        squares = copies @ (units[0] - value * units[1]) ** 2 + (size * (own - value)) ** 2
        step = max(2 * math.sqrt(squares) / (total + size), LEAST_STEP * abs(own - value))
        ends[side] = _root(excess, value, own, step=step)
    return value, min(ends[-1], value), max(ends[1], value)


def _grouped(
    parts: FloatArray, wholes: FloatArray, value: float
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Return the different units and how many there are of each.

    Of very many different ones, those whose influence is nearly the same become one.
    """
    pairs, copies = np.unique(parts + 1j * wholes, return_counts=True)  # complex: sorted fast
    if len(pairs) > LARGE:
        order = np.argsort(parts - value * wholes, kind="stable")
        starts = np.linspace(0, len(order), LARGE // 4, endpoint=False).astype(np.int64)
        copies = np.diff(np.append(starts, len(order)))
        pairs = np.add.reduceat((parts + 1j * wholes)[order], starts) / copies
    return np.stack([pairs.real, pairs.imag]), copies


def _root(excess: Callable[[float], float], near: float, far: float, *, step: float) -> float:
    """Return where a falling function crosses 0 on the way to `far`, or that where it does not.

    Steps of doubling size find two places between which it does; regula falsi (Illinois: the end
    that stays twice counts half) finds the place.
    """
    at_near, at_far = excess(near), 0.0
    if at_near <= 0 or near == far:
        return near
    end, sign = far, math.copysign(1.0, far - near)
    while True:
        far = near + sign * step
        if abs(far - near) >= abs(end - near):
            far = end
        at_far = excess(far)
        if at_far < 0:
            break
        if far == end:
            return end
        near, at_near, step = far, at_far, 2 * step
    stayed = 0
    for _ in range(100):
        place = far - at_far * (far - near) / (at_far - at_near)
        there = excess(place)
        if abs(there) < PRECISION or abs(far - near) < 1e-12:
            return place
        if there > 0:
            near, at_near, at_far = place, there, at_far / 2 if stayed > 0 else at_far
            stayed = 1
        else:
            far, at_far, at_near = place, there, at_near / 2 if stayed < 0 else at_near
            stayed = -1
    return (near + far) / 2


def chance_above(terms: FloatArray, copies: npt.NDArray[np.int64]) -> float:
    """Return the chance that Σ E·term is above 0, for independent standard exponential E.

    A Dirichlet-weighted mean is above t just where Σ E (x - t) is above 0. Lugannani and Rice's
    formula for the cumulant function K(s) = -Σ log(1 - s·term), with an error of about 1% of the
    chance.

    Parameters
    ----------
    terms, copies
        Different terms, and how often each occurs.

    Examples
    --------
    The first of two terms is the larger one with chance 3/4:

    >>> round(chance_above(np.array([3.0, -1.0]), np.array([1, 1])), 2)
    0.75
    """
    least, most = float(terms.min()), float(terms.max())
    if most <= 0:
        return 0.0
    if least >= 0:
        return 1.0
    scale = max(-least, most)  # squares of tiny terms would be 0
    terms = terms / scale
    low, high, s = scale / least, scale / most, 0.0
    for _ in range(60):
        shares = terms / (1 - s * terms)
        slope = float(copies @ shares)
        bend = float(copies @ (shares * shares))
        if abs(slope) < 1e-6 * math.sqrt(bend):
            break
        low, high = (s, high) if slope < 0 else (low, s)
        s -= slope / bend
        if not low < s < high:
            s = (low + high) / 2
    depth = 2 * float(copies @ np.log1p(-s * terms))
    if depth < 1e-6:  # at the mean, where the formula is 0 / 0
        skew = 2 * float(copies @ terms**3) / float(copies @ terms**2) ** 1.5
        return float(0.5 - skew / (6 * math.sqrt(2 * math.pi)))
    w = math.copysign(math.sqrt(depth), s)
    u = s * math.sqrt(bend)
    density = math.exp(-depth / 2) / math.sqrt(2 * math.pi)
    chance = 0.5 * math.erfc(w / math.sqrt(2)) + density * (1 / u - 1 / w)
    return float(min(max(chance, 0.0), 1.0))
