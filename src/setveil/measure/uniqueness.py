"""How many records are unique to someone who knows a few of their items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.arrays import Int64Array, offsets_of
from setveil.core.errors import InputError, ParameterError
from setveil.core.interval import Rate

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable

# Counting this many itemsets takes half a second and 200 MB; above, we sample.
COUNTABLE = 2_000_000


def uniqueness(
    table: TransactionTable,
    m: int,
    *,
    samples: int = 1000,
    rng: np.random.Generator | None = None,
    countable: int = COUNTABLE,
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
        Greatest number of itemsets to count.

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
    if len(table) == 0:
        raise InputError("no record can be unique in an empty table", fix="give at least one")
    records = Records.of(table)
    if m == 1:
        return Rate.counted(_by_one_item(records))
    sizes = records.known_sizes(m)
    todo = sum(records.number_of_itemsets(size) for size in sizes)
    if todo <= countable and records.width**m < 2**63:
        return Rate.counted(_counted(records, m, sizes))
    generator = rng if rng is not None else np.random.default_rng(0)
    return Rate.sampled(_hits(records, m, samples, generator), samples)


@dataclass(frozen=True, kw_only=True)
class Records:
    """Distinct items of each record, and where each item occurs (`holders`, by item).

    >>> records = Records(offsets=np.array([0, 2]), items=np.array([1, 2]), width=3)
    >>> [array.tolist() for array in records.itemsets(2)]
    [[0], [7]]
    """

    offsets: Int64Array
    items: Int64Array
    width: int

    @classmethod
    def of(cls, table: TransactionTable) -> Records:
        """Take the distinct items of a table."""
        items = table.items.astype(np.int64)
        offsets = table.offsets
        if table.is_bag:
            rows = np.repeat(np.arange(len(table)), table.lengths)
            keep = np.ones(len(items), dtype=bool)
            keep[1:] = (items[1:] != items[:-1]) | (rows[1:] != rows[:-1])
            items = items[keep]
            offsets = offsets_of(np.bincount(rows[keep], minlength=len(table)))
        return cls(offsets=offsets, items=items, width=max(table.n_items, 1))

    @cached_property
    def lengths(self) -> Int64Array:
        """Number of distinct items of each record."""
        return np.diff(self.offsets)

    @cached_property
    def rows(self) -> Int64Array:
        """The record of each place."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def keys(self) -> Int64Array:
        """Record and item in one number, ascending: a binary search tells who holds what."""
        return self.rows * self.width + self.items

    @cached_property
    def supports(self) -> Int64Array:
        """For each item how many records hold it."""
        return np.bincount(self.items, minlength=self.width)

    @cached_property
    def holder_offsets(self) -> Int64Array:
        """Where each item's holders begin."""
        return offsets_of(self.supports)

    @cached_property
    def holders(self) -> Int64Array:
        """The records that hold each item, item after item."""
        return self.rows[np.argsort(self.items, kind="stable")]

    def known_sizes(self, m: int) -> list[int]:
        """Return how many items may be known: `m`, or all of a shorter record."""
        shorter = self.lengths[(self.lengths > 0) & (self.lengths < m)]
        return [*np.unique(shorter).tolist(), m]

    def number_of_itemsets(self, size: int) -> int:
        """Return how many itemsets of a size the records hold, repeated for each."""
        lengths, records = np.unique(self.lengths, return_counts=True)
        pairs = zip(lengths.tolist(), records.tolist(), strict=True)
        return sum(math.comb(length, size) * count for length, count in pairs)

    def itemsets(self, size: int) -> tuple[Int64Array, Int64Array]:
        """Return all itemsets of a size, as (record, key), repeated for each record."""
        owners: list[Int64Array] = []
        keys: list[Int64Array] = []
        powers = self.width ** np.arange(size)
        for length in np.unique(self.lengths[self.lengths >= size]).tolist():
            records = np.flatnonzero(self.lengths == length)
            rows = self.items[self.offsets[records, None] + np.arange(length)]
            choices = np.array(list(combinations(range(length), size)))
            keys.append((rows[:, choices] @ powers).ravel())
            owners.append(np.repeat(records, len(choices)))
        if not keys:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        return np.concatenate(owners), np.concatenate(keys)

    def is_single(self, known: Int64Array) -> bool:
        """Tell whether at most one record holds all of the `known` items.

        Walks the holders of the rarest one in steps of doubling size: where many records match,
        the second is found at once; where few do, the list is short.
        """
        if len(known) == 0:
            return len(self.lengths) == 1
        known = known[np.argsort(self.supports[known], kind="stable")]
        start, end = self.holder_offsets[known[0]], self.holder_offsets[known[0] + 1]
        found, step = 0, 32
        while start < end and found < 2:
            records = self.holders[start : min(start + step, end)]
            for item in known[1:].tolist():
                wanted = records * self.width + item
                places = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
                records = records[self.keys[places] == wanted]
            found += len(records)
            start += step
            step *= 2
        return found < 2


def _by_one_item(records: Records) -> float:
    """Return the rate for one known item: the mean share of items that nobody else holds."""
    n = len(records.lengths)
    single = records.supports[records.items] == 1
    hits = np.bincount(records.rows[single], minlength=n)
    return (float((hits / np.maximum(records.lengths, 1)).sum()) + _lone_empty(records)) / n


def _lone_empty(records: Records) -> int:
    """Return 1 if the table is a single empty record, of which everybody knows everything."""
    return int(len(records.lengths) == 1 and records.lengths[0] == 0)


def _counted(records: Records, m: int, sizes: list[int]) -> float:
    """Return the rate from all itemsets: sorted, those that differ from both neighbours."""
    n, lengths = len(records.lengths), records.lengths
    total = float(_lone_empty(records))
    for size in sizes:
        owners, keys = records.itemsets(size)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        differs = keys[1:] != keys[:-1]
        single = np.ones(len(keys), dtype=bool)
        single[1:] &= differs
        single[:-1] &= differs
        hits = np.bincount(owners[order][single], minlength=n)
        asked = lengths >= m if size == m else lengths == size
        choices = np.array([math.comb(length, size) for length in lengths[asked].tolist()])
        total += float((hits[asked] / choices).sum())
    return total / n


def _hits(records: Records, m: int, samples: int, rng: np.random.Generator) -> int:
    """Return how many of the drawn (record, known items) pairs are single."""
    hits = 0
    for record in rng.integers(len(records.lengths), size=samples).tolist():
        row = records.items[records.offsets[record] : records.offsets[record + 1]]
        known = rng.choice(row, m, replace=False) if len(row) > m else row
        hits += records.is_single(known)
    return hits
