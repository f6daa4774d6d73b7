"""Disassociation: whoever knows at most m items of a person may still face k records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.errors import NotApplicable, ParameterError
from setveil.guarantee.base import Verdict, Witness
from setveil.guarantee.certain_links import Holdings
from setveil.guarantee.joint_clusters import Narrowed, narrowed_joint
from setveil.guarantee.km_anonymity import KmAnonymity
from setveil.literature import TERROVITIS_2012
from setveil.registry import register
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.published import PublishedRows

if TYPE_CHECKING:
    from setveil.data.table import Int64Array, TransactionTable
    from setveil.release.base import Release

SHOWN = 20
"""How many witnesses a verdict carries at most."""


@register(
    "guarantee",
    "disassociated",
    paper="Terrovitis, Liagouris, Mamoulis & Skiadopoulos 2012",
    bibtex=TERROVITIS_2012,
)
@dataclass(frozen=True, kw_only=True)
class Disassociated:
    """Any at most m items of a person stand together in k records of some original, or in none.

    A disassociated release allows many originals. The promise: for every set of at most m items
    that one of them has in a record of some cluster (or joint cluster), there is one that has it
    in at least k records of it. It is a promise about what is possible, not about what is likely.

    It is re-derived from the release alone:

    - every cluster has at least k records, so that a term of a term chunk may be anybody's of k;
    - every chunk is k^m-anonymous: sets of at most m items occur in no sub-record or in k;
    - pieces from different chunks can be stacked k times. No original record is empty, so where
      sub-records are scarce they must be spread out. In a cluster without a term chunk, let e be
      by how many sub-records outnumber records, and h the number of chunks, at most m. Some set
      is possible, but never in k records, exactly when 0 < e < k(h − 1);
    - in joint clusters members need filling too, and shared sub-records may have to do it. A joint
      cluster is safe if each member has a term chunk, or enough sub-records of its own for itself
      (e ≥ k(h − 1)). Otherwise the sets in question are looked at one by one.

    Parameters
    ----------
    k
        Least number of records.
    m
        Greatest number of items someone may know.
    work
        Most itemsets of one joint cluster, and choices of chunks they come from, that are looked
        at one by one; beyond it the verdict is marked as not exact.

    Examples
    --------
    The records ab, b and a in chunks {a, a} and {b, b}: every original has just one record ab.

    >>> from setveil.data import TransactionTable
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a", "b"], ["b"], ["a"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1, 2], domains=((0,), (1,)), terms=())])
    >>> verdict = Disassociated(k=2, m=2).check(release)
    >>> verdict.holds, verdict.reason
    (False, '1 of 1 clusters has too few sub-records: sets of 2 items cannot be in 2 records')
    >>> verdict.witnesses[0].items, verdict.witnesses[0].support
    (('a', 'b'), 1)

    With b in the term chunk nobody knows how often it occurs.

    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1, 2], domains=((0,),), terms=(1,))])
    >>> Disassociated(k=2, m=2).check(release).holds
    True

    References
    ----------
    M. Terrovitis, J. Liagouris, N. Mamoulis, S. Skiadopoulos: Privacy preservation by
    disassociation, PVLDB 5(10), 2012. Its lemma asks for e ≥ k(h − 1); e = 0 is safe as well,
    since then no record has items of two chunks.
    """

    k: int = field(default=5, metadata={"doc": "least number of records"})
    m: int = field(default=2, metadata={"doc": "greatest number of items someone may know"})
    work: int = field(
        default=1_000_000,
        metadata={"doc": "most itemsets of a joint cluster that are looked at one by one"},
    )

    def __post_init__(self) -> None:
        for name, value in (("k", self.k), ("m", self.m), ("work", self.work)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ParameterError(f"{name} is {value!r}", fix="use a whole number of at least 1")

    def check(self, published: Release | TransactionTable) -> Verdict:
        """Decide from the clusters and chunks alone; witnesses are sets that break the promise."""
        release = chunks_of(published)
        small = np.flatnonzero(release.sizes < self.k)
        if len(small):
            return self._small(release, small)
        chunks = KmAnonymity(k=self.k, m=self.m).check_rows(rows_by_chunk(release))
        if not chunks.holds:
            return Verdict(
                holds=False,
                exact=True,
                reason=f"within their chunks {chunks.reason}",
                checked=chunks.checked,
                witnesses=chunks.witnesses,
            )
        m = min(self.m, max(len(release.vocabulary), 1))  # no set has more items than there are
        narrowed = narrowed_alone(release, self.k, m)
        decided = chunks.exact
        for first, last in release.joint_blocks:
            found, exact = narrowed_joint(release, first, last, k=self.k, m=m, work=self.work)
            narrowed += [found] if found is not None else []
            decided &= exact
        if narrowed:
            return self._narrowed(release, narrowed)
        return Verdict(
            holds=True,
            exact=decided,
            reason=self.kept(*universals(release)) if decided else self._undecided(chunks),
            checked=chunks.checked + len(release.sizes),
        )

    def kept(self, clusters: int, giving: int, covers: int) -> str:
        """Say that it holds, and in how many clusters all records are known to hold something."""
        said = (
            f"each of {clusters:,} clusters has at least {self.k} records, and in each "
            f"every possible set of at most {self.m} items can be in {self.k} of them"
        )
        if covers:
            said += (
                f"; but {giving:,} of them {'gives' if giving == 1 else 'give'} away what all "
                f"their records hold ({covers:,} in all), which safe-disassociated does not allow"
            )
        return said

    def _undecided(self, chunks: Verdict) -> str:
        if not chunks.exact:
            return f"within their chunks {chunks.reason}"
        return (
            f"a joint cluster has more than {self.work:,} itemsets and choices of chunks to look "
            f"at, or too many ways to hold one; none of those looked at breaks the promise. Raise "
            f"work "
            f"(disassociated:k={self.k},m={self.m},work=...) to go on"
        )

    def _small(self, release: DisassociatedRelease, small: Int64Array) -> Verdict:
        worst = small[np.argsort(release.sizes[small], kind="stable")][:SHOWN]
        one = len(small) == 1
        return Verdict(
            holds=False,
            exact=True,
            reason=f"{len(small):,} of {len(release.sizes):,} clusters {'has' if one else 'have'} "
            f"fewer than {self.k} records, the smallest {release.sizes[worst[0]]:,}",
            checked=len(release.sizes),
            witnesses=tuple(
                Witness(
                    items=_something_of(release, int(c), self.m),
                    support=int(release.sizes[c]),
                    required=f"at least {self.k} records in cluster {c}",
                )
                for c in worst
            ),
        )

    def _narrowed(self, release: DisassociatedRelease, narrowed: list[Narrowed]) -> Verdict:
        one = len(narrowed) == 1
        worst = sorted(narrowed, key=lambda found: (found.most, found.first))
        size = len(worst[0].items)
        return Verdict(
            holds=False,
            exact=True,
            reason=f"{len(narrowed):,} of {len(release.blocks):,} clusters "
            f"{'has' if one else 'have'} too few sub-records: sets of {size} items cannot be in "
            f"{self.k} records",
            checked=len(release.sizes),
            witnesses=tuple(
                Witness(
                    items=found.items,
                    support=found.most,
                    required=f"at least {self.k} in some original, within {found.where}",
                )
                for found in worst[:SHOWN]
            ),
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> Disassociated(k=5, m=2).describe()
        'any at most 2 items of a person may be those of at least 5 records'
        """
        items = "1 item" if self.m == 1 else f"{self.m} items"
        return f"any at most {items} of a person may be those of at least {self.k} records"

    def params(self) -> dict[str, Any]:
        """Return the parameters of the promise as JSON values; the bound on work is none."""
        return {"k": self.k, "m": self.m}


