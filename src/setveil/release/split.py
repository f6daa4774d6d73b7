"""Releases in which each person's record was split into profiles that nothing links."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.release.base import Bounds, Key, Matches
from setveil.release.item_rows import ItemRows
from setveil.release.suppressed import SuppressedRelease

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.data.table import TransactionTable
    from setveil.data.taxonomy import Taxonomy


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SplitRelease(ItemRows):
    """Published profiles, each a set of items that is all or part of one person's.

    A person's profiles have no item in common, and together they hold all items of the person
    that are published at all. How many persons there are is not said. So an original is allowed
    when each of its records, without items that are published nowhere, is a union of disjoint
    profiles, and every profile is used once.

    Parameters
    ----------
    vocabulary, offsets, items
        The profiles, see :class:`~setveil.release.item_rows.ItemRows`.

    Examples
    --------
    >>> from setveil.data.table import Vocabulary
    >>> release = SplitRelease(vocabulary=Vocabulary(names=("art", "golf", "tennis")),
    ...                        offsets=[0, 2, 3], items=[1, 2, 0])
    >>> release.support_bounds(["golf", "tennis"]), release.support_bounds(["art", "golf"])
    (Bounds(low=1, high=1, tight=True), Bounds(low=0, high=1, tight=False))
    """

    form: ClassVar[str] = "split"
    builder: ClassVar[str] = "the method split-personality"

    @cached_property
    def legible(self) -> SuppressedRelease:
        """The profiles as if each were the record of a person of its own."""
        return SuppressedRelease(vocabulary=self.vocabulary, offsets=self.offsets, items=self.items)

    # --- the four verbs -----------------------------------------------------------------------

    def matches(self, known_items: Iterable[str], taxonomy: Taxonomy | None = None) -> Matches:
        """Return the profiles that show something of what is known; each weighs how much.

        A profile with none of the known items may be the person's too, but nothing speaks for
        it. Where nothing known is published, every profile weighs the same.
        """
        known = [self.vocabulary.number(item) for item in set(known_items) & self._names]
        if not known:
            return Matches(records=np.arange(len(self), dtype=np.int64), weights=np.ones(len(self)))
        shown = np.concatenate([self.records_of(item) for item in known])
        records, counts = np.unique(shown, return_counts=True)
        return Matches(records=records, weights=counts.astype(np.float64))

    def support_bounds(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> Bounds:
        """Return the least and greatest support of `itemset` over all consistent originals.

        At least every profile that holds all of it is a person who does, for persons have no
        item twice. At most as many persons hold it as profiles hold its rarest item. The
        greatest is attained for single items and where both ends meet; elsewhere it may be
        loose, because not all profiles can be joined. Items that are not published may have been
        anybody's.
        """
        wanted = set(itemset)
        known = [self.vocabulary.number(item) for item in wanted & self._names]
        if not known:
            # Everything may be one person's, or each profile a person's of its own.
            return Bounds(low=0, high=len(self), tight=bool(wanted) or not len(self))
        low = len(self.holders(known)) if len(known) == len(wanted) else 0
        high = min(len(self.records_of(item)) for item in known)
        return Bounds(low=low, high=high, tight=len(known) == 1 or low == high)

    def expected_support(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> float:
        """Return the support of `itemset` in :meth:`sample_world`, which is always the same."""
        return float(self.legible.support_bounds(itemset).low)

    def sample_world(
        self,
        rng: np.random.Generator,  # there is nothing to draw
        taxonomy: Taxonomy | None = None,
    ) -> TransactionTable:
        """Return the profiles as they are: every one a person of its own."""
        return self.to_table()

    def is_consistent_with(
        self,
        original: TransactionTable,
        key: Key,
        taxonomy: Taxonomy | None = None,
    ) -> bool:
        """Tell whether `original`, whose records' parts `key` names, could have given this."""
        inside = key.records.min(initial=0) >= 0 and key.records.max(initial=-1) < len(original)
        if len(key) != len(self) or not inside:
            return False
        if len(np.unique(key.records)) != len(original):
            return False
        together: list[list[str]] = [[] for _ in range(len(original))]
        for record, profile in zip(key.records.tolist(), self.to_rows(), strict=True):
            together[record] += profile
        names = self._names
        return all(
            sorted(items) == [item for item in sorted(set(row)) if item in names]
            for items, row in zip(together, original, strict=True)
        )

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.vocabulary.names)
