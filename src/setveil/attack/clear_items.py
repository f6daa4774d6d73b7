"""What the records of a release show in clear, whatever form it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from setveil.errors import NotApplicable
from setveil.release.grouped import GroupedRelease
from setveil.release.published import published_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.data.table import Int64Array
    from setveil.release.base import Release


@dataclass(frozen=True, kw_only=True, eq=False)
class ClearItems:
    """For each published record the items that its person holds for certain.

    Parameters
    ----------
    offsets, items
        Record `j` shows ``items[offsets[j]:offsets[j + 1]]``, numbers of `names`, ascending.
    names
        The items.

    Examples
    --------
    >>> from setveil.data import TransactionTable
    >>> from setveil.release import publish_sets
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["fever", "gout"], ["gout"]])
    >>> release, _ = publish_sets(table, [0, 0, 1])
    >>> clear = ClearItems.of(release)
    >>> release.to_rows()[0], clear.of_record(0), clear.held_by_all([0, 1, 2])
    (['(fever, flu)', 'gout'], frozenset({'gout'}), frozenset({'gout'}))
    """

    offsets: Int64Array
    items: Int64Array
    names: tuple[str, ...]

    @classmethod
    def of(cls, release: Release) -> ClearItems:
        """Read a release; chunks and randomized records show nothing for certain of anybody."""
        if isinstance(release, GroupedRelease):
            numbers = release.items.astype(np.int64)
            return cls(offsets=release.offsets, items=numbers, names=release.vocabulary.names)
        try:
            rows = published_rows(release)
        except NotApplicable:
            nothing = np.zeros(0, dtype=np.int64)
            return cls(offsets=np.zeros(len(release) + 1, np.int64), items=nothing, names=())
        clear = rows.exact[rows.items]
        return cls(
            offsets=np.concatenate([[0], np.cumsum(clear)])[rows.offsets],
            items=rows.items[clear].astype(np.int64),
            names=rows.ids if rows.known_as is None else rows.known_as,
        )

    def of_record(self, record: int) -> frozenset[str]:
        """Return what one record shows."""
        shown = self.items[self.offsets[record] : self.offsets[record + 1]]
        return frozenset(self.names[i] for i in shown.tolist())

    def held_by_all(self, records: Iterable[int]) -> frozenset[str]:
        """Return what each of some records shows; of no records nothing.

        Looks at a few first: where they have nothing in common, the others do not matter.
        """
        chosen = np.asarray(records, dtype=np.int64)
        if not len(chosen):
            return frozenset()
        common = self.items[self.offsets[chosen[0]] : self.offsets[chosen[0] + 1]]
        start, step = 1, 16
        while start < len(chosen) and len(common):
            part = chosen[start : start + step]
            lengths = self.offsets[part + 1] - self.offsets[part]
            places = np.repeat(self.offsets[part] - np.cumsum(lengths) + lengths, lengths)
            shown = self.items[places + np.arange(len(places))]
            counts = np.bincount(shown, minlength=len(self.names))
            common = common[counts[common] == len(part)]
            start, step = start + step, step * 2
        return frozenset(self.names[i] for i in common.tolist())
