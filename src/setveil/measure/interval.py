"""Rates with their 95% intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from setveil.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

NORMAL = NormalDist().inv_cdf(0.975)
"""Half the width of a 95% interval in standard errors."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A share between 0 and 1, and the interval it lies in.

    Parameters
    ----------
    value
        The share itself, or its estimate.
    low, high
        Ends of the 95% interval; both equal `value` where the share was counted, not sampled.
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
    def sampled(cls, successes: float, trials: int) -> Rate:
        """Return the rate estimated from independent trials, with its Wilson interval.

        Where a trial gives a share between 0 and 1, `successes` is the sum of the shares; the
        interval is then on the safe side, for shares vary less than successes and failures do.
        """
        low, high = wilson(successes, trials)
        return cls(value=successes / trials, low=low, high=high, exact=False)


def wilson(successes: float, trials: float, *, level: float = 0.95) -> tuple[float, float]:
    """Return the ends of the Wilson score interval of a proportion.

    Unlike the textbook interval it stays inside [0, 1] and keeps its level near 0 and 1.

    Parameters
    ----------
    successes, trials
        How often something happened, of how many independent trials (at least one).
    level
        Confidence of the interval.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(0, 10)]
    [0.0, 0.278]
    >>> [round(end, 3) for end in wilson(613, 1000)]
    [0.582, 0.643]

    References
    ----------
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise ParameterError(
            f"{successes} successes of {trials} trials is no proportion",
            fix="use at least one trial and 0 to that many successes",
        )
    if not 0 < level < 1:
        raise ParameterError(f"level is {level}", fix="use a level between 0 and 1, such as 0.95")
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = successes / trials
    shrink = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / shrink
    half = z / shrink * math.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    # Rounding may leave 1e-17 where the end is 0 or 1 by the formula.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return low, high


def ratio(above: npt.ArrayLike, below: npt.ArrayLike) -> Rate | None:
    """Return a ratio of sums over independent records with its 95% interval, by linearisation.

    >>> half = ratio([1, 0, 1, 0], [1, 1, 1, 1])
    >>> half.value, round(half.low, 3), round(half.high, 3)
    (0.5, 0.01, 0.99)
    >>> ratio([0], [0]) is None
    True
    """
    import numpy as np  # noqa: PLC0415  (the rest of this file needs none)

    top, bottom = (np.asarray(each, dtype=np.float64) for each in (above, below))
    whole = float(bottom.sum())
    if not whole:
        return None
    value = float(top.sum()) / whole
    half = NORMAL * float(np.sqrt(((top - value * bottom) ** 2).sum())) / whole
    return Rate(value=value, low=max(value - half, 0.0), high=value + half, exact=False)
