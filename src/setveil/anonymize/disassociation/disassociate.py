"""Disassociation: records are cut into chunks, and the links between chunks are not published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from setveil.anonymize.base import MethodRole, check_enough, silent
from setveil.anonymize.disassociation.cluster_chunks import (
    ClusterChunks,
    Refined,
    check_cluster_size,
    check_filled,
    chunk_clusters,
    moved_terms,
    refine,
)
from setveil.core.literature import TERROVITIS_2012
from setveil.core.params import Count, count, declare, flag, group_size, share
from setveil.core.registry import register
from setveil.engine import Local
from setveil.guarantee.disassociated import Disassociated
from setveil.guarantee.safe_disassociated import SafeDisassociated
from setveil.kernels.vertical_partition import TERM_CHUNK
from setveil.release.base import Anonymization, Step
from setveil.release.chunk_plan import Plan, publish_disassociated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.core.table import TransactionTable
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine
    from setveil.guarantee.base import Guarantee


@dataclass(frozen=True, kw_only=True)
class ClusterSize(Count):
    """A size of clusters, which a search tries as multiples of what k makes of it.

    >>> ClusterSize().value_at("×4", {"k": 5})
    200
    """

    ladder: tuple[Any, ...] = (None, "×4", "×16")

    def value_at(self, rung: object, params: Mapping[str, Any]) -> object:
        """Return the size that a multiple stands for: so many times 2k²."""
        if isinstance(rung, str) and rung.startswith("×"):
            return int(rung[1:]) * 2 * params.get("k", 5) ** 2
        return rung


@dataclass(frozen=True, kw_only=True)
class DisassociationMethod:
    """The parameters of both methods, and the way they go."""

    requires: ClassVar[frozenset[str]] = frozenset()
    distributed: ClassVar[str] = "setveil.spark.methods:disassociated"

    k: int = group_size(doc="least number of records that may hold a known set")
    m: int = count(2, doc="greatest number of items somebody may know", ladder=(1, 2, 3), audited=2)
    max_cluster_size: int | None = declare(
        None, ClusterSize(doc="size from which a part of the records is split; 2k² if left out")
    )
    refine: bool = flag(
        True,
        doc="publish items of term chunks in chunks clusters share",
        ladder=(None, False),
    )

    def __post_init__(self) -> None:
        check_cluster_size(self.max_cluster_size, self.k)

    @property
    def split_from(self) -> int:
        """Size from which a part of the records is split."""
        return self.max_cluster_size or 2 * self.k * self.k

    @property
    def promise(self) -> Guarantee:
        """The guarantee that every release of the method keeps."""
        return Disassociated(k=self.k, m=self.m)

    @property
    def share(self) -> Fraction | None:
        """Greatest share of the records of a cluster that may hold an item of a chunk."""
        return None

    def anonymize(
        self,
        table: TransactionTable,
        *,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the disassociated release of `table`, its key and its promise.

        Raises
        ------
        InfeasibleError
            A record has no items, or there are fewer than `k` records.
        """
        return self.cut(table, engine=engine, progress=progress)

    def cut(
        self,
        table: TransactionTable,
        *,
        engine: Engine | None = None,
        progress: Progress | None = None,
        used: Sequence[int] = (),
    ) -> Anonymization:
        """Return the release of `table`, which may be a part that was split off by `used` items."""
        check_enough(table, self.k)
        bare = int(np.count_nonzero(table.lengths == 0))
        check_filled(len(table), bare, is_bag=table.is_bag)
        runs_on, report = engine or Local(), progress or silent
        m = min(self.m, table.n_items)  # no set has more items than there are
        chunks = chunk_clusters(
            table, k=self.k, m=m, most=self.split_from, share=self.share, engine=runs_on,
            progress=report, used=used,
        )  # fmt: skip
        log = _cluster_steps(chunks, self.k, self.split_from)
        figures = {"clusters": len(chunks.sizes), "removed": len(chunks.removed)}
        if self.refine:
            refined = refine(
                chunks, k=self.k, m=m, share=self.share, engine=runs_on, progress=report
            )
        else:
            refined = Refined(chunks, np.arange(len(chunks.sizes)), [])
        if refined.shared:
            log.append(_shared_step(refined))
        removed_rows = np.searchsorted(chunks.table.offsets, chunks.removed, side="right") - 1
        place = np.empty(len(refined.order), dtype=np.int64)
        place[refined.order] = np.arange(len(refined.order))
        release, key = publish_disassociated(
            table,
            Plans(refined),
            [
                (int(place[chunk.first]), int(place[chunk.first]) + chunk.members, chunk.domain)
                for chunk in refined.shared
            ],
            zip(
                chunks.records[removed_rows].tolist(),
                chunks.table.items[chunks.removed].tolist(),
                strict=True,
            ),
        )
        return Anonymization(
            release=release, key=key, promise=self.promise, log=tuple(log), figures=figures
        )