def universals(release: DisassociatedRelease) -> tuple[int, int, int]:
    """Return the numbers of clusters, of those that give away what all hold, and of such items."""
    held = Holdings.of(release)
    covers = held.universal()
    return len(release.sizes), len(np.unique(held.cluster[covers])), len(covers)


def chunks_of(published: Release | TransactionTable) -> DisassociatedRelease:
    """Return a disassociated release as one, and refuse everything else.

    >>> from setveil.data import TransactionTable
    >>> chunks_of(TransactionTable.from_rows([["a"]]))
    Traceback (most recent call last):
    setveil.errors.NotApplicable: this promise is about records cut into chunks. \
To fix: ask it of releases that disassociate wrote.
    """
    if not isinstance(published, DisassociatedRelease):
        raise NotApplicable(
            "this promise is about records cut into chunks",
            fix="ask it of releases that disassociate wrote",
        )
    return published


def rows_by_chunk(release: DisassociatedRelease) -> PublishedRows:
    """Return the sub-records with every chunk's items numbered apart.

    Sets of such items lie within a chunk, so one count of them all tells about each chunk.
    """
    chunk, item, _ = release.chunk_items
    width = np.int64(max(len(release.vocabulary), 1))
    lengths = np.diff(release.row_offsets)
    keys = np.repeat(release.chunk_of_row * width, lengths) + release.items
    names = release.vocabulary.names
    return PublishedRows(
        offsets=release.row_offsets,
        items=np.searchsorted(chunk * width + item, keys).astype(np.int32),
        names=tuple(names[i] for i in item.tolist()),
        ids=tuple(f"{q} {names[i]}" for q, i in zip(chunk.tolist(), item.tolist(), strict=True)),
        exact=np.ones(len(item), dtype=bool),
    )


def narrowed_alone(release: DisassociatedRelease, k: int, m: int) -> list[Narrowed]:
    """Return what cannot be in k records, one set for each cluster that has such sets.

    Joint clusters are not asked.
    """
    spare = release.own_rows - release.sizes
    chunks = np.minimum(np.diff(release.chunk_starts), m)
    bare = (np.diff(release.term_offsets) == 0) & ~release.in_joint
    found = []
    for c in np.flatnonzero(bare & (spare > 0) & (spare < k * (chunks - 1)) & (k > 1)).tolist():
        # With fewer pieces the set is possible where sub-records do not suffice for all chunks.
        pieces = int(min(chunks[c], spare[c] + 1))
        items = [release.cluster(c).chunks[i].subrecords[0][0] for i in range(pieces)]
        most = int(spare[c]) // (pieces - 1)
        found.append(Narrowed(tuple(sorted(items)), most, c, c + 1))
    return found


def _something_of(release: DisassociatedRelease, cluster: int, m: int) -> tuple[str, ...]:
    """Return items of a cluster that is too small, at most m."""
    whole = release.cluster(cluster)
    rows = [row for chunk in whole.chunks for row in chunk.subrecords[:1]]
    return (*whole.terms, *(item for row in rows for item in row))[:m]
