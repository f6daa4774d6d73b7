"""Taking noise out of correlated columns: what is common to them is signal, the rest is noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.core.errors import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.arrays import FloatArray


METHODS = ("spectral", "bayes")
"""Ways to filter, by name."""
TRACY_WIDOM = 2.02
"""99% quantile of the largest eigenvalue of uncorrelated columns, centred and scaled."""


def noise_bounds(rows: int, columns: int) -> tuple[float, float]:
    """Return between which eigenvalues the covariance of unit noise lies (Marchenko & Pastur).

    >>> noise_bounds(400, 100)
    (0.25, 2.25)
    """
    if rows < 1 or columns < 1:
        raise ParameterError(f"{rows} rows of {columns} columns have no covariance")
    ratio = (columns / rows) ** 0.5
    return (1 - ratio) ** 2, (1 + ratio) ** 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Spectrum:
    """Means and covariance of published columns, and what they say about signal and noise.

    Parameters
    ----------
    rows
        Number of published rows.
    mean, covariance
        Of the published columns.
    deviations
        The known standard deviation of the noise in each column.

    Examples
    --------
    Two columns show the same values, each with noise of its own; a filter halves the noise.

    >>> rng = np.random.default_rng(1)
    >>> truth = np.repeat(rng.normal(size=(1000, 1)), 2, axis=1)
    >>> shown = truth + rng.normal(size=(1000, 2))
    >>> spectrum = Spectrum.of([shown], [1.0, 1.0])
    >>> spectrum.correlated, spectrum.signals
    (True, 1)
    >>> spectrum.filter("spectral").round(1).tolist()
    [[0.5, 0.5], [0.5, 0.5]]

    References
    ----------
    H. Kargupta, S. Datta, Q. Wang, K. Sivakumar: On the privacy preserving properties of random
    data perturbation techniques, ICDM 2003. Z. Huang, W. Du, B. Chen: Deriving private information
    from randomized data, SIGMOD 2005. I. M. Johnstone: On the distribution of the largest
    eigenvalue in principal components analysis, Annals of Statistics 29, 2001.
    """

    rows: int
    mean: FloatArray
    covariance: FloatArray
    deviations: FloatArray

    @classmethod
    def of(cls, blocks: Iterable[npt.ArrayLike], deviations: npt.ArrayLike) -> Spectrum:
        """Return the spectrum of columns that come in blocks of rows."""
        noise = np.asarray(deviations, dtype=np.float64)
        if noise.ndim != 1 or not len(noise) or not np.all(np.isfinite(noise) & (noise > 0)):
            raise ParameterError(
                "the noise must have a known standard deviation above 0 in every column",
                fix="give one number per column",
            )
        rows, total = 0, np.zeros(len(noise))
        cross = np.zeros((len(noise), len(noise)))
        shift: FloatArray | None = None
        for each in blocks:
            block = np.asarray(each, dtype=np.float64)
            if block.ndim != 2 or block.shape[1] != len(noise):
                raise InputError(
                    f"the values have the shape {block.shape}, and there is noise for "
                    f"{len(noise)} columns",
                    fix="give rows of as many columns",
                )
            if not np.isfinite(block).all():
                raise InputError("a value is missing or no number", fix="leave such rows out")
            if not len(block):
                continue
            # About the first block's mean: squares of large numbers would swallow the small.
            shift = block.mean(axis=0) if shift is None else shift
            block = block - shift
            rows += len(block)
            total += block.sum(axis=0)
            cross += block.T @ block
        if rows < 2 or shift is None:
            raise InputError(f"{rows} rows have no covariance", fix="give two rows at least")
        centre = total / rows
        covariance = cross / rows - np.outer(centre, centre)
        return cls(rows=rows, mean=shift + centre, covariance=covariance, deviations=noise)

    @cached_property
    def _eigen(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues in units of the noise, greatest first, and their vectors as columns."""
        values, vectors = np.linalg.eigh(
            self.covariance / np.outer(self.deviations, self.deviations)
        )
        return values[::-1], vectors[:, ::-1]

    @property
    def eigenvalues(self) -> FloatArray:
        """The variances along the principal components, in units of the noise."""
        return self._eigen[0]

    @property
    def bound(self) -> float:
        """What an eigenvalue of noise alone does not exceed."""
        return noise_bounds(self.rows, len(self.mean))[1]

    @property
    def signals(self) -> int:
        """How many components are above the bound."""
        return int((self.eigenvalues > self.bound).sum())

    @cached_property
    def correlated(self) -> bool:
        """Whether the columns go together more than independent ones would by chance (99%)."""
        spread = np.sqrt(np.diag(self.covariance))
        varies = spread > 0
        if varies.sum() < 2:
            return False
        scale = np.outer(spread[varies], spread[varies])
        largest = np.linalg.eigvalsh(self.covariance[np.ix_(varies, varies)] / scale)[-1]
        n, p = (self.rows - 1) ** 0.5, float(varies.sum()) ** 0.5
        width = (n + p) * (1 / n + 1 / p) ** (1 / 3)
        return bool(largest * self.rows > (n + p) ** 2 + TRACY_WIDOM * width)

    def filter(self, method: str = "spectral", components: int | None = None) -> FloatArray:
        """Return the matrix that filtered values are made with: ``mean + (y - mean) @ matrix``.

        Parameters
        ----------
        method
            ``"spectral"`` projects onto the components above the noise bound; ``"bayes"`` is the
            best linear estimate, which also shrinks along every component.
        components
            How many components are kept by ``"spectral"``; otherwise those above the bound.

        Where the columns are not correlated there is nothing to filter with: ``"spectral"`` leaves
        all as it is, ``"bayes"`` shrinks each column for itself (:meth:`alone`).
        """
        if method not in METHODS:
            raise ParameterError(f"method is {method!r}", fix=f"use {' or '.join(METHODS)}")
        if components is not None and (
            isinstance(components, bool)
            or not isinstance(components, int | np.integer)
            or not 0 <= components <= len(self.mean)
        ):
            raise ParameterError(
                f"components is {components!r}",
                fix=f"use a whole number from 0 to {len(self.mean)}",
            )
        if not self.correlated and components is None:
            return np.diag(self.alone()) if method == "bayes" else np.eye(len(self.mean))
        values, vectors = self._eigen
        if method == "spectral":
            kept = self.signals if components is None else components
            weights = (np.arange(len(values)) < kept).astype(np.float64)
        else:
            weights = np.maximum(values - 1, 0) / np.maximum(values, 1)
        unscaled = (vectors * weights) @ vectors.T
        return unscaled * self.deviations[None, :] / self.deviations[:, None]

    def alone(self) -> FloatArray:
        """Return by how much each column shrinks towards its mean when taken for itself."""
        variance, noise = np.diag(self.covariance), self.deviations**2
        return np.maximum(variance - noise, 0) / np.maximum(variance, noise)

    def apply(self, values: npt.ArrayLike, matrix: FloatArray) -> FloatArray:
        """Return the filtered values."""
        shown: FloatArray = np.asarray(values, dtype=np.float64)
        return self.mean + (shown - self.mean) @ matrix

    def notes(self, method: str, components: int | None = None) -> tuple[str, ...]:
        """Return in words what there was to filter.

        >>> rng = np.random.default_rng(1)
        >>> Spectrum.of([rng.normal(size=(500, 4))], [0.7] * 4).notes("spectral")[0][:44]
        'the columns are not correlated beyond chance'
        """
        columns = len(self.mean)
        if not self.correlated and components is None:
            rest = "each is only shrunk to its mean" if method == "bayes" else "all stays as it is"
            return (f"the columns are not correlated beyond chance: nothing to filter, {rest}",)
        if method == "bayes":
            return (f"{self.signals} of {columns} components are above the noise",)
        kept = self.signals if components is None else components
        if kept == columns:
            return (f"all {columns} components are above the noise: nothing to filter",)
        return (f"{kept} of {columns} components kept, the others taken for noise",)