class Plans(Sequence[Plan]):
    """How each cluster is to be published, in the order of `refined`; made when asked for."""

    def __init__(self, refined: Refined) -> None:
        self._refined = refined

    def __len__(self) -> int:
        return len(self._refined.order)

    @overload
    def __getitem__(self, place: int) -> Plan: ...

    @overload
    def __getitem__(self, place: slice) -> list[Plan]: ...

    def __getitem__(self, place: int | slice) -> Plan | list[Plan]:
        found = self._refined.order[place]
        if isinstance(place, slice):
            return [self._plan(cluster) for cluster in found.tolist()]
        return self._plan(int(found))

    def _plan(self, cluster: int) -> Plan:
        chunks = self._refined.chunks
        low, high = chunks.term_offsets[cluster : cluster + 2].tolist()
        domains: dict[int, list[int]] = {}
        for term, chunk in zip(
            chunks.terms[low:high].tolist(), chunks.chunk[low:high].tolist(), strict=True
        ):
            domains.setdefault(chunk, []).append(term)
        terms = domains.pop(TERM_CHUNK, [])
        return Plan(
            records=chunks.records[chunks.borders[cluster] : chunks.borders[cluster + 1]],
            domains=tuple(tuple(sorted(domain)) for domain in domains.values()),
            terms=tuple(sorted(terms)),
        )


def _cluster_steps(chunks: ClusterChunks, k: int, split_from: int) -> list[Step]:
    """Return the log of clusters and chunks."""
    sizes = chunks.sizes
    log = [
        Step(
            action="cluster",
            subject=f"{sizes.sum():,} records in {len(sizes):,} clusters "
            f"of {sizes.min():,} to {sizes.max():,}",
            reason="records with the same frequent items are cut together",
        )
    ]
    large = int(np.count_nonzero(sizes >= split_from))
    if large:
        log.append(
            Step(
                action="reunite",
                subject=f"{large:,} clusters of {split_from:,} records or more",
                reason=f"no item splits them into parts of {k} records or more",
            )
        )
    moved = moved_terms(chunks, k)
    if moved:
        log.append(
            Step(
                action="move",
                subject=f"{moved:,} items of record chunks to the term chunks of their clusters",
                reason="sub-records would be too few, or a link to the item too certain",
            )
        )
    if len(chunks.removed):
        total = len(chunks.table.items)
        log.append(
            Step(
                action="suppress",
                subject=f"{len(chunks.removed):,} of {total:,} occurrences",
                reason="too many records of a cluster held the item",
                cost=len(chunks.removed) / total,
            )
        )
    return log


def _shared_step(refined: Refined) -> Step:
    """Return the log of joint clusters."""
    ends = np.zeros(len(refined.order) + 1, dtype=np.int64)
    place = np.argsort(refined.order)
    for chunk in refined.shared:
        first = place[chunk.first]
        ends[first] = max(ends[first], first + chunk.members)
    joint, covered = 0, 0
    for end in ends.tolist():
        if end > covered:
            joint, covered = joint + 1, end
    return Step(
        action="join",
        subject=f"{joint:,} joint clusters with {len(refined.shared):,} shared chunks",
        reason="items too rare in one cluster are frequent enough in several",
    )


