"""Disassociation: whoever knows at most m items of a person may still face k records."""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil.core.arrays import Int64Array, offsets_of
from setveil.core.errors import NotApplicable
from setveil.core.literature import TERROVITIS_2012
from setveil.core.params import count
from setveil.core.registry import register
from setveil.core.table import TransactionTable
from setveil.guarantee.base import MOST_WITNESSES, HidesAmongK, Verdict, Witness, parts_of
from setveil.guarantee.certain_links import Holdings
from setveil.guarantee.joint_clusters import Narrowed, narrowed_joint
from setveil.guarantee.km_anonymity import KmAnonymity
from setveil.release.views import PublishedRows

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import numpy.typing as npt

    from setveil.guarantee.base import Published
    from setveil.release.base import Release
    from setveil.release.disassociated import DisassociatedRelease

PIECES = (
    "Nothing is hidden inside a piece: whoever recognizes a person's piece learns its other items.",
    (
        "Someone who knows which items usually go together can guess which pieces belong to one "
        "person."
    ),
)
"""What no promise about pieces of records covers."""


WHERE = re.compile(r"clusters? \d+( to \d+)?")
"""How a reason or a witness names clusters by their numbers."""


@dataclass(frozen=True)
class ClusterFindings:
    """What is known of some clusters: the worst verdict, and what is counted in all of them.

    Parameters
    ----------
    verdict
        Of several parts that of the worst, with the witnesses of all that break the promise.
    clusters, giving, covers
        How many clusters there are, how many give away what all their records hold, and how many
        items these are.
    """

    verdict: Verdict
    clusters: int = 0
    giving: int = 0
    covers: int = 0

    def merged(self, other: ClusterFindings) -> ClusterFindings:
        """Return what is known of both."""
        worse, better = sorted((self.verdict, other.verdict), key=_badness)
        verdict = replace(worse, checked=worse.checked + better.checked)
        if not (worse.holds or better.holds):
            both = sorted((*worse.witnesses, *better.witnesses), key=lambda w: (w.support, w.items))
            verdict = replace(verdict, witnesses=tuple(both[:MOST_WITNESSES]))
        return ClusterFindings(
            verdict,
            self.clusters + other.clusters,
            self.giving + other.giving,
            self.covers + other.covers,
        )


def _badness(verdict: Verdict) -> tuple[bool, bool, str]:
    """Return what sorts verdicts: certainly violated, perhaps violated, perhaps kept, kept."""
    return verdict.holds, verdict.exact == verdict.holds, verdict.reason


class ChunkPromise(HidesAmongK):
    """A promise about records cut into chunks, which is judged cluster by cluster."""

    def check(self, published: Published) -> Verdict:
        """Decide from the clusters and chunks alone; witnesses are what breaks the promise.

        Some clusters are looked at after the others, which takes little memory; only where one
        does not keep the promise all are looked at together. Clusters that lie in several parts
        have no numbers, and where they break the promise the reason tells about one part.
        """
        parts = parts_of(published).map(chunks_of)
        here = parts.room is None
        nothing = ClusterFindings(Verdict(holds=True, exact=True, reason="", checked=0))
        found = parts.fold(partial(self.examine, whole=here), ClusterFindings.merged, nothing)
        verdict = found.verdict
        if verdict.holds and verdict.exact:
            return replace(verdict, reason=self.kept(found.clusters, found.giving, found.covers))
        if here:
            return verdict
        witnesses = tuple(
            replace(w, required=WHERE.sub("its cluster", w.required)) for w in verdict.witnesses
        )
        return replace(verdict, reason=f"in a part of them, {verdict.reason}", witnesses=witnesses)

    @abstractmethod
    def examine(self, release: DisassociatedRelease, *, whole: bool) -> ClusterFindings:
        """Judge some clusters, or the `whole` release; what is kept need not be said."""

    @abstractmethod
    def kept(self, clusters: int, giving: int, covers: int) -> str:
        """Say that it holds, and in how many clusters all records are known to hold something."""


