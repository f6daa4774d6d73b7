"""Whether chances mean what they say: of what is given 90%, do 90% happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

BINS = 10


class Bin(NamedTuple):
    """Chances of about the same size, and how often what they are about happened.

    Parameters
    ----------
    low, high
        Ends of the bin.
    chances
        How many chances lie in it.
    said
        Their mean.
    happened
        The share of them that came true.
    """

    low: float
    high: float
    chances: int
    said: float
    happened: float


def reliability(
    chances: npt.ArrayLike, happened: npt.ArrayLike, *, bins: int = BINS
) -> tuple[Bin, ...]:
    """Return the reliability curve: bins of equal width that hold any chance.

    Parameters
    ----------
    chances
        Numbers between 0 and 1.
    happened
        For each whether it came true.
    bins
        Number of bins between 0 and 1; the last holds its upper end.

    Examples
    --------
    >>> for each in reliability([0.1, 0.15, 0.95, 1.0], [False, True, True, True], bins=2):
    ...     print(each)
    Bin(low=0.0, high=0.5, chances=2, said=0.125, happened=0.5)
    Bin(low=0.5, high=1.0, chances=2, said=0.975, happened=1.0)
    """
    said = np.asarray(chances, dtype=np.float64).ravel()
    came = np.asarray(happened, dtype=bool).ravel()
    if len(said) != len(came) or not ((said >= 0) & (said <= 1)).all():
        raise ParameterError(
            "chances and what happened do not fit together",
            fix="give as many chances between 0 and 1 as outcomes",
        )
    if isinstance(bins, bool) or bins < 1:
        raise ParameterError(f"bins is {bins!r}", fix="use at least one bin")
    place = np.minimum((said * bins).astype(np.int64), bins - 1)
    return tuple(
        Bin(
            low=b / bins,
            high=(b + 1) / bins,
            chances=int(inside.sum()),
            said=float(said[inside].mean()),
            happened=float(came[inside].mean()),
        )
        for b in range(bins)
        if (inside := place == b).any()
    )


def calibration_error(
    chances: npt.ArrayLike, happened: npt.ArrayLike, *, bins: int = BINS
) -> float | None:
    """Return the expected calibration error: the mean distance of the curve from the diagonal.

    Each bin counts by its number of chances. None where there are no chances.

    Examples
    --------
    >>> calibration_error([0.1, 0.15, 0.95, 1.0], [False, True, True, True], bins=2)
    0.2
    >>> calibration_error([], [])

    References
    ----------
    M. P. Naeini, G. Cooper, M. Hauskrecht: Obtaining well calibrated probabilities using Bayesian
    binning. AAAI 2015.
    """
    curve = reliability(chances, happened, bins=bins)
    total = sum(each.chances for each in curve)
    if not total:
        return None
    return round(sum(each.chances * abs(each.said - each.happened) for each in curve) / total, 12)
