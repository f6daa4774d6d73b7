"""Itemsets that a disassociation protects: held together by few, and published apart."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.arrays import Int64Array, offsets_of
from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.params import is_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from setveil.attack.reassociation.rebuilt_records import Rebuilt, Terms
    from setveil.core.table import TransactionTable
    from setveil.release.disassociated import DisassociatedRelease

MOST = 30_000_000
"""Greatest number of itemsets, over all records, that are looked at."""


class Broken(NamedTuple):
    """Protected itemsets counted by cluster, each shared out among the clusters it occurs in.

    Parameters
    ----------
    broken, all
        For each cluster the itemsets that an attack puts together as they were, and all.
    """

    broken: npt.NDArray[np.float64]
    all: npt.NDArray[np.float64]


class ProtectedItemsets:
    """The itemsets of m terms that 1 to k - 1 original records hold, and no sub-record does.

    Parameters
    ----------
    original, release
        What was published as what.
    k, m
        The parameters of the release.

    Raises
    ------
    NotApplicable
        There are too many itemsets to look at.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a", "b"], ["a"], ["b"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1, 2], domains=((0,), (1,)), terms=())])
    >>> len(ProtectedItemsets(table, release, k=2, m=2))
    1
    """

    def __init__(
        self, original: TransactionTable, release: DisassociatedRelease, *, k: int, m: int
    ) -> None:
        for name, value, least in (("k", k, 1), ("m", m, 1)):
            if not is_whole(value, least):
                raise ParameterError(f"{name} is {value!r}", fix="use a whole number from 1 on")
        self.m = m
        self._number = {name: i for i, name in enumerate(original.vocabulary.names)}
        lengths = original.lengths.tolist()
        if original.n_items**m >= 2**63 or sum(comb(n, m) for n in lengths) > MOST:
            raise NotApplicable(f"the records hold too many itemsets of {m} terms")
        _, keys = self._keys(original.offsets, original.items.astype(np.int64))
        found, supports = np.unique(keys, return_counts=True)
        rare = found[supports < k]
        number = np.array([self._number[name] for name in release.vocabulary.names], np.int64)
        _, together = self._keys(release.row_offsets, number[release.items])
        self._rare = rare[~_are_in(rare, _distinct(together))]

    def __len__(self) -> int:
        return len(self._rare)

    def broken(self, rebuilt: Sequence[Rebuilt], part: str) -> Broken:
        """Return how many protected itemsets stand in a rebuilt record as in the true one.

        An itemset counts where a true record holds it in the anchor and the part of the release
        that is looked at. It is broken where a said record of the same cluster and with an equal
        anchor holds it too: rows with equal anchors are interchangeable.

        Raises
        ------
        NotApplicable
            The rebuilt records hold too many itemsets to look at.
        """
        groups: dict[tuple[int, Terms], int] = {}
        cluster_of: list[int] = []
        found = []
        for side in ("true", "said"):
            rows: list[Terms] = []
            group_of: list[int] = []
            for place, each in enumerate(rebuilt):
                for row in getattr(each, side):
                    group = groups.setdefault((place, row.anchor), len(groups))
                    if group == len(cluster_of):
                        cluster_of.append(place)
                    group_of.append(group)
                    rows.append(row.whole(part))
            found.append(self._held(rows, group_of))
        true, said = found
        # One number for a group and an itemset; an itemset's place alone is what remains by it.
        width = max(len(self), 1)
        is_broken = np.zeros(width, dtype=bool)
        is_broken[true[_are_in(true, said)] % width] = True
        cluster = np.array(cluster_of, dtype=np.int64)[true // width]
        where = _distinct(cluster * width + true % width)
        itemset = where % width
        shares = 1 / np.bincount(itemset, minlength=width)[itemset]
        weights = (shares * is_broken[itemset], shares)
        return Broken(
            *(np.bincount(where // width, w, len(rebuilt)).astype(float) for w in weights)
        )

    def _held(self, rows: Sequence[Iterable[str]], group_of: Sequence[int]) -> Int64Array:
        """Return the groups and protected itemsets of rows, in one number each, distinct."""
        numbers = [sorted(self._number[term] for term in row) for row in rows]
        if sum(comb(len(row), self.m) for row in numbers) > MOST:
            raise NotApplicable(f"the rebuilt records hold too many itemsets of {self.m} terms")
        offsets = offsets_of([len(row) for row in numbers])
        flat = np.array([number for row in numbers for number in row], dtype=np.int64)
        row, keys = self._keys(offsets, flat)
        there = _are_in(keys, self._rare)
        place = np.searchsorted(self._rare, keys[there])
        group = np.array(group_of, dtype=np.int64)[row[there]]
        return _distinct(group * len(self) + place)

    def _keys(self, offsets: Int64Array, items: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return each itemset of m terms of each row: the row, and the itemset as one number."""
        lengths = np.diff(offsets)
        rows, keys = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for length in np.unique(lengths[lengths >= self.m]).tolist():
            chosen = np.array(list(combinations(range(length), self.m)), dtype=np.int64)
            where = np.flatnonzero(lengths == length)
            key = np.zeros((len(where), len(chosen)), dtype=np.int64)
            for column in chosen.T:
                key = key * len(self._number) + items[offsets[where][:, None] + column]
            rows.append(np.repeat(where, len(chosen)))
            keys.append(key.ravel())
        return np.concatenate(rows), np.concatenate(keys)


def _distinct(values: Int64Array) -> Int64Array:
    """Return the different values, ascending; numpy's own hashes them, and is slower by far."""
    ordered = np.sort(values)
    return ordered[np.diff(ordered, prepend=-1) > 0]  # none is below 0


def _are_in(values: Int64Array, ascending: Int64Array) -> npt.NDArray[np.bool_]:
    """Return for each value whether it is among others, which are ascending."""
    if not len(ascending):
        return np.zeros(len(values), dtype=bool)
    place = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.asarray(ascending[place] == values)
