"""Releases of rows of items: the base of several forms, and the one that only leaves items out.

:class:`ItemRows` is what these forms have in common. A :class:`SuppressedRelease` lacks some items
everywhere, and nothing else was changed. :class:`ReadableRows` are records of which a suppressed
release is what can be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from setveil.core.arrays import (
    Int32Array,
    Int64Array,
    RowsByItem,
    distinct_in_rows,
    is_ascending,
    kept_offsets,
    neighbour_order,
    occurring,
)
from setveil.core.errors import ParameterError, ReleaseError
from setveil.core.table import TransactionTable, Vocabulary, canonical_order, frozen, take_rows
from setveil.release.account import NOTHING, Account, Content, GlobalRecoding, count_emptied
from setveil.release.base import Bounds, Key, Matches, Release, fits_key, unchecked_copy
from setveil.release.data_file import LabelledRows, long_frame
from setveil.release.export import Export, Term, export_records
from setveil.release.views import (
    Images,
    LabelCounts,
    PublishedRows,
    ShownClasses,
    leaf_rows,
    rows_of_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt
    import polars as pl

    from setveil.core.records import Records
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.account import Occurrences


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemRows(Release):
    """Records, each a set of published items, in canonical order.

    Parameters
    ----------
    vocabulary
        The names of the published items; each occurs in some record.
    offsets
        Record `j` is ``items[offsets[j]:offsets[j + 1]]``.
    items
        Item numbers, ascending and distinct within each record.

    Examples
    --------
    >>> rows = ItemRows(vocabulary=Vocabulary(names=("flu", "gout")), offsets=[0, 2, 3],
    ...                 items=[0, 1, 1])
    >>> rows.to_rows(), rows.holders([1]).tolist(), rows.supports().tolist()
    ([['flu', 'gout'], ['gout']], [0, 1], [1, 2])
    """

    builder: ClassVar[str] = "the function that publishes this form"

    vocabulary: Vocabulary
    offsets: Int64Array
    items: Int32Array

    def __post_init__(self) -> None:
        offsets, items = frozen(self.offsets, np.int64), frozen(self.items, np.int32)
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "items", items)
        fix = f"build releases with {self.builder}"
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(items):
            raise ParameterError("offsets do not fit the published items", fix=fix)
        if np.any(np.diff(offsets) < 0):
            raise ParameterError("offsets decrease", fix=fix)
        if len(items) and (items.min() < 0 or items.max() >= len(self.vocabulary)):
            raise ParameterError("a record holds an item that is not in the vocabulary", fix=fix)
        if not is_ascending(offsets, items):
            raise ParameterError("the items of a record are not sorted and distinct", fix=fix)
        unused = np.flatnonzero(self.supports() == 0)
        if len(unused):
            raise ParameterError(
                f"no record publishes the item {self.vocabulary[int(unused[0])]!r}", fix=fix
            )
        if np.any(neighbour_order(offsets, items) > 0):
            raise ParameterError("the records are not in canonical order", fix=fix)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self):,} records, {len(self.items):,} published items, "
            f"{len(self.vocabulary):,} names>"
        )

    @property
    def labelled_rows(self) -> LabelledRows:
        """The records by the names of their items."""
        return LabelledRows(self.offsets, self.items, self.vocabulary.names)

    def to_rows(self) -> list[list[str]]:
        """Return the published records as lists of names."""
        return list(self.labelled_rows.rows())

    def to_frame(self) -> pl.DataFrame:
        """Return a long frame (``record``, ``item``); an empty record has one row, item null."""
        return long_frame(*self.labelled_rows)

    def to_table(self) -> TransactionTable:
        """Return the published records as a table."""
        return TransactionTable(offsets=self.offsets, items=self.items, vocabulary=self.vocabulary)

    def published_rows(self) -> PublishedRows:
        """Return the records as sets of numbers, those of the vocabulary."""
        return rows_of_table(self.to_table())

    def rows_with_repeats(self) -> tuple[Int64Array, Int32Array, tuple[str, ...]]:
        """Return the records as they are: nothing stands twice in them."""
        rows = self.published_rows()
        return rows.offsets, rows.items, rows.names

    def with_records(self, offsets: Int64Array, items: Int32Array) -> Self:
        """Return other records over the same vocabulary."""
        return unchecked_copy(self, offsets=offsets, items=items)

    def supports(self) -> Int64Array:
        """Return for each item of the vocabulary the number of records that hold it."""
        return np.bincount(self.items, minlength=len(self.vocabulary))

    def records_of(self, item: int) -> Int64Array:
        """Return the records that hold the item of this number, ascending."""
        return self._by_item.holding(item)

    def holders(self, numbers: Iterable[int]) -> Int64Array:
        """Return the records that hold all items of these numbers, ascending."""
        return self._by_item.holding_all(numbers, len(self))

    @cached_property
    def _by_item(self) -> RowsByItem:
        return RowsByItem.of(self.offsets, self.items, len(self.vocabulary))

    # --- the verbs, where nothing is left to chance ---------------------------------------------

    def expected_support(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> float:
        """Return the support of `itemset` in :meth:`sample_world`, which is always the same."""
        return float(self.support_bounds(itemset, taxonomy).low)

    def sample_world(
        self, rng: np.random.Generator, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Return the published records as they are: no item is invented."""
        return self.to_table()

    def is_recoded(self, original: TransactionTable, key: Key, number: Int32Array) -> bool:
        """Tell whether records, lined up by a key, are these ones with other numbers for items.

        `number` says for each item of the original what stands for it here, -1 for nothing.
        """
        if not fits_key(self, original, key):
            return False
        offsets, items = recode_rows(original.take(key.records), number)
        return np.array_equal(offsets, self.offsets) and np.array_equal(items, self.items)

    @classmethod
    def of_recoded(
        cls,
        table: TransactionTable,
        number: Int32Array,
        names: Iterable[str],
        **fields: Any,
    ) -> tuple[Self, Key]:
        """Publish records with other numbers for items, -1 for none, in canonical order.

        `names` are those of the new numbers, sorted.
        """
        offsets, items = recode_rows(table, number)
        order = canonical_order(offsets, items)
        row_offsets, row_items = take_rows(offsets, items, order)
        release = cls(
            vocabulary=Vocabulary(names=tuple(names)),
            offsets=row_offsets,
            items=row_items,
            **fields,
        )
        return release, Key(records=order)

    # --- its bytes and words --------------------------------------------------------------------

    structure_fields: ClassVar[frozenset[str]] = frozenset({"parts"})

    def data_rows(self) -> LabelledRows:
        """Return the records by the names of their items."""
        return self.labelled_rows

    @classmethod
    def rebuild(cls, rows: LabelledRows, structure: Mapping[str, Any]) -> Self:
        """Return the release of some records; the records say everything."""
        in_parts = structure.get("parts") is True
        if len(structure) > in_parts:
            raise ReleaseError("manifest.json is damaged: this form has no structure")
        fields = fields_of_rows(rows)
        if in_parts:  # records in parts have no order, until here
            order = canonical_order(rows.offsets, rows.items)
            fields["offsets"], fields["items"] = take_rows(rows.offsets, rows.items, order)
        return cls(**fields)

    def content(self) -> Content:
        """Return what the release shows of its items."""
        if len(self) and not len(self.items):
            return Content(NOTHING, bare=True)
        return Content()

    def terms(self, kind: str = "item", stands_for: str = "itself") -> list[Term]:
        """Return every published item with the number of its records, for an export."""
        counted = zip(self.vocabulary.names, self.supports().tolist(), strict=True)
        return [Term(name, kind, stands_for, n, n) for name, n in counted]


