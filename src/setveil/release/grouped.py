"""Releases of records in groups: exact ordinary items, and a sensitive summary for each group."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from setveil.core.arrays import (
    Int32Array,
    Int64Array,
    RowsByItem,
    neighbour_order,
    occurring,
    offsets_of,
)
from setveil.core.errors import NotApplicable, ParameterError, ReleaseError
from setveil.core.table import TransactionTable, Vocabulary, canonical_order, frozen, take_rows
from setveil.core.words import number, one_or_many, plural
from setveil.release import group_parts
from setveil.release.account import (
    Account,
    ChangedTerms,
    Occurrences,
    exact_counts,
    items_removed,
    items_that_stay,
    least_size,
)
from setveil.release.base import Bounds, Key, Matches, Release
from setveil.release.data_file import LabelledRows
from setveil.release.export import (
    ITEM,
    Example,
    Export,
    PlainTable,
    Term,
    ask_example,
    commonest_terms,
    literal,
)
from setveil.release.group_parts import Parts, group_keys, parts_by_group, split_rows
from setveil.release.manifest import read_counts
from setveil.release.views import CertainItems, Images, LabelCounts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt
    import polars as pl

    from setveil.core.records import Records
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.views import PublishedRows


LISTED = frozenset({"sizes", "parts", "counts", "whole"})
DEALT = frozenset({"sizes", "sensitive"})
"""What a manifest says of groups, whose sensitive parts are listed or dealt out."""


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
    >>> from setveil.release.grouped import publish_grouped
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
    shows_lengths: ClassVar[bool] = False

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
        wrong = group_parts.first_fault(self)
        if wrong is not None:
            raise ParameterError(wrong, fix=f"build releases with {self.builder}")

    @classmethod
    def of_parts(
        cls,
        vocabulary: Vocabulary,
        starts: Int64Array,
        rows: tuple[Int64Array, Int32Array],
        parts: Parts,
        *,
        whole: bool,
        dealt: Int64Array | None = None,
    ) -> GroupedRelease:
        """Return the release of some groups of records and their sensitive parts."""
        return cls(
            vocabulary=vocabulary,
            starts=starts,
            offsets=rows[0],
            items=rows[1],
            part_starts=parts.starts,
            part_offsets=parts.offsets,
            part_items=parts.items,
            counts=parts.counts,
            whole=whole,
            dealt=dealt,
        )

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self):,} records in {len(self.sizes):,} groups, "
            f"{len(self.vocabulary):,} items, {np.count_nonzero(self.is_sensitive):,} sensitive>"
        )

    # --- views --------------------------------------------------------------------------------

    @property
    def all_parts(self) -> Parts:
        """The sensitive parts of all groups."""
        return Parts(self.part_starts, self.part_offsets, self.part_items, self.counts)

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
        rows = self._by_name(self.offsets[first : last + 1], self.items)
        first, last = self.part_starts[number : number + 2].tolist()
        parts = self._by_name(self.part_offsets[first : last + 1], self.part_items)
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
        if self.dealt is not None:
            return list(self.data_rows().rows())
        parts = self._by_name(self.part_offsets, self.part_items)
        repeated = zip(parts, self.counts.tolist(), strict=True)
        return self._by_name(self.offsets, self.items) + [
            list(part) for part, count in repeated for _ in range(count)
        ]

    def _by_name(self, offsets: Int64Array, items: Int32Array) -> list[list[str]]:
        return list(LabelledRows(offsets, items, self.vocabulary.names).rows())

    def to_frame(self) -> pl.DataFrame:
        """Return a long frame: ``group``, ``kind``, ``row``, ``item`` and ``count``.

        The kind is ``record`` or ``sensitive``; rows are counted within the group and kind. A
        record without items has one line, whose item is null.

        >>> table = TransactionTable.from_rows([["wine", "flu"], ["flu"]])
        >>> release, _ = publish_grouped(table, [0, 0], ["flu"])
        >>> release.to_frame().rows()
        [(0, 'record', 0, 'wine', 1), (0, 'record', 1, None, 1), (0, 'sensitive', 0, 'flu', 2)]
        """
        ones = np.ones(len(self), dtype=np.int64)
        if self.dealt is not None:
            offsets, items, _ = self.data_rows()
            return _frame_lines(self, "record", self.starts, (offsets, items), ones)
        rows = (self.offsets, self.items)
        frame = _frame_lines(self, "record", self.starts, rows, ones)
        parts = (self.part_offsets, self.part_items)
        listed = _frame_lines(self, "sensitive", self.part_starts, parts, self.counts)
        return frame.vstack(listed)

    # --- the records in one shape, and what became of the items ---------------------------------

    def published_rows(self) -> PublishedRows:
        """Refuse: what is sensitive does not stand beside its record."""
        raise NotApplicable(
            f"a release of {len(self):,} records in groups does not show whole records",
            fix="ask for privacy-degree instead",
        )

    def images(
        self,
        original: Records,
        key: Key | None = None,
        taxonomy: Taxonomy | None = None,
        *,
        whole: Release | None = None,
    ) -> Images:
        """Return that every occurrence is published as itself, if not always beside its record."""
        held = int(original.occurrences().sum())
        kept = held if len(self) == original.n_records else self.occurrences
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
        self, original: Records, taxonomy: Taxonomy | None = None
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

    def label_counts(self) -> LabelCounts:
        """Return how often any item is published: each stands for itself."""
        return LabelCounts(np.array([self.occurrences]), np.ones(1, dtype=np.int64))

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
        asked = self._split_itemset(known_items)
        if asked is None:
            return Matches(records=np.zeros(0, dtype=np.int64), weights=np.zeros(0))
        slots, held = self._holders(asked[0]), self._count_holders(asked[1])
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
        asked = self._split_itemset(itemset)
        if asked is None:
            return Bounds(low=0, high=0)
        slots, held = self._holders(asked[0]), self._count_holders(asked[1])
        low = high = np.bincount(self.group_of[slots], minlength=len(self.sizes))
        for counts in held:
            low, high = low + counts - self.sizes, np.minimum(high, counts)
        return Bounds(low=int(np.maximum(low, 0).sum()), high=int(high.sum()))

    def expected_support(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> float:
        """Return the exact mean of the support of `itemset` over :meth:`sample_world`."""
        return float(self.matches(itemset).weights.sum())

    def sample_world(
        self, rng: np.random.Generator, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Draw one world; records come slot by slot. All worlds are equally likely.

        For a histogram, each item is put into so many distinct records of its group, whatever
        else these hold; for whole parts, each part into a record of its own.
        """
        rows = (
            self._with_parts(_deal_by(self, rng.random(len(self))))
            if self.whole
            else self._with_items(*_scatter(self, rng))
        )
        return TransactionTable(offsets=rows[0], items=rows[1], vocabulary=self.vocabulary)

    def is_consistent_with(
        self, original: TransactionTable, key: Key, taxonomy: Taxonomy | None = None
    ) -> bool:
        """Tell whether `original`, lined up by `key`, could have given this release."""
        fits = len(key) == len(self) == len(original)
        if not fits or not np.array_equal(np.sort(key.records), np.arange(len(original))):
            return False
        lined_up = original.take(key.records)
        items = self.vocabulary.numbers(original.vocabulary.names)[lined_up.items]
        if items.min(initial=0) < 0:
            return False
        renamed = TransactionTable(
            offsets=lined_up.offsets, items=items, vocabulary=self.vocabulary
        )
        ordinary, secret = split_rows(renamed, self.is_sensitive)
        parts, _ = parts_by_group(self.group_of, len(self.sizes), secret, whole=self.whole)
        given: tuple[npt.NDArray[Any], ...] = (*ordinary, *parts)
        there: tuple[npt.NDArray[Any], ...] = (self.offsets, self.items, *self.all_parts)
        return all(map(np.array_equal, given, there))

    # --- who holds what -----------------------------------------------------------------------

    def _split_itemset(self, itemset: Iterable[str]) -> tuple[list[int], list[int]] | None:
        """Return the ordinary and the sensitive items of a set; None where one is nobody's."""
        wanted = dict.fromkeys(itemset)
        if not all(name in self.vocabulary for name in wanted):
            return None
        numbers = [self.vocabulary.number(name) for name in wanted]
        sensitive = self.is_sensitive
        return [i for i in numbers if not sensitive[i]], [i for i in numbers if sensitive[i]]

    def _holders(self, ordinary: list[int]) -> Int64Array:
        """Return the slots that hold all of some ordinary items, ascending."""
        return self._by_item.holding_all(ordinary, len(self))

    def _count_holders(self, sensitive: list[int]) -> list[Int64Array]:
        """Return how many records of each group hold sensitive items: each, or all if whole."""
        if not sensitive:
            return []
        if self.whole:
            parts = [self._by_part_item.holding_all(sensitive, len(self.counts))]
        else:
            parts = [self._by_part_item.holding(item) for item in sensitive]
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
    def _by_item(self) -> RowsByItem:
        return RowsByItem.of(self.offsets, self.items, len(self.vocabulary))

    @cached_property
    def _by_part_item(self) -> RowsByItem:
        return RowsByItem.of(self.part_offsets, self.part_items, len(self.vocabulary))

    # --- its bytes -----------------------------------------------------------------------------

    structure_fields: ClassVar[frozenset[str]] = LISTED | DEALT

    def data_rows(self) -> LabelledRows:
        """Return all records, then all sensitive parts; of a dealt release whole records.

        >>> table = TransactionTable.from_rows([["wine", "flu"], ["flu"]])
        >>> release, _ = publish_grouped(table, [0, 0], ["flu"])
        >>> release.data_rows().offsets.tolist(), release.structure()
        ([0, 1, 1, 2], {'sizes': [2], 'parts': [1], 'counts': [2], 'whole': False})
        """
        if self.dealt is None:
            ends = len(self.items) + self.part_offsets[1:]
            items = np.concatenate([self.items, self.part_items])
            offsets = np.concatenate([self.offsets, ends])
            return LabelledRows(offsets, items, self.vocabulary.names)
        return LabelledRows(*self._with_parts(self.dealt), self.vocabulary.names)

    def _with_parts(self, dealt: Int64Array) -> tuple[Int64Array, Int32Array]:
        """Return whole records as compressed rows: each slot with the part dealt to it, if any."""
        given = np.flatnonzero(dealt >= 0)
        offsets, items = take_rows(self.part_offsets, self.part_items, dealt[given])
        return self._with_items(np.repeat(given, np.diff(offsets)), items)

    def _with_items(self, slots: Int64Array, items: Int32Array) -> tuple[Int64Array, Int32Array]:
        """Return the records as compressed rows, with further items in some slots."""
        width = np.int64(max(len(self.vocabulary), 1))
        record = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        keys = np.concatenate([record * width + self.items, slots * width + items])
        keys.sort()
        bounds = np.searchsorted(keys, np.arange(len(self) + 1) * width)
        return bounds, (keys % width).astype(np.int32)

    def structure(self) -> dict[str, Any]:
        """Return how the rows belong together.

        ``sizes``: records per group. Where parts are listed: ``parts``, their number per group,
        ``counts``, how many records hold each, and ``whole``. Where they are dealt: ``sensitive``,
        the names of the items that were dealt.
        """
        sizes = self.sizes.tolist()
        if self.dealt is not None:
            return {"sizes": sizes, "sensitive": list(self.sensitive)}
        return {
            "sizes": sizes,
            "parts": np.diff(self.part_starts).tolist(),
            "counts": self.counts.tolist(),
            "whole": self.whole,
        }

    @classmethod
    def rebuild(cls, rows: LabelledRows, structure: Mapping[str, Any]) -> GroupedRelease:
        """Return the release of some rows and a structure, or say what is wrong with them.

        >>> from setveil.release.data_file import LabelledRows
        >>> GroupedRelease.rebuild(LabelledRows.of([["a"]]), {"sizes": "many", "sensitive": []})
        Traceback (most recent call last):
        setveil.core.errors.ReleaseError: manifest.json is damaged: 'sizes' is no list of counts
        """
        vocabulary = Vocabulary(names=tuple(rows.labels))
        offsets, items = rows.offsets, rows.items
        if set(structure) not in (LISTED, DEALT):
            raise ReleaseError("manifest.json is damaged: it does not say how records are grouped")
        sizes = read_counts(structure, "sizes")
        starts = offsets_of(sizes)
        if set(structure) == DEALT:
            return _rebuild_dealt(vocabulary, offsets, items, starts, structure["sensitive"])
        parts, counts = read_counts(structure, "parts"), read_counts(structure, "counts")
        n, q = int(sizes.sum()), int(parts.sum())
        if len(parts) != len(sizes) or len(counts) != q or not isinstance(structure["whole"], bool):
            raise ReleaseError("manifest.json is damaged: its lists of groups do not fit")
        if n + q != len(offsets) - 1:
            raise ReleaseError(
                f"the data holds {len(offsets) - 1:,} rows, the manifest says {n:,} records and "
                f"{q:,} sensitive parts"
            )
        ordinary = offsets[: n + 1], items[: offsets[n]]
        listed = Parts(offsets_of(parts), offsets[n:] - offsets[n], items[offsets[n] :], counts)
        return cls.of_parts(vocabulary, starts, ordinary, listed, whole=structure["whole"])

    # --- its words -----------------------------------------------------------------------------

    def account_for(self, found: Occurrences, taxonomy: Taxonomy | None, k: int | None) -> Account:
        """Return what became of every original item, for the owner."""
        apart = set(self.sensitive)
        secret = found.among(apart)
        shown = found.among(self.vocabulary) & ~secret
        gone = ~shown & ~secret
        ordinary, sensitive = int(np.count_nonzero(shown)), int(np.count_nonzero(secret))
        filled = np.unique(self.group_of_part)
        least = least_size(self.sizes[filled] if len(filled) else self.sizes)
        size = f"groups of at least {plural(least, 'record')}"
        dealt = self.dealt is not None
        those = one_or_many(
            sensitive, "the sensitive one", f"the {number(sensitive)} sensitive ones"
        )
        fate = f"shuffles {those} inside {size}" if dealt else f"publishes {those} only for {size}"
        if not sensitive:
            headline = f"Keeps all {plural(ordinary, 'item')} as they are."
        else:
            headline = (
                f"Keeps the {plural(ordinary, 'ordinary item')} as "
                f"{one_or_many(ordinary, 'it is', 'they are')} and {fate}: who has which is hidden."
            )
        said = "shuffled within its group" if dealt else "published for its group only"
        how = "shuffled" if dealt else "listed"
        beside = f"{how} in a group of at least {plural(least, 'record')}"
        return found.account(
            kept=shown,
            coarser=secret,
            gone=gone,
            became=tuple(
                said if hidden else "stays as it is" if plain else "removed"
                for hidden, plain in zip(secret.tolist(), shown.tolist(), strict=True)
            ),
            headline=headline,
            stays=items_that_stay(found, shown),
            coarse=f"{plural(sensitive, 'sensitive item')} "
            f"{one_or_many(sensitive, 'is', 'are')} {how} "
            f"inside {plural(len(filled), 'group')} of records."
            if sensitive
            else "",
            lost=items_removed(found, gone),
            computable=(
                exact_counts(ordinary),
                _sensitive_counts(sensitive, whole=self.whole),
                "Ordinary and sensitive items together can only be estimated, group by group."
                if sensitive
                else "",
            ),
            treat=lambda items: [f"{item} ({beside})" if item in apart else item for item in items],
        )

    def changed_terms(self, most: int) -> list[ChangedTerms]:
        """Return which items were set apart from most records."""
        total = Counter[str]()
        for group in self.groups:
            total.update(group.histogram)
        rows = [[item, number(times)] for item, times in total.most_common(most)]
        how = (
            f"Counted per group ({plural(len(self.sizes), 'group')} in all), apart from the "
            "records: nobody sees which of a group's records they belong to."
        )
        return [ChangedTerms("Set apart from their records", ["item", "times"], rows, how)][
            : len(rows)
        ]

    def export(self) -> Export:
        """Return the release as plain tables with their dictionary and an example."""
        frame = self.to_frame()
        sensitive = set(self.sensitive)
        totals = np.zeros(len(self.vocabulary), dtype=np.int64)
        np.add.at(totals, self.items, 1)
        lengths = np.diff(self.part_offsets)
        np.add.at(totals, self.part_items, np.repeat(self.counts, lengths))
        terms = [
            Term(
                name,
                "sensitive item" if name in sensitive else "item",
                "itself",
                int(total),
                int(total),
            )
            for name, total in zip(self.vocabulary.names, totals.tolist(), strict=True)
        ]
        group = "Number of the group, from 0."
        tables: tuple[PlainTable, ...]
        if self.dealt is not None:
            tables = (
                PlainTable(
                    name="records",
                    frame=frame.select("group", record="row", item="item"),
                    about="Each line is an item of a record of a group.",
                    columns={
                        "group": group,
                        "record": "Number of the record within its group, from 0.",
                        "item": ITEM,
                    },
                ),
            )
            dealt = (
                "The sensitive items of a group were dealt out to its records at random: which "
                "record of a group shows them means nothing, only how many do."
            )
        else:
            tables = _group_tables(self, frame)
            dealt = (
                "The table qit has the other items of each record. The table st says for each "
                "group how often sensitive items occur in it, and not in which record."
            )
        return Export(
            meaning="The records stand in groups. Which sensitive items occur is published for a "
            f"group as a whole. {dealt}",
            tables=tables,
            terms=tuple(terms),
            unit="records",
            example=_group_example(self, terms),
        )


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


