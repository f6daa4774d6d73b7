"""Which members of a generalized item fit the records that hold it: distance tables.

A table belongs to one generalized item of several members: a row for each record that holds it,
a column for each member, and in each cell how far the member is from the record's *context*, the
items that the record shows in clear.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from setveil.core.arrays import FloatArray, Int64Array, kept_offsets, offsets_of
from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.params import is_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from setveil.core.arrays import BoolArray
    from setveil.relatedness.base import Relatedness
    from setveil.release.base import Part, Release
    from setveil.release.set_generalized import SetGeneralizedRelease


Rows = TypeVar("Rows", bound="CellRows")

BLOCK = 2_000_000
"""Distances that are averaged at once."""
NAMED = 5
"""How many terms a sentence names before it only counts them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Target:
    """A generalized item of several members, and the records that hold it.

    Parameters
    ----------
    group
        Its number in the release.
    members
        What it may stand for.
    records
        Numbers of the records that hold it, ascending.
    """

    group: int
    members: tuple[str, ...]
    records: Int64Array


def targets(release: Release) -> tuple[Target, ...]:
    """Return what there is to attack: the generalized items of at least two members.

    >>> from setveil import TransactionTable
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["flu", "rash"], ["gout"]])
    >>> release, _ = publish_sets(table, [0, 0, 1])
    >>> [(t.members, t.records.tolist()) for t in targets(release)]
    [(('flu', 'gout'), [0, 1])]
    """
    sets, none = release.as_sets(), np.zeros(0, dtype=np.int64)
    numbers, items = release.in_parts().fold(_entries, _joined_entries, (none, none))
    order = np.lexsort((numbers, items))
    cuts = np.searchsorted(items[order], np.arange(len(sets.groups) + 1))
    return tuple(
        Target(
            group=group,
            members=sets.members(group),
            records=numbers[order[cuts[group] : cuts[group + 1]]],
        )
        for group in np.flatnonzero(~sets.is_trivial).tolist()
    )


def _entries(part: Part) -> tuple[Int64Array, Int64Array]:
    """Return for each place of the records of a part the number of its record, and its item."""
    sets = part.release.as_sets()
    return np.repeat(part.numbers, np.diff(sets.offsets)), sets.items.astype(np.int64)


def _joined_entries(
    one: tuple[Int64Array, Int64Array], other: tuple[Int64Array, Int64Array]
) -> tuple[Int64Array, Int64Array]:
    return np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])


def known_terms(
    release: SetGeneralizedRelease, relatedness: Relatedness
) -> tuple[tuple[str, ...], BoolArray, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the items in clear, which of them a source knows, and what it does not know.

    The last are items in clear and members of generalized items.

    Raises
    ------
    NotApplicable
        The source knows no member, so that it cannot tell one from another.
    """
    names = tuple(group[0] for group in release.groups if len(group) == 1)
    members = [name for group in release.groups if len(group) > 1 for name in group]
    familiar = np.asarray(relatedness.known(names), dtype=bool)
    known = np.asarray(relatedness.known(members), dtype=bool)
    if members and not known.any():
        raise NotApplicable(
            "the source of relatedness knows no member of any generalized item, and so cannot "
            "tell which of them a record held",
            fix="name a source that knows them: within the release all members are alike",
        )
    return names, familiar, (_named(names, ~familiar), tuple(sorted(_named(members, ~known))))


@dataclass(frozen=True, kw_only=True, eq=False)
class Contexts:
    """For each record the items it shows in clear.

    Parameters
    ----------
    names
        All items in clear.
    offsets, items
        Record `j` shows ``names[i] for i in items[offsets[j]:offsets[j + 1]]``.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["flu", "rash"], ["gout"], ["itch", "gout"]])
    >>> contexts = Contexts.of(publish_sets(table, [0, 0, 1, 2])[0])
    >>> [contexts.terms(record) for record in range(3)]
    [('itch',), ('rash',), ()]
    """

    names: tuple[str, ...]
    offsets: Int64Array
    items: Int64Array

    @classmethod
    def of(cls, release: SetGeneralizedRelease) -> Contexts:
        """Read the contexts off a release."""
        offsets, items = release.records
        clear = release.is_trivial[items]
        number = np.cumsum(release.is_trivial) - 1
        return cls(
            names=tuple(group[0] for group in release.groups if len(group) == 1),
            offsets=kept_offsets(offsets, clear),
            items=number[items[clear]].astype(np.int64),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, record: int) -> Int64Array:
        """Return the numbers of a record's items in clear."""
        return self.items[self.offsets[record] : self.offsets[record + 1]]

    def terms(self, record: int) -> tuple[str, ...]:
        """Return a record's items in clear."""
        return tuple(self.names[i] for i in self[record].tolist())

    def exchanged(self, rng: np.random.Generator) -> Contexts:
        """Return the contexts handed on between records: each that has one gets another's.

        An attack that still succeeds with these does not draw on contexts.

        >>> contexts = Contexts(names=("a", "b"), offsets=np.array([0, 1, 1, 2]),
        ...                     items=np.array([0, 1]))
        >>> exchanged = contexts.exchanged(np.random.default_rng(0))
        >>> [exchanged.terms(record) for record in range(3)]
        [('b',), (), ('a',)]
        """
        having = np.flatnonzero(np.diff(self.offsets))
        order = rng.permutation(having)
        giver = np.arange(len(self), dtype=np.int64)
        giver[order] = np.roll(order, 1)  # one circle: nobody keeps their own
        lengths = np.diff(self.offsets)[giver]
        offsets = offsets_of(lengths)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        items = self.items[np.repeat(self.offsets[giver], lengths) + within]
        return Contexts(names=self.names, offsets=offsets, items=items)


