"""Whether chances mean what they say: of what is given 90%, do 90% happen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.attack.logistic import Logistic
from setveil.core.errors import ParameterError
from setveil.core.interval import Rate, clustered_share
from setveil.core.params import is_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from setveil.core.arrays import BoolArray, FloatArray

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
    said, came = _checked(chances, happened, bins)
    place = _bins(said, bins)
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


def _checked(
    chances: npt.ArrayLike, happened: npt.ArrayLike, bins: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return chances and outcomes as arrays, or say what does not fit."""
    said = np.asarray(chances, dtype=np.float64).ravel()
    came = np.asarray(happened, dtype=bool).ravel()
    if len(said) != len(came) or not ((said >= 0) & (said <= 1)).all():
        raise ParameterError(
            "chances and what happened do not fit together",
            fix="give as many chances between 0 and 1 as outcomes",
        )
    if not is_whole(bins, 1):
        raise ParameterError(f"bins is {bins!r}", fix="use at least one bin")
    return said, came


def _bins(chances: npt.NDArray[np.float64], bins: int) -> npt.NDArray[np.int64]:
    return np.minimum((chances * bins).astype(np.int64), bins - 1)


def calibration_error(
    chances: npt.ArrayLike,
    happened: npt.ArrayLike,
    *,
    unit: npt.ArrayLike | None = None,
    bins: int = BINS,
) -> Rate | None:
    """Return the expected calibration error: the mean distance of the curve from the diagonal.

    Each bin counts by its number of chances. The distance itself is above 0 by chance even where
    all chances are right; therefore each unit is held against the side of the diagonal on which the
    *other* units lie, which is as often wrong as right where there is no error. The upper end is
    that of the plain distances, which err to the safe side; of one unit they are all there is. The
    lower end leaves out what chance adds to them: it is 0 for chances that are right.

    Parameters
    ----------
    chances, happened
        As for :func:`reliability`.
    unit
        For each chance the number from 0 of its unit, such as the generalized item of a cell;
        chances of different units are independent. Without it all are.
    bins
        Number of bins between 0 and 1.

    Returns
    -------
    Rate or None
        The error with its 95% interval; None where there are no chances.

    Examples
    --------
    >>> calibration_error([0.1, 0.15, 0.95, 1.0], [False, True, True, True], bins=2).value
    0.0
    >>> rng = np.random.default_rng(1)
    >>> said = rng.random(20_000)
    >>> right, wrong = (calibration_error(said, rng.random(20_000) < p) for p in (said, said**2))
    >>> right.low, right.high < 0.02, round(wrong.value, 2)
    (0.0, True, 0.17)

    References
    ----------
    M. P. Naeini, G. Cooper, M. Hauskrecht: Obtaining well calibrated probabilities using Bayesian
    binning. AAAI 2015.
    """
    said, came = _checked(chances, happened, bins)
    if not len(said):
        return None
    owner = np.arange(len(said)) if unit is None else np.asarray(unit, dtype=np.int64).ravel()
    _, owner = np.unique(owner, return_inverse=True)
    units = int(owner.max()) + 1
    place = owner * bins + _bins(said, bins)
    sums = np.bincount(place, weights=said - came, minlength=units * bins)
    excess = sums.astype(np.float64).reshape(units, bins)
    sizes = np.bincount(owner, minlength=units).astype(np.float64)
    total = excess.sum(axis=0)
    against_others = float((np.sign(total - excess) * excess).sum())
    distances = excess @ np.where(total < 0, -1.0, 1.0)  # either side where it is 0
    # The further unit is off as far as any; few units may not show how far that is.
    far = min(float((np.abs(distances) / sizes).max()) * (1 + 5 / units), 1.0)
    plain = clustered_share(distances, sizes, least=-far, most=far)
    assert plain is not None
    value = max(against_others / len(said), 0.0) if units > 1 else plain.value
    low = max(plain.low - _by_chance(excess) / len(said), 0.0)
    return Rate(value=value, low=min(low, value), high=plain.high, exact=False)


