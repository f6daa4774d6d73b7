"""Rates with their 95% intervals: one method for everything that is estimated.

Whatever is measured here is a ratio Σ part / Σ whole over independent *units*: targets, queries,
clusters, generalized items. The units at hand get random weights (Dirichlet, as in the Bayesian
bootstrap), and so does *one further unit* that was not seen and lies at an end: all right for the
upper end of the interval, all wrong for the lower one. The ends are the 2.5% and 97.5% points of
the ratio. The further unit is why five clusters that agree still have an interval, and why a few
units say little.

============================  ====================================================================
:meth:`Rate.sampled`          independent trials that are right or wrong
:func:`mean`                  independent values between two bounds, such as 1 / candidates
:func:`clustered_share`       shares of cells, where the cells of a cluster depend on each other
:func:`advantage`             how far an attack beats a baseline on the same units
:func:`advantage_over`        the same where the baseline is a known number, such as an AUC of 0.5
:func:`difference`            a share less another one on the same units; may be negative
:func:`reduction`             errors after and before an attack on the same units
:func:`mean_error`            errors of 0 and more that have no upper bound and are skewed
:func:`linearized`            a statistic that is no ratio of sums, such as an AUC
============================  ====================================================================

For trials that are right or wrong the interval lies between mid-P and Clopper–Pearson: the truth is
above the upper end, or below the lower one, in at most 3.5% of all samples, whatever their number.
For other values between bounds the upper end with one further unit is Gaffke's. `python -m
tests.interval_coverage` simulates all of them.

References
----------
N. Gaffke: Three test statistics for a nonparametric one-sided hypothesis on the mean of a
nonnegative variable. Mathematical Methods of Statistics 14, 2005.
M. Phan, P. Thomas, E. Learned-Miller: Towards practical mean bounds for small samples. ICML 2021.
R. Lugannani, S. Rice: Saddle point approximation for the distribution of the sum of independent
random variables. Advances in Applied Probability 12, 1980.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from setveil.core.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A figure, mostly a share between 0 and 1, and the interval it lies in.

    Parameters
    ----------
    value
        The figure itself, or its estimate.
    low, high
        Ends of the 95% interval; both equal `value` where everything was counted.
    exact
        Whether everything was counted.

    Examples
    --------
    >>> Rate.counted(0.25)
    Rate(value=0.25, low=0.25, high=0.25, exact=True)
    >>> Rate.sampled(613, 1000).value
    0.613
    """

    value: float
    low: float
    high: float
    exact: bool

    @classmethod
    def counted(cls, value: float) -> Rate:
        """Return a rate that is known exactly."""
        return cls(value=value, low=value, high=value, exact=True)

    @classmethod
    def sampled(cls, successes: int, trials: int) -> Rate:
        """Return the rate of independent trials that each succeed or fail.

        Where a trial gives a share between 0 and 1, use :func:`mean`.

        >>> none = Rate.sampled(0, 10)
        >>> none.low, round(none.high, 3)
        (0.0, 0.285)
        """
        if trials < 1 or not 0 <= successes <= trials:
            raise ParameterError(
                f"{successes} successes of {trials} trials is no proportion",
                fix="use at least one trial and 0 to that many successes",
            )
        low = 1 - _upper_share(trials - successes, trials)
        high = _upper_share(successes, trials)
        return cls(value=successes / trials, low=low, high=high, exact=False)


def _upper_share(successes: int, trials: int) -> float:
    """Return the p with P(fewer) + 5/7 P(as many) = 2.5% in so many trials with the chance p."""
    from scipy.special import betainc

    failures = trials - successes
    if not failures:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        p = (low + high) / 2
        tail = OWN_SIDE * float(betainc(failures, successes + 1, 1 - p))
        if successes:
            tail += (1 - OWN_SIDE) * float(betainc(failures + 1, successes, 1 - p))
        low, high = (low, p) if tail < TAIL else (p, high)
    return high


def mean(values: npt.ArrayLike, *, least: float = 0.0, most: float = 1.0) -> Rate | None:
    """Return the mean of independent values that lie between `least` and `most`; None of none.

    A target of a linkage attack contributes 1 / candidates: most of these are small, and a rare
    one is 1. The interval holds the truth in at least 95% of the samples even where no rare one
    was drawn; for values that vary little it is wider than it had to be.

    >>> [round(end, 3) for end in (mean([0.2] * 100).low, mean([0.2] * 100).high)]
    [0.193, 0.226]
    >>> mean([]) is None
    True
    """
    array = _units(values)[0]
    return clustered_share(array, np.ones(len(array)), least=least, most=most)