@dataclass(frozen=True, kw_only=True, eq=False)
class CellRows(Target):
    """The cells of one generalized item: a row per record that can be attacked, and its context.

    Parameters
    ----------
    group, members
        The generalized item's number in the release, and its members: one column each.
    records
        Numbers of the records, one row each: those with a context that the source knows.
    contexts
        For each row the numbers (in :class:`Contexts`) of its known items in clear; at least one.
    """

    contexts: tuple[Int64Array, ...]

    @classmethod
    def of(cls, target: Target, contexts: Contexts, familiar: npt.NDArray[np.bool_]) -> CellRows:
        """Return the rows of a generalized item: of those records that show a known item."""
        own = [contexts[record] for record in target.records.tolist()]
        known = [items[familiar[items]] for items in own]
        there = np.array([len(items) > 0 for items in known], dtype=bool)
        return cls(
            group=target.group,
            members=target.members,
            records=target.records[there],
            contexts=tuple(items for items in known if len(items)),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.records), len(self.members)


@dataclass(frozen=True, kw_only=True, eq=False)
class DistanceTable(CellRows):
    """How far each member of a generalized item is from each record that holds it.

    Parameters
    ----------
    group, members, records
        As :class:`CellRows` has them; all records have a distance.
    contexts
        For each row the numbers of the items that were averaged over.
    distances
        Rows by columns, without gaps.
    """

    distances: FloatArray


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """What could not be said in distance tables, and was filled or left out.

    Parameters
    ----------
    rows
        How many rows there could be: one for each generalized item of several members in each
        record.
    without_context
        How many of them show nothing in clear.
    context_unknown
        How many show only items that the source does not know.
    without_distance
        How many show a known item, but no member has a distance to any.
    unknown_context
        Items in clear that the source does not know; they are left out of the averages.
    unknown_members
        Members that the source does not know; their cells take the mean of their row.
    """

    rows: int
    without_context: int
    context_unknown: int
    unknown_context: tuple[str, ...]
    unknown_members: tuple[str, ...]
    without_distance: int = 0

    def sentences(self) -> tuple[str, ...]:
        """Return what a reader of a result should know, as sentences; none if all is well.

        >>> Gaps(rows=9, without_context=2, context_unknown=0, unknown_context=("mumps",),
        ...      unknown_members=()).sentences()
        ('2 of 9 rows have no context: left out', '1 item in clear is unknown: mumps')
        """
        left_out = (
            (self.without_context, "no context"),
            (self.context_unknown, "only unknown context"),
            (self.without_distance, "no member with a distance to their context"),
        )
        said = [f"{n} of {self.rows} rows have {what}: left out" for n, what in left_out if n]
        for one, many, terms in (
            ("item in clear is", "items in clear are", self.unknown_context),
            ("member is", "members are", self.unknown_members),
        ):
            if terms:
                more = len(terms) - NAMED
                named = ", ".join(terms[:NAMED]) + (f" and {more} more" if more > 0 else "")
                said.append(f"{len(terms)} {many if len(terms) > 1 else one} unknown: {named}")
        return tuple(said)


