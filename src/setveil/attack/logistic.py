"""A logistic regression with a ridge: from what is known of cells to chances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from setveil.core.arrays import FloatArray

ROUNDS = 100
CLOSE = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Logistic:
    """Log-odds that are a weighted sum of features, each brought to mean 0 and deviation 1.

    Parameters
    ----------
    means, deviations
        Of the features that it was fitted to; a feature that never varied has deviation 1.
    weights, constant
        Of the features so scaled.

    Examples
    --------
    >>> features = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = Logistic.fit(features, np.array([False, False, True, True]), trust=1.0)
    >>> model.logits(np.array([[1.5]])).round(6).tolist()
    [0.0]
    >>> bool(model.logits(np.array([[3.0]]))[0] > 0)
    True
    """

    means: FloatArray
    deviations: FloatArray
    weights: FloatArray
    constant: float

    @classmethod
    def fit(cls, features: FloatArray, truth: npt.NDArray[np.bool_], *, trust: float) -> Logistic:
        """Fit to rows of features and what was true of each, by Newton's method.

        Minimises half the sum of squared weights plus `trust` times the negative log likelihood;
        the constant is free.

        Parameters
        ----------
        features, truth
            What is known of each cell, and what was true of it.
        trust
            How far the data is trusted against weights of zero (C of scikit-learn).
        """
        means, deviations = features.mean(axis=0), features.std(axis=0)
        deviations = np.where(deviations > CLOSE, deviations, 1.0)
        scaled = np.column_stack([np.ones(len(features)), (features - means) / deviations])
        ridge = np.full(scaled.shape[1], 1.0 / trust)
        ridge[0] = CLOSE  # holds back the constant only where all have the same truth
        found = np.zeros(scaled.shape[1])
        loss = _loss(scaled, truth, ridge, found)
        for _ in range(ROUNDS):
            chances = 1 / (1 + np.exp(-np.clip(scaled @ found, -500, 500)))
            slope = scaled.T @ (chances - truth) + ridge * found
            curve = (scaled * (chances * (1 - chances))[:, None]).T @ scaled + np.diag(ridge)
            step = np.linalg.solve(curve, slope)
            size = 1.0
            while (after := _loss(scaled, truth, ridge, found - size * step)) > loss + CLOSE:
                size /= 2
            found -= size * step
            if loss - after < CLOSE * max(1.0, abs(loss)):
                break
            loss = after
        return cls(means=means, deviations=deviations, weights=found[1:], constant=float(found[0]))

    def logits(self, features: FloatArray) -> FloatArray:
        """Return the log-odds for rows of features."""
        return np.asarray((features - self.means) / self.deviations @ self.weights + self.constant)


def _loss(
    scaled: FloatArray, truth: npt.NDArray[np.bool_], ridge: FloatArray, weights: FloatArray
) -> float:
    logits = scaled @ weights
    return float(np.logaddexp(0, np.where(truth, -logits, logits)).sum() + ridge @ weights**2 / 2)