@register(
    "guarantee",
    "disassociated",
    paper="Terrovitis, Liagouris, Mamoulis & Skiadopoulos 2012",
    bibtex=TERROVITIS_2012,
)
@dataclass(frozen=True, kw_only=True)
class Disassociated(ChunkPromise):
    """Any at most m items of a person stand together in k records of some original, or in none.

    A disassociated release allows many originals. The promise: for every set of at most m items
    that one of them has in a record of some cluster (or joint cluster), there is one that has it
    in at least k records of it. It is a promise about what is possible, not about what is likely.

    It is re-derived from the release alone:

    - a cluster has at least k records, so that a term of a term chunk may be anybody's of k;
    - its chunks are k^m-anonymous: sets of at most m items occur in no sub-record or in k;
    - pieces from different chunks can be stacked k times. No original record is empty, so where
      sub-records are scarce they must be spread out. In a cluster without a term chunk, let e be
      by how many sub-records outnumber records, and h the number of chunks, at most m. Some set
      is possible, but never in k records, exactly when 0 < e < k(h − 1);
    - in joint clusters members need filling too, and shared sub-records may have to do it. A joint
      cluster is safe if its members have k records, its chunks are k^m-anonymous, and each member
      has a term chunk, or enough sub-records of its own for itself (e ≥ k(h − 1)). Otherwise the
      sets in question are looked at one by one: several members may make up k records together.

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

    >>> from setveil import TransactionTable
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

    k: int = count(5, doc="least number of records")
    m: int = count(2, doc="greatest number of items someone may know")
    work: int = count(
        1_000_000, doc="most itemsets of a joint cluster that are looked at one by one"
    )

    def examine(self, release: DisassociatedRelease, *, whole: bool = True) -> ClusterFindings:
        """Judge some clusters; witnesses are sets that break the promise."""
        found, checked = np.zeros(3, dtype=np.int64), 0
        for first, part in release.parts():
            some = release if first == 0 and len(part.sizes) == len(release.sizes) else part
            verdict = self._check(some)
            if not (verdict.holds and verdict.exact):
                return ClusterFindings(verdict if some is release else self._check(release))
            checked += verdict.checked
            found += universals(some)
        kept = Verdict(holds=True, exact=True, reason="", checked=checked)
        return ClusterFindings(kept, *found.tolist())

    def _check(self, release: DisassociatedRelease) -> Verdict:
        """Decide for all clusters at once; where the promise is kept, without saying how."""
        small = np.flatnonzero((release.sizes < self.k) & ~release.in_joint)
        if len(small):
            return self._small(release, small)
        chunks = KmAnonymity(k=self.k, m=self.m).check_rows(rows_by_chunk(release))
        if not chunks.holds and release.joint_blocks:
            lone = ~release.in_joint[release.chunk_first]
            chunks = KmAnonymity(k=self.k, m=self.m).check_rows(rows_by_chunk(release, lone))
        if not chunks.holds:
            return Verdict(
                holds=False,
                exact=True,
                reason=f"within their chunks {chunks.reason}",
                checked=chunks.checked,
                witnesses=chunks.witnesses,
            )
        found = narrowed_sets(release, k=self.k, m=self.m, work=self.work)
        if found.sets:
            return self._narrowed(release, found)
        if found.undecided_thin:
            return self._thin(release, found)
        decided = chunks.exact and not found.undecided
        return Verdict(
            holds=True,
            exact=decided,
            reason="" if decided else self._undecided(chunks),
            checked=chunks.checked + len(release.sizes),
        )

    def kept(self, clusters: int, giving: int, covers: int) -> str:
        """Say that it holds, and in how many clusters all records are known to hold something."""
        said = (
            f"in each of {clusters:,} clusters (or the joint cluster it belongs to) every possible "
            f"set of at most {self.m} items can be in {self.k} records"
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
        worst = small[np.argsort(release.sizes[small], kind="stable")][:MOST_WITNESSES]
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

    def _thin(self, release: DisassociatedRelease, found: NarrowedSets) -> Verdict:
        return Verdict(
            holds=False,
            exact=False,
            reason=f"{found.undecided_thin:,} of {len(release.blocks):,} clusters have parts with "
            f"fewer than {self.k} records, or chunks with sets of at most {self.m} items in fewer "
            f"than {self.k} sub-records. Their other parts may make up for it, but there are too "
            f"many sets to look at, so the promise counts as broken. Raise work "
            f"(disassociated:k={self.k},m={self.m},work=...) to decide",
            checked=len(release.sizes),
        )

    def _narrowed(self, release: DisassociatedRelease, found: NarrowedSets) -> Verdict:
        one = len(found.sets) == 1 and not found.undecided
        worst = sorted(found.sets, key=lambda narrow: (narrow.most, narrow.first))
        items = "1 item" if len(worst[0].items) == 1 else f"{len(worst[0].items)} items"
        scarce = f"{'has' if one else 'have'} too few sub-records"
        thin = f"{'is' if one else 'are'} too small, or {'has' if one else 'have'} rare sets"
        return Verdict(
            holds=False,
            exact=True,
            reason=f"{'at least ' if found.undecided else ''}{len(found.sets):,} of "
            f"{len(release.blocks):,} clusters {thin if found.thin else scarce}: "
            f"sets of {items} cannot be in {self.k} records",
            checked=len(release.sizes),
            witnesses=tuple(
                Witness(
                    items=narrow.items,
                    support=narrow.most,
                    required=f"at least {self.k} in some original, within {narrow.where}",
                )
                for narrow in worst[:MOST_WITNESSES]
            ),
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> Disassociated(k=5, m=2).describe()
        'whoever knows up to 2 items of a person finds at least 5 matching records'
        """
        items = "1 item" if self.m == 1 else f"{self.m} items"
        return f"whoever knows up to {items} of a person finds at least {self.k} matching records"

    def by_hand(self) -> str:
        """Return how to check the promise in the exported tables, without setveil."""
        items = "each item" if self.m == 1 else f"each set of up to {self.m} items"
        return (
            f"In every record chunk and shared chunk of the table chunks, count for {items} that "
            "stands in one row how many rows of the chunk hold it. No count may be below "
            f"{self.k}. This count is only part of the check: setveil verify also checks that rows "
            "of different chunks cannot be joined."
        )

    def unprotected(
        self,
        shown: Collection[str] = (),
        longest: int | None = None,
    ) -> tuple[str, ...]:
        """Return what the promise leaves open, in sentences for the owner.

        >>> Disassociated(k=5, m=2).unprotected()[0]
        'Someone who knows 3 or more items of a person may narrow them down to fewer than 5 records.'
        """  # noqa: E501  (the doctest's result)
        more = (
            (
                f"Someone who knows {self.m + 1} or more items of a person may narrow them down to "
                f"fewer than {self.k} records."
            ),
        )
        return (
            *(more if longest is None or longest > self.m else ()),
            *PIECES,
            "An item that all people of a group share is certain for each of them.",
        )

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

    >>> from setveil import TransactionTable
    >>> chunks_of(TransactionTable.from_rows([["a"]]))
    Traceback (most recent call last):
    setveil.core.errors.NotApplicable: this promise is about records cut into chunks. \