def clustered_share(
    part: npt.ArrayLike, whole: npt.ArrayLike, *, least: float = 0.0, most: float = 1.0
) -> Rate | None:
    """Return Σ part / Σ whole over independent units; None where there is nothing to divide by.

    Cells of one unit may depend on each other in any way, and units may have any sizes. A unit
    with a `whole` of 0 contributes nothing and is not counted. Where all units agree, each is one
    trial.

    Parameters
    ----------
    part, whole
        For each unit what is counted, and of how much.
    least, most
        What the ratio of a unit lies between.

    Examples
    --------
    A hundred generalized items with one sure cell, which is right, are one trial:

    >>> sure = clustered_share([1.0] + [0.0] * 99, [1.0] + [0.0] * 99)
    >>> sure.value, round(sure.low, 3), sure.high
    (1.0, 0.035, 1.0)
    """
    parts, wholes = _units(part, whole)
    there = wholes != 0
    if (least, most) == (0, 1) and _is_one_trial_each(parts[there], wholes[there]):
        return Rate.sampled(int(np.count_nonzero(parts)), int(np.count_nonzero(there)))
    return _of_units(parts, wholes, bottom=least, top=most)


def _is_one_trial_each(parts: FloatArray, wholes: FloatArray) -> bool:
    """Tell whether units of one size are all right or all wrong: then the ends are exact."""
    return bool(
        len(wholes) and (wholes == wholes[0]).all() and ((parts == 0) | (parts == wholes)).all()
    )


def advantage(found: npt.ArrayLike, guessed: npt.ArrayLike, whole: npt.ArrayLike) -> Rate | None:
    """Return the share of what a baseline misses that an attack gets, on the same units.

    1 - Σ (whole - found) / Σ (whole - guessed): 0 for an attack that is no better than guessing, 1
    for one that gets everything. An attack that is worse than guessing has 0, as has the lower end
    of an interval that reaches below. None where guessing misses nothing.

    Parameters
    ----------
    found, guessed
        For each unit how much the attack and the baseline got right; of a random baseline the mean
        over its runs. A baseline that gets a known share s of everything is ``s * whole``.
    whole
        How much there was to get.

    Examples
    --------
    >>> gain = advantage([8, 9, 7, 8], [4, 5, 3, 4], [10, 10, 10, 10])
    >>> round(gain.value, 3), round(gain.high, 3)  # four units cannot carry a lower end above 0
    (0.667, 0.865)
    >>> advantage([1, 0], [2, 2], [4, 4]).value
    0.0
    """
    got, blind, total = _units(found, guessed, whole)
    missed = total - blind
    if missed.sum() <= 0:
        return None
    rate = _of_units(got - blind, missed, bottom=-blind.sum() / missed.sum(), top=1.0)
    return None if rate is None else _mapped(rate, lambda each: max(each, 0.0))


def advantage_over(rate: Rate, baseline: float) -> Rate:
    """Return the share of what a known baseline misses that an attack gets; 0 below guessing.

    >>> advantage_over(Rate(value=0.75, low=0.4, high=1.0, exact=False), 0.5)
    Rate(value=0.5, low=0.0, high=1.0, exact=False)
    """
    if baseline >= 1:
        return Rate.counted(0.0)
    return _mapped(rate, lambda each: min(max((each - baseline) / (1 - baseline), 0.0), 1.0))


def difference(
    found: npt.ArrayLike,
    guessed: npt.ArrayLike,
    whole: npt.ArrayLike,
    *,
    guessed_whole: npt.ArrayLike | None = None,
) -> Rate | None:
    """Return Σ found / Σ whole - Σ guessed / Σ whole over the same units, between -1 and 1.

    Parameters
    ----------
    found, guessed
        For each unit how much the attack and the baseline got right.
    whole, guessed_whole
        How much there was to get; for the baseline the same, unless told otherwise.

    Examples
    --------
    >>> less = difference([1, 2, 1], [2, 3, 3], [4, 4, 4])
    >>> round(less.value, 3), less.low < less.value < less.high
    (-0.333, True)
    """
    second = whole if guessed_whole is None else guessed_whole
    *parts, first, other = _units(found, guessed, whole, second)
    wholes = [first, other]
    if any(each.sum() <= 0 for each in wholes):
        return None
    shares = [part.sum() / each.sum() for part, each in zip(parts, wholes, strict=True)]
    influences = [
        (part - share * each) / each.sum()
        for part, share, each in zip(parts, shares, wholes, strict=True)
    ]
    return linearized(
        float(shares[0] - shares[1]),
        influences[0] - influences[1],
        sum(each / each.sum() for each in wholes),
        least=-1.0,
        most=1.0,
    )


