"""Telling true items of randomized records from added ones by which items go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from setveil.attack.base import INFERENCE, AuditRole, Finding, check_applies
from setveil.attack.guess import Guess
from setveil.attack.randomized.public_records import same_release
from setveil.attack.randomized.spectral import METHODS, Spectrum
from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.core.interval import Rate, advantage, clustered_share, mean_error, reduction
from setveil.core.params import choice, count
from setveil.core.registry import register
from setveil.release.perturbed import posterior_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.core.table import TransactionTable
    from setveil.release.base import Key, Release
    from setveil.release.item_channel import ItemChannel
    from setveil.release.perturbed import PerturbedRelease

Cells = npt.NDArray[np.bool_]

BLOCK = 2_000_000
"""Cells that are looked at at a time."""


@dataclass(frozen=True, kw_only=True)
class NoiseGuess(Guess):
    """Which items each randomized record is believed to hold.

    Parameters
    ----------
    items
        The names of the attacked items.
    rows
        For each published record the places in `items` of those it is believed to hold.
    method, components, correlated
        How was filtered, how many components were above the noise, whether there was anything to
        filter with.
    notes
        The same in words.
    """

    kind: ClassVar[str] = "noise"
    score_words: ClassVar[dict[str, str]] = {
        "noise_removed": "share of the wrong cells of the release that the guess has right, net",
        "advantage": "share of what judging each item by itself leaves wrong that the guess "
        "has right",
        "precision": "share of the items that records are believed to hold that they do",
        "recall": "share of the items of the records that the guess believes",
        "f1": "harmonic mean of the two",
    }
    beside: ClassVar[tuple[str, ...]] = ("alone", "published", "control")

    items: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    method: str
    components: int
    correlated: bool
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "items", tuple(self.items))
        object.__setattr__(self, "rows", tuple(tuple(row) for row in self.rows))
        object.__setattr__(self, "notes", tuple(self.notes))
        if not all(isinstance(name, str) for name in self.items) or self.method not in METHODS:
            raise ParameterError("a guess names its items and its method")
        for row in self.rows:
            if not all(isinstance(i, int) and 0 <= i < len(self.items) for i in row):
                raise ParameterError("a guess holds places of its items")

    def rates(
        self, *, release: Release, original: TransactionTable, key: Key
    ) -> dict[str, Rate | None]:
        """Return how much of what chance did to the records was undone.

        A cell is one of the attacked items in a record; it is wrong where the record is said to
        hold the item and does not, or the other way round.

        Returns
        -------
        dict of str to Rate or None
            ``noise_removed``: 1 - wrong cells of the guess / wrong cells of the release.
            ``precision``, ``recall``, ``f1`` of the items that records are believed to hold. Each
            also for ``_alone`` (Bayes' rule for each item by itself, from its estimated frequency)
            and ``_published`` (believing the release). ``noise_removed_control``: the same attack
            where the cells of each item were exchanged between records, so that nothing goes
            together; it should not exceed ``noise_removed_alone`` by more than chance.
            ``advantage``: the share of what ``_alone`` leaves wrong that the attack removes.

        Examples
        --------
        >>> from setveil import TransactionTable
        >>> from setveil.release import ItemChannel, publish_perturbed
        >>> rows = [["a", "b", "c", "d"]] * 100 + [["e", "f", "g"]] * 100
        >>> table = TransactionTable.from_rows(rows)
        >>> rng = np.random.default_rng(1)
        >>> drawn = TransactionTable.from_rows(
        ...     [[name for name in "abcdefg" if (name in row) != (rng.random() < 0.2)]
        ...      for row in table])
        >>> release, key = publish_perturbed(drawn, ItemChannel(beta="1/5", domain=7))
        >>> guess = NoiseFilter().run(release)
        >>> rates = guess.score(release=release, original=table, key=key)
        >>> rates["noise_removed"].value > 0.5 > rates["noise_removed_alone"].value
        True
        """
        form = same_release(self, release, original, key)
        if len(self.rows) != len(form) or any(name not in form.vocabulary for name in self.items):
            raise InputError(
                "the self is about another release",
                fix="attack this release, or name the one that was attacked",
            )
        attacked = np.array([form.vocabulary.number(name) for name in self.items], dtype=np.int64)
        lined = original.take(key.records)
        here, not_here = (shares[attacked] > 0.5 for shares in posterior_shares(form))
        counts: dict[str, list[npt.NDArray[np.int64]]] = {"": [], "_alone": [], "_published": []}
        step = max(1, BLOCK // max(len(form.vocabulary), 1))
        for first in range(0, len(form), step):
            last = min(first + step, len(form))
            truth = _cells(lined, self.items, first, last)
            shown = form.cells(first, last)[:, attacked]
            believed = np.zeros_like(shown)
            for place, row in enumerate(self.rows[first:last]):
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
        rates["noise_removed_control"] = _control(self, form, lined, attacked)
        for name, part in joined.items():
            right, said_true, true = part.T
            rates[f"precision{name}"] = clustered_share(right, said_true)
            rates[f"recall{name}"] = clustered_share(right, true)
            rates[f"f1{name}"] = clustered_share(2 * right, said_true + true)
        return rates


@register(
    "attack",
    "noise-filter",
    paper="Kargupta, Datta, Wang & Sivakumar 2003; Huang, Du & Chen 2005",
    bibtex="""
    @inproceedings{kargupta2003privacy,
      author    = {Kargupta, Hillol and Datta, Souptik and Wang, Qi and Sivakumar, Krishnamoorthy},
      title     = {On the Privacy Preserving Properties of Random Data Perturbation Techniques},
      booktitle = {Proceedings of the 3rd IEEE International Conference on Data Mining},
      pages     = {99--106}, year = {2003}
    }

    @inproceedings{huang2005deriving,
      author    = {Huang, Zhengli and Du, Wenliang and Chen, Biao},
      title     = {Deriving Private Information from Randomized Data},
      booktitle = {Proceedings of the ACM SIGMOD International Conference on Management of Data},
      pages     = {37--48}, year = {2005}
    }""",
)
@dataclass(frozen=True, kw_only=True)
class NoiseFilter:
    """Take the noise out of randomized records by what goes together.

    A cell of the table, shown or not, is 0 or 1 plus noise whose variance the mechanism gives away.
    The noise of two items is independent, the items are not. So what the columns have in common is
    signal (:class:`~setveil.attack.randomized.spectral.Spectrum`), and each cell is estimated from
    the whole record. A record is believed to hold the items estimated above ½. For numeric columns
    with noise see :mod:`setveil.tabular.noise_attacks`.

    Parameters
    ----------
    method
        ``"bayes"``, the best linear estimate, or ``"spectral"``, the projection onto the
        components above the noise.
    most
        How many items are attacked, the most frequent ones first.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import ItemChannel, publish_perturbed
    >>> kinds = [["a", "b", "c", "d"], ["e", "f", "g", "h"]]
    >>> rng = np.random.default_rng(1)
    >>> flipped = [[name for name in "abcdefgh" if (name in kinds[r % 2]) != (rng.random() < 0.2)]
    ...            for r in range(400)]
    >>> release, key = publish_perturbed(TransactionTable.from_rows(flipped),
    ...                                  ItemChannel(beta="0.2", domain=8))
    >>> guess = NoiseFilter().run(release)
    >>> believed = [[guess.items[i] for i in row] for row in guess.rows]
    >>> sum(row in kinds for row in release.to_rows()) < 100 < 340 < sum(
    ...     row in kinds for row in believed)
    True
    """

    applies_to: ClassVar[frozenset[str]] = frozenset({"perturbed"})
    requires: ClassVar[frozenset[str]] = frozenset()
    role: ClassVar[AuditRole] = AuditRole(
        family="noise filter",
        findings=(
            Finding(
                risk=INFERENCE,
                figure="noise_removed",
                baseline="noise_removed_alone",
                baseline_name="judging each item by itself",
                control="noise_removed_control",
                label="Undo random changes",
                says="An attacker who knows {knows} corrects {count} of 1,000 changes that were "
                "made to the records.",
                outright=True,
            ),
        ),
        cost=1,
    )

    method: str = choice("bayes", METHODS, doc="how to filter")
    most: int = count(500, doc="how many of the frequent items are attacked")

    def run(
        self,
        release: PerturbedRelease,
        *,
        rng: np.random.Generator | None = None,  # nothing is drawn
    ) -> NoiseGuess:
        """Return which items each record is believed to hold."""
        check_applies("noise-filter", self.applies_to, release)
        attacked = self.attacked(release)
        rows: list[tuple[int, ...]] = []

        def cells() -> Iterator[Cells]:
            step = max(1, BLOCK // max(len(release.vocabulary), 1))
            for first in range(0, len(release), step):
                yield release.cells(first, min(first + step, len(release)))[:, attacked]

        spectrum = self.spectrum(cells, release.channel)
        for believed in self.believed(cells, release.channel, spectrum):
            rows += [tuple(np.flatnonzero(row).tolist()) for row in believed]
        return NoiseGuess(
            attack="noise-filter",
            items=tuple(release.vocabulary[i] for i in attacked.tolist()),
            rows=tuple(rows),
            method=self.method,
            components=spectrum.signals,
            correlated=spectrum.correlated,
            notes=spectrum.notes(self.method),
        )

    def attacked(self, release: PerturbedRelease) -> Int64Array:
        """Return the numbers of the items that are attacked, ascending; or say why none can be."""
        if release.channel.sizes is not None:
            raise NotApplicable(
                "with chances of sizes the noise of a cell depends on the length of its record, "
                "which is not published",
                fix="use public-records",
            )
        release.channel.estimator(1)  # says it where nothing can be estimated
        shares = release.estimated_shares()
        if len(release) < 2 or not len(shares):
            raise NotApplicable("there are too few records or items to see what goes together")
        return np.sort(np.argsort(-shares, kind="stable")[: self.most])

    def spectrum(self, cells: Callable[[], Iterator[Cells]], channel: ItemChannel) -> Spectrum:
        """Return what goes together in cells that come block by block."""
        beta = float(channel.beta)
        noise = (beta * (1 - beta)) ** 0.5 / abs(1 - 2 * beta)
        blocks = ((block - beta) / (1 - 2 * beta) for block in cells())
        first = next(cells())
        return Spectrum.of(blocks, np.full(first.shape[1], noise))

    def believed(
        self, cells: Callable[[], Iterator[Cells]], channel: ItemChannel, spectrum: Spectrum
    ) -> Iterator[Cells]:
        """Yield, block by block, which cells are believed to be true."""
        beta = float(channel.beta)
        matrix: FloatArray = spectrum.filter(self.method)
        for block in cells():
            yield spectrum.apply((block - beta) / (1 - 2 * beta), matrix) > 0.5


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
        How to filter, see :meth:`~setveil.attack.randomized.spectral.Spectrum.filter`.
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
