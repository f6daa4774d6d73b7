"""Terms are close that stand together in documents: normalized distance and pointwise information.

References
----------
.. [1] R. Cilibrasi, P. Vitányi: The Google similarity distance. IEEE Transactions on Knowledge
   and Data Engineering 19 (3), 2007.
.. [2] K. Church, P. Hanks: Word association norms, mutual information, and lexicography.
   Computational Linguistics 16 (1), 1990.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from setveil.core.registry import register
from setveil.relatedness.base import BoolArray, Counts, FloatArray, place_of
from setveil.relatedness.index import CorpusIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

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
