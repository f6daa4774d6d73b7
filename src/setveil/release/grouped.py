"""Releases of records in groups: exact ordinary items, and a sensitive summary for each group."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.table import Int32Array, Int64Array, TransactionTable, Vocabulary, frozen
from setveil.release import group_checks
from setveil.release.base import Bounds, Key, Matches, Release
from setveil.release.rows import neighbour_order
from setveil.release.views import CertainItems, Images

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import polars as pl

    from setveil.core.taxonomy import Taxonomy
    from setveil.release.views import PublishedRows


@dataclass(frozen=True)
class Group:
    """What is published of some records: their ordinary items, and what is sensitive among them.

    Parameters
    ----------
    number
        Its place in the release.
    rows
        The ordinary items of each record, longer records first, then by content.
    parts
        Sets of sensitive items with how many records of the group hold them.

    Examples
    --------
    >>> Group(0, (("meat", "wine"), ("wine",)), ((("flu",), 1), (("gout", "hiv"), 1))).histogram
    {'flu': 1, 'gout': 1, 'hiv': 1}
    """

    number: int
    rows: tuple[tuple[str, ...], ...]
    parts: tuple[tuple[tuple[str, ...], int], ...]

    @property
    def histogram(self) -> dict[str, int]:
        """For each sensitive item how many of the group's records hold it."""
        found: dict[str, int] = {}
        for items, count in self.parts:
            for item in items:
                found[item] = found.get(item, 0) + count
        return dict(sorted(found.items()))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GroupedRelease(Release):
    """Groups of records whose ordinary items are published as they are, and nothing else of each.

    What is sensitive is published for the group only. Either as a *histogram*: how many of its
    records hold each sensitive item; or as *parts* (`whole`): the bag of the non-empty sensitive
    parts of its records, so that sensitive items of one record stay together. Parts may also be
    *dealt* out: each stands beside a record of the group that was drawn at random.

    An original is allowed (a *world*) when its records have the ordinary items that are published
    for their slots, when in every group each sensitive item stands in as many records as the
    histogram says (or the sensitive parts of its records are those of the bag), and when nothing
    else is in any record. A dealt release allows the same worlds: the deal says nothing.

    Records are sorted by their ordinary items within each group, parts by content, and groups by
    what is published of them: positions link nothing.

    Parameters
    ----------
    vocabulary
        The names of the published items; each occurs.
    starts
        Group `g` has the record slots ``starts[g]`` to ``starts[g + 1]``.
    offsets, items
        The ordinary items of slot `j` are ``items[offsets[j]:offsets[j + 1]]``, ascending.
    part_starts
        Group `g` has the sensitive parts ``part_starts[g]`` to ``part_starts[g + 1]``.
    part_offsets, part_items
        Part `q` is ``part_items[part_offsets[q]:part_offsets[q + 1]]``, ascending; of a histogram
        it is a single item.
    counts
        How many records of its group hold each part.
    whole
        Whether parts are all that is sensitive in a record, and not single items of a histogram.
    dealt
        For each slot the part that stands beside it, -1 for none; None where parts are listed.

    Examples
    --------
    >>> from setveil.release.grouping import publish_grouped
    >>> table = TransactionTable.from_rows([["wine", "viagra"], ["wine"], ["cream"]])
    >>> release, key = publish_grouped(table, [0, 0, 1], ["viagra"])
    >>> release.group(0).rows, release.group(0).histogram
    ((('wine',), ('wine',)), {'viagra': 1})
    >>> release.support_bounds(["wine", "viagra"]), release.support_bounds(["cream", "viagra"]).high
    (Bounds(low=1, high=1, tight=True), 0)
    >>> release.matches(["wine", "viagra"]).weights.tolist()
    [0.5, 0.5]
    """

    form: ClassVar[str] = "grouped"
    builder: ClassVar[str] = "publish_grouped"

    vocabulary: Vocabulary
    starts: Int64Array
    offsets: Int64Array
    items: Int32Array
    part_starts: Int64Array
    part_offsets: Int64Array
    part_items: Int32Array
    counts: Int64Array
    whole: bool
    dealt: Int64Array | None = None

    def __post_init__(self) -> None:
        for name in ("starts", "offsets", "part_starts", "part_offsets", "counts"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        for name in ("items", "part_items"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int32))
        if self.dealt is not None:
            object.__setattr__(self, "dealt", frozen(self.dealt, np.int64))
        wrong = group_checks.first_fault(self)
        if wrong is not None:
            raise ParameterError(wrong, fix=f"build releases with {self.builder}")

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self):,} records in {len(self.sizes):,} groups, "
            f"{len(self.vocabulary):,} items, {np.count_nonzero(self.is_sensitive):,} sensitive>"
        )

    # --- views --------------------------------------------------------------------------------

    @cached_property
    def sizes(self) -> Int64Array:
        """Records per group."""
        return np.diff(self.starts)

    @cached_property
    def group_of(self) -> Int64Array:
        """The group of each record slot."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def group_of_part(self) -> Int64Array:
        """The group of each sensitive part."""
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.part_starts))

    @cached_property
    def is_sensitive(self) -> np.typing.NDArray[np.bool_]:
        """Which items of the vocabulary are published for groups only."""
        return np.bincount(self.part_items, minlength=len(self.vocabulary)) > 0

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The names of the items that are published for groups only."""
        return tuple(self.vocabulary[i] for i in np.flatnonzero(self.is_sensitive).tolist())

    @cached_property
    def occurrences(self) -> int:
        """How many items the records hold in all, the sensitive ones included."""
        return len(self.items) + int(self.counts @ np.diff(self.part_offsets))

    def group(self, number: int) -> Group:
        """Return one group as an object."""
        first, last = self.starts[number : number + 2].tolist()
        rows = self._named(self.offsets[first : last + 1], self.items)
        first, last = self.part_starts[number : number + 2].tolist()
        parts = self._named(self.part_offsets[first : last + 1], self.part_items)
        counted = zip(map(tuple, parts), self.counts[first:last].tolist(), strict=True)
        return Group(number, tuple(map(tuple, rows)), tuple(counted))

    @property
    def groups(self) -> Iterator[Group]:
        """All groups, one after the other."""
        return (self.group(number) for number in range(len(self.sizes)))

    def to_rows(self) -> list[list[str]]:
        """Return the records, group by group, then the sensitive parts as often as they occur.

        Of a dealt release: the records with the parts that were dealt to them.
        """
        rows = self._named(self.offsets, self.items)
        parts = self._named(self.part_offsets, self.part_items)
        if self.dealt is None:
            repeated = zip(parts, self.counts.tolist(), strict=True)
            return rows + [list(part) for part, count in repeated for _ in range(count)]
        return [
            sorted([*row, *parts[part]]) if part >= 0 else row
            for row, part in zip(rows, self.dealt.tolist(), strict=True)
        ]

    def _named(self, offsets: Int64Array, items: Int32Array) -> list[list[str]]:
        bounds = offsets.tolist()
        start = bounds[0]
        flat = [self.vocabulary[i] for i in items[start : bounds[-1]].tolist()]
        return [flat[a - start : b - start] for a, b in pairwise(bounds)]

    def to_frame(self) -> pl.DataFrame:
        """Return a long frame: ``group``, ``kind``, ``row``, ``item`` and ``count``.

        The kind is ``record`` or ``sensitive``; rows are counted within the group and kind. A
        record without items has one line, whose item is null.
        """
        from setveil.release.group_frame import group_frame

        return group_frame(self)

    # --- the records in one shape, and what became of the items ---------------------------------

    def published_rows(self) -> PublishedRows:
        """Refuse: what is sensitive does not stand beside its record."""
        raise NotApplicable(
            f"a release of {len(self):,} records in groups does not show whole records",
            fix="ask for privacy-degree instead",
        )

    def images(
        self, original: TransactionTable, key: Key | None = None, taxonomy: Taxonomy | None = None
    ) -> Images:
        """Return that every occurrence is published as itself, if not always beside its record."""
        kept = len(original.items) if len(self) == len(original) else self.occurrences
        return Images.unchanged(kept, original)

    def certain_items(self, taxonomy: Taxonomy | None = None) -> CertainItems:
        """Return the ordinary items of each record, and what follows from its group."""
        return _CertainInGroups(
            offsets=self.offsets,
            items=self.items.astype(np.int64),
            names=self.vocabulary.names,
            groups=self,
        )

    def certain_table(
        self, original: TransactionTable, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Return the records without sensitive items, then every sensitive part."""
        parts = TransactionTable(
            offsets=self.part_offsets, items=self.part_items, vocabulary=self.vocabulary
        ).take(np.repeat(np.arange(len(self.counts)), self.counts))
        return TransactionTable(
            offsets=np.concatenate([self.offsets, len(self.items) + parts.offsets[1:]]),
            items=np.concatenate([self.items, parts.items]),
            vocabulary=self.vocabulary,
        )

    def leaves_published(self) -> Int64Array:
        """Return 1 for each item that the records hold: it stands for itself."""
        return np.ones(self.occurrences, dtype=np.int64)

    def as_groups(self) -> GroupedRelease:
        """Return the release itself."""
        return self

    # --- the four verbs -----------------------------------------------------------------------

    def matches(self, known_items: Iterable[str], taxonomy: Taxonomy | None = None) -> Matches:
        """Return the record slots that can have all known items.

        Those are the slots with all known ordinary items, in groups that can give a record the
        known sensitive ones. Each weighs the chance that :meth:`sample_world` does so: the
        product of the items' shares of the group, or the share of the parts that hold them all.
        A slot is one candidate, for it shows a record's ordinary items. Slots of a group that show
        the same ones cannot be told apart: together they stand for no more candidates than
        records of the group can hold the known sensitive items.
        """
        asked = self._asked(known_items)
        if asked is None:
            return Matches(records=np.zeros(0, dtype=np.int64), weights=np.zeros(0))
        slots, held = self._holders(asked[0]), self._held(asked[1])
        group, alike = self.group_of[slots], self._alike[slots].astype(np.float64)
        weights, candidates = np.ones(len(slots)), alike
        for counts in held:
            weights *= (counts / self.sizes)[group]
            candidates = np.minimum(candidates, counts[group])
        found = Matches(records=slots, weights=weights, counts=candidates / alike)
        return found.where(weights > 0)

    def support_bounds(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> Bounds:
        """Return the least and greatest support of `itemset` over all worlds.

        Groups are independent, so their bounds add up. Where a of n records hold the ordinary
        items, and the sensitive ones are held by c₁ … c_h records, all are held by at least
        a + Σ cᵢ − hn records and at most by the fewest of these. Both ends are attained.
        """
        asked = self._asked(itemset)
        if asked is None:
            return Bounds(low=0, high=0)
        slots, held = self._holders(asked[0]), self._held(asked[1])
        low = high = np.bincount(self.group_of[slots], minlength=len(self.sizes))
        for counts in held:
            low, high = low + counts - self.sizes, np.minimum(high, counts)
        return Bounds(low=int(np.maximum(low, 0).sum()), high=int(high.sum()))

    def expected_support(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> float:
        """Return the exact mean of the support of `itemset` over :meth:`sample_world`."""
        return float(self.matches(itemset).weights.sum())

    def sample_world(
        self,
        rng: np.random.Generator,
        taxonomy: Taxonomy | None = None,
    ) -> TransactionTable:
        """Draw one world; records come slot by slot. All worlds are equally likely.

        For a histogram, each item is put into so many distinct records of its group, whatever
        else these hold; for whole parts, each part into a record of its own.
        """
        from setveil.release.grouping import drawn_world

        return drawn_world(self, rng)

    def is_consistent_with(
        self,
        original: TransactionTable,
        key: Key,
        taxonomy: Taxonomy | None = None,
    ) -> bool:
        """Tell whether `original`, lined up by `key`, could have given this release."""
        from setveil.release.grouping import gives

        return gives(self, original, key)

    # --- who holds what -----------------------------------------------------------------------

    def _asked(self, itemset: Iterable[str]) -> tuple[list[int], list[int]] | None:
        """Return the ordinary and the sensitive items of a set; None where one is nobody's."""
        wanted = dict.fromkeys(itemset)
        if not all(name in self.vocabulary for name in wanted):
            return None
        numbers = [self.vocabulary.number(name) for name in wanted]
        sensitive = self.is_sensitive
        return [i for i in numbers if not sensitive[i]], [i for i in numbers if sensitive[i]]

    def _holders(self, ordinary: list[int]) -> Int64Array:
        """Return the slots that hold all of some ordinary items, ascending."""
        return _meet([_posted(self._by_item, item) for item in ordinary], len(self))

    def _held(self, sensitive: list[int]) -> list[Int64Array]:
        """Return how many records of each group hold sensitive items: each, or all if whole."""
        if not sensitive:
            return []
        parts = [_posted(self._by_part_item, item) for item in sensitive]
        if self.whole:
            parts = [_meet(parts, len(self.counts))]
        counted = []
        for of_item in parts:
            held = np.zeros(len(self.sizes), dtype=np.int64)
            np.add.at(held, self.group_of_part[of_item], self.counts[of_item])
            counted.append(held)
        return counted

    @cached_property
    def _alike(self) -> Int64Array:
        """For each slot how many slots of its group show the same ordinary items."""
        new = np.ones(len(self), dtype=bool)
        new[1:] = (neighbour_order(self.offsets, self.items) != 0) | (np.diff(self.group_of) > 0)
        run = np.cumsum(new) - 1
        alike: Int64Array = np.bincount(run)[run]
        return alike

    @cached_property
    def _by_item(self) -> tuple[Int64Array, Int64Array]:
        return _postings(self.offsets, self.items, len(self.vocabulary))

    @cached_property
    def _by_part_item(self) -> tuple[Int64Array, Int64Array]:
        return _postings(self.part_offsets, self.part_items, len(self.vocabulary))


@dataclass(frozen=True, kw_only=True, eq=False)
class _CertainInGroups(CertainItems):
    """What records show, and what the sensitive parts of their groups imply."""

    groups: GroupedRelease

    def _implied(self, chosen: Int64Array, known: Collection[str]) -> frozenset[str]:
        """Add the sensitive items that each of some slots holds for certain.

        In a group these are the items that all its records hold, and those that stand in every
        part with the known sensitive items.
        """
        shown, release = super()._implied(chosen, known), self.groups
        names, secret = release.vocabulary, release.is_sensitive
        asked = {i for i in (names.number(name) for name in known if name in names) if secret[i]}
        common: set[int] | None = None
        for group in np.unique(release.group_of[chosen]).tolist():
            held: Counter[int] = Counter()
            matching = []
            for q in range(*release.part_starts[group : group + 2].tolist()):
                part = release.part_items[slice(*release.part_offsets[q : q + 2])].tolist()
                held.update(dict.fromkeys(part, int(release.counts[q])))
                if release.whole and asked and asked <= set(part):
                    matching.append(set(part))
            sure = {i for i, count in held.items() if count == release.sizes[group]}
            if matching:
                sure |= set.intersection(*matching)
            common = sure if common is None else common & sure
            if not common:
                return shown
        return shown | frozenset(names[i] for i in common or ())


def _postings(
    offsets: Int64Array, items: Int32Array, n_items: int
) -> tuple[Int64Array, Int64Array]:
    """Return the rows of each item, one item after the other, and where each item's begin."""
    order = np.argsort(items, kind="stable")
    row = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    return np.searchsorted(items[order], np.arange(n_items + 1)), row[order]


def _posted(postings: tuple[Int64Array, Int64Array], item: int) -> Int64Array:
    starts, rows = postings
    return rows[starts[item] : starts[item + 1]]


def _meet(lists: list[Int64Array], n: int) -> Int64Array:
    """Return what all ascending lists have in common; of no lists, all n numbers."""
    if not lists:
        return np.arange(n, dtype=np.int64)
    first, *others = sorted(lists, key=len)
    for more in others:
        first = np.intersect1d(first, more, assume_unique=True)
    return first