@dataclass(frozen=True, kw_only=True, eq=False)
class CellTables(Generic[Rows]):
    """The tables of a release, with what could not be said in them.

    Parameters
    ----------
    tables
        One for each generalized item of several members that has a row.
    contexts
        The contexts they were made from.
    gaps
        What was filled or left out.
    """

    tables: tuple[Rows, ...]
    contexts: Contexts
    gaps: Gaps

    def __iter__(self) -> Iterator[Rows]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)


DistanceTables = CellTables[DistanceTable]
"""The distance tables of a release."""


def cell_tables(
    release: SetGeneralizedRelease,
    relatedness: Relatedness,
    *,
    contexts: Contexts | None = None,
) -> CellTables[CellRows]:
    """Return the cells of a release that can be attacked with a source of relatedness.

    Parameters
    ----------
    release, relatedness
        What is attacked, and what is known.
    contexts
        Other contexts than those of the release, as for a control.

    Raises
    ------
    NotApplicable
        The source knows no member, so that it cannot tell one from another.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.relatedness import NGD, RecordCounts
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["flu", "rash"], ["gout"]])
    >>> release, _ = publish_sets(table, [0, 0, 1])
    >>> made = cell_tables(release, NGD(RecordCounts.from_rows([["flu", "rash"], ["flu"]])))
    >>> made.tables[0].members, made.tables[0].records.tolist(), made.gaps.sentences()
    (('flu', 'gout'), [0], ('1 of 2 rows have no context: left out', '1 member is unknown: gout'))
    """
    here = Contexts.of(release) if contexts is None else contexts
    attacked = targets(release)
    members = [name for target in attacked for name in target.members]
    familiar = np.asarray(relatedness.known(here.names), dtype=bool)
    known = np.asarray(relatedness.known(members), dtype=bool)
    if members and not known.any():
        raise NotApplicable(
            "the source of relatedness knows no member of any generalized item, and so cannot "
            "tell which of them a record held",
            fix="name a source that knows them: within the release all members are alike",
        )
    made = tuple(CellRows.of(target, here, familiar) for target in attacked)
    rows = np.concatenate([np.empty(0, np.int64), *(target.records for target in attacked)])
    bare = int(np.count_nonzero(np.diff(here.offsets)[rows] == 0))
    lost = len(rows) - bare - sum(len(table.records) for table in made)
    gaps = Gaps(
        rows=len(rows),
        without_context=bare,
        context_unknown=lost,
        unknown_context=_named(here.names, ~familiar),
        unknown_members=tuple(sorted(_named(members, ~known))),
    )
    return CellTables(
        tables=tuple(table for table in made if len(table.records)), contexts=here, gaps=gaps
    )


