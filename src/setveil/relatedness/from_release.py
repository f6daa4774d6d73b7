"""Counts among the records of a table or a release: what an adversary has without any corpus."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from setveil.core.errors import ParameterError
from setveil.core.registry import register
from setveil.core.table import Int32Array, Int64Array, TransactionTable, frozen
from setveil.relatedness.base import IntArray, no_place
from setveil.relatedness.cooccurrence import NGD
from setveil.relatedness.postings import meet
from setveil.release.views import published_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from setveil.release.base import Release


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordCounts:
    """In how many records items stand, alone and together; an item is looked up as it is written.

    Parameters
    ----------
    total
        Number of records.
    numbers
        For each item its number.
    starts, records
        The records that hold item i are ``records[starts[i]:starts[i + 1]]``, ascending.

    Examples
    --------
    >>> counts = RecordCounts.from_rows([["flu", "cough"], ["flu"], ["gout"]])
    >>> counts.total, counts.counts(["flu", "mumps"]).tolist()
    (3, [2, 0])
    >>> counts.pair_counts(["flu"], ["cough", "gout"]).tolist()
    [[1, 0]]
    """

    total: int
    numbers: Mapping[str, int]
    starts: Int64Array
    records: Int32Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", frozen(self.starts, np.int64))
        object.__setattr__(self, "records", frozen(self.records, np.int32))

    @classmethod
    def of(cls, published: Release | TransactionTable) -> RecordCounts:
        """Count in the records of a table, or among what a release publishes in clear.

        A category, or a generalized item of several members, is no item: what stands behind it
        is not known, so its members are not counted. Of a release in chunks, each sub-record
        counts as a record, and each term of a term chunk as one that shows nothing else.

        >>> from setveil.release.set_generalized import publish_sets
        >>> table = TransactionTable.from_rows([["flu", "gout"], ["mumps"]])
        >>> release, _ = publish_sets(table, [0, 1, 0])
        >>> RecordCounts.of(release).counts(["flu", "gout", "mumps"]).tolist()
        [0, 1, 0]
        """
        if isinstance(published, TransactionTable):
            rows = published_rows(published)
        else:
            rows = published.rows_to_count_in()
        clear = np.asarray(rows.exact)
        record_of = np.repeat(np.arange(len(rows), dtype=np.int32), rows.lengths)
        held = clear[rows.items]
        items, records = rows.items[held], record_of[held]
        sizes = np.bincount(items, minlength=len(rows.names))
        numbers: dict[str, int] = {}
        for number in np.flatnonzero(sizes).tolist():
            numbers.setdefault(rows.names[number], number)
        return cls(
            total=len(rows),
            numbers=numbers,
            starts=np.concatenate([[0], np.cumsum(sizes)]),
            records=records[np.argsort(items, kind="stable")],
        )

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[str]]) -> RecordCounts:
        """Count in records given as lists of items.

        >>> RecordCounts.from_rows([["flu"], ["flu", "gout"]]).counts(["flu"]).tolist()
        [2]
        """
        return cls.of(TransactionTable.from_rows(rows))

    def counts(self, terms: Sequence[str]) -> IntArray:
        """Return for each item how many records show it; 0 for an unknown one."""
        return np.array([len(self.postings(term)) for term in terms], dtype=np.int64)

    def pair_counts(self, rows: Sequence[str], columns: Sequence[str]) -> IntArray:
        """Return for each row item and column item how many records show both."""
        return meet(rows, columns, self.postings, self.total)

    def postings(self, term: str) -> Int32Array:
        """Return the records that show an item, ascending."""
        number = self.numbers.get(term)
        if number is None:
            return self.records[:0]
        return self.records[self.starts[number] : self.starts[number + 1]]

    def fingerprint(self) -> str:
        """Return a hash of what is counted."""
        digest = hashlib.blake2b(str(self.total).encode(), digest_size=16)
        for term in sorted(self.numbers):
            digest.update(f"\n{term}\0".encode())
            digest.update(self.postings(term).tobytes())
        return digest.hexdigest()


@register("relatedness", "release", paper="Cilibrasi & Vitányi 2007")
@dataclass(frozen=True, eq=False)
class WithinRelease(NGD):
    """Normalized distance by the records of the release itself, among items in clear.

    The members of a generalized item are unknown to it: wherever one could stand, each other
    could. So it relates items in clear, and cannot rank members. Of a release in chunks it counts
    sub-records: terms that one cluster keeps apart, another may show together.

    Examples
    --------
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["mumps"], ["gout", "itch"]])
    >>> release, _ = publish_sets(table, [0, 1, 2, 0])
    >>> source = WithinRelease.from_spec("", release=release)
    >>> source.distances(["gout"], ["itch", "flu", "mumps"]).round(2).tolist()
    [[0.63, nan, nan]]
    """

    @classmethod
    def from_spec(cls, place: str, *, release: Release | None = None) -> Self:
        """Return the distance over a release."""
        no_place("release", place)
        if release is None:
            raise ParameterError(
                "relatedness within the release needs one",
                fix="attack a release, or name a corpus",
            )
        return cls(RecordCounts.of(release))
