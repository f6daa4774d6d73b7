"""Attacks on the table of one generalized item at a time, wherever the records are.

A table has a row for each record that holds the generalized item. Tables have nothing to do with
each other, so each is attacked where its rows meet: the records send to the tables of their
generalized items what they show in clear. For the control, they send it to another record's.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from setveil.attack.base import INFERENCE, AuditRole, Finding, check_applies
from setveil.attack.elimination.distance_tables import CellRows, Gaps, known_terms
from setveil.attack.elimination.elimination_guess import EliminationGuess, reasons
from setveil.core.arrays import kept_offsets
from setveil.core.records import draw_keys
from setveil.core.registry import name_of
from setveil.core.table import take_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from setveil.attack.elimination.elimination_guess import Reason, TableGuess
    from setveil.core.arrays import BoolArray, Int32Array, Int64Array
    from setveil.core.records import Shared
    from setveil.relatedness.base import Relatedness
    from setveil.release.base import Part, Release
    from setveil.release.set_generalized import SetGeneralizedRelease

    Piece = tuple[Int64Array, Int64Array, Int64Array]

STUDIED = 100_000
"""Records that an attack learns from where not all are here."""


SET_GENERALIZED = frozenset({"set-generalized"})


def elimination_role(*, cost: int = 1, by_default: bool = True) -> AuditRole:
    """Return how an audit uses an attack that tells original members of a set from added ones.

    The area under the curve counts, not F: it does not depend on where an attack draws its line,
    blind guessing gets one half on every release, and it grows with nothing but the order into
    which the attacker brings original and added members.

    >>> elimination_role().findings[0].figure
    'auc'
    """
    return AuditRole(
        family="elimination",
        findings=(
            Finding(
                risk=INFERENCE,
                figure="auc",
                baseline="auc_ra",
                baseline_name="ranking members at random",
                control="auc_control",
                advantage="",
                label="Tell true items from decoys",
                says="An attacker who knows {knows} picks the true item of a set over a decoy "
                "{count} times out of 1,000.",
                outright=True,
            ),
        ),
        cost=cost,
        by_default=by_default,
        needs_meaning=True,
    )


class EliminationAttack:
    """What the attacks by context share: they look at one table at a time, twice.

    The second time, contexts are exchanged between records: what the attack then finds, it did
    not learn from them. That guess is carried along as the control.
    """

    applies_to: ClassVar[frozenset[str]] = SET_GENERALIZED
    requires: ClassVar[frozenset[str]] = frozenset({"relatedness"})
    in_parts: ClassVar[bool] = True
    role: ClassVar[AuditRole] = elimination_role()

    context: int | None = None

    def run(
        self,
        release: Release,
        *,
        relatedness: Relatedness,
        rng: np.random.Generator | None = None,
        **known: Any,
    ) -> EliminationGuess:
        """Return which members were added, by how they suit the contexts of the records.

        Parameters
        ----------
        release
            What is attacked; it may be in parts, but a table must fit one worker.
        relatedness
            What is known of terms.
        rng
            Exchanges the contexts for the control, and draws; without it always the same way.
        known
            What else the attack requires or accepts.

        Raises
        ------
        NotApplicable
            The source of relatedness cannot tell members apart.
        """
        check_applies(name_of(type(self)), self.applies_to, release)
        rng = np.random.default_rng(0) if rng is None else rng
        prepare = partial(self.prepare, release, relatedness, rng, **known)
        return attack_tables(self, release, relatedness, rng, prepare)

    def prepare(self, *given: Any, **known: Any) -> tuple[Any, tuple[str, ...]]:
        """Return what tables are judged by, and what a reader should know of it.

        It is given the release, the relatedness and the generator, and what else :meth:`run` was.
        """
        raise NotImplementedError

    def guess_table(
        self,
        rows: CellRows,
        names: Sequence[str],
        source: Any,  # noqa: ANN401  (what the attack has prepared)
        place: int,
    ) -> TableGuess | None:
        """Return what became of the table of a place among all; None without a row to attack.

        `names` are the items in clear, by the numbers of contexts.
        """
        raise NotImplementedError

    def finish(self, tables: tuple[TableGuess, ...]) -> tuple[TableGuess, ...]:
        """Return all tables as the guess has them."""
        return tables

    def explain(
        self,
        guess: EliminationGuess,
        release: SetGeneralizedRelease,
        record: int,
        *,
        relatedness: Relatedness,
    ) -> tuple[Reason, ...]:
        """Return which items of a record's context spoke against what was eliminated from it."""
        return reasons(guess, release, record, relatedness=relatedness, context=self.context)


