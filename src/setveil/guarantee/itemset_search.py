"""Searches over sets of items that can be cut: each set belongs to its first item.

Items are ranked from the rarest up, and a set is looked for under its first item. A group of the
search is a range of ranks. A record goes to every group in whose range it has an item, from the
first such item on: what stands before it belongs to other groups. In memory there is one group,
and nothing is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.arrays import Int32Array, Int64Array, kept_offsets, offsets_of
from setveil.core.records import cut_by_cost
from setveil.core.table import take_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from setveil.core.records import Parts, Result, Shared
    from setveil.release.views import PublishedRows


@dataclass(frozen=True)
class Totals:
    """What a search must know of all records before it begins."""

    records: int
    longest: int
    supports: Int64Array

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.records + other.records,
            max(self.longest, other.longest),
            self.supports + other.supports,
        )


def count_totals(parts: Parts[PublishedRows]) -> Totals:
    """Count the records, their greatest length, and the supports of the published items."""
    nothing = np.zeros(len(parts.sample.names), dtype=np.int64)
    return parts.fold(_totals, Totals.__add__, Totals(0, 0, nothing))


def _totals(rows: PublishedRows) -> Totals:
    return Totals(len(rows), int(rows.lengths.max(initial=0)), rows.supports())


def rank_items(supports: Int64Array, passed_over: Int64Array | None = None) -> Int64Array:
    """Return the items that occur, the rarest first: an item's place is its rank.

    >>> rank_items(np.array([3, 0, 1]), np.array([0])).tolist()
    [2]
    """
    ranked = np.argsort(supports, kind="stable")
    kept = supports > 0
    if passed_over is not None:
        kept[passed_over] = False
    return ranked[kept[ranked]]


class SearchRows(NamedTuple):
    """The records of a group as the search reads them.

    Parameters
    ----------
    offsets, items
        The ranks that a record holds, ascending, from the first in the group's range on.
    beside_offsets, beside
        The numbers of items that stand beside the search, such as sensitive ones; all of a record.
    """

    offsets: Int64Array
    items: Int32Array
    beside_offsets: Int64Array
    beside: Int32Array


class Numbering(NamedTuple):
    """For each published item its rank, and its number beside the search; -1 for none."""

    rank: Int64Array
    beside: Int64Array


def search_sets(
    parts: Parts[PublishedRows],
    ranked: Int64Array,
    solve: Callable[[SearchRows, tuple[int, int]], Result],
    *,
    beside: Int64Array | None = None,
) -> list[Result]:
    """Search all sets of items, group by group.

    Parameters
    ----------
    parts
        The records.
    ranked
        The items that sets are made of, the rarest first.
    solve
        Gets the records of a group and the range of ranks that its sets begin with.
    beside
        For each item its number among those that stand beside the search, -1 for none.
    """
    width = len(parts.sample.names)
    rank = np.full(width, -1, dtype=np.int64)
    rank[ranked] = np.arange(len(ranked))
    nothing = np.full(width, -1, dtype=np.int64)
    numbering = parts.share(Numbering(rank, nothing if beside is None else beside))
    bounds = np.array([0, len(ranked)])
    if parts.room is not None:
        empty = np.zeros(len(ranked), dtype=np.int64)
        costs = parts.fold(partial(_count_costs, numbering=numbering), np.add, empty)
        bounds = cut_by_cost(costs, parts.room)
    return parts.regroup(
        partial(_cut_records, numbering=numbering, bounds=bounds),
        partial(_solve_group, bounds=bounds, solve=solve),
    )


def _solve_group(
    number: int,
    pieces: list[SearchRows],
    bounds: Int64Array,
    solve: Callable[[SearchRows, tuple[int, int]], Result],
) -> Result:
    rows = pieces[0]
    if len(pieces) > 1:
        lengths, beside_lengths = (
            np.concatenate([np.diff(piece[i]) for piece in pieces]) for i in (0, 2)
        )
        items, beside = (np.concatenate([piece[i] for piece in pieces]) for i in (1, 3))
        rows = SearchRows(offsets_of(lengths), items, offsets_of(beside_lengths), beside)
    return solve(rows, (int(bounds[number]), int(bounds[number + 1])))


def _renumbered(rows: PublishedRows, number: Int64Array) -> tuple[Int64Array, Int32Array]:
    """Return the rows with other numbers, ascending, without the items that have none."""
    if number.max(initial=-1) < 0:
        return np.zeros(len(rows) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    own = number[rows.items]
    kept = own >= 0
    width = np.int64(number.max() + 1)
    record = np.repeat(np.arange(len(rows), dtype=np.int64), rows.lengths)
    # Record and number in one key: a single sort orders all rows.
    keys = np.sort(record[kept] * width + own[kept])
    return kept_offsets(rows.offsets, kept), (keys % width).astype(np.int32)


def _count_costs(rows: PublishedRows, numbering: Shared[Numbering]) -> Int64Array:
    """Return for each rank how many places of records stand behind it, itself included."""
    rank = numbering.value.rank
    offsets, items = _renumbered(rows, rank)
    behind = np.repeat(offsets[1:], np.diff(offsets)) - np.arange(len(items))
    costs = np.zeros(int(rank.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(costs, items, behind)
    return costs


def _cut_records(
    rows: PublishedRows, numbering: Shared[Numbering], bounds: Int64Array
) -> Iterator[tuple[int, SearchRows]]:
    """Yield for each group what it reads of some records."""
    offsets, items = _renumbered(rows, numbering.value.rank)
    beside_offsets, beside = _renumbered(rows, numbering.value.beside)
    if len(bounds) == 2:
        yield 0, SearchRows(offsets, items, beside_offsets, beside)
        return
    lengths = np.diff(offsets)
    record = np.repeat(np.arange(len(lengths)), lengths)
    group = np.searchsorted(bounds, items, side="right") - 1
    # Ranks ascend, so the places of a record that lie in one group's range are neighbours: the
    # first of them is where the group's copy of the record begins.
    first = np.ones(len(items), dtype=bool)
    first[1:] = (np.diff(group) != 0) | (np.diff(record) != 0)
    starts = np.flatnonzero(first)
    starts = starts[np.argsort(group[starts], kind="stable")]
    borders = np.searchsorted(group[starts], np.arange(len(bounds)))
    for number in np.flatnonzero(np.diff(borders)).tolist():
        begin = starts[borders[number] : borders[number + 1]]
        sizes = offsets[1:][record[begin]] - begin
        into = offsets_of(sizes)
        places = np.arange(into[-1]) + np.repeat(begin - into[:-1], sizes)
        yield (
            number,
            SearchRows(into, items[places], *take_rows(beside_offsets, beside, record[begin])),
        )