def _by_chance(excess: npt.NDArray[np.float64]) -> float:
    """Return what chance adds to the distances of bins that are not clearly off the diagonal."""
    units = len(excess)
    spread = np.sqrt(excess.var(axis=0) * units**2 / max(units - 1, 1))
    unclear = np.abs(excess.sum(axis=0)) < 2 * spread
    return float(math.sqrt(2 / math.pi) * spread[unclear].sum())


# --- making chances mean what they say ------------------------------------------------------------


FLOORS = (1e-6, 1e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2)
"""How near to 0 and 1 chances may come before they are calibrated; the likeliest is taken."""
TRUST = 100.0
"""How far tables are trusted against weights of zero: the data decides."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BetaCalibration:
    """A monotone map from the chances that were said to those that came true.

    The logarithms of a chance and of its complement, and that of how many members the generalized
    item has, go through a logistic regression that was fitted to tables whose truth is known. Two
    things hold the ends back. Chances are first moved off 0 and 1 by a floor, the likeliest of
    :data:`FLOORS`. And one cell more is counted at each end, which proved the end wrong: Laplace's
    rule of succession, so that a few hundred cells without an error never promise certainty.

    Parameters
    ----------
    model
        From the features to log-odds.
    floor
        The least chance before calibration; the greatest is one minus it.
    logarithms
        Which of the two logarithms are used: one alone where the other would turn the order round.

    Examples
    --------
    >>> said = [np.array([[0.9, 0.1]])] * 500
    >>> truth = [np.array([[True, False]])] * 400 + [np.array([[False, True]])] * 100
    >>> made = BetaCalibration.fit(said, truth)
    >>> made.applied(np.array([[0.9, 0.1]])).round(1).tolist()
    [[0.8, 0.2]]

    References
    ----------
    M. Kull, T. Silva Filho, P. Flach: Beta calibration: a well-founded and easily implemented
    improvement on logistic calibration for binary classifiers. AISTATS 2017.
    """

    model: Logistic
    floor: float
    logarithms: tuple[int, ...]

    @classmethod
    def fit(cls, chances: Sequence[FloatArray], truth: Sequence[BoolArray]) -> BetaCalibration:
        """Fit to what was said of tables, and to what was true of them."""
        said = np.concatenate([table.ravel() for table in chances])
        widths = np.concatenate([_widths(table) for table in chances])
        said = np.concatenate([said, [0.0, 1.0]])
        widths = np.concatenate([widths, np.full(2, widths.mean())])
        known = np.concatenate([*(table.ravel() for table in truth), [True, False]])
        fits = [_monotone(said, widths, known, floor) for floor in FLOORS]
        return min(fits, key=lambda fit: fit[0])[1]

    def applied(self, chances: FloatArray) -> FloatArray:
        """Return calibrated chances."""
        features = _features(chances.ravel(), _widths(chances), self.floor, self.logarithms)
        return np.asarray(1 / (1 + np.exp(-self.model.logits(features)))).reshape(chances.shape)


def _widths(table: FloatArray) -> FloatArray:
    return np.full(table.size, np.log(table.shape[1]))


def _features(
    said: FloatArray, widths: FloatArray, floor: float, logarithms: tuple[int, ...]
) -> FloatArray:
    inside = floor + (1 - 2 * floor) * said
    both = (np.log(inside), -np.log1p(-inside))
    return np.column_stack([*(both[number] for number in logarithms), widths])


def _monotone(
    said: FloatArray, widths: FloatArray, known: BoolArray, floor: float
) -> tuple[float, BetaCalibration]:
    """Return the loss of the likeliest map with a floor that keeps the order, and the map."""
    found = []
    for logarithms in ((0, 1), (0,), (1,), ()):
        features = _features(said, widths, floor, logarithms)
        model = Logistic.fit(features, known, trust=TRUST)
        if (model.weights[: len(logarithms)] < 0).any():
            continue  # would state less where more was said
        logits = model.logits(features)
        loss = float(np.logaddexp(0, np.where(known, -logits, logits)).sum())
        found.append((loss, BetaCalibration(model=model, floor=floor, logarithms=logarithms)))
        if len(logarithms) > 1:
            break  # with both logarithms none of the others fits better
    return min(found, key=lambda fit: fit[0])
