"""What published records say of certain original items: surely held, perhaps held, or nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.table import TransactionTable
from setveil.release.views import PublishedRows, published_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from setveil.core.arrays import Int64Array
    from setveil.release.base import Release
    from setveil.release.views import Standing

    Mask = np.typing.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """Records that may hold an item, behind a published item that may also stand for others."""

    item: str
    behind: str
    records: int


@dataclass(frozen=True, kw_only=True)
class Forced:
    """A share that some item has in every original, whichever item it is.

    Of the `records` that show `shown`, at least the share `share` hold the same one of `items`:
    each holds some of them, and there are not enough others to avoid it.
    """

    shown: str
    items: tuple[str, ...]
    records: int
    share: Fraction


@dataclass(frozen=True, kw_only=True)
class ShownItems:
    """What records say of the items that somebody asks about.

    Parameters
    ----------
    rows
        The published records; each item stands under one number in all that surely hold it.
    numbers
        The number of each item that some record surely holds.
    doubts
        Which items may stand behind something else, and where.
    forced
        Shares that some of the items must have, because nothing else can stand behind a set or
        a category.
    closed
        Numbers of published items behind which nothing but items that are asked about can stand.
    twice
        Names under which records show one and the same item, for an item that has several: who
        knows which of them a record shows is not covered by `rows`.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_sets
    >>> table = TransactionTable.from_rows([["HIV", "tea"], ["gout", "tea"], ["tea"]])
    >>> found = shown_items(publish_sets(table, [0, 0, 1])[0], ["HIV", "gout", "tea"])
    >>> found.numbers, [(doubt.item, doubt.records) for doubt in found.doubts]
    ({'tea': 1}, [('HIV', 2), ('gout', 2)])
    >>> found.forced[0].share
    Fraction(1, 2)
    """

    rows: PublishedRows
    numbers: Mapping[str, int]
    doubts: tuple[Doubt, ...] = ()
    forced: tuple[Forced, ...] = ()
    closed: frozenset[int] = frozenset()
    twice: tuple[str, ...] = ()

    @property
    def doubt(self) -> str:
        """Say in one sentence what cannot be decided."""
        if not self.doubts:
            return (
                f"not decided: {' and '.join(map(repr, self.twice))} are one sensitive item, and "
                "which of these names a record shows may tell more than the item itself"
            )
        first = self.doubts[0]
        records = "1 record shows" if first.records == 1 else f"{first.records:,} records show"
        more = len({doubt.item for doubt in self.doubts}) - 1
        others = f"; the same goes for {more:,} more" if more else ""
        return (
            f"not decided: {records} {first.behind!r}, behind which the sensitive item "
            f"{first.item!r} may stand, and the release does not say whether it does{others}"
        )


def shown_items(published: Release | TransactionTable, items: Iterable[str]) -> ShownItems:
    """Return what the records say of some original items, over all originals they allow.

    A record surely holds an item that it shows as itself, or by a category in which it is the
    only item, or by as many items below a category as this has leaves. It may hold an item that
    stands behind a wider category or set. Items that were removed leave no trace, so nothing is
    said of them.

    Raises
    ------
    NotApplicable
        The form does not show whole records, or not which items they hold.
    """
    if isinstance(published, TransactionTable):
        rows = published_rows(published)
    else:
        rows = published.rows_of_people()
    standings = {item: rows.standing(item) for item in dict.fromkeys(items)}
    numbers = {item: found.own[0] for item, found in standings.items() if found.own}
    if isinstance(published, TransactionTable) or all(
        found.is_plain for found in standings.values()
    ):
        return ShownItems(rows=rows, numbers=numbers)
    records = _Records(rows, *published.items_taken(rows))
    doubts = []
    for item, found in standings.items():
        sure, covered = records.holding(found)
        unsure = int(np.count_nonzero(covered & ~sure))
        if unsure:
            wider = (*found.above, *found.alike)
            behind = next(v for v in wider if np.any(records.mask(v) & ~sure))
            doubts.append(Doubt(item=item, behind=rows.names[behind], records=unsure))
    return ShownItems(
        rows=records.with_sure(standings.values()),
        numbers=numbers,
        doubts=tuple(doubts),
        forced=tuple(records.forced(standings)),
        closed=frozenset(
            v for v, below in _asked_below(standings).items() if len(below) == records.sizes[v]
        ),
        twice=next(
            (
                tuple(rows.names[v] for v in found.own)
                for found in standings.values()
                if len(found.own) > 1
            ),
            (),
        ),
    )


def _asked_below(standings: Mapping[str, Standing]) -> dict[int, dict[int | str, str]]:
    """Return for each wider published item the items that stand behind it, each once."""
    below: dict[int, dict[int | str, str]] = {}
    for item, found in standings.items():
        if found.located:
            for v in found.above:
                # An item that is asked for by its id and by its name is one item.
                below.setdefault(v, {}).setdefault(found.own[0] if found.own else item, item)
    return below


class _Records:
    """The records by what they show, and how much of a category they take.

    Parameters
    ----------
    rows
        What they show.
    sizes, taken
        How many items each number may stand for, and how many each entry of the rows stands for
        at least, those below it included.
    """

    def __init__(self, rows: PublishedRows, sizes: Int64Array, taken: Int64Array) -> None:
        self.rows, self.sizes, self.taken = rows, sizes, taken
        self._held: dict[Standing, tuple[Mask, Mask]] = {}
        self.record = np.repeat(np.arange(len(rows)), rows.lengths)
        self.order = np.argsort(rows.items, kind="stable")
        self.starts = np.searchsorted(rows.items[self.order], np.arange(len(rows.names) + 1))

    def entries(self, number: int) -> Int64Array:
        """Return the places of a published item in the rows."""
        return self.order[self.starts[number] : self.starts[number + 1]]

    def mask(self, number: int) -> Mask:
        """Tell which records show a published item."""
        shown = np.zeros(len(self.rows), dtype=bool)
        shown[self.record[self.entries(number)]] = True
        return shown

    def holding(self, found: Standing) -> tuple[Mask, Mask]:
        """Tell which records surely hold an item, and which show something it may stand behind."""
        # Items that the release does not name have all the same traces.
        if found not in self._held:
            self._held[found] = self._holding(found)
        return self._held[found]

    def _holding(self, found: Standing) -> tuple[Mask, Mask]:
        sure, covered = (np.zeros(len(self.rows), dtype=bool) for _ in range(2))
        for number in found.own:
            sure |= self.mask(number)
        for number in found.above:
            covered |= self.mask(number)
            if found.own:
                entries = self.entries(number)
                sure[self.record[entries[self.taken[entries] == self.sizes[number]]]] = True
        for number in found.alike:
            covered |= self.mask(number)
        return sure, covered

    def with_sure(self, standings: Iterable[Standing]) -> PublishedRows:
        """Return the rows with each item under its first number in all records that hold it."""
        rows, width = self.rows, np.int64(len(self.rows.names))
        renamed = np.arange(len(rows.names))
        added = []
        for found in standings:
            renamed[list(found.own[1:])] = found.own[:1] * len(found.own[1:])
            if found.own:
                held = np.flatnonzero(self.holding(found)[0])
                added.append(held * width + found.own[0])
        keys = np.unique(np.concatenate([self.record * width + renamed[rows.items], *added]))
        return replace(
            rows,
            offsets=np.searchsorted(keys, np.arange(len(rows) + 1) * width),
            items=(keys % width).astype(np.int32),
        )

    def forced(self, standings: Mapping[str, Standing]) -> list[Forced]:
        """Return the shares that follow from counting, the greatest first.

        A record that takes c of n leaves, s of which are asked about, holds at least c - (n - s)
        of these; one of the s items has at least the mean share.
        """
        found = []
        for v, below in _asked_below(standings).items():
            entries = self.entries(v)
            others = int(self.sizes[v]) - len(below)
            least = int(np.maximum(self.taken[entries] - others, 0).sum())
            if least:
                share = Fraction(least, len(below) * len(entries))
                named = tuple(below.values())
                shown = self.rows.names[v]
                found.append(Forced(shown=shown, items=named, records=len(entries), share=share))
        return sorted(found, key=lambda each: (-each.share, each.shown))