def _rebuild_dealt(
    vocabulary: Vocabulary,
    offsets: Int64Array,
    items: Int32Array,
    starts: Int64Array,
    sensitive: object,
) -> GroupedRelease:
    if not isinstance(sensitive, list) or not all(
        isinstance(name, str) and name in vocabulary for name in sensitive
    ):
        raise ReleaseError("manifest.json is damaged: it names sensitive items that do not occur")
    if starts[-1] != len(offsets) - 1 or np.any(np.diff(starts) == 0):
        raise ReleaseError(
            f"the data holds {len(offsets) - 1:,} records, the manifest says {starts[-1]:,} in "
            f"{len(starts) - 1:,} groups"
        )
    hidden = np.zeros(len(vocabulary), dtype=bool)
    hidden[[vocabulary.number(name) for name in sensitive]] = True
    table = TransactionTable(offsets=offsets, items=items, vocabulary=vocabulary)
    if table.is_bag:
        raise ReleaseError("a record of the data holds an item twice")
    ordinary, secret = split_rows(table, hidden)
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    parts, kind_of = parts_by_group(group, len(starts) - 1, secret, whole=True)
    return GroupedRelease.of_parts(vocabulary, starts, ordinary, parts, whole=True, dealt=kind_of)


def _sensitive_counts(sensitive: int, *, whole: bool) -> str:
    if not sensitive:
        return ""
    how = "alone or together" if whole else "one by one"
    return f"Exactly, too: counts of the {plural(sensitive, 'sensitive item')}, {how}."