class Overview(NamedTuple):
    """What records hold and show, without the items themselves.

    Parameters
    ----------
    records
        Numbers of records, ascending.
    offsets, groups
        The generalized items of several members that each holds.
    shown, familiar
        Whether each shows an item in clear, and one that the source knows.
    """

    records: Int64Array
    offsets: Int64Array
    groups: Int32Array
    shown: BoolArray
    familiar: BoolArray

    def ascending(self) -> Overview:
        """Return the records by their numbers."""
        order = np.argsort(self.records)
        return Overview(
            self.records[order],
            *take_rows(self.offsets, self.groups, order),
            self.shown[order],
            self.familiar[order],
        )

    def merge(self, other: Overview) -> Overview:
        """Return the records of both."""
        return Overview(
            np.concatenate([self.records, other.records]),
            np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]]),
            np.concatenate([self.groups, other.groups]),
            np.concatenate([self.shown, other.shown]),
            np.concatenate([self.familiar, other.familiar]),
        )


class Terms(NamedTuple):
    """What workers know of the generalized items.

    Parameters
    ----------
    members
        What each may stand for.
    clear
        For each its place among those in clear, or -1.
    names, familiar
        The items in clear, and whether the source knows them.
    """

    members: tuple[tuple[str, ...], ...]
    clear: Int64Array
    names: tuple[str, ...]
    familiar: BoolArray


class Mailing(NamedTuple):
    """To which record each record sends what it shows, by their places in an overview.

    `table_places` tells for each generalized item the place of its table among those with rows.
    """

    overview: Overview
    receiver: Int64Array
    table_places: Int64Array

    @classmethod
    def of(cls, overview: Overview, receiver: Int64Array, n_groups: int) -> Mailing:
        """Count the tables that get rows."""
        giver = np.empty_like(receiver)
        giver[receiver] = np.arange(len(receiver))
        lengths = np.diff(overview.offsets)
        there = np.bincount(
            overview.groups[np.repeat(overview.familiar[giver], lengths)], minlength=n_groups
        )
        return cls(overview, receiver, np.cumsum(there > 0) - 1)

    def gaps(self, tables: Sequence[TableGuess], unknown: tuple[tuple[str, ...], ...]) -> Gaps:
        """Return what could not be said in tables."""
        giver = np.empty_like(self.receiver)
        giver[self.receiver] = np.arange(len(giver))
        lengths = np.diff(self.overview.offsets)
        rows = int(lengths.sum())
        bare = int(lengths[~self.overview.shown[giver]].sum())
        known = int(lengths[self.overview.familiar[giver]].sum())
        return Gaps(
            rows=rows,
            without_context=bare,
            context_unknown=rows - bare - known,
            without_distance=known - sum(len(table.records) for table in tables),
            unknown_context=unknown[0],
            unknown_members=unknown[1],
        )


def attack_tables(
    attack: EliminationAttack,
    release: Release,
    relatedness: Relatedness,
    rng: np.random.Generator,
    prepare: Callable[[], tuple[Any, tuple[str, ...]]],
) -> EliminationGuess:
    """Attack all tables of a release, and again with contexts exchanged between records.

    Parameters
    ----------
    attack
        Who attacks.
    release
        What is attacked; it may be in parts, but a table must fit one worker.
    relatedness
        What is known of terms.
    rng
        Exchanges the contexts for the control, then belongs to `prepare`.
    prepare
        Returns what :meth:`EliminationAttack.guess_table` needs besides, and notes.

    Raises
    ------
    NotApplicable
        The release has no generalized items, or the source knows no member of any.
    """
    name = name_of(type(attack))
    parts, sets = release.in_parts(), release.as_sets()
    names, familiar, unknown = known_terms(sets, relatedness)
    terms = parts.share(
        Terms(
            members=sets.groups,
            clear=np.where(sets.is_trivial, np.cumsum(sets.is_trivial) - 1, -1),
            names=names,
            familiar=familiar,
        )
    )
    none = np.zeros(0, dtype=np.int64)
    no, start = none.astype(bool), np.zeros(1, dtype=np.int64)
    nothing = Overview(none, start, none.astype(np.int32), no, no)
    overview = parts.fold(partial(look_over, terms=terms), Overview.merge, nothing).ascending()
    own = np.arange(len(overview.records))
    having = np.flatnonzero(overview.shown)
    order = np.searchsorted(overview.records, rng.permutation(overview.records[having]))
    exchanged = own.copy()
    exchanged[np.roll(order, 1)] = order  # one circle: nobody keeps their own
    source, notes = prepare()
    shared = parts.share((attack, source))
    guess = None
    for receiver, said in ((exchanged, ()), (own, notes)):
        mailing = Mailing.of(overview, receiver, len(sets.groups))
        mailed = parts.share(mailing)
        found = parts.regroup(
            partial(split_tables, terms=terms, mailed=mailed),
            partial(solve_table, terms=terms, mailed=mailed, shared=shared),
        )
        tables = attack.finish(
            tuple(sorted((t for t in found if t is not None), key=lambda table: table.group))
        )
        guess = EliminationGuess(
            attack=name,
            tables=tables,
            notes=(*said, *mailing.gaps(tables, unknown).sentences()),
            control=guess,
        )
    assert guess is not None, "there are two runs"
    return guess


