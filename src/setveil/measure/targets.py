"""Whom an adversary looks for, and what is known of them: drawn from the original data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from setveil.attack.linkage.linkage import Linkage, Targets
from setveil.core.arrays import Int32Array, Int64Array, distinct_in_rows, kept_offsets, offsets_of
from setveil.core.errors import InputError
from setveil.core.params import check_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from setveil.core.table import TransactionTable

TRIES = 20
"""How often an itemset that nobody holds is looked for before a stranger is left out."""


def draw_targets(
    table: TransactionTable,
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
    if not len(table):
        raise InputError("nobody can be drawn from a table without records", fix="give some")
    rng = np.random.default_rng(0) if rng is None else rng
    who = np.arange(len(table)) if among is None else np.asarray(among, dtype=np.int64)
    who = who[draw_people(len(who), sample, rng)]
    holders = _Holders.of(table, hidden)
    choose = chooser(knowledge, holders.supports, rng)
    known = [choose(holders.row(record), m) for record in who.tolist()]
    nobody = made_up(known, holders.together, rng, most=strangers)
    names = table.vocabulary
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


@dataclass(frozen=True, kw_only=True, eq=False)
class _Holders:
    """The distinct items of each record, and who holds each."""

    offsets: Int64Array
    items: Int32Array
    width: int

    @classmethod
    def of(cls, table: TransactionTable, hidden: Iterable[str] = ()) -> _Holders:
        offsets, items = distinct_in_rows(table.offsets, table.items)
        names = table.vocabulary
        numbers = [names.number(item) for item in hidden if item in names]
        if numbers:
            kept = ~np.isin(items, numbers)
            offsets = kept_offsets(offsets, kept)
            items = items[kept]
        return cls(offsets=offsets, items=items, width=max(table.n_items, 1))

    def row(self, record: int) -> Int32Array:
        return self.items[self.offsets[record] : self.offsets[record + 1]]

    @cached_property
    def supports(self) -> Int64Array:
        return np.bincount(self.items, minlength=self.width)

    @cached_property
    def _keys(self) -> Int64Array:
        """Item and record in one number, ascending."""
        record = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return np.sort(self.items.astype(np.int64) * len(self.offsets) + record)

    @cached_property
    def _starts(self) -> Int64Array:
        return offsets_of(self.supports)

    def together(self, items: Int64Array) -> bool:
        """Tell whether any record holds all of these items."""
        first, *others = items[np.argsort(self.supports[items], kind="stable")].tolist()
        records = self._keys[self._starts[first] : self._starts[first + 1]] % len(self.offsets)
        for item in others:
            wanted = records + item * len(self.offsets)
            places = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            records = records[self._keys[places] == wanted]
        return bool(len(records))


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
