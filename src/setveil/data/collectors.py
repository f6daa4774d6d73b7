"""Growing tables: records come one by one, or pair by pair, and leave as compressed rows."""

from __future__ import annotations

from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.data.row_order import grouped_pairs
from setveil.data.table import TransactionTable

if TYPE_CHECKING:
    from collections.abc import Iterable


def _numbering() -> defaultdict[str, int]:
    """Return a dict that gives each new key the next number."""
    return defaultdict(count().__next__)


@dataclass(kw_only=True)
class Collected:
    """What a format's reader hands back: the table and how many repetitions it merged."""

    table: TransactionTable
    duplicates: int
    notes: list[str] = field(default_factory=list)


class RowCollector:
    """Records of names, added one after the other.

    >>> rows = RowCollector()
    >>> rows.add(["b", "a", "b"])
    >>> rows.add([])
    >>> done = rows.finish()
    >>> done.table.to_rows(), done.duplicates
    ([['a', 'b'], []], 1)
    """

    def __init__(self) -> None:
        self._numbers = _numbering()
        self._flat = array("i")
        self._ends = array("q", [0])

    def add(self, names: Iterable[str]) -> None:
        """Add a record."""
        self._flat.extend(map(self._numbers.__getitem__, names))
        self._ends.append(len(self._flat))

    def finish(self) -> Collected:
        """Return the table of all records."""
        table = TransactionTable.from_csr(
            np.frombuffer(self._ends, dtype=np.int64),
            np.frombuffer(self._flat, dtype=np.int32),
            self._numbers,
        )
        return Collected(table=table, duplicates=len(self._flat) - len(table.items))


def collected_pairs(
    n_records: int, rows: npt.NDArray[np.int64], flat: npt.NDArray[np.int32], names: list[str]
) -> Collected:
    """Gather pairs of a record's and an item's number into a table.

    >>> collected_pairs(2, np.array([1, 0]), np.array([0, 0], np.int32), ["a"]).table.to_rows()
    [['a'], ['a']]
    """
    offsets, flat = grouped_pairs(n_records, rows, flat)
    table = TransactionTable.from_csr(offsets, flat, names)
    return Collected(table=table, duplicates=len(flat) - len(table.items))
