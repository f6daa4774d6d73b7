"""Records as numbers with the labels that a data file shows for them, and how they are built."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

    from setveil.core.table import Int32Array, Int64Array

BLOCK = 1 << 16
"""How many records, or numbers, are worked on at a time where all at once would take memory."""


class Records(NamedTuple):
    """Records as numbers, and the text that the data file shows for each number.

    Record `j` is ``items[offsets[j]:offsets[j + 1]]``. Built from rows or from a file, the labels
    are sorted and each occurs.

    >>> records = Records.of([["flu", "asthma"], [], ["flu"]])
    >>> records.labels, records.items.tolist(), records.offsets.tolist()
    (('asthma', 'flu'), [1, 0, 1], [0, 2, 2, 3])
    >>> list(records.rows())
    [['flu', 'asthma'], [], ['flu']]
    """

    offsets: Int64Array
    items: Int32Array
    labels: Sequence[str]

    @classmethod
    def of(cls, rows: Iterable[Iterable[str]]) -> Records:
        """Return rows of labels as numbers."""
        builder = RecordsBuilder()
        for row in rows:
            builder.add_row(row)
        return builder.records()

    def rows(self) -> Iterator[list[str]]:
        """Yield each record as a list of labels."""
        labels = self.labels
        for first in range(0, len(self.offsets) - 1, BLOCK):
            bounds = self.offsets[first : first + BLOCK + 1]
            flat = [labels[number] for number in self.items[bounds[0] : bounds[-1]].tolist()]
            for start, end in pairwise((bounds - bounds[0]).tolist()):
                yield flat[start:end]


class RecordsBuilder:
    """Collects records one after the other, or many at once, as numbers.

    >>> builder = RecordsBuilder()
    >>> builder.add_row(["flu", "asthma"])
    >>> builder.records().items.tolist()
    [1, 0]
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        # Arrays of the standard library grow in place, by a little at a time.
        self._items = array("i")
        self._offsets = array("q", [0])

    def add_row(self, row: Iterable[str]) -> None:
        """Add a record."""
        numbers = self._numbers
        self._items.extend([numbers.setdefault(label, len(numbers)) for label in row])
        self._offsets.append(len(self._items))

    def add_column(self, lengths: Int64Array, labels: pl.Series) -> None:
        """Add records of these lengths; `labels` are those of one record after the other.

        >>> import polars as pl
        >>> builder = RecordsBuilder()
        >>> builder.add_column(np.array([2, 0]), pl.Series(["flu", "gout"]))
        >>> list(builder.records().rows())
        [['flu', 'gout'], []]
        """
        ends = np.cumsum(lengths, dtype=np.int64) + len(self._items)
        self._offsets.frombytes(ends.tobytes())
        self._items.frombytes(self._numbered(labels).tobytes())

    def lengthen_last(self, labels: pl.Series) -> None:
        """Add labels to the last record.

        >>> import polars as pl
        >>> builder = RecordsBuilder()
        >>> builder.add_row(["flu"])
        >>> builder.lengthen_last(pl.Series(["gout"]))
        >>> list(builder.records().rows())
        [['flu', 'gout']]
        """
        self._items.frombytes(self._numbered(labels).tobytes())
        self._offsets[-1] = len(self._items)

    def _numbered(self, labels: pl.Series) -> Int32Array:
        import polars as pl

        numbers = self._numbers
        found = np.empty(len(labels), dtype=np.int32)
        for start in range(0, len(labels), BLOCK):
            block = labels.slice(start, BLOCK)
            distinct = block.unique()
            known = [numbers.setdefault(label, len(numbers)) for label in distinct.to_list()]
            coded = block.replace_strict(distinct, known, return_dtype=pl.Int32)
            found[start : start + BLOCK] = coded.to_numpy()
        return found

    def records(self) -> Records:
        """Return the records, with the labels sorted; the builder is then spent."""
        labels = tuple(sorted(self._numbers))
        number_of = {label: number for number, label in enumerate(labels)}
        sorted_number = np.array([number_of[label] for label in self._numbers], dtype=np.int32)
        # Both are views of the builder's memory, not copies.
        items = np.frombuffer(self._items, dtype=np.int32)
        offsets = np.frombuffer(self._offsets, dtype=np.int64)
        for start in range(0, len(items), BLOCK):
            block = items[start : start + BLOCK]
            block[:] = sorted_number[block]
        return Records(offsets, items, labels)
