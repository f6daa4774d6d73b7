"""How many records are unique to someone who knows a few of their items."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial, reduce
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.arrays import distinct_in_rows
from setveil.core.errors import InputError, ParameterError
from setveil.core.interval import Rate
from setveil.core.records import Rows, add_lengths, count_lengths

if TYPE_CHECKING:
    from setveil.core.arrays import Int64Array
    from setveil.core.records import Records, Shared

# Counting this many itemsets takes half a second and 200 MB; above, we sample.
COUNTABLE = 2_000_000
DISTRIBUTED = 100 * COUNTABLE
"""How many are counted where records lie on many machines; so many groups share them."""


def uniqueness(
    table: Records,
    m: int,
    *,
    samples: int = 1000,
    rng: np.random.Generator | None = None,
    countable: int | None = None,
) -> Rate:
    """Return the share of records that `m` known items single out.

    Someone learns `m` items of one record and looks for the records that hold them all. The rate
    is the chance that there is only one, when the record is drawn uniformly from the table and
    the known items uniformly from its distinct items. Of a record with fewer than `m` items all
    are known (but no more: not that these are all). An empty record is single only in a table of
    one.

    With one known item, and wherever the itemsets are few enough to be counted, the rate is
    exact; otherwise it is estimated from independent draws, with a 95% interval.

    Parameters
    ----------
    table
        The records.
    m
        Number of known items, at least 1.
    samples
        Number of draws where the rate is estimated.
    rng
        Draws them; by default a fixed generator, so that the same table gives the same answer.
    countable
        Greatest number of itemsets to count: by default two million here, a hundred times as many
        where the records are distributed.

    Returns
    -------
    Rate
        The share with its interval.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "gout"], ["flu", "HIV"]])
    >>> uniqueness(table, 1).value  # one in two of the third record's items
    0.16666666666666666
    >>> uniqueness(table, 2).value
    0.3333333333333333
    """
    if m < 1:
        raise ParameterError(f"m is {m}", fix="use at least one known item")
    if samples < 1:
        raise ParameterError(f"samples is {samples}", fix="draw at least one")
    n = table.n_records
    if not n:
        raise InputError("no record can be unique in an empty table", fix="give at least one")
    sets = table.parts.map(_distinct)
    if countable is None:
        countable = COUNTABLE if sets.room is None else DISTRIBUTED
    lengths = sets.fold(count_lengths, add_lengths, np.zeros(1, dtype=np.int64))
    lone_empty = int(n == 1 and lengths[0] == 1)
    if m == 1:
        function = partial(_lone_items, supports=table.share(table.supports()))
        hits = sets.fold(function, add_lengths, np.zeros(1, dtype=np.int64))
        return Rate.counted(float((_mean_over_choices(hits, 1) + lone_empty) / n))
    # Known are `m` items, or all of a shorter record.
    sizes = [*(np.flatnonzero(lengths[1:m]) + 1).tolist(), m]
    width = max(len(table.vocabulary), 1)
    todo = sum(
        math.comb(length, size) * count
        for size in sizes
        for length, count in enumerate(lengths.tolist())
    )
    if todo <= countable and width**m < 2**63:
        groups = 1 if sets.room is None else 1 + todo // COUNTABLE
        total = Fraction(lone_empty)
        for size in sizes:
            split = partial(_split, size=size, width=width, groups=groups)
            hits = reduce(
                add_lengths, sets.regroup(split, _single_by_length), np.zeros(1, dtype=np.int64)
            )
            asked = np.arange(len(hits)) >= m if size == m else np.arange(len(hits)) == size
            total += _mean_over_choices(np.where(asked, hits, 0), size)
        return Rate.counted(float(total / n))
    return Rate.sampled(_hits(table, m, samples, rng or np.random.default_rng(0)), samples)


def _distinct(rows: Rows) -> Rows:
    return Rows(*distinct_in_rows(rows.offsets, rows.items))


def _lone_items(rows: Rows, supports: Shared[Int64Array]) -> Int64Array:
    """Return how many places hold an item of nobody else, by the length of their record."""
    lengths = np.diff(rows.offsets)
    return np.bincount(np.repeat(lengths, lengths)[supports.value[rows.items] == 1], minlength=1)


def _mean_over_choices(hits: Int64Array, size: int) -> Fraction:
    """Return the sum over records of the share of their itemsets that are single.

    `hits` counts the single itemsets by the length of their record, so that the sum is exact.
    """
    return sum(
        (
            Fraction(count, math.comb(length, size))
            for length, count in enumerate(hits.tolist())
            if count
        ),
        Fraction(),
    )


def itemsets_of(rows: Rows, size: int, width: int) -> tuple[Int64Array, Int64Array]:
    """Return all itemsets of a size of some sets of items, one number each, repeated for each row.

    With each comes the length of its row.

    >>> rows = Rows(np.array([0, 2]), np.array([1, 2]))
    >>> [array.tolist() for array in itemsets_of(rows, 2, 3)]
    [[7], [2]]
    """
    lengths = np.diff(rows.offsets)
    powers = width ** np.arange(size)
    keys, owners = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for length in np.unique(lengths[lengths >= size]).tolist():
        records = np.flatnonzero(lengths == length)
        items = rows.items[rows.offsets[records, None] + np.arange(length)].astype(np.int64)
        choices = np.array(list(combinations(range(length), size)))
        keys.append((items[:, choices] @ powers).ravel())
        owners.append(np.full(len(keys[-1]), length))
    return np.concatenate(keys), np.concatenate(owners)


def _split(
    rows: Rows, size: int, width: int, groups: int
) -> list[tuple[int, tuple[Int64Array, Int64Array]]]:
    """Return the itemsets of some rows in groups, equal ones in the same."""
    keys, lengths = itemsets_of(rows, size, width)
    if groups == 1:
        return [(0, (keys, lengths))]
    group = keys % groups
    order = np.argsort(group, kind="stable")
    cuts = np.searchsorted(group[order], np.arange(1, groups))
    pieces = zip(np.split(keys[order], cuts), np.split(lengths[order], cuts), strict=True)
    return [(number, piece) for number, piece in enumerate(pieces) if len(piece[0])]


def _single_by_length(number: int, pieces: list[tuple[Int64Array, Int64Array]]) -> Int64Array:
    """Return how many itemsets stand in one row only, by the length of that row.

    >>> piece = (np.array([5, 7, 5]), np.array([2, 3, 3]))
    >>> _single_by_length(0, [piece]).nonzero()[0].tolist()
    [3]
    """
    keys, lengths = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
    order = np.argsort(keys, kind="stable")
    differs = keys[order][1:] != keys[order][:-1]
    single = np.ones(len(keys), dtype=bool)
    single[1:] &= differs
    single[:-1] &= differs
    return np.bincount(lengths[order][single], minlength=1)


def _hits(table: Records, m: int, samples: int, rng: np.random.Generator) -> int:
    """Return how many of the drawn (record, known items) pairs are single."""
    drawn = rng.integers(table.n_records, size=samples).tolist()
    rows = table.rows_at(drawn)
    known = []
    for row in np.split(rows.items, rows.offsets[1:-1]):
        own = np.unique(row)
        chosen = rng.choice(own, m, replace=False) if len(own) > m else own
        known.append(tuple(table.vocabulary[i] for i in sorted(chosen.tolist())))
    asked = list(dict.fromkeys(known))
    supports = dict(zip(asked, table.itemset_supports(asked).tolist(), strict=True))
    return sum(supports[each] < 2 for each in known)
