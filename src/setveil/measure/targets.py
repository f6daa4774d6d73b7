"""Whom an adversary looks for, and what is known of them: drawn from the original data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.attack.linkage.linkage import Linkage, Targets
from setveil.core.arrays import Int32Array, Int64Array, distinct_in_rows, kept_offsets
from setveil.core.errors import InputError
from setveil.core.params import check_values
from setveil.core.records import Holders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from setveil.core.arrays import BoolArray
    from setveil.core.records import Records, Rows
    from setveil.core.table import TransactionTable

TRIES = 20
"""How often an itemset that nobody holds is looked for before a stranger is left out."""


def draw_targets(
    table: Records,
    *,
    m: int = 2,
    knowledge: str = "random",
    sample: int = 1000,
    among: Int64Array | None = None,
    hidden: Iterable[str] = (),
    strangers: int | None = None,
    rng: np.random.Generator | None = None,
) -> Targets:
    """Draw people from a table, and some of the items that each of them holds.

    Strangers are made up of what is known of different targets, one item from each, so that
    their items are as frequent; no record of the table holds them together. With one known item
    there are none, for every item is somebody's.

    Parameters
    ----------
    table
        The original data.
    m
        How many items are known of each; all of who holds fewer.
    knowledge
        Which: ``"random"`` ones, the ``"rarest"`` or the most ``"common"`` in the table. Equally
        frequent ones go by name.
    sample
        How many people are drawn, each once; all of a table that has fewer.
    among
        Which records may be drawn; all by default.
    hidden
        Items that nobody knows of anybody.
    strangers
        How many strangers are made up at most; as many as there are targets by default.
    rng
        Draws them; without it always the same.

    Returns
    -------
    Targets
        Whom to look for, in the order of the table.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "hiv"], ["flu"]])
    >>> draw_targets(table, m=1, knowledge="rarest").known
    (('gout',), ('hiv',), ('flu',))
    >>> set(draw_targets(table, m=2).strangers)
    {('gout', 'hiv')}
    """
    check_values(Linkage, m=m, knowledge=knowledge, sample=sample)
    if not table.n_records:
        raise InputError("nobody can be drawn from a table without records", fix="give some")
    rng = np.random.default_rng(0) if rng is None else rng
    who = np.arange(table.n_records) if among is None else np.asarray(among, dtype=np.int64)
    who = who[draw_people(len(who), sample, rng)]
    names = table.vocabulary
    secret = [names.number(item) for item in hidden if item in names]
    rows = table.rows_at(who.tolist())
    choose = chooser(knowledge, table.supports(), rng)
    known = [
        choose(np.unique(row[~np.isin(row, secret)]), m)
        for row in np.split(rows.items, rows.offsets[1:-1])
    ]
    pool = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *known]))
    function = partial(Together.of, items=pool, width=max(table.n_items, 1))
    held = table.fold(function, Together.merge, Together.nothing(pool))
    nobody = made_up(known, held.together, rng, most=strangers)
    return Targets(
        records=tuple(who.tolist()),
        known=tuple(tuple(names[i] for i in items.tolist()) for items in known),
        strangers=tuple(tuple(names[i] for i in items.tolist()) for items in nobody),
    )


def draw_questions(
    table: TransactionTable,
    *,
    sensitive: Iterable[str],
    m: int = 2,
    knowledge: str = "random",
    sample: int = 1000,
    rng: np.random.Generator | None = None,
) -> Targets:
    """Draw people with sensitive items, other items of theirs, and the items in question.

    In question are the sensitive items that the person holds, and one, in turn, that they do not.

    Parameters
    ----------
    table, m, knowledge, sample, rng
        As in :func:`draw_targets`; sensitive items are never among what is known.
    sensitive
        The items in question; at least one that somebody holds.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu", "gout"], ["hiv", "rash"]])
    >>> who = draw_questions(table, sensitive=["gout", "hiv"], m=1)
    >>> who.known, who.asked
    ((('flu',), ('flu',), ('rash',)), (('gout', 'hiv'), ('gout', 'hiv'), ('gout', 'hiv')))
    """
    secret = [item for item in dict.fromkeys(sensitive) if item in table.vocabulary]
    numbers = [table.vocabulary.number(item) for item in secret]
    rows = np.repeat(np.arange(len(table)), table.lengths)
    holders = np.unique(rows[np.isin(table.items, numbers)])
    if not len(holders):
        raise InputError("nobody holds a sensitive item", fix="name items that occur in the data")
    people = draw_targets(
        table, m=m, knowledge=knowledge, sample=sample, among=holders, hidden=secret, rng=rng
    )
    asked = []
    for place, target in enumerate(people.records):
        row = set(table[target])
        others = [item for item in secret if item not in row]
        wrong = {others[place % len(others)]} if others else set()
        asked.append(tuple(item for item in secret if item in row or item in wrong))
    return replace(people, asked=tuple(asked))


def draw_people(records: int, sample: int, rng: np.random.Generator) -> Int64Array:
    """Return the places of people drawn from so many records, ascending.

    >>> draw_people(3, 5, np.random.default_rng(0)).tolist()
    [0, 1, 2]
    """
    if sample >= records:
        return np.arange(records)
    return np.sort(rng.choice(records, sample, replace=False))


def chooser(
    knowledge: str, supports: Int64Array, rng: np.random.Generator
) -> Callable[[Int32Array, int], Int64Array]:
    """Return what chooses `m` items of a record.

    >>> choose = chooser("rarest", np.array([5, 1, 3]), np.random.default_rng(0))
    >>> choose(np.array([0, 1, 2], dtype=np.int32), 2).tolist()
    [1, 2]
    """

    def at_random(row: Int32Array, m: int) -> Int64Array:
        return np.sort(rng.choice(row, m, replace=False) if len(row) > m else row)

    def by_support(row: Int32Array, m: int) -> Int64Array:
        sign = 1 if knowledge == "rarest" else -1
        return np.sort(row[np.argsort(sign * supports[row], kind="stable")[:m]])

    return at_random if knowledge == "random" else by_support


@dataclass(frozen=True, eq=False)
class Together:
    """Which of some items are held together by anybody.

    Exactly, where the records are here. What comes from elsewhere, or from several parts, only
    knows which pairs are: an itemset of which all pairs are held counts as held.

    Parameters
    ----------
    items
        Their numbers, ascending.
    rows
        The records, for an exact answer; None where only pairs are known.
    width
        How many items there are at all.
    pairs
        For each two of the items whether somebody holds both; None where the records are here.
    """

    items: Int64Array
    rows: Rows | None
    width: int
    pairs: BoolArray | None

    @classmethod
    def of(cls, rows: Rows, items: Int64Array, width: int) -> Together:
        """Look at some rows."""
        return cls(items, rows, width, None)

    @classmethod
    def nothing(cls, items: Int64Array) -> Together:
        """Return that no two of some items are held together."""
        return cls(items, None, 0, np.zeros((len(items), len(items)), dtype=bool))

    def __reduce__(self) -> tuple[Any, ...]:
        """Take along the pairs only: records stay where they are."""
        return Together, (self.items, None, 0, self.all_pairs())

    def merge(self, other: Together) -> Together:
        """Return what both know."""
        return Together(self.items, None, 0, self.all_pairs() | other.all_pairs())

    def all_pairs(self) -> BoolArray:
        """Return for each two of the items whether somebody holds both."""
        if self.pairs is not None:
            return self.pairs
        from setveil.kernels.rows import row_pairs

        assert self.rows is not None, "either records or pairs are known"
        place = np.full(self.width, -1, dtype=np.int32)
        place[self.items] = np.arange(len(self.items))
        at = place[self.rows.items]
        offsets, at = distinct_in_rows(kept_offsets(self.rows.offsets, at >= 0), at[at >= 0])
        n = max(len(self.items), 1)
        found = np.unique(row_pairs(offsets, at, n))
        held = np.eye(len(self.items), dtype=bool)
        held[found // n, found % n] = True
        return held | held.T

    @cached_property
    def _holders(self) -> Holders:
        assert self.rows is not None, "asked where the records are here"
        return Holders(self.rows, self.width)

    def together(self, items: Int64Array) -> bool:
        """Tell whether somebody holds all of some items, or may."""
        if self.pairs is None:
            return self._holders.support(items.tolist()) > 0
        at = np.searchsorted(self.items, items)
        return bool(self.pairs[np.ix_(at, at)].all())


def made_up(
    known: list[Int64Array],
    together: Callable[[Int64Array], bool],
    rng: np.random.Generator,
    *,
    most: int | None = None,
) -> list[Int64Array]:
    """Make up itemsets that nobody holds, one for each target of whom two items are known.

    Parameters
    ----------
    known
        What is known of each target; items are drawn from all of it.
    together
        Tells whether somebody may hold all of some items.
    rng
        Draws.
    most
        How many are made up at most.

    Examples
    --------
    >>> known = [np.array([0, 1]), np.array([1, 2])]
    >>> made = made_up(known, lambda items: 1 in items, np.random.default_rng(0))
    >>> {tuple(items.tolist()) for items in made}
    {(0, 2)}
    """
    pool = np.concatenate([np.zeros(0, dtype=np.int64), *known])
    found: list[Int64Array] = []
    for size in [len(items) for items in known if len(items) > 1][:most]:
        for _ in range(TRIES):
            drawn = np.unique(rng.choice(pool, size))
            if len(drawn) == size and not together(drawn):
                found.append(drawn)
                break
    return found
