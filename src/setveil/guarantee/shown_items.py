"""What published records say of certain original items: surely held, perhaps held, or nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import and_
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.table import TransactionTable
from setveil.guarantee.base import parts_of
from setveil.release.views import PublishedRows, Standing, published_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from setveil.core.arrays import Int64Array
    from setveil.core.records import Parts
    from setveil.guarantee.base import Published
    from setveil.release.base import Release

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
    parts
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
        knows which of them a record shows is not covered by `parts`.

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

    parts: Parts[PublishedRows]
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


def shown_items(published: Published, items: Iterable[str]) -> ShownItems:
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
    parts = parts_of(published)
    people = parts.map(_rows_of_people)
    rows = people.sample
    standings = {item: rows.standing(item) for item in dict.fromkeys(items)}
    numbers = {item: found.own[0] for item, found in standings.items() if found.own}
    if isinstance(parts.sample, TransactionTable) or all(
        found.is_plain for found in standings.values()
    ):
        return ShownItems(parts=people, numbers=numbers)
    of_sets = parts.fold(_may_be_sets, and_, True)
    records = parts.map(partial(ShownRecords.of, of_sets=of_sets))
    distinct = dict.fromkeys(standings.values())
    sizes, below = records.sample.sizes, _asked_below(standings)
    others = {v: int(sizes[v]) - len(asked) for v, asked in below.items()}
    traces = records.fold(
        partial(Traces.of, standings=list(distinct), others=others), Traces.merged, Traces.none()
    )
    doubts = []
    for item, found in standings.items():
        if traces.unsure[found]:
            wider = (*found.above, *found.alike)
            behind = rows.names[next(v for v in wider if traces.behind[found, v])]
            doubts.append(Doubt(item=item, behind=behind, records=traces.unsure[found]))
    return ShownItems(
        parts=records.map(partial(ShownRecords.with_sure, standings=list(distinct))),
        numbers=numbers,
        doubts=tuple(doubts),
        forced=tuple(_forced_shares(rows.names, below, traces)),
        closed=frozenset(v for v, asked in below.items() if len(asked) == sizes[v]),
        twice=next(
            (
                tuple(rows.names[v] for v in found.own)
                for found in standings.values()
                if len(found.own) > 1
            ),
            (),
        ),
    )


def _rows_of_people(published: Release | TransactionTable) -> PublishedRows:
    if isinstance(published, TransactionTable):
        return published_rows(published)
    return published.rows_of_people()


def _may_be_sets(published: Release) -> bool:
    return published.may_be_sets()


def _forced_shares(
    names: Sequence[str], below: Mapping[int, Mapping[int | str, str]], traces: Traces
) -> list[Forced]:
    """Return the shares that follow from counting, the greatest first.

    A record that takes c of n leaves, s of which are asked about, holds at least c - (n - s)
    of these; one of the s items has at least the mean share.
    """
    found = []
    for v, asked in below.items():
        records = traces.showing[v]
        if traces.held[v]:
            share = Fraction(traces.held[v], len(asked) * records)
            found.append(
                Forced(shown=names[v], items=tuple(asked.values()), records=records, share=share)
            )
    return sorted(found, key=lambda each: (-each.share, each.shown))


def _asked_below(standings: Mapping[str, Standing]) -> dict[int, dict[int | str, str]]:
    """Return for each wider published item the items that stand behind it, each once."""
    below: dict[int, dict[int | str, str]] = {}
    for item, found in standings.items():
        if found.located:
            for v in found.above:
                # An item that is asked for by its id and by its name is one item.
                below.setdefault(v, {}).setdefault(found.own[0] if found.own else item, item)
    return below


class Traces(NamedTuple):
    """What some records say of items that are asked about, in counts that add up.

    Parameters
    ----------
    unsure
        How many records may hold an item and may not, by its standing.
    behind
        How many of these show a published item that it may stand behind.
    held, showing
        For published items behind which several stand: how many items that are asked about the
        records that show one hold at least, all together; and how many records these are.
    """

    unsure: Counter[Standing]
    behind: Counter[tuple[Standing, int]]
    held: Counter[int]
    showing: Counter[int]

    @classmethod
    def none(cls) -> Traces:
        """Return what no records say."""
        return cls(Counter(), Counter(), Counter(), Counter())

    @classmethod
    def of(
        cls, records: ShownRecords, standings: Sequence[Standing], others: Mapping[int, int]
    ) -> Traces:
        """Count in some records; `others` are how many items besides may stand behind each."""
        found = cls.none()
        for standing in standings:
            sure, covered = records.holding(standing)
            found.unsure[standing] = int(np.count_nonzero(covered & ~sure))
            if found.unsure[standing]:
                for v in (*standing.above, *standing.alike):
                    shown = records.mask(v) & ~sure
                    found.behind[standing, v] = int(np.count_nonzero(shown))
        for v, rest in others.items():
            entries = records.entries(v)
            found.held[v] = int(np.maximum(records.taken[entries] - rest, 0).sum())
            found.showing[v] = len(entries)
        return found

    def merged(self, other: Traces) -> Traces:
        """Return what both say."""
        return Traces(
            self.unsure + other.unsure,
            self.behind + other.behind,
            self.held + other.held,
            self.showing + other.showing,
        )


class ShownRecords:
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

    @classmethod
    def of(cls, published: Release, of_sets: bool) -> ShownRecords:
        """Return the records of a release; `of_sets` tells whether all records may be sets."""
        rows = published.rows_of_people()
        sizes, taken = published.items_taken(rows)
        return cls(rows, sizes, taken if of_sets else np.ones_like(taken))

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
