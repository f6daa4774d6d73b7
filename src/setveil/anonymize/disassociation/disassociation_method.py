"""What both disassociations share: clusters, chunks, joint clusters, and the release of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from setveil.anonymize.base import check_enough
from setveil.anonymize.disassociation.cluster_chunks import (
    ClusterChunks,
    check_cluster_size,
    check_filled,
    chunk_clusters,
    moved_terms,
)
from setveil.anonymize.disassociation.refine import Refined, refine
from setveil.core.params import Count, count, declare, flag, group_size
from setveil.engine import Local
from setveil.kernels.vertical_partition import TERM_CHUNK
from setveil.release.base import Anonymization, Step
from setveil.release.chunk_plan import Plan, publish_disassociated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from setveil.core.table import TransactionTable
    from setveil.engine.local import Engine
    from setveil.guarantee.base import Guarantee

    Progress = Callable[[str, int, int], None]


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

    def made(
        self,
        table: TransactionTable,
        promise: Guarantee,
        *,
        share: Fraction | None,
        engine: Engine | None,
        progress: Progress | None,
        used: Sequence[int] = (),
    ) -> Anonymization:
        """Return the release of `table`; `share` and `used` are as in :func:`chunk_clusters`."""
        check_enough(table, self.k)
        bare = int(np.count_nonzero(table.lengths == 0))
        check_filled(len(table), bare, is_bag=table.is_bag)
        runs_on = engine or Local()
        m = min(self.m, table.n_items)  # no set has more items than there are
        chunks = chunk_clusters(
            table, k=self.k, m=m, most=self.split_from, share=share, engine=runs_on,
            progress=progress, used=used,
        )  # fmt: skip
        log = _told(chunks, self.k, self.split_from)
        figures = {"clusters": len(chunks.sizes), "removed": len(chunks.removed)}
        if self.refine:
            refined = refine(chunks, k=self.k, m=m, share=share, engine=runs_on, progress=progress)
        else:
            refined = Refined(chunks, np.arange(len(chunks.sizes)), [])
        if refined.shared:
            log.append(_told_shared(refined))
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
            release=release, key=key, promise=promise, log=tuple(log), figures=figures
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


def _told(chunks: ClusterChunks, k: int, split_from: int) -> list[Step]:
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


def _told_shared(refined: Refined) -> Step:
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
