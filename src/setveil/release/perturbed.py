"""Releases whose records were randomized: items left out and added by chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from setveil.core.arrays import FloatArray, Int64Array, distinct_in_rows, occurring, offsets_of
from setveil.core.errors import NotApplicable, ParameterError, ReleaseError
from setveil.core.table import TransactionTable
from setveil.core.words import number, plural, share_as_json
from setveil.release.account import ADDED, ENTRY, REMOVED, Account, Occurrences, entries_that
from setveil.release.base import UNKNOWN, Bounds, Key, Matches, fits_key
from setveil.release.export import (
    LOAD,
    Example,
    Export,
    commonest_terms,
    export_records,
    literal,
    load_example,
    rows_example,
)
from setveil.release.item_channel import ItemChannel
from setveil.release.suppressed import ItemRows, fields_of_rows
from setveil.release.views import CertainItems

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from setveil.core.taxonomy import Taxonomy
    from setveil.release.data_file import LabelledRows
    from setveil.release.views import PublishedRows


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PerturbedRelease(ItemRows):
    """Published records that chance changed, each on its own, and how it did.

    No published record is true for certain: any item may have been added, and any may be
    missing. What is known is the mechanism. So an original is allowed when the mechanism turns
    each of its records into the published one with a chance above zero; its items may be any of
    the domain, of which the release names those that some record shows.

    Parameters
    ----------
    vocabulary, offsets, items
        The records, see :class:`~setveil.release.suppressed.ItemRows`.
    channel
        The mechanism, which is public.

    Examples
    --------
    >>> from setveil.release import ItemChannel
    >>> table = TransactionTable.from_rows([["flu"], ["flu"], ["gout"], ["flu", "gout"]])
    >>> release, _ = publish_perturbed(table, ItemChannel(beta="1/10", domain=2))
    >>> release.support_bounds(["flu"])
    Bounds(low=0, high=4, tight=True)
    >>> round(release.expected_support(["flu"]), 2)  # (3 - 4/10) / (1 - 2/10)
    3.25
    >>> seen = release.matches(["gout"])
    >>> release.to_rows()[2], (seen.weights / seen.weights.max()).round(2).tolist()
    (['flu'], [1.0, 0.11, 0.11, 1.0])
    """

    form: ClassVar[str] = "perturbed"
    builder: ClassVar[str] = "publish_perturbed"
    counted_in_worlds: ClassVar[bool] = True
    shows_lengths: ClassVar[bool] = False

    channel: ItemChannel

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.channel.domain < len(self.vocabulary):
            raise ParameterError(
                f"{len(self.vocabulary)} items are shown, but there are only {self.channel.domain}",
                fix=f"build releases with {self.builder}",
            )

    @property
    def unseen(self) -> int:
        """How many items of the domain no record shows."""
        return self.channel.domain - len(self.vocabulary)

    def published_rows(self) -> PublishedRows:
        """Refuse: no record is true for certain."""
        raise NotApplicable(
            f"the items of a release of {len(self):,} randomized records are true only by chance, "
            "so counting them decides nothing",
            fix="attack it instead: noise-filter, public-records",
        )

    def certain_items(self, taxonomy: Taxonomy | None = None) -> CertainItems:
        """Return that nothing is certain of anybody."""
        return CertainItems.nothing(len(self))

    def item_chance(
        self, item: str, known: Iterable[str] = (), taxonomy: Taxonomy | None = None
    ) -> float:
        """Return the chance by Bayes' rule, from the estimated share of the item and each record.

        A record that may be the person's shows the item or not; how much that tells is what the
        mechanism says. Where it says nothing (β = ½), nothing is known.
        """
        if self.support_bounds([item], taxonomy).high == 0:
            return 0.0
        if self.channel.is_noise:
            return UNKNOWN
        share = min(max(self.expected_support([item], taxonomy) / max(len(self), 1), 0.0), 1.0)
        found = self.matches([each for each in known if each != item], taxonomy)
        if item in self.vocabulary:
            shown = np.isin(found.records, self.records_of(self.vocabulary.number(item)))
        else:
            shown = np.zeros(len(found.records), dtype=bool)
        added = float(self.channel.beta)
        held = share * self.channel.pattern_chances(1)[shown.astype(np.int64)]
        free = (1 - share) * np.where(shown, added, 1 - added)
        total = held + free
        chances = np.divide(held, total, out=np.full(len(total), share), where=total > 0)
        return float(np.average(chances, weights=found.weights)) if len(chances) else share

    def as_randomized(self) -> PerturbedRelease:
        """Return the release itself."""
        return self

    # --- the four verbs -----------------------------------------------------------------------

    def matches(self, known_items: Iterable[str], taxonomy: Taxonomy | None = None) -> Matches:
        """Return the records that may belong to someone who holds all of `known_items`.

        The mechanism says how likely such a record shows just these of the known items and not
        those. That chance is shared by the records that do: before, each of them was as likely
        the one as any other. So the weights are the adversary's chances, up to a factor.
        """
        known, published = self._split_itemset(known_items)
        if known is None:
            return Matches(records=np.zeros(0, dtype=np.int64), weights=np.zeros(0))
        pattern = np.zeros(len(self), dtype=np.int64)
        shown = np.zeros(len(self), dtype=np.int64)
        for item in published:
            here = np.zeros(len(self), dtype=np.int64)
            here[self.records_of(item)] = 1
            shown += here
            # Numbered anew each time: there are never more patterns than records.
            pattern = np.unique(2 * pattern + here, return_inverse=True)[1]
        chances = self.channel.pattern_chances(known)
        if chances.ndim == 2:  # what is shown of other items tells something too
            lengths = np.diff(self.offsets)
            pattern = np.unique(pattern * (len(chances) + 1) + lengths, return_inverse=True)[1]
            chance = chances[lengths, shown]
        else:
            chance = chances[shown]
        weights = chance / np.bincount(pattern)[pattern]
        records = np.flatnonzero(weights > 0)
        return Matches(records=records, weights=weights[records])

    def support_bounds(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> Bounds:
        """Return the least and greatest support of `itemset` over all consistent originals.

        Where items are kept one by one, all originals over the domain are possible, so the bounds
        are none and all. They say nothing: ask for :meth:`expected_support`.
        """
        known, published = self._split_itemset(itemset)
        if known is None:
            return Bounds(low=0, high=0)
        if not known:
            return Bounds(low=len(self), high=len(self))
        may = lru_cache(self.channel.may_hold)
        lengths, common = np.diff(self.offsets), self._common(published)
        pairs, counts = np.unique(np.stack([lengths, common]), axis=1, return_counts=True)
        high = sum(
            count
            for shown, both, count in zip(*pairs.tolist(), counts.tolist(), strict=True)
            if may(shown, both, known)
        )
        return Bounds(low=0, high=high)

    def expected_support(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> float:
        """Return the unbiased estimate of the support of `itemset`.

        Its mean over all that the mechanism might have published is the true support. So it may
        itself lie below 0 or above the number of records. For one item it is
        (s' - nβ) / (1 - 2β), s' being the published support; for several the matrix of chances
        is inverted.

        Raises
        ------
        NotApplicable
            What is published tells nothing of the support (β = ½).
        """
        known, published = self._split_itemset(itemset)
        if known is None:
            return 0.0
        gains = self._gains(known)
        common = self._common(published)
        if gains.ndim == 1:
            counts = np.bincount(common, minlength=known + 1)
            return float(counts @ gains)
        return float(gains[np.diff(self.offsets), common].sum())

    def sample_world(
        self, rng: np.random.Generator, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Draw an original: each record on its own, by Bayes' rule.

        Where items are kept one by one, so are they drawn: an item is held beforehand with its
        estimated share (no less than 0, no more than 1), and then as likely as what the record
        shows makes it. The mean support of an item is then its estimate. With `sizes` all lengths
        are equally likely beforehand, and all sets of a length. Items that no record shows have
        no name, and are left out.
        """
        if self.channel.is_noise:
            self._gains(1)  # says why

        draw = draw_items if self.channel.sizes is None else draw_sizes
        return draw(self, rng)

    def is_consistent_with(
        self, original: TransactionTable, key: Key, taxonomy: Taxonomy | None = None
    ) -> bool:
        """Tell whether `original`, lined up by `key`, could have given this release."""
        if not fits_key(self, original, key) or len(self) != len(original):
            return False
        there = {original.vocabulary[i] for i in occurring(original.items).tolist()}
        if len(there.union(self.vocabulary.names)) > self.channel.domain:
            return False
        lined = original.take(key.records)
        lengths = np.diff(distinct_in_rows(lined.offsets, lined.items)[0])
        possible = self.channel.log_likelihood(lengths, np.diff(self.offsets), self.held_by(lined))
        return bool(np.all(possible > -np.inf))

    # --- what the attacks and measures ask ------------------------------------------------------

    def estimated_shares(self) -> FloatArray:
        """Return for each published item the unbiased estimate of the share of its holders.

        >>> from setveil.release import ItemChannel
        >>> table = TransactionTable.from_rows([["flu"], ["flu"], ["gout"], ["flu", "gout"]])
        >>> release, _ = publish_perturbed(table, ItemChannel(beta="1/10", domain=2))
        >>> release.estimated_shares().round(4).tolist()
        [0.8125, 0.5]
        """
        if self.channel.sizes is not None:
            names = self.vocabulary.names
            return np.array([self.expected_support([n]) for n in names]) / max(len(self), 1)
        absent, present = self._gains(1).tolist()
        supports = self.supports()
        estimates: FloatArray = supports * present + (len(self) - supports) * absent
        return estimates / max(len(self), 1)

    def cells(self, first: int, last: int) -> npt.NDArray[np.bool_]:
        """Return which of the published items records `first` to `last` - 1 show, as a matrix."""
        shown = np.zeros((last - first, len(self.vocabulary)), dtype=bool)
        lengths = np.diff(self.offsets[first : last + 1])
        rows = np.repeat(np.arange(last - first), lengths)
        shown[rows, self.items[self.offsets[first] : self.offsets[last]]] = True
        return shown

    def held_by(self, lined: TransactionTable) -> Int64Array:
        """Return for each record how many of its items the record of `lined` beside it holds.

        >>> from setveil.release import ItemChannel
        >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu"]])
        >>> release, _ = publish_perturbed(table, ItemChannel(beta="1/10", domain=2))
        >>> release.held_by(TransactionTable.from_rows([["flu"], ["hiv"]])).tolist()
        [1, 0]
        """
        place = self.vocabulary.numbers(lined.vocabulary.names).astype(np.int64)
        offsets, numbers = distinct_in_rows(lined.offsets, lined.items)
        records = np.repeat(np.arange(len(lined)), np.diff(offsets))
        here = place[numbers] if len(numbers) else numbers.astype(np.int64)
        width = np.int64(max(len(self.vocabulary), 1))
        theirs = (records * width + here)[here >= 0]
        mine = np.repeat(np.arange(len(self)), np.diff(self.offsets)) * width + self.items
        both = theirs[np.isin(theirs, mine, assume_unique=True)]
        return np.bincount(both // width, minlength=len(self))

    def _split_itemset(self, itemset: Iterable[str]) -> tuple[int | None, list[int]]:
        """Return how many items are asked for, and the numbers of those that are shown.

        No number where nobody can hold them: an item is not in the domain, or there are too many.
        """
        wanted = set(itemset)
        published = sorted(self.vocabulary.number(i) for i in wanted if i in self.vocabulary)
        there = len(wanted) - len(published) <= self.unseen and len(wanted) <= self.channel.longest
        return len(wanted) if there else None, published

    def _common(self, published: list[int]) -> Int64Array:
        """Return for each record how many of these items it shows."""
        common = np.zeros(len(self), dtype=np.int64)
        for item in published:
            common[self.records_of(item)] += 1
        return common

    @cached_property
    def _known_gains(self) -> dict[int, FloatArray]:
        return {}

    def _gains(self, m: int) -> FloatArray:
        if m not in self._known_gains:
            self._known_gains[m] = self.channel.estimator(m)
        return self._known_gains[m]

    # --- its bytes -----------------------------------------------------------------------------

    structure_fields: ClassVar[frozenset[str]] = frozenset({"beta", "domain", "sizes"})

    def structure(self) -> dict[str, Any]:
        """Return how chance worked."""
        channel = self.channel
        sizes = None if channel.sizes is None else [share_as_json(c) for c in channel.sizes]
        return {"beta": share_as_json(channel.beta), "domain": channel.domain, "sizes": sizes}

    @classmethod
    def rebuild(cls, rows: LabelledRows, structure: Mapping[str, Any]) -> Self:
        """Return the release of some records and how chance worked."""
        sizes = structure.get("sizes")
        if set(structure) != cls.structure_fields or not isinstance(sizes, list | None):
            raise ReleaseError("manifest.json is damaged: it does not say how chance worked")
        try:
            channel = ItemChannel(
                beta=structure["beta"],
                domain=structure["domain"],
                sizes=None if sizes is None else tuple(sizes),
            )
            return cls(**fields_of_rows(rows), channel=channel)
        except ParameterError as error:
            raise ReleaseError(f"the release is damaged: {error.what}") from None

    # --- its words -----------------------------------------------------------------------------

    def account_for(self, found: Occurrences, taxonomy: Taxonomy | None, k: int | None) -> Account:
        """Return what became of every original item, for the owner."""
        width = np.int64(len(self.vocabulary) + 1)
        place = {name: at for at, name in enumerate(self.vocabulary.names)}
        own = np.array([place.get(name, width - 1) for name in found.names], dtype=np.int64)
        published = np.repeat(np.arange(len(self)), np.diff(self.offsets)) * width + self.items
        true = np.isin(found.row * width + own[found.place], published)
        kept = found.counted(np.flatnonzero(true))
        gone = found.records - kept
        supports = np.append(self.supports(), 0)
        added = supports[own] - kept
        removed, invented = int(gone.sum()), len(self.items) - int(kept.sum())
        return found.account(
            kept=kept,
            gone=gone,
            became=tuple(
                f"by chance removed from {plural(less, 'record')} and added to {number(more)}"
                for less, more in zip(gone.tolist(), added.tolist(), strict=True)
            ),
            headline=f"Changes every record by chance: removes {number(removed)} of "
            f"{plural(len(found), 'entry', 'entries')} ({ENTRY}) and adds {number(invented)} that "
            "were not there.",
            stays=f"{number(int(kept.sum()))} of {plural(len(found), 'entry', 'entries')} stay; "
            f"nothing tells them from the {number(invented)} invented ones.",
            lost=entries_that(removed, "removed by chance."),
            computable=(
                (
                    "Estimates of all counts: how strong the noise is, is published. No count is "
                    "exact."
                ),
            ),
            treat=_Noise(
                keeps=int(kept.sum()) / max(len(found), 1),
                adds=invented / max(len(self), 1),
                names=self.vocabulary.names,
            ),
        )

    def export(self) -> Export:
        """Return the release as plain tables with their dictionary and an example."""
        channel = self.channel
        terms = self.terms(stands_for="itself, or noise")
        kept = (
            f"each item of a person was kept with chance {1 - channel.beta}"
            if channel.sizes is None
            else "a random part of each person's items was kept"
        )
        return export_records(
            self,
            self.labelled_rows,
            terms,
            meaning="Each record was randomized, so no single record is true for certain: "
            f"{kept}, and each of the other {channel.domain:,} possible items was added with "
            f"chance {channel.beta}. Do not count items as they stand: estimate, as below.",
            unit="randomized records",
            example=_randomized_example(self, commonest_terms(terms, 1)),
        )


def publish_perturbed(
    perturbed: TransactionTable, channel: ItemChannel
) -> tuple[PerturbedRelease, Key]:
    """Publish records that a mechanism has already changed, in canonical order.

    Parameters
    ----------
    perturbed
        The changed records.
    channel
        How they were changed.

    Returns
    -------
    tuple of PerturbedRelease and Key
        What may be published, and which record stands behind each published one.

    Examples
    --------
    >>> from setveil.release import ItemChannel
    >>> table = TransactionTable.from_rows([["flu"], ["flu", "gout"]])
    >>> release, key = publish_perturbed(table, ItemChannel(beta="1/10", domain=3))
    >>> release.to_rows(), key.records.tolist(), release.unseen
    ([['flu', 'gout'], ['flu']], [1, 0], 1)
    """
    used = occurring(perturbed.items)
    place = np.zeros(max(perturbed.n_items, 1), dtype=np.int32)
    place[used] = np.arange(len(used))
    names = [perturbed.vocabulary[i] for i in used.tolist()]
    return PerturbedRelease.of_recoded(perturbed, place, names, channel=channel)


# --- Drawing an original ---

CELLS = 4_000_000
"""Cells that are drawn at a time."""


def posterior_shares(release: PerturbedRelease) -> tuple[FloatArray, FloatArray]:
    """Return how likely a record holds each item that it shows, and each that it does not.

    Each item for itself: beforehand it is held with its estimated share, no less than 0 and no
    more than 1.

    >>> from setveil.release import ItemChannel, publish_perturbed
    >>> table = TransactionTable.from_rows([["flu"]] * 2 + [[]] * 2)
    >>> release, _ = publish_perturbed(table, ItemChannel(beta="1/4", domain=1))
    >>> [shares.tolist() for shares in posterior_shares(release)]
    [[0.75], [0.25]]
    """
    beta = float(release.channel.beta)
    share = np.clip(release.estimated_shares(), 0.0, 1.0)
    here, not_here = share * (1 - beta), share * beta
    return here / (here + (1 - share) * beta), not_here / (not_here + (1 - share) * (1 - beta))


def draw_items(release: PerturbedRelease, rng: np.random.Generator) -> TransactionTable:
    """Draw an original item by item, as :func:`posterior_shares` says."""
    here, not_here = posterior_shares(release)
    step = max(1, CELLS // max(len(here), 1))
    rows: list[Int64Array] = []
    for first in range(0, len(release), step):
        shown = release.cells(first, min(first + step, len(release)))
        held = rng.random(shown.shape) < np.where(shown, here, not_here)
        ends = np.cumsum(held.sum(axis=1))[:-1]
        rows += np.split(np.nonzero(held)[1], ends)
    return _table(release, rows)


def draw_sizes(release: PerturbedRelease, rng: np.random.Generator) -> TransactionTable:
    """Draw an original of which all lengths, and all sets of a length, were equally likely."""
    width = len(release.vocabulary)
    sizes = lru_cache(lambda shown: _sizes(release, shown))
    rows: list[Int64Array] = []
    for record in range(len(release)):
        bounds = release.offsets[record : record + 2].tolist()
        shown = release.items[slice(*bounds)].astype(np.int64)
        states, chances = sizes(len(shown))
        length, common = states[int(rng.choice(len(states), p=chances))]
        others = np.setdiff1d(np.arange(width), shown, assume_unique=True)
        kept = rng.choice(shown, common, replace=False)
        more = rng.choice(others, length - common, replace=False)
        rows.append(np.sort(np.concatenate([kept, more])))
    return _table(release, rows)


def _sizes(release: PerturbedRelease, shown: int) -> tuple[list[tuple[int, int]], FloatArray]:
    """Return how long an original may be with how many items in common, and how likely each is."""
    width, channel = len(release.vocabulary), release.channel
    states = [
        (length, common)
        for length in range(min(channel.longest, width) + 1)
        for common in range(max(0, length - (width - shown)), min(length, shown) + 1)
    ]
    lengths, both = np.array(states, dtype=np.int64).T
    ways = [
        math.log(math.comb(shown, c) * math.comb(width - shown, n - c))
        - math.log(math.comb(width, n))
        for n, c in states
    ]
    logs = np.array(ways) + channel.log_likelihood(lengths, np.full_like(lengths, shown), both)
    chances = np.exp(logs - logs.max())
    return states, chances / chances.sum()


def _table(release: PerturbedRelease, rows: Sequence[Int64Array]) -> TransactionTable:
    offsets = offsets_of([len(row) for row in rows])
    items = np.concatenate([np.zeros(0, dtype=np.int64), *rows]).astype(np.int32)
    return TransactionTable(offsets=offsets, items=items, vocabulary=release.vocabulary)


@dataclass(frozen=True)
class _Noise:
    """Changes a record as much as the records of a release were changed on average."""

    keeps: float
    adds: float
    names: tuple[str, ...]

    def __call__(self, items: Sequence[str]) -> list[str]:
        rng = np.random.default_rng(0)
        stay = set(rng.permutation(len(items))[: round(self.keeps * len(items))].tolist())
        other = [name for name in self.names if name not in set(items)]
        count = min(round(self.adds), len(other))
        drawn = sorted(rng.choice(len(other), count, replace=False).tolist()) if count else []
        shown = [f"{other[place]} (added)" for place in drawn[:ADDED]]
        more = count - len(shown)
        return [
            *(item if place in stay else REMOVED for place, item in enumerate(items)),
            *shown,
            *([f"and {number(more)} more (added)"] if more else []),
        ]


def _randomized_example(release: PerturbedRelease, items: Sequence[str]) -> Example:
    if not items or release.channel.is_noise:
        return Example(rows_example(release.to_rows(), ()), load_example(release))
    n, item = len(release), items[0]
    beta = release.channel.beta
    shown = len(release.records_of(release.vocabulary.number(item)))
    lines = [
        "import polars as pl",
        "",
        'records = pl.read_parquet("data/records.parquet")',
        'n = records["record"].n_unique()',
        f'shown = records.filter(pl.col("item") == {literal(item)}).height',
        f"print(n, shown)  # {n} {shown}",
    ]
    if release.channel.sizes is None:
        estimate = float((shown - n * beta) / (1 - 2 * beta))
        lines += [
            f"beta = {beta.numerator} / {beta.denominator}",
            "estimate = (shown - n * beta) / (1 - 2 * beta)",
            f'print(f"{{estimate:.1f}}")  # {estimate:.1f}',
        ]
    try:
        expected = release.expected_support([item])
    except NotApplicable:  # the published sizes tell too little
        return Example("\n".join(lines), load_example(release))
    asked = [
        *LOAD,
        f"estimate = release.expected_support([{literal(item)}])",
        f'print(f"{{estimate:.1f}}")  # {expected:.1f}',
    ]
    return Example("\n".join(lines), "\n".join(asked))