def reduction(left: npt.ArrayLike, before: npt.ArrayLike) -> Rate | None:
    """Return 1 - Σ left / Σ before over independent units; None where there was no noise.

    At most 1. Below 0 where more is wrong after the attack than before. In the further unit of the
    lower end nothing was removed, or as much less than in the units at hand as 1 is more.

    >>> all_gone = reduction([0] * 5, [3, 1, 2, 2, 2])
    >>> all_gone.value, 0 < all_gone.low < 0.5, all_gone.high
    (1.0, True, 1.0)
    """
    after, first = _units(left, before)
    if first.sum() <= 0:
        return None
    value = 1 - float(after.sum() / first.sum())
    rate = _of_units(first - after, first, bottom=min(0.0, 2 * value - 1), top=1.0)
    return None if rate is None else replace(rate, value=value)  # 0 where nothing changed


def mean_error(errors: npt.ArrayLike, *, usual: float = 0.0) -> Rate | None:
    """Return the mean of independent errors of 0 and more, of which nobody knows a bound.

    Few large errors make most of such a mean, and the largest one was hardly drawn: the further
    error of the upper end is (1 + 10 / √n) times the largest of the n at hand.

    Parameters
    ----------
    errors
        Skewed values, at least 0.
    usual
        The size that an error has where there is one: the largest counts as at least that, so that
        errors that are all 0 have an interval too.

    Examples
    --------
    >>> mean_error([0.0] * 1000, usual=1.0).high < 0.005
    True
    >>> few = mean_error([0.1, 0.2, 0.1, 3.0])
    >>> round(few.value - few.low, 1) < round(few.high - few.value, 1)
    True
    """
    array = _units(errors)[0]
    if not len(array):
        return None
    largest = max(float(array.max()), usual)
    if largest == 0:
        return Rate(value=0.0, low=0.0, high=0.0, exact=False)
    unseen = 1 + 10 / math.sqrt(len(array))
    rate = _of_units(array / largest, np.ones(len(array)), bottom=0.0, top=unseen)
    return None if rate is None else _mapped(rate, lambda each: each * largest)


def linearized(
    value: float,
    influence: npt.ArrayLike,
    size: npt.ArrayLike,
    *,
    least: float = 0.0,
    most: float = 1.0,
) -> Rate:
    """Return a statistic of weighted units that is no ratio of sums, such as an AUC.

    Parameters
    ----------
    value
        The statistic, where every unit has the weight 1.
    influence
        For each unit the derivative of the statistic by the unit's weight.
    size
        How much a unit contributes; units of size 0 are not counted.
    least, most
        What the statistic lies between.

    Examples
    --------
    The mean of 0.2, 0.9, 0.9, 0 has the derivatives (x - mean) / 4:

    >>> linearized(0.5, [-0.075, 0.1, 0.1, -0.125], [1, 1, 1, 1]) == mean([0.2, 0.9, 0.9, 0])
    True
    """
    slopes, sizes = _units(influence, size)
    parts = slopes * sizes.sum() + value * sizes
    rate = _of_units(parts, sizes, bottom=least, top=most)
    return Rate(value=value, low=least, high=most, exact=False) if rate is None else rate


def _units(*columns: npt.ArrayLike) -> list[FloatArray]:
    """Return columns with a number for each unit, or refuse what is no number."""
    arrays = [np.asarray(each, dtype=np.float64) for each in columns]
    if len({each.shape for each in arrays}) > 1 or arrays[0].ndim != 1:
        shapes = " and ".join(str(each.shape) for each in arrays)
        raise ParameterError(
            f"columns of the shapes {shapes} do not fit together",
            fix="give one number for each unit in every column",
        )
    if not all(np.isfinite(each).all() for each in arrays):
        raise ParameterError(
            "a unit has a value that is not a finite number", fix="leave such units out"
        )
    return arrays


def _mapped(rate: Rate, change: Callable[[float], float]) -> Rate:
    """Return a rate on another scale that rises with the first."""
    low, value, high = (change(each) for each in (rate.low, rate.value, rate.high))
    return Rate(value=value, low=low, high=high, exact=rate.exact)


def _of_units(parts: FloatArray, wholes: FloatArray, *, bottom: float, top: float) -> Rate | None:
    """Return Σ part / Σ whole with its interval; None where there is nothing to divide by."""
    there = (wholes != 0) | (parts != 0)
    if not there.any() or wholes.sum() <= 0:
        return None
    value, low, high = ends_of_ratio(parts[there], wholes[there], bottom=bottom, top=top)
    return Rate(value=value, low=low, high=high, exact=False)


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
    Five of ten trials, as :meth:`~setveil.core.interval.Rate.sampled` has them exactly:

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