def look_over(part: Part, terms: Shared[Terms]) -> Overview:
    """Return what the records of a part hold and show."""
    sets, known = part.release.as_sets(), terms.value
    place = known.clear[sets.items]
    clear = place >= 0
    familiar = clear.copy()
    familiar[clear] = known.familiar[place[clear]]
    shown, seen = (np.diff(kept_offsets(sets.offsets, each)) > 0 for each in (clear, familiar))
    return Overview(
        part.numbers, kept_offsets(sets.offsets, ~clear), sets.items[~clear], shown, seen
    )


def split_tables(
    part: Part, terms: Shared[Terms], mailed: Shared[Mailing]
) -> list[tuple[int, Piece]]:
    """Return what the records of a part send to each table: numbers of rows, their contexts."""
    sets, known = part.release.as_sets(), terms.value
    overview, receiver, _ = mailed.value
    place = known.clear[sets.items]
    kept = place >= 0
    kept[kept] = known.familiar[place[kept]]
    offsets, context = kept_offsets(sets.offsets, kept), place[kept]
    having = np.flatnonzero(np.diff(offsets))
    to = receiver[np.searchsorted(overview.records, part.numbers[having])]
    ends, groups = take_rows(overview.offsets, overview.groups, to)
    record = np.repeat(having, np.diff(ends))
    number = np.repeat(overview.records[to], np.diff(ends))
    order = np.argsort(groups, kind="stable")
    cuts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    tables = np.split(order, cuts[1:]) if len(order) else []
    return [
        (int(groups[rows[0]]), (number[rows], *take_rows(offsets, context, record[rows])))
        for rows in tables
    ]


def solve_table(
    group: int,
    pieces: list[Piece],
    terms: Shared[Terms],
    mailed: Shared[Mailing],
    shared: Shared[tuple[EliminationAttack, Any]],
) -> TableGuess | None:
    """Attack the table of one generalized item, whose rows have met."""
    records = np.concatenate([piece[0] for piece in pieces])
    contexts = [row for _, ends, items in pieces for row in np.split(items, ends[1:-1])]
    order = np.argsort(records).tolist()
    rows = CellRows(
        group=group,
        members=terms.value.members[group],
        records=records[order],
        contexts=tuple(contexts[i] for i in order),
    )
    attack, source = shared.value
    place = int(mailed.value.table_places[group])
    return attack.guess_table(rows, terms.value.names, source, place)


# --- some records here ----------------------------------------------------------------------------


def release_to_study(release: Release, most: int = STUDIED) -> Release:
    """Return a release that is here: the whole, or so many of its records, chosen by number.

    Of a release in parts that has fewer it is the whole as well.
    """
    parts = release.in_parts()
    if parts.room is None:
        return parts.sample.release
    none = np.zeros(0, dtype=np.int64)
    nothing = (none, none, np.zeros(1, dtype=np.int64), none.astype(np.int32))
    numbers, _, offsets, items = parts.fold(
        partial(draw_records, most=most), partial(merge_drawn, most=most), nothing
    )
    offsets, items = take_rows(offsets, items, np.argsort(numbers))
    return parts.sample.release.with_records(offsets, items)


Drawn = tuple["Int64Array", "Int64Array", "Int64Array", "Int32Array"]


def draw_records(part: Part, most: int) -> Drawn:
    """Return records of a part, those whose numbers give the least keys."""
    sets = part.release.as_sets()
    keys = draw_keys(part.numbers, 0)
    return _least((part.numbers, keys, sets.offsets, sets.items), most)


def merge_drawn(one: Drawn, other: Drawn, most: int) -> Drawn:
    """Return the records of both with the least keys."""
    numbers, keys, items = (np.concatenate([one[i], other[i]]) for i in (0, 1, 3))
    offsets = np.concatenate([one[2], one[2][-1] + other[2][1:]])
    return _least((numbers, keys, offsets, items), most)


def _least(drawn: Drawn, most: int) -> Drawn:
    numbers, keys, offsets, items = drawn
    if len(keys) <= most:
        return drawn
    chosen = np.argsort(keys, kind="stable")[:most]
    return (numbers[chosen], keys[chosen], *take_rows(offsets, items, chosen))