def _group_tables(release: GroupedRelease, frame: pl.DataFrame) -> tuple[PlainTable, PlainTable]:
    import polars as pl

    group = "Number of the group, from 0."
    together = "A set of sensitive items of one record" if release.whole else "A sensitive item"
    rows, parts = (frame.filter(pl.col("kind") == kind) for kind in ("record", "sensitive"))
    return (
        PlainTable(
            name="qit",
            frame=rows.select("group", "row", "item"),
            about="Each line is an item of a record of a group, sensitive ones left out.",
            columns={
                "group": group,
                "row": "Number of the record within its group, from 0.",
                "item": ITEM,
            },
        ),
        PlainTable(
            name="st",
            frame=parts.select("group", part="row", item="item", count="count"),
            about="Each line is a sensitive item of a group.",
            columns={
                "group": group,
                "part": f"{together} has one number within its group, from 0.",
                "item": "A sensitive item.",
                "count": "How many records of the group hold it.",
            },
        ),
    )


def _group_example(release: GroupedRelease, terms: Sequence[Term]) -> Example:
    ordinary = commonest_terms([term for term in terms if term.kind == "item"], 1)
    sensitive = commonest_terms([term for term in terms if term.kind != "item"], 1)
    asked = [*ordinary, *sensitive]
    total = {term.term: term.least for term in terms}
    if release.dealt is not None or len(asked) < 2:
        table = "records" if release.dealt is not None else "qit"
        row = "record" if release.dealt is not None else "row"
        lines = [
            "import polars as pl",
            "",
            f'records = pl.read_parquet("data/{table}.parquet")',
            f'print(records.select("group", "{row}").n_unique())  # {len(release)}',
        ]
        if release.dealt is not None and asked:
            lines += [
                f'holders = records.filter(pl.col("item") == {literal(asked[-1])})',
                f"print(holders.height)  # {total[asked[-1]]}",
            ]
        return Example("\n".join(lines), ask_example(release, asked))
    estimate = f"{release.expected_support(asked):.1f}"
    lines = [
        "import polars as pl",
        "",
        'qit = pl.read_parquet("data/qit.parquet")',
        'st = pl.read_parquet("data/st.parquet")',
        'sizes = qit.group_by("group").agg(size=pl.col("row").n_unique())',
        f'holders = qit.filter(pl.col("item") == {literal(ordinary[0])})',
        'holders = holders.group_by("group").agg(holders=pl.col("row").n_unique())',
        f'cases = st.filter(pl.col("item") == {literal(sensitive[0])})',
        'cases = cases.group_by("group").agg(cases=pl.col("count").sum())',
        f'print(cases["cases"].sum())  # {total[sensitive[0]]}',
        "# If sensitive items fall on any record of a group alike, so many records hold both:",
        'both = sizes.join(holders, on="group").join(cases, on="group")',
        'estimate = (both["holders"] * both["cases"] / both["size"]).sum()',
        f'print(f"{{estimate:.1f}}")  # {estimate}',
    ]
    return Example("\n".join(lines), ask_example(release, asked))


