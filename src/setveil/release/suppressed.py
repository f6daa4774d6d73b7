"""Releases from which some items were removed everywhere, and nothing else was changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.core.arrays import Int64Array, occurring
from setveil.core.errors import ParameterError
from setveil.release.account import Account, GlobalRecoding, Occurrences, count_emptied
from setveil.release.base import Bounds, Key, Matches
from setveil.release.export import (
    Export,
    export_records,
)
from setveil.release.item_rows import ItemRows
from setveil.release.views import Images, ShownClasses, leaf_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy


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
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu"], ["flu", "hiv"], ["gout"]])
    >>> release, key = publish_suppressed(table, [True, True, False])
    >>> release.to_rows(), key.records.tolist()
    ([['flu'], ['flu'], ['gout']], [0, 1, 2])
    >>> release.support_bounds(["flu"]), release.support_bounds(["flu", "hiv"])
    (Bounds(low=2, high=2, tight=True), Bounds(low=0, high=2, tight=True))
    """

    form: ClassVar[str] = "suppressed"
    builder: ClassVar[str] = "publish_suppressed"

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
        self, original: TransactionTable, key: Key | None = None, taxonomy: Taxonomy | None = None
    ) -> Images:
        """Return the images of all occurrences: what is published is as it was."""
        kept = len(self.items)
        if len(self) == len(original):  # counts an item that a record holds twice twice
            stays = self.vocabulary.numbers(original.vocabulary.names) >= 0
            kept = int(stays[original.items].sum())
        return Images.unchanged(kept, original)

    def certain_table(
        self, original: TransactionTable, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Return the published records: all of it is certain."""
        return self.to_table()

    def shown_classes(
        self, original: TransactionTable, taxonomy: Taxonomy | None = None
    ) -> ShownClasses:
        """Return the records, in which each item is a class of its own."""
        names = [name if name in self.vocabulary else None for name in original.vocabulary.names]
        return ShownClasses(
            table=self.to_table(),
            names=tuple(names),
            exact=tuple(name is not None for name in names),
            complete=True,
        )

    def leaves_published(self) -> Int64Array:
        """Return 1 for each published item: it stands for itself."""
        return np.ones(len(self.items), dtype=np.int64)

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
        self, original: TransactionTable, key: Key | None = None, taxonomy: Taxonomy | None = None
    ) -> Images:
        """Return the images of all occurrences; what cannot be read has none."""
        return self.legible.images(original, key, taxonomy)

    def certain_table(
        self, original: TransactionTable, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Return what can be read: all of it is certain."""
        return self.legible.to_table()

    def leaves_published(self) -> Int64Array:
        """Return 1 for each item that can be read: it stands for itself."""
        return self.legible.leaves_published()


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
    >>> from setveil import TransactionTable
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
