"""Releases in which each person's record was split into profiles that nothing links."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.core.errors import NotApplicable
from setveil.core.words import number, plural
from setveil.release.account import (
    REMOVED,
    Account,
    Occurrences,
    items_removed,
    items_that_stay,
    no_counts,
)
from setveil.release.base import UNKNOWN, Bounds, Key, Matches, fits_key
from setveil.release.export import (
    Export,
    export_records,
)
from setveil.release.suppressed import ReadableRows, SuppressedRelease

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from setveil.core.records import Records
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.views import PublishedRows


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SplitRelease(ReadableRows):
    """Published profiles, each a set of items that is all or part of one person's.

    A person's profiles have no item in common, and together they hold all items of the person
    that are published at all. How many persons there are is not said. So an original is allowed
    when each of its records, without items that are published nowhere, is a union of disjoint
    profiles, and every profile is used once.

    Parameters
    ----------
    vocabulary, offsets, items
        The profiles, see :class:`~setveil.release.suppressed.ItemRows`.

    Examples
    --------
    >>> from setveil.core.table import Vocabulary
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

    def rows_of_people(self) -> PublishedRows:
        """Refuse: a record is a part of a person's."""
        raise NotApplicable(
            "a person's items may stand in several of these profiles, so what is in one of them "
            "does not say what the person holds",
            fix="attack it instead: linkage",
        )

    def people(self) -> int:
        """Refuse: how many people there are is not said."""
        raise NotApplicable("a published profile is a part of a record")

    def item_chance(
        self, item: str, known: Iterable[str] = (), taxonomy: Taxonomy | None = None
    ) -> float:
        """Return the chance that a candidate's profile shows the item, or another of the person's.

        The other profiles of the person may be any: the item is as likely in them as in all.
        """
        bounds = self.support_bounds([item], taxonomy)
        if item not in self.vocabulary:
            return UNKNOWN if bounds.high else 0.0
        found = self.matches(known, taxonomy)
        shows = np.isin(found.records, self.records_of(self.vocabulary.number(item)))
        elsewhere = bounds.high / len(self)
        return float(np.average(np.where(shows, 1.0, elsewhere), weights=found.weights))

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

    def may_come_from(self, original: Records) -> bool:
        """Return True: a record may become several."""
        return True

    def is_consistent_with(
        self, original: TransactionTable, key: Key, taxonomy: Taxonomy | None = None
    ) -> bool:
        """Tell whether `original`, whose records' parts `key` names, could have given this."""
        if not fits_key(self, original, key):
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

    # --- its words -----------------------------------------------------------------------------

    def account_for(self, found: Occurrences, taxonomy: Taxonomy | None, k: int | None) -> Account:
        """Return what became of every original item, for the owner."""
        shown = found.among(self.vocabulary)
        count, removed = int(np.count_nonzero(shown)), int(np.count_nonzero(~shown))
        end = f"; removes {number(removed)} of {plural(len(shown), 'item')}." if removed else "."
        return found.account(
            kept=shown,
            gone=~shown,
            became=tuple("stays as it is" if each else "removed" for each in shown.tolist()),
            headline=f"Splits {plural(len(found.original), 'record')} into "
            f"{plural(len(self), 'profile')} by topic and hides which profiles belong to one "
            f"person{end}",
            stays=items_that_stay(found, shown),
            lost=items_removed(found, ~shown),
            computable=(
                f"Exactly: counts of {plural(count, 'item')}, one by one." if count else "",
                "Lower limits for combinations: only those within one profile are seen.",
                no_counts(removed),
            ),
            treat=lambda items: _profiles(self, items),
        )

    def export(self) -> Export:
        """Return the release as plain tables with their dictionary and an example."""
        return export_records(
            self,
            self.labelled_rows,
            self.terms(),
            meaning="Each record is a profile: all or a part of one person's items. A person may "
            "have several profiles, which have no item in common, and the data does not say which "
            "profiles "
            "belong together. Counts of one item are counts of people; counts of several items are "
            "lower bounds.",
            unit="profiles",
            record="Number of a profile, from 0, sorted by content.",
        )


def _profiles(release: SplitRelease, items: Sequence[str]) -> list[str]:
    """Return a record cut into profiles: items that some published profile holds together."""
    names = release.vocabulary
    profiles: list[list[str]] = []
    for item in (item for item in items if item in names):
        near = [
            each
            for each in profiles
            if any(
                len(release.holders([names.number(item), names.number(other)])) for other in each
            )
        ]
        profiles = [each for each in profiles if each not in near]
        profiles.append(sorted([item, *(other for each in near for other in each)]))
    lines = [f"profile {n}: {', '.join(each)}" for n, each in enumerate(profiles, 1)]
    removed = [item for item in items if item not in names]
    return lines + [f"{REMOVED} {', '.join(removed)}"] * bool(removed)