def distance_tables(
    release: SetGeneralizedRelease,
    relatedness: Relatedness,
    *,
    context: int | None = None,
    contexts: Contexts | None = None,
) -> DistanceTables:
    """Measure how far each member of each generalized item is from the records that hold it.

    A cell is the mean distance of the member to the items of the record's context. Items in clear
    that the source does not know are left out; a member that it does not know takes the mean of
    its row; a record without any known context has no row. All three are reported.

    Parameters
    ----------
    release
        What is attacked.
    relatedness
        Where distances come from.
    context
        How many items of a context are used: None for all, else the most informative ones, those
        whose distances to the members vary the most.
    contexts
        Other contexts than those of the release, as for a control.

    Raises
    ------
    NotApplicable
        The source knows no member, so that it cannot tell one from another.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.relatedness import NGD, RecordCounts
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["fever", "flu"], ["toe", "gout"]])
    >>> release, _ = publish_sets(table, [0, 1, 1, 2])
    >>> corpus = [["fever", "flu"], ["flu"], ["toe", "gout"], ["gout"], ["fever", "toe"]]
    >>> (made,) = distance_tables(release, NGD(RecordCounts.from_rows(corpus)))
    >>> made.members, made.records.tolist(), made.distances.round(2).tolist()
    (('flu', 'gout'), [0, 1], [[0.76, 1.0], [1.0, 0.76]])
    """
    if context is not None and not is_whole(context, 1):
        raise ParameterError(f"context is {context!r}", fix="use None for all, or 1 and more")
    cells = cell_tables(release, relatedness, contexts=contexts)
    names = cells.contexts.names
    made = [
        distance_table(rows, rows.contexts, names, relatedness=relatedness, context=context)
        for rows in cells
    ]
    apart = sum(len(rows.records) for rows in cells) - sum(len(table.records) for table in made)
    return DistanceTables(
        tables=tuple(table for table in made if len(table.records)),
        contexts=cells.contexts,
        gaps=replace(cells.gaps, without_distance=apart),
    )


def _named(names: Sequence[str], chosen: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(names[i] for i in np.flatnonzero(chosen).tolist())


def distance_table(
    target: Target,
    used: Sequence[Int64Array],
    names: Sequence[str],
    *,
    relatedness: Relatedness,
    context: int | None,
) -> DistanceTable:
    """Return the table of one generalized item.

    Parameters
    ----------
    target
        The item, and the records that hold it.
    used
        For each of these the numbers of its known items in clear.
    names
        The items behind these numbers.
    relatedness, context
        As :func:`distance_tables` has them.
    """
    terms = np.unique(np.concatenate(used)) if used else np.empty(0, np.int64)
    pairs = relatedness.distances([names[i] for i in terms.tolist()], target.members)
    places = [np.searchsorted(terms, items) for items in used]
    if context is not None:
        places = most_informative(places, pairs, context)
    means = _means(places, pairs)
    has_row = np.isfinite(means).any(axis=1)
    means = means[has_row]
    row_mean = np.nanmean(means, axis=1, keepdims=True) if len(means) else means[:, :1]
    return DistanceTable(
        group=target.group,
        members=target.members,
        records=target.records[has_row],
        contexts=tuple(terms[places[row]] for row in np.flatnonzero(has_row).tolist()),
        distances=np.where(np.isnan(means), row_mean, means),
    )


def most_informative(
    places: Sequence[Int64Array], pairs: FloatArray, most: int
) -> list[Int64Array]:
    """Return of each context the items whose distances to the members vary the most.

    >>> pairs = np.array([[0.4, 0.5], [0.0, 1.0], [0.3, 0.9]])
    >>> most_informative([np.array([0, 1, 2]), np.array([0, 2])], pairs, 1)
    [array([1]), array([2])]
    """
    there = np.isfinite(pairs)
    counts = np.maximum(there.sum(axis=1), 1)
    mean = np.where(there, pairs, 0).sum(axis=1) / counts
    spread = np.where(there, (pairs - mean[:, None]) ** 2, 0).sum(axis=1) / counts
    rank = np.empty(len(spread), dtype=np.int64)
    rank[np.argsort(-spread, kind="stable")] = np.arange(len(spread))
    return [np.sort(own[np.argsort(rank[own])[:most]]) for own in places]


def _means(places: Sequence[Int64Array], pairs: FloatArray) -> FloatArray:
    """Return for each context the mean of its items' distances; NaN where there is none."""
    there = np.isfinite(pairs)
    filled = np.where(there, pairs, 0.0)
    means = np.full((len(places), pairs.shape[1]), np.nan)
    step = max(1, BLOCK // max(1, pairs.shape[1] * max(map(len, places), default=1)))
    for start in range(0, len(places), step):
        part = [row for row in range(start, min(start + step, len(places))) if len(places[row])]
        if not part:
            continue
        joined = np.concatenate([places[row] for row in part])
        starts = np.cumsum([0, *(len(places[row]) for row in part[:-1])])
        sums = np.add.reduceat(filled[joined], starts, axis=0)
        counts = np.add.reduceat(there[joined].astype(np.int64), starts, axis=0)
        means[part] = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means