To fix: ask it of releases that disassociate wrote.
    """
    if isinstance(published, TransactionTable):
        raise NotApplicable(
            "this promise is about records cut into chunks",
            fix="ask it of releases that disassociate wrote",
        )
    return published.as_chunks()


def rows_by_chunk(
    release: DisassociatedRelease, kept: npt.NDArray[np.bool_] | None = None
) -> PublishedRows:
    """Return the sub-records with every chunk's items numbered apart; only of chunks in `kept`.

    Sets of such items lie within a chunk, so one count of them all tells about each chunk.
    """
    chunk, item, _ = release.chunk_items
    width = np.int64(max(len(release.vocabulary), 1))
    lengths = np.diff(release.row_offsets)
    keys = np.repeat(release.chunk_of_row * width, lengths) + release.items
    offsets = release.row_offsets
    if kept is not None:
        keys = keys[np.repeat(kept[release.chunk_of_row], lengths)]
        offsets = offsets_of(lengths[kept[release.chunk_of_row]])
        chunk, item = chunk[kept[chunk]], item[kept[chunk]]
    names = release.vocabulary.names
    return PublishedRows(
        offsets=offsets,
        items=np.searchsorted(chunk * width + item, keys).astype(np.int32),
        names=tuple(names[i] for i in item.tolist()),
        ids=tuple(f"{q} {names[i]}" for q, i in zip(chunk.tolist(), item.tolist(), strict=True)),
        exact=np.ones(len(item), dtype=bool),
    )


class NarrowedSets(NamedTuple):
    """Sets that are possible, but not in k records.

    Parameters
    ----------
    sets
        One for each cluster or joint cluster that is known to have some.
    thin
        Whether one of them comes from a joint cluster with small clusters or rare sets in chunks.
    undecided, undecided_thin
        Of how many joint clusters it is not known; and how many of them are thin like that.
    """

    sets: tuple[Narrowed, ...]
    thin: bool
    undecided: int
    undecided_thin: int


def narrowed_sets(release: DisassociatedRelease, *, k: int, m: int, work: int) -> NarrowedSets:
    """Find sets of at most m items that are possible, but not in k records of their cluster.

    In a cluster that is not joined these are the ones that sub-records are too few for; that it is
    small, or that a set is rare within its chunk, is seen otherwise. In a joint cluster all count.

    >>> from setveil import TransactionTable
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a", "b"], ["b"], ["a"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1, 2], domains=((0,), (1,)), terms=())])
    >>> narrowed_sets(release, k=2, m=2, work=100).sets[0].items
    ('a', 'b')
    """
    m = min(m, max(len(release.vocabulary), 1))  # no set has more items than there are
    sets = _narrowed_alone(release, k, m)
    rare = _rare_sets(release, k, m)
    undecided = 0
    for first, last in release.joint_blocks:
        if first not in rare:
            narrow, exact = narrowed_joint(release, first, last, k=k, m=m, work=work)
            sets += [narrow] if narrow is not None else []
            undecided += not exact
    # The sets that are rare in a chunk or a cluster mostly settle it; all are looked at if none do.
    thin, left = _narrowed_thin(release, rare, k, m, work=0)
    if left and not (sets or thin):
        thin, left = _narrowed_thin(release, rare, k, m, work=work)
    return NarrowedSets((*sets, *thin), bool(thin), undecided + left, left)


def _narrowed_thin(
    release: DisassociatedRelease,
    rare: Mapping[int, set[frozenset[str]]],
    k: int,
    m: int,
    *,
    work: int,
) -> tuple[list[Narrowed], int]:
    """Return what is narrowed in joint clusters with rare sets, and how many are undecided.

    Small ones come first. Once the work does not suffice for one, larger ones are undecided too.
    """
    blocks = [block for block in release.joint_blocks if block[0] in rare]
    blocks.sort(key=lambda block: int(release.sizes[slice(*block)].sum()))
    sets, undecided = [], 0
    for first, last in blocks:
        limit = 0 if undecided else work
        narrow, exact = narrowed_joint(release, first, last, k=k, m=m, work=limit, rare=rare[first])
        sets += [narrow] if narrow is not None else []
        undecided += not exact
    return sets, undecided


def _rare_sets(release: DisassociatedRelease, k: int, m: int) -> dict[int, set[frozenset[str]]]:
    """Return sets in too few sub-records of a chunk, or in too small clusters, of joint clusters.

    They stand under the first cluster of their joint cluster; each that has such sets is there, or
    of which it is not known.
    """
    promise = KmAnonymity(k=k, m=m)
    keeps = promise.check_rows(rows_by_chunk(release, release.in_joint[release.chunk_first]))
    found: dict[int, set[frozenset[str]]] = {}
    for first, last in release.joint_blocks:
        rare: set[frozenset[str]] = set()
        small = release.sizes[first:last] < k
        if not (keeps.holds and keeps.exact):
            inside = (release.chunk_first >= first) & (release.chunk_first < last)
            within = promise.check_rows(rows_by_chunk(release, inside))
            rare.update(frozenset(witness.items) for witness in within.witnesses)
            small |= within.holds and not within.exact
        for c in (first + np.flatnonzero(small)).tolist():
            rare.update(frozenset([item]) for item in _items_of(release, c))
        if rare:
            found[first] = rare
    return found


def _items_of(release: DisassociatedRelease, cluster: int) -> set[str]:
    """Return the items that a record of a cluster in a joint cluster may hold."""
    over = (release.chunk_first <= cluster) & (cluster < release.chunk_last)
    chunk, item, _ = release.chunk_items
    start, end = release.term_offsets[cluster : cluster + 2].tolist()
    numbers = [*item[over[chunk]].tolist(), *release.terms[start:end].tolist()]
    return {release.vocabulary[i] for i in numbers}


def _narrowed_alone(release: DisassociatedRelease, k: int, m: int) -> list[Narrowed]:
    """Return what sub-records are too few for, one set for each cluster that is not joined."""
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
