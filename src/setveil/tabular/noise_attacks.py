"""Attacks on numeric columns with noise: take the noise out, or find the public record behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.attack.randomized.public_records import place_of_truth
from setveil.attack.randomized.spectral import Spectrum
from setveil.core.errors import InputError, ParameterError
from setveil.io.frames import as_polars
from setveil.tabular.perturbation import check_distribution, numeric_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.core.table import Frame


BLOCK = 2_000_000
"""Differences of a row and a candidate that are looked at at a time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FilteredTable:
    """What is left of noisy columns after filtering.

    Parameters
    ----------
    frame
        The published table with the estimates in place of the noisy columns.
    components, correlated
        How many components are above the noise; whether there was anything to filter with.
    notes
        The same in words.
    """

    frame: pl.DataFrame
    components: int
    correlated: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicMatch:
    """The likeliest public record for each noisy row.

    Parameters
    ----------
    named
        The row of the likeliest candidate.
    chances
        How likely it is, if the right one is among the candidates; 0 where none can be.
    """

    named: Int64Array
    chances: FloatArray


def filter_noise(
    frame: Frame,
    deviations: Mapping[str, float],
    *,
    method: str = "spectral",
    components: int | None = None,
) -> FilteredTable:
    """Take the noise out of columns that go together.

    Parameters
    ----------
    frame
        The published table.
    deviations
        The standard deviation of the noise in each noisy column; it is public, so that means and
        variances can be corrected, and this is what the attack lives on.
    method
        ``"spectral"``: project onto the principal components above the bound of Marchenko and
        Pastur. ``"bayes"``: the best linear estimate, best of all for Gaussian columns.
    components
        How many components ``"spectral"`` keeps, if not as many as are above the bound.

    Examples
    --------
    Three causes, twenty columns, noise as large as the signal:

    >>> import polars as pl
    >>> from setveil.tabular.perturbation import add_noise
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.normal(size=(1000, 3)) @ rng.normal(size=(3, 20))
    >>> table = pl.DataFrame({f"c{i}": truth[:, i] for i in range(20)})
    >>> noisy = add_noise(table, share=1, rng=rng)
    >>> filtered = filter_noise(noisy.frame, noisy.deviations)
    >>> filtered.notes
    ('3 of 20 components kept, the others taken for noise',)
    >>> def error(frame):
    ...     return float(((frame.to_numpy() - truth[noisy.key]) ** 2).mean())
    >>> error(filtered.frame) / error(noisy.frame) < 0.2
    True

    References
    ----------
    See :class:`~setveil.attack.randomized.spectral.Spectrum`.
    """
    names = list(deviations)
    table = as_polars(frame, None)
    values = numeric_values(table, names)
    spectrum = Spectrum.of([values], [deviations[name] for name in names])
    estimate = spectrum.apply(values, spectrum.filter(method, components))
    return FilteredTable(
        frame=table.with_columns(**{name: estimate[:, c] for c, name in enumerate(names)}),
        components=spectrum.signals,
        correlated=spectrum.correlated,
        notes=spectrum.notes(method, components),
    )


def match_public_records(
    frame: Frame,
    candidates: Frame,
    deviations: Mapping[str, float],
    *,
    distribution: str = "gaussian",
) -> PublicMatch:
    """Return for each noisy row the public record that it most likely comes from.

    Parameters
    ----------
    frame
        The published table.
    candidates
        Public records with the same columns, without noise.
    deviations, distribution
        The noise, see :func:`~setveil.tabular.perturbation.add_noise`.

    Examples
    --------
    >>> import polars as pl
    >>> shown = pl.DataFrame({"age": [41.0], "weight": [66.0]})
    >>> public = pl.DataFrame({"age": [30, 40, 44], "weight": [65, 70, 80]})
    >>> match = match_public_records(shown, public, {"age": 5.0, "weight": 5.0})
    >>> match.named.tolist(), match.chances.round(2).tolist()
    ([1], [0.87])
    """
    named, chances = [], []
    for logs in _likelihoods(frame, candidates, deviations, distribution):
        best = np.argmax(logs, axis=1)
        top = logs[np.arange(len(logs)), best]
        there = np.isfinite(top)
        whole = np.exp(logs - np.where(there, top, 0.0)[:, None]).sum(axis=1)
        named.append(best)
        chances.append(np.where(there, 1 / np.maximum(whole, 1.0), 0.0))
    return PublicMatch(named=np.concatenate(named), chances=np.concatenate(chances))


def public_ranks(
    frame: Frame,
    candidates: Frame,
    deviations: Mapping[str, float],
    truth: npt.ArrayLike,
    *,
    distribution: str = "gaussian",
) -> tuple[FloatArray, FloatArray]:
    """Return the rank of the right candidate for each row, and its chance of being named first.

    Only who knows the truth can say it: `truth` is the row of the right candidate for each
    published row. :func:`setveil.measure.score_ranks` makes rates of them.

    >>> import polars as pl
    >>> shown = pl.DataFrame({"age": [41.0, 33.0]})
    >>> public = pl.DataFrame({"age": [30, 40, 44]})
    >>> ranks, firsts = public_ranks(shown, public, {"age": 5.0}, [1, 1])
    >>> ranks.tolist(), firsts.tolist()
    ([1.0, 2.0], [1.0, 0.0])
    """
    right = np.asarray(truth, dtype=np.int64)
    ranks, firsts, start = [], [], 0
    for logs in _likelihoods(frame, candidates, deviations, distribution):
        own = right[start : start + len(logs)]
        if len(own) != len(logs) or own.min() < 0 or own.max() >= logs.shape[1]:
            raise InputError("the truth does not name a candidate for each row")
        rank, first = place_of_truth(logs, own, np.ones(logs.shape[1], dtype=np.int64))
        ranks.append(rank)
        firsts.append(first)
        start += len(logs)
    return np.concatenate(ranks), np.concatenate(firsts)


def _likelihoods(
    frame: Frame,
    candidates: Frame,
    deviations: Mapping[str, float],
    distribution: str,
) -> Iterator[FloatArray]:
    """Yield, some rows at a time, how likely each candidate is, as logarithms up to a constant."""
    check_distribution(distribution)
    names = list(deviations)
    noise = np.array([float(deviations[name]) for name in names])
    if not np.all(np.isfinite(noise) & (noise > 0)):
        raise ParameterError("a deviation is not above 0", fix="leave out columns without noise")
    shown = numeric_values(frame, names) / noise
    public = numeric_values(candidates, names) / noise
    if not len(shown) or not len(public):
        raise InputError("there are no rows to compare", fix="give rows and candidates")
    step = max(1, BLOCK // public.size)
    for first in range(0, len(shown), step):
        apart = shown[first : first + step, None, :] - public[None, :, :]
        if distribution == "gaussian":
            yield -(apart**2).sum(axis=2) / 2
        elif distribution == "laplace":
            yield -np.abs(apart).sum(axis=2) * 2**0.5
        else:
            inside = np.all(np.abs(apart) <= 3**0.5 * (1 + 1e-12), axis=2)
            yield np.where(inside, 0.0, -np.inf)
