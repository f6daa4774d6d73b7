"""How much noise an attack took out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.attack.noise_filter import NoiseFilter, NoiseGuess
from setveil.attack.spectral import Spectrum
from setveil.core.errors import InputError, NotApplicable
from setveil.measure.interval import Rate, advantage, clustered_share, mean_error, reduction
from setveil.measure.public_records import same_release
from setveil.measure.score import score
from setveil.release.perturbed import posterior_shares

if TYPE_CHECKING:
    from setveil.core.arrays import FloatArray
    from setveil.core.table import TransactionTable
    from setveil.release.base import Key, Release
    from setveil.release.perturbed import PerturbedRelease

Cells = npt.NDArray[np.bool_]

BLOCK = 2_000_000
"""Cells that are looked at at a time."""
CONTROL = 10_000
"""Records that the control of the noise filter looks at."""


# --- numeric columns ------------------------------------------------------------------------------


def noise_removed(
    original: npt.ArrayLike, published: npt.ArrayLike, estimate: npt.ArrayLike
) -> Rate:
    """Return the share of the noise's variance that an estimate no longer has.

    1 - Σ(estimate - original)² / Σ(published - original)²: 1 where the original is found, 0
    where nothing is gained, and less where the estimate is worse than what was published. The
    95% interval treats the rows as a sample.

    >>> noise_removed([[0.0], [0.0]], [[2.0], [-2.0]], [[1.0], [-1.0]]).value
    0.75
    """
    truth, shown, guess = (
        np.asarray(each, dtype=np.float64) for each in (original, published, estimate)
    )
    if not truth.shape == shown.shape == guess.shape or truth.ndim != 2 or not truth.size:
        raise InputError("the tables have different shapes, or no rows", fix="line them up")
    left = ((guess - truth) ** 2).sum(axis=1)
    before = ((shown - truth) ** 2).sum(axis=1)
    rate = reduction(left, before)
    if rate is None:
        raise NotApplicable("what was published has no noise")
    return rate


def score_filter(
    original: npt.ArrayLike,
    published: npt.ArrayLike,
    deviations: npt.ArrayLike,
    *,
    method: str = "spectral",
    components: int | None = None,
    rng: np.random.Generator | None = None,
) -> dict[str, Rate]:
    """Filter noisy columns and say what that removes, beside a baseline and a control.

    Parameters
    ----------
    original, published
        The same rows, without and with noise.
    deviations
        The standard deviation of the noise in each column.
    method, components
        How to filter, see :meth:`~setveil.attack.spectral.Spectrum.filter`.
    rng
        Exchanges values for the control; always the same way without it.

    Returns
    -------
    dict of str to Rate
        ``noise_removed``: see :func:`noise_removed`. ``noise_removed_alone``: by shrinking each
        column to its mean, which knows nothing of the others. ``noise_removed_control``: by the
        same filter where the values of each column are exchanged between the rows, so that
        nothing goes together. ``rmse``, ``rmse_published``: root of the mean squared error, after
        and before.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.normal(size=(1000, 3)) @ rng.normal(size=(3, 20))
    >>> noise = truth.std(axis=0)
    >>> shown = truth + rng.normal(size=truth.shape) * noise
    >>> rates = score_filter(truth, shown, noise)
    >>> rates["noise_removed"].value > 0.8, rates["noise_removed_control"].value
    (True, 0.0)
    """
    truth = np.asarray(original, dtype=np.float64)
    shown = np.asarray(published, dtype=np.float64)
    rng = np.random.default_rng(0) if rng is None else rng
    spectrum = Spectrum.of([shown], deviations)
    estimate = spectrum.apply(shown, spectrum.filter(method, components))
    alone = spectrum.apply(shown, np.diag(spectrum.alone()))
    places = rng.permuted(np.tile(np.arange(len(shown))[:, None], shown.shape[1]), axis=0)
    apart = np.take_along_axis(shown, places, axis=0)
    other = Spectrum.of([apart], deviations)
    control = other.apply(apart, other.filter(method, components))
    return {
        "noise_removed": noise_removed(truth, shown, estimate),
        "noise_removed_alone": noise_removed(truth, shown, alone),
        "noise_removed_control": noise_removed(
            np.take_along_axis(truth, places, axis=0), apart, control
        ),
        "rmse": _root(((estimate - truth) ** 2).mean(axis=1)),
        "rmse_published": _root(((shown - truth) ** 2).mean(axis=1)),
    }


# --- randomized records ---------------------------------------------------------------------------


@score.register(NoiseGuess)
def score_noise(
    guess: NoiseGuess, *, release: Release, original: TransactionTable, key: Key
) -> dict[str, Rate | None]:
    """Return how much of what chance did to the records was undone.

    A cell is one of the attacked items in a record; it is wrong where the record is said to hold
    the item and does not, or the other way round.

    Returns
    -------
    dict of str to Rate or None
        ``noise_removed``: 1 - wrong cells of the guess / wrong cells of the release.
        ``precision``, ``recall``, ``f1`` of the items that records are believed to hold. Each
        also for ``_alone`` (Bayes' rule for each item by itself, from its estimated frequency)
        and ``_published`` (believing the release). ``noise_removed_control``: the same attack
        where the cells of each item were exchanged between records, so that nothing goes
        together; it should not exceed ``noise_removed_alone`` by more than chance. ``advantage``:
        the share of what ``_alone`` leaves wrong that the attack removes.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import ItemChannel, publish_perturbed
    >>> table = TransactionTable.from_rows([["a", "b", "c", "d"]] * 100 + [["e", "f", "g"]] * 100)
    >>> rng = np.random.default_rng(1)
    >>> drawn = TransactionTable.from_rows(
    ...     [[name for name in "abcdefg" if (name in row) != (rng.random() < 0.2)]
    ...      for row in table])
    >>> release, key = publish_perturbed(drawn, ItemChannel(beta="1/5", domain=7))
    >>> guess = NoiseFilter().run(release)
    >>> rates = score(guess, release=release, original=table, key=key)
    >>> rates["noise_removed"].value > 0.5 > rates["noise_removed_alone"].value
    True
    """
    form = same_release(guess, release, original, key)
    if len(guess.rows) != len(form) or any(name not in form.vocabulary for name in guess.items):
        raise InputError(
            "the guess is about another release",
            fix="attack this release, or name the one that was attacked",
        )
    attacked = np.array([form.vocabulary.number(name) for name in guess.items], dtype=np.int64)
    lined = original.take(key.records)
    here, not_here = (shares[attacked] > 0.5 for shares in posterior_shares(form))
    counts: dict[str, list[npt.NDArray[np.int64]]] = {"": [], "_alone": [], "_published": []}
    step = max(1, BLOCK // max(len(form.vocabulary), 1))
    for first in range(0, len(form), step):
        last = min(first + step, len(form))
        truth = _cells(lined, guess.items, first, last)
        shown = form.cells(first, last)[:, attacked]
        believed = np.zeros_like(shown)
        for place, row in enumerate(guess.rows[first:last]):
            believed[place, list(row)] = True
        said = {"": believed, "_alone": np.where(shown, here, not_here), "_published": shown}
        for name, cells in said.items():
            counts[name].append(_counts(cells, truth))
    joined = {name: np.concatenate(parts) for name, parts in counts.items()}
    wrong = {name: part[:, 1] + part[:, 2] - 2 * part[:, 0] for name, part in joined.items()}
    rates: dict[str, Rate | None] = {}
    for name in ("", "_alone"):
        rates[f"noise_removed{name}"] = reduction(wrong[name], wrong["_published"])
    mended = {name: wrong["_published"] - wrong[name] for name in ("", "_alone")}
    rates["advantage"] = advantage(mended[""], mended["_alone"], wrong["_published"])
    rates["noise_removed_control"] = _control(guess, form, lined, attacked)
    for name, part in joined.items():
        right, said_true, true = part.T
        rates[f"precision{name}"] = clustered_share(right, said_true)
        rates[f"recall{name}"] = clustered_share(right, true)
        rates[f"f1{name}"] = clustered_share(2 * right, said_true + true)
    return rates


def _counts(said: Cells, truth: Cells) -> npt.NDArray[np.int64]:
    """Return for each record how many cells are said and true, said, and true."""
    return np.stack([(said & truth).sum(axis=1), said.sum(axis=1), truth.sum(axis=1)], axis=1)


def _control(
    guess: NoiseGuess,
    release: PerturbedRelease,
    lined: TransactionTable,
    attacked: npt.NDArray[np.int64],
) -> Rate | None:
    """Return what the attack removes where the cells of each item are exchanged."""
    rng = np.random.default_rng(0)
    count = min(len(release), CONTROL)
    chosen = np.sort(rng.choice(len(release), count, replace=False))
    shown = np.concatenate([release.cells(r, r + 1)[:, attacked] for r in chosen.tolist()])
    truth = np.concatenate([_cells(lined, guess.items, r, r + 1) for r in chosen.tolist()])
    places = rng.permuted(np.tile(np.arange(count)[:, None], shown.shape[1]), axis=0)
    shown, truth = (np.take_along_axis(each, places, axis=0) for each in (shown, truth))
    method = NoiseFilter(method=guess.method)
    spectrum = method.spectrum(lambda: iter([shown]), release.channel)
    [believed] = method.believed(lambda: iter([shown]), release.channel, spectrum)
    return reduction((believed != truth).sum(axis=1), (shown != truth).sum(axis=1))


def _cells(lined: TransactionTable, names: tuple[str, ...], first: int, last: int) -> Cells:
    """Return which of the named items some records of a table hold."""
    place = {name: c for c, name in enumerate(names)}
    column = np.array([place.get(name, -1) for name in lined.vocabulary.names], dtype=np.int64)
    held = np.zeros((last - first, len(names)), dtype=bool)
    numbers = lined.items[lined.offsets[first] : lined.offsets[last]]
    rows = np.repeat(np.arange(last - first), lined.lengths[first:last])
    columns = column[numbers] if len(numbers) else np.zeros(0, dtype=np.int64)
    held[rows[columns >= 0], columns[columns >= 0]] = True
    return held


def _root(squares: FloatArray) -> Rate:
    """Return the root of a mean of squares, which are skewed."""
    rate = mean_error(squares)
    assert rate is not None
    return Rate(value=rate.value**0.5, low=rate.low**0.5, high=rate.high**0.5, exact=False)
