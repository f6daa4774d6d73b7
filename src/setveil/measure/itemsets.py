"""Frequent itemsets: the most frequent ones of the original, and how many a release still shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from setveil.errors import NotApplicable, ParameterError
from setveil.measure.images import certain_table, tree_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from setveil.data.table import Int64Array, TransactionTable
    from setveil.data.taxonomy import Taxonomy
    from setveil.release.base import Release

    Bits = npt.NDArray[np.uint8]
    Numbers = tuple[int, ...]

TOP = 100
"""How many itemsets count as the most frequent ones unless told otherwise."""

LARGEST = 3
"""Size of the largest itemsets that are looked at."""


def top_itemsets(
    table: TransactionTable, k: int = TOP, *, largest: int = LARGEST
) -> dict[tuple[str, ...], int]:
    """Return the `k` itemsets that most records hold, with their supports, most frequent first.

    Ties go to the smaller itemset, then to the one whose names come first: the same records give
    the same answer. Fewer are returned where fewer occur.

    An itemset comes after each of its subsets in that order, so only the first `k` items matter,
    and larger itemsets are made of those that are among the first `k` so far. Supports are
    counted on bitsets.

    Parameters
    ----------
    table
        The records.
    k
        How many itemsets.
    largest
        Greatest size of an itemset.

    Examples
    --------
    >>> from setveil.data import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "cough"], ["flu", "cough"], ["flu"]])
    >>> top_itemsets(table, 2)
    {('flu',): 3, ('cough',): 2}
    """
    if k < 1 or largest < 1:
        raise ParameterError(
            f"the {k} most frequent itemsets of up to {largest} items cannot be found",
            fix="ask for at least one of at least one item",
        )
    supports = table.supports()
    # The vocabulary is sorted by name, so a stable sort breaks ties by name.
    order = np.argsort(-supports, kind="stable")[:k]
    items = order[supports[order] > 0]
    best = _Best(k=k, entries=[(-int(supports[i]), 1, (int(i),)) for i in items])
    if largest > 1 and len(items) > 1:
        _grow(best, _bitsets(table, items), items, supports[items], largest)
    names = table.vocabulary.names
    return {tuple(names[i] for i in found): -count for count, _, found in best.entries}


@dataclass
class _Best:
    """The first `k` itemsets so far: (-support, size, item numbers), ascending."""

    k: int
    entries: list[tuple[int, int, Numbers]]

    def add(self, entries: Iterable[tuple[int, int, Numbers]]) -> None:
        self.entries = sorted([*self.entries, *entries])[: self.k]

    @property
    def least(self) -> int:
        """The support below which nothing gets in."""
        return -self.entries[-1][0] if len(self.entries) == self.k else 1


def _bitsets(table: TransactionTable, items: Int64Array) -> Bits:
    """Return for each of the items the records that hold it, one bit each."""
    bits = np.zeros((len(items), (len(table) + 7) // 8), dtype=np.uint8)
    record = np.repeat(np.arange(len(table)), table.lengths)
    by_item = np.argsort(table.items, kind="stable")
    starts = np.searchsorted(table.items[by_item], np.arange(table.n_items + 1))
    held = np.zeros(bits.shape[1] * 8, dtype=bool)
    for place, item in enumerate(items.tolist()):
        records = record[by_item[starts[item] : starts[item + 1]]]
        held[records] = True
        bits[place] = np.packbits(held)
        held[records] = False
    return bits


def _grow(best: _Best, bits: Bits, items: Int64Array, supports: Int64Array, largest: int) -> None:
    """Add the itemsets of two and more items; `items` come by descending support."""
    level: list[Numbers] = [(place,) for place in range(len(items))]
    place_of = {item: place for place, item in enumerate(items.tolist())}
    for size in range(2, largest + 1):
        for prefix in level:
            first = prefix[-1] + 1
            stop = int(np.searchsorted(-supports, -best.least, side="right"))
            if first >= stop:
                continue
            cover = np.bitwise_and.reduce(bits[list(prefix)], axis=0)
            counts = np.bitwise_count(bits[first:stop] & cover).sum(axis=1, dtype=np.int64)
            good = np.flatnonzero(counts >= best.least).tolist()
            chosen = items[list(prefix)].tolist()
            best.add(
                (-int(counts[g]), size, tuple(sorted([*chosen, int(items[first + g])])))
                for g in good
            )
        level = [
            tuple(sorted(place_of[item] for item in found))
            for _, length, found in best.entries
            if length == size
        ]


def top_k_itemset_loss(
    release: Release,
    original: TransactionTable,
    *,
    taxonomy: Taxonomy | None = None,
    sensitive: Iterable[str] = (),
    k: int = TOP,
    largest: int = LARGEST,
) -> float:
    """Return the share of the `k` most frequent itemsets that the release no longer shows.

    1 - |FI ∩ FI'| / |FI|, where FI are the most frequent itemsets of the original (see
    :func:`top_itemsets`) and FI' those of the release, counted by what is certain: an itemset's
    support in the release is the least that any original it allows can have. An item that is
    published as a more general term therefore counts for nothing, and nothing is drawn at
    random. (The paper counts in one random reconstruction; its variant tKd-a is ours.)

    Parameters
    ----------
    release, original
        What is compared.
    taxonomy
        The tree the release was made with; a generalized release needs it.
    sensitive
        The sensitive items; those that the taxonomy lacks stand beside it.
    k, largest
        How many itemsets, of up to how many items.

    Examples
    --------
    >>> from setveil.data import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu", "hiv"], ["flu"], ["gout"]])
    >>> release, _ = publish_suppressed(table, [True, True, False])
    >>> top_k_itemset_loss(release, table, k=2)  # flu and hiv were, flu and gout are
    0.5

    References
    ----------
    M. Terrovitis, N. Mamoulis, J. Liagouris, S. Skiadopoulos: Privacy preservation by
    disassociation, PVLDB 5(10), 2012.
    """
    before = set(top_itemsets(original, k, largest=largest))
    if not before:
        raise NotApplicable("the original has no itemsets")
    tree = None if taxonomy is None else tree_for(taxonomy, original, sensitive)
    after = set(top_itemsets(certain_table(release, original, tree), k, largest=largest))
    return 1 - len(before & after) / len(before)