def _frame_lines(
    release: GroupedRelease,
    kind: str,
    starts: Int64Array,
    rows: tuple[Int64Array, Int32Array],
    counts: Int64Array,
) -> pl.DataFrame:
    """Return rows of one kind as lines, one for each item."""
    import polars as pl

    offsets, items = rows
    lengths = np.diff(offsets)
    filled = np.maximum(lengths, 1)
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    row = np.arange(len(lengths)) - starts[group]
    places = np.full(int(filled.sum()), len(release.vocabulary), dtype=np.int64)
    places[np.repeat(lengths > 0, filled)] = items
    names = pl.Series(release.vocabulary.names, dtype=pl.String).extend_constant(None, 1)
    return pl.DataFrame(
        {
            "group": np.repeat(group, filled),
            "kind": pl.Series([kind], dtype=pl.String).gather(np.zeros(len(places), np.int64)),
            "row": np.repeat(row, filled),
            "item": names.gather(places),
            "count": np.repeat(counts, filled),
        }
    )


# --- Publishing, dealing, drawing ---


def publish_grouped(
    table: TransactionTable,
    group_of: npt.ArrayLike,
    sensitive: Iterable[str],
    *,
    whole: bool = False,
) -> tuple[GroupedRelease, Key]:
    """Publish the ordinary items of each record, and the sensitive ones for each group only.

    Groups, the records of a group and its sensitive parts come in canonical order: the numbers
    of the groups and the order of the records leave no trace. An item that a record holds several
    times is published once.

    Parameters
    ----------
    table
        The original records.
    group_of
        For each record the number of its group.
    sensitive
        The sensitive items; those that no record holds do no harm.
    whole
        Whether the sensitive items of a record stay together in a part, or are counted one by one
        in a histogram.

    Returns
    -------
    tuple of GroupedRelease and Key
        What may be published, and which original stands behind each record slot.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["wine", "flu", "hiv"], ["cream"], ["meat", "flu"]])
    >>> release, key = publish_grouped(table, [7, 7, 7], ["flu", "hiv"], whole=True)
    >>> release.group(0).rows, release.group(0).parts
    ((('cream',), ('meat',), ('wine',)), ((('flu', 'hiv'), 1), (('flu',), 1)))
    >>> key.records.tolist()
    [1, 2, 0]
    >>> publish_grouped(table, [7, 7, 7], ["flu", "hiv"])[0].group(0).histogram
    {'flu': 2, 'hiv': 1}
    """
    groups = np.asarray(group_of)
    if groups.shape != (len(table),) or (len(groups) and groups.dtype.kind not in "iu"):
        raise ParameterError(
            f"the groups have the type {groups.dtype} and the shape {groups.shape}",
            fix=f"give a whole number for each of the {len(table)} records",
        )
    names = set(sensitive)
    mask = np.array([name in names for name in table.vocabulary.names], dtype=bool)
    ordinary, secret = split_rows(table, mask)
    group = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    n_groups = int(group.max(initial=-1)) + 1
    # Canonical order is stable: equal rows keep the order of their places.
    order = canonical_order(*ordinary)
    order = order[np.argsort(group[order], kind="stable")]
    rows = take_rows(*ordinary, order)
    starts = offsets_of(np.bincount(group, minlength=n_groups))
    parts, _ = parts_by_group(group, n_groups, secret, whole=whole)
    keys = group_keys(starts, rows, parts)
    by_content = np.array(sorted(range(n_groups), key=keys.__getitem__), dtype=np.int64)
    starts, slots = take_rows(starts, np.arange(len(table)), by_content)
    rows = take_rows(*rows, slots)
    part_starts, places = take_rows(parts.starts, np.arange(len(parts.counts)), by_content)
    part_rows = take_rows(parts.offsets, parts.items, places)
    used = occurring(np.concatenate([rows[1], part_rows[1]]))
    number = np.zeros(table.n_items, dtype=np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    release = GroupedRelease.of_parts(
        Vocabulary(names=tuple(table.vocabulary[i] for i in used.tolist())),
        starts,
        (rows[0], number[rows[1]]),
        Parts(part_starts, part_rows[0], number[part_rows[1]], parts.counts[places]),
        whole=whole,
    )
    return release, Key(records=order[slots])


# --- drawing --------------------------------------------------------------------------------------


def deal(release: GroupedRelease) -> GroupedRelease:
    """Deal the sensitive parts of each group out to its records; see :func:`fair_deal`.

    >>> table = TransactionTable.from_rows([["wine", "flu"], ["cream"], ["meat", "gout"]])
    >>> release, _ = publish_grouped(table, [0, 0, 0], ["flu", "gout"], whole=True)
    >>> deal(release).to_rows()
    [['cream', 'flu'], ['meat'], ['gout', 'wine']]
    """
    return replace(release, dealt=fair_deal(release))


def fair_deal(release: GroupedRelease) -> Int64Array:
    """Return for each slot of a release a part of its group, or -1, as it must be dealt.

    The deal is drawn from a hash of what the groups list: their records and their parts, each in
    canonical order. So it says nothing that the lists do not say, and everybody can check that it
    was not chosen: nobody can tell a chosen deal from a random one.

    >>> table = TransactionTable.from_rows([["wine", "flu"], ["cream"]])
    >>> release, _ = publish_grouped(table, [0, 0], ["flu"], whole=True)
    >>> sorted(fair_deal(release).tolist())
    [-1, 0]
    """
    listed = hashlib.sha256(json.dumps(release.vocabulary.names).encode())
    for numbers in (release.starts, release.offsets, release.items, *release.all_parts):
        listed.update(len(numbers).to_bytes(8) + numbers.astype("<i8").tobytes())
    # Raw numbers of a generator: they stay the same in all versions of numpy.
    raw = np.random.PCG64(int.from_bytes(listed.digest())).random_raw(len(release))
    return _deal_by(release, raw)


def _deal_by(release: GroupedRelease, drawn: npt.NDArray[Any]) -> Int64Array:
    """Return for each slot a part of its group, or -1; slots are served by the numbers drawn."""
    shuffled = np.lexsort((drawn, release.group_of))
    part = np.repeat(np.arange(len(release.counts)), release.counts)
    group = release.group_of_part[part]
    nth = np.arange(len(part)) - np.searchsorted(group, group)
    dealt = np.full(len(release), -1, dtype=np.int64)
    dealt[shuffled[release.starts[group] + nth]] = part
    return dealt


def _scatter(release: GroupedRelease, rng: np.random.Generator) -> tuple[Int64Array, Int32Array]:
    """Return slots and items of a histogram, each item in so many distinct slots of its group."""
    group, counts = release.group_of_part, release.counts
    size = release.sizes[group]
    once = counts == 1
    slots = [release.starts[group[once]] + rng.integers(0, size[once])]
    items = [release.part_items[once]]
    for part in np.flatnonzero(~once).tolist():
        chosen = rng.choice(size[part], counts[part], replace=False)
        slots.append(release.starts[group[part]] + chosen)
        items.append(np.full(len(chosen), release.part_items[part]))
    return np.concatenate(slots), np.concatenate(items)
