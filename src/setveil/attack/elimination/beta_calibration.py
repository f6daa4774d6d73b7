"""Beta calibration: chances that come true as often as they say, at the ends of the scale too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from setveil.attack.logistic import Logistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.arrays import BoolArray, FloatArray


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