def recode_rows(table: TransactionTable, number: Int32Array) -> tuple[Int64Array, Int32Array]:
    """Return the rows with other numbers for items, sorted and once each; -1 is left out.

    >>> table = TransactionTable.from_rows([["a", "b", "c"], ["b"]])
    >>> [part.tolist() for part in recode_rows(table, np.array([1, -1, 0], dtype=np.int32))]
    [[0, 2, 2], [0, 1]]
    """
    found = number[table.items]
    stays = found >= 0
    offsets, items = kept_offsets(table.offsets, stays), found[stays]
    if np.any(np.diff(number[number >= 0]) < 0):
        width = np.int64(number.max(initial=0)) + 1
        record = np.repeat(np.arange(len(table), dtype=np.int64), np.diff(offsets))
        items = (np.sort(record * width + items) % width).astype(np.int32)
    return distinct_in_rows(offsets, items)


def fields_of_rows(rows: LabelledRows) -> dict[str, Any]:
    """Return the fields that all forms of records of items have."""
    return {
        "vocabulary": Vocabulary(names=tuple(rows.labels)),
        "offsets": rows.offsets,
        "items": rows.items,
    }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SuppressedRelease(ItemRows):
    """Published records, each a set of untouched items, in canonical order.

    An item of the published vocabulary was never touched: it stands in just the records that
    held it. Any other item may have been removed from any number of records, or never have been
    there. So an original set t is allowed behind a record g when g is what t holds of the
    published vocabulary.

    Parameters
    ----------
    vocabulary
        The names of the published items; each occurs in some record.
    offsets
        Record `j` is ``items[offsets[j]:offsets[j + 1]]``.
    items
        Item numbers, ascending and distinct within each record.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["flu"], ["flu", "hiv"], ["gout"]])
    >>> release, key = publish_suppressed(table, [True, True, False])
    >>> release.to_rows(), key.records.tolist()
    ([['flu'], ['flu'], ['gout']], [0, 1, 2])
    >>> release.support_bounds(["flu"]), release.support_bounds(["flu", "hiv"])
    (Bounds(low=2, high=2, tight=True), Bounds(low=0, high=2, tight=True))
    """

    form: ClassVar[str] = "suppressed"
    builder: ClassVar[str] = "publish_suppressed"
    says_by_records: ClassVar[bool] = True

    # --- the four verbs -----------------------------------------------------------------------

    def matches(self, known_items: Iterable[str], taxonomy: Taxonomy | None = None) -> Matches:
        """Return the records that hold every known item of the published vocabulary.

        All weigh 1. Known items that are not published restrict nothing, because they may have
        been removed from any record.
        """
        records = self._holders(known_items)[0]
        return Matches(records=records, weights=np.ones(len(records)))

    def support_bounds(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> Bounds:
        """Return the least and greatest support of `itemset` over all consistent originals.

        Published items are exact. With an item that is not published the support lies between
        none and the support of the rest; both ends are attained.
        """
        records, complete = self._holders(itemset)
        return Bounds(low=len(records) if complete else 0, high=len(records))

    def is_consistent_with(
        self, original: TransactionTable, key: Key, taxonomy: Taxonomy | None = None
    ) -> bool:
        """Tell whether `original`, lined up by `key`, could have given this release."""
        return self.is_recoded(original, key, self.vocabulary.numbers(original.vocabulary.names))

    # --- what became of the items ---------------------------------------------------------------

    def images(
        self,
        original: Records,
        key: Key | None = None,
        taxonomy: Taxonomy | None = None,
        *,
        whole: Release | None = None,
    ) -> Images:
        """Return the images of all occurrences: what is published is as it was."""
        whole = self if whole is None else whole
        if len(whole) == original.n_records:  # counts an item that a record holds twice twice
            stays = self.vocabulary.numbers(original.vocabulary.names) >= 0
            return Images.unchanged(int(original.occurrences()[stays].sum()), original)
        return Images.unchanged(int(whole.label_counts().occurrences.sum()), original)

    def certain_table(
        self, original: Records, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Return the published records: all of it is certain."""
        return self.to_table()

    def shown_classes(self, original: Records, taxonomy: Taxonomy | None = None) -> ShownClasses:
        """Return the records, in which each item is a class of its own."""
        names = [name if name in self.vocabulary else None for name in original.vocabulary.names]
        return ShownClasses(
            table=self.to_table(),
            names=tuple(names),
            exact=tuple(name is not None for name in names),
            complete=True,
        )

    def label_counts(self) -> LabelCounts:
        """Return how often each item is published: it stands for itself."""
        return LabelCounts(self.supports(), np.ones(len(self.vocabulary), dtype=np.int64))

    def nodes_published(
        self, tree: Taxonomy, rng: np.random.Generator
    ) -> tuple[Int64Array, Int64Array]:
        """Return the records as leaves of a tree."""
        return leaf_rows(self.to_table(), tree)

    # --- who holds what -----------------------------------------------------------------------

    def _holders(self, itemset: Iterable[str]) -> tuple[Int64Array, bool]:
        """Return the records that hold the published items of a set, and whether all are that."""
        wanted = list(dict.fromkeys(itemset))
        published = [self.vocabulary.number(item) for item in wanted if item in self.vocabulary]
        return self.holders(published), len(published) == len(wanted)

    # --- its words -----------------------------------------------------------------------------

    def account_for(self, found: Occurrences, taxonomy: Taxonomy | None, k: int | None) -> Account:
        """Return what became of every original item, for the owner."""
        return GlobalRecoding(
            found=found,
            shown=tuple(name if name in self.vocabulary else "" for name in found.names),
            exact=found.among(self.vocabulary),
            emptied=count_emptied(self.offsets, found.original),
            k=k,
        ).account()

    def export(self) -> Export:
        """Return the release as plain tables with their dictionary and an example."""
        return export_records(
            self,
            self.labelled_rows,
            self.terms(),
            meaning="Each record is one person's set of items. An item that this data shows was "
            "never "
            "removed: it stands in exactly the records that held it, so counts of shown items are "
            "exact. Other items were removed from every record, or never occurred.",
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReadableRows(ItemRows):
    """Records of which a suppressed release shows what can be read: all items, or some."""

    @property
    def legible(self) -> SuppressedRelease:
        """The records as they look to somebody who passes over what cannot be read."""
        raise NotImplementedError

    def images(
        self,
        original: Records,
        key: Key | None = None,
        taxonomy: Taxonomy | None = None,
        *,
        whole: Release | None = None,
    ) -> Images:
        """Return the images of all occurrences; what cannot be read has none."""
        return self.legible.images(original, key, taxonomy)

    def certain_table(
        self, original: Records, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Return what can be read: all of it is certain."""
        return self.legible.to_table()

    def label_counts(self) -> LabelCounts:
        """Return how often each item that can be read is published: it stands for itself."""
        return self.legible.label_counts()


def publish_suppressed(
    table: TransactionTable, keep: npt.ArrayLike
) -> tuple[SuppressedRelease, Key]:
    """Publish every record without the items that are not kept, in canonical order.

    The vocabulary is rebuilt from what is published. Records that lose all their items stay, as
    empty ones. An item that a record holds several times is published once.

    Parameters
    ----------
    table
        The original records.
    keep
        For each item of the table's vocabulary whether it is published.

    Returns
    -------
    tuple of SuppressedRelease and Key
        What may be published, and which original stands behind each published record.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["a", "b"], ["b", "c"], ["c"]])
    >>> release, key = publish_suppressed(table, [False, True, True])
    >>> release.to_rows(), key.records.tolist()
    ([['b', 'c'], ['b'], ['c']], [1, 0, 2])
    """
    kept = np.asarray(keep)
    if not kept.size:
        kept = kept.astype(bool)
    if kept.dtype != np.bool_ or kept.shape != (table.n_items,):
        raise ParameterError(
            f"keep has the type {kept.dtype} and the shape {kept.shape}",
            fix=f"say true or false for each of the {table.n_items} items of the vocabulary",
        )
    used = occurring(table.items)
    shown = used[kept[used]]
    # The vocabulary is sorted, so numbers by rank are again numbers of a sorted vocabulary.
    place = np.full(table.n_items, -1, dtype=np.int32)
    place[shown] = np.arange(len(shown))
    names = [table.vocabulary[i] for i in shown.tolist()]
    return SuppressedRelease.of_recoded(table, place, names)
