"""Terms are close that stand together: normalized distance and pointwise information from counts.

The counts are those of a corpus (:mod:`setveil.relatedness.index`), or of the records of a table
or a release: what an adversary has without any corpus.

References
----------
.. [1] R. Cilibrasi, P. Vitányi: The Google similarity distance. IEEE Transactions on Knowledge
   and Data Engineering 19 (3), 2007.
.. [2] K. Church, P. Hanks: Word association norms, mutual information, and lexicography.
   Computational Linguistics 16 (1), 1990.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from setveil.core.arrays import BoolArray, FloatArray, Int32Array, Int64Array, offsets_of
from setveil.core.errors import ParameterError
from setveil.core.registry import register
from setveil.core.table import TransactionTable, frozen
from setveil.relatedness.base import Counts, IntArray, place_of, refuse_place
from setveil.relatedness.index import CorpusIndex, pair_counts_of
from setveil.release.views import published_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from setveil.release.base import Release

SMOOTHING = 0.5
"""Added to observed and expected counts of a pair, as one document more or less is chance."""


def ngd(
    alone: npt.ArrayLike, other: npt.ArrayLike, together: npt.ArrayLike, total: int
) -> FloatArray:
    """Return the normalized distance of terms from their counts.

    (max(log f(x), log f(y)) − log f(x,y)) / (log N − min(log f(x), log f(y))), with every edge
    defined: a term in no document is unknown, and the distance is NaN; terms that never stand
    together have distance 1, which is that of independent terms; a pair cannot occur more often
    than either term, whatever a counter says; and N exceeds every count, so that a term in all
    of N documents is counted as one in N of N + 1.

    Parameters
    ----------
    alone, other
        In how many documents the first and the second term stand.
    together
        In how many both stand.
    total
        Number of documents.

    Examples
    --------
    >>> ngd([8, 8, 8, 0], [4, 4, 8, 4], [2, 0, 8, 0], 128).round(4).tolist()
    [0.4, 1.0, 0.0, nan]
    >>> ngd(1, 1, 1, 1).tolist()
    0.0
    """
    first, second, both = (np.asarray(each, dtype=np.float64) for each in (alone, other, together))
    least, most = np.minimum(first, second), np.maximum(first, second)
    both = np.minimum(both, least)
    # A count of none has no logarithm: it is taken as one here, and put right in the end.
    held, fewer, more = (np.maximum(each, 1) for each in (both, least, most))
    above = np.log(more) - np.log(held)
    below = np.log(np.maximum(total, more + 1)) - np.log(fewer)
    distance = np.where(both > 0, above / below, 1.0)
    return np.asarray(np.where(least > 0, distance, np.nan))


def pmi(
    alone: npt.ArrayLike, other: npt.ArrayLike, together: npt.ArrayLike, total: int
) -> FloatArray:
    """Return the pointwise mutual information of terms: log((f(x,y) + ½) / (f(x)·f(y)/N + ½)).

    0 says that two terms stand together as often as by chance, more that they attract each
    other. The halves keep a pair that never occurs finite; an unknown term gives NaN.

    Examples
    --------
    >>> pmi([8, 8, 0], [4, 4, 4], [2, 0, 0], 128).round(3).tolist()
    [1.204, -0.405, nan]
    """
    first, second, both = (np.asarray(each, dtype=np.float64) for each in (alone, other, together))
    both = np.minimum(both, np.minimum(first, second))
    ratio = (both + SMOOTHING) / (first * second / max(total, 1) + SMOOTHING)
    return np.asarray(np.where(np.minimum(first, second) > 0, np.log(ratio), np.nan))


@register("relatedness", "corpus", paper="Cilibrasi & Vitányi 2007")
@dataclass(frozen=True, eq=False)
class NGD:
    """Normalized distance by documents that hold both terms, over any source of counts.

    Parameters
    ----------
    counts
        An index over a corpus, the records of a release, or a counter on the web.

    Examples
    --------
    >>> from setveil.relatedness import RecordCounts
    >>> counts = RecordCounts.from_rows([["flu", "cough"], ["flu", "cough"], ["gout"], ["flu"]])
    >>> NGD(counts).distances(["flu"], ["cough", "flu", "gout", "mumps"]).round(3).tolist()
    [[0.585, 0.0, 1.0, nan]]
    """

    counts: Counts

    @classmethod
    def from_spec(cls, place: str, *, release: Release | None = None) -> Self:
        """Return the distance over the index that a path names."""
        del release
        return cls(CorpusIndex.open(place_of("corpus", place, "INDEX")))

    def distances(self, rows: Sequence[str], columns: Sequence[str]) -> FloatArray:
        """Return the distance of each row term to each column term; NaN where one is unknown."""
        down, across = self.counts.counts(rows), self.counts.counts(columns)
        both = self.counts.pair_counts(rows, columns)
        return ngd(down[:, None], across[None, :], both, self.counts.total)

    def known(self, terms: Sequence[str]) -> BoolArray:
        """Tell for each term whether a document holds it."""
        return self.counts.counts(terms) > 0

    def fingerprint(self) -> str:
        """Return a text that is the same exactly when all distances are."""
        return f"ngd({self.counts.fingerprint()})"


@register("relatedness", "pmi", paper="Church & Hanks 1990")
@dataclass(frozen=True, eq=False)
class PMI:
    """Pointwise mutual information, over any source of counts; its negative is the distance.

    Distances have no scale of their own (0 is chance, below it attraction), unlike NGD's.

    Parameters
    ----------
    counts
        An index over a corpus, the records of a release, or a counter on the web.

    Examples
    --------
    >>> from setveil.relatedness import RecordCounts
    >>> counts = RecordCounts.from_rows([["flu", "cough"], ["flu", "cough"], ["gout"], ["flu"]])
    >>> PMI(counts).distances(["flu"], ["cough", "gout", "mumps"]).round(3).tolist()
    [[-0.223, 0.916, nan]]
    """

    counts: Counts

    @classmethod
    def from_spec(cls, place: str, *, release: Release | None = None) -> Self:
        """Return the information over the index that a path names."""
        del release
        return cls(CorpusIndex.open(place_of("pmi", place, "INDEX")))

    def information(self, rows: Sequence[str], columns: Sequence[str]) -> FloatArray:
        """Return the information of each row term and column term; NaN where one is unknown."""
        down, across = self.counts.counts(rows), self.counts.counts(columns)
        both = self.counts.pair_counts(rows, columns)
        return pmi(down[:, None], across[None, :], both, self.counts.total)

    def distances(self, rows: Sequence[str], columns: Sequence[str]) -> FloatArray:
        """Return the negative information of each pair; NaN where one term is unknown."""
        return -self.information(rows, columns)

    def known(self, terms: Sequence[str]) -> BoolArray:
        """Tell for each term whether a document holds it."""
        return self.counts.counts(terms) > 0

    def fingerprint(self) -> str:
        """Return a text that is the same exactly when all distances are."""
        return f"pmi({self.counts.fingerprint()})"


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
            starts=offsets_of(sizes),
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
        return pair_counts_of(rows, columns, self.postings, self.total)

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
        refuse_place("release", place)
        if release is None:
            raise ParameterError(
                "relatedness within the release needs one",
                fix="attack a release, or name a corpus",
            )
        return cls(RecordCounts.of(release))