@register(
    "anonymizer",
    "disassociate",
    paper="Terrovitis, Liagouris, Mamoulis & Skiadopoulos 2012",
    bibtex=TERROVITIS_2012,
)
@dataclass(frozen=True, kw_only=True)
class Disassociate(DisassociationMethod):
    """Publish every item, but cut records into pieces that show no rare set of items together.

    Nothing is generalized or left out: records are split into clusters by their most frequent
    items; in a cluster, items that are frequent together stay together in a record chunk, a bag
    of sub-records; rare items go to the cluster's term chunk, a plain set. Which pieces belonged
    to one record is not published. Items that are rare in one cluster but not in several are then
    published in chunks that these share.

    Parameters
    ----------
    k
        For any `m` items of a record, some original that the release allows has them in at least
        `k` records.
    m
        Greatest number of items somebody may know.
    max_cluster_size
        Parts of so many records or more are split further, as long as both sides have `k` records
        or more. By default 2k²: clusters then have about k² records, and an item of a record
        chunk that k of them hold is in any one record with probability 1/k.
    refine
        Whether items of term chunks are published in chunks that clusters share.

    Notes
    -----
    Departures from print. Print may leave clusters below k; here a part whose split would do so
    stays whole if it has fewer than twice `max_cluster_size` records, and is split by its next
    item otherwise (print leaves open what happens, and one item in nearly all records would make
    a single cluster of them). The condition on the size of a cluster without a term chunk is
    checked, and mended by moving the rarest item of the last chunk to the term chunk. Items are
    shared between clusters only if they stand in no record chunk of these: print's other rule is
    unsound. Print shuffles the rows of chunks; here they are sorted. Ties go to the first item by
    name.

    Examples
    --------
    Tables 1 and 5 of AlShuhail and Shao (2023):

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([
    ...     ["diabetes", "arthritis", "osteoporosis", "schizophrenia"],
    ...     ["hypertension", "arthritis", "osteoporosis", "calcium"],
    ...     ["hypertension", "diabetes", "osteoporosis", "obesity", "bulimia", "depression"],
    ...     ["hypertension", "diabetes", "arthritis", "obesity", "bulimia", "epilepsy"]])
    >>> made = Disassociate(k=2, m=2, max_cluster_size=5).anonymize(table)
    >>> for row in made.release.to_rows():
    ...     print(*row)
    arthritis diabetes hypertension
    arthritis diabetes osteoporosis
    arthritis hypertension osteoporosis
    diabetes hypertension osteoporosis
    bulimia obesity
    bulimia obesity
    calcium depression epilepsy schizophrenia

    References
    ----------
    M. Terrovitis, J. Liagouris, N. Mamoulis, S. Skiadopoulos: Privacy Preservation by
    Disassociation. PVLDB 5(10), 2012.
    """

    called: ClassVar[str] = "records cut into pieces"
    role: ClassVar[MethodRole] = MethodRole(place=2)


@register(
    "anonymizer",
    "safe-disassociate",
    paper="Awad, Al Bouna, Couchot & Philippe 2019",
    bibtex="""
    @article{awad2019safe,
      author  = {Awad, Nancy and Al Bouna, Bechara and Couchot, Jean-Fran{\\c c}ois
                 and Philippe, Laurent},
      title   = {Safe Disassociation of Set-Valued Datasets},
      journal = {Journal of Intelligent Information Systems},
      volume  = {53}, number = {3}, pages = {547--562}, year = {2019}
    }""",
)
@dataclass(frozen=True, kw_only=True)
class SafeDisassociate(DisassociationMethod):
    """Disassociate, and delete occurrences where a cluster would give a link away.

    An item of a record chunk that all records of its cluster hold is linked with certainty to
    whatever else is published of these records: the cover problem. Splitting by frequent items
    makes such clusters all the time. Here such an item is deleted from a few records, from those
    with the shortest sub-records and only where the sets of its chunk stay frequent; where that
    cannot be, it gets a chunk of its own or goes to the term chunk, whichever loses less. The term
    chunk hides how often it occurs.

    Parameters
    ----------
    k, m, max_cluster_size, refine
        As for :class:`~setveil.anonymize.Disassociate`.
    max_share
        Greatest share of the records of a cluster, or of a joint cluster, that may hold an item
        of its record chunks or shared chunks; 1 rules out certainty only. A cluster of n records
        keeps an item in a record chunk only if ``max_share`` times n is k or more.

    Notes
    -----
    Links inside a chunk are published as they are. Somebody who knows the method may guess from
    an item that is in as many records as are allowed that it was in more. Shared items come only
    from clusters that keep another item in their term chunk.

    Examples
    --------
    y is in all four records, so whoever has b has y. It is deleted from the longest.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["y", "a"], ["y", "a", "b"], ["y", "b"], ["y", "a"]])
    >>> made = SafeDisassociate(k=2, m=2).anonymize(table)
    >>> made.release.to_rows()
    [['a', 'y'], ['a', 'y'], ['a'], ['y'], ['b'], ['b']]
    >>> made.key.removed
    ((1, 'y'),)

    References
    ----------
    N. Awad, B. Al Bouna, J.-F. Couchot, L. Philippe: Safe Disassociation of Set-Valued Datasets.
    Journal of Intelligent Information Systems 53(3), 2019. They name partial suppression as the
    remedy; which occurrences are deleted is a derivation of our own.
    """

    called: ClassVar[str] = "records cut into pieces without certain links"
    role: ClassVar[MethodRole] = MethodRole(place=3)

    max_share: Fraction = share(
        Fraction(1),
        above=0,
        doc="greatest share of a cluster's records with an item of a chunk, 0 to 1",
        ladder=(None, 0.5, 0.25, 0.1),
    )

    @property
    def promise(self) -> Guarantee:
        """The guarantee that every release of the method keeps."""
        return SafeDisassociated(k=self.k, m=self.m, max_share=self.max_share)

    @property
    def share(self) -> Fraction:
        """Greatest share of the records of a cluster that may hold an item of a chunk."""
        return self.max_share
