"""Partition: k-anonymity by splitting the records top-down along the taxonomy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.base import price_of_nodes
from setveil.anonymize.k_anonymity.clusters import Clustering, KAnonymityMethod, publish_nodes
from setveil.anonymize.k_anonymity.partition_kernels import (
    ABSORBED,
    DEPTH,
    DONE,
    GROUPS,
    MOVED,
    split_parts,
)
from setveil.core.arrays import Int32Array, Int64Array, distinct_in_rows, offsets_of
from setveil.core.errors import InfeasibleError
from setveil.core.literature import HE_2009
from setveil.core.registry import register
from setveil.core.table import take_rows
from setveil.release.base import Step

if TYPE_CHECKING:
    from setveil.anonymize.base import LeafRows
    from setveil.core.taxonomy import Taxonomy
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

# How often a run reports: the kernel returns to Python about this many times.
REPORTS = 50


@register(
    "anonymizer",
    "partition",
    paper="He & Naughton 2009",
    bibtex=HE_2009,
)
@dataclass(frozen=True, kw_only=True)
class Partition(KAnonymityMethod):
    """Split the records top-down along the taxonomy; publish one set of nodes per part.

    At first all records form one part, published as the root. A part picks the node whose split
    gains most and sends each record to the subpart of exactly those children that it holds.
    Subparts of fewer than k records are put together as the leftover, which keeps the node and
    never tries it again; a leftover below k takes records of least gain from subparts that can
    spare them and, if these do not suffice, the whole subpart of least gain. Nothing is
    suppressed: each published node stands for one or more items of the record, and each item for
    one published node.

    Parameters
    ----------
    k
        Least number of records that are published alike.

    Notes
    -----
    A split of node n gains NCP(n) - NCP(child above x) for each item x below n, where NCP is 0
    for a leaf and otherwise the share of all leaves. Ties go to the node that comes first in the
    taxonomy, and to the record and the subpart that come first in sorted order. An item repeated
    within a record counts once. The set of no items has no node above it, so records without
    items can only be published among themselves.

    Examples
    --------
    >>> from setveil import Taxonomy, TransactionTable
    >>> food = Taxonomy.from_parents({
    ...     "Apple": "Fruit", "Orange": "Fruit", "Banana": "Fruit", "Beef": "Meat",
    ...     "Chicken": "Meat", "Milk": "Dairy", "Cheese": "Dairy", "Butter": "Dairy",
    ...     "Fruit": "Food", "Meat": "Food", "Dairy": "Food"})
    >>> table = TransactionTable.from_rows([
    ...     ["Orange", "Chicken", "Beef"], ["Banana", "Beef", "Cheese"],
    ...     ["Chicken", "Milk", "Butter"], ["Apple", "Chicken"], ["Chicken", "Beef"]])
    >>> result = Partition(k=2).anonymize(table, taxonomy=food)
    >>> for row in result.release.to_rows():
    ...     print(row)
    ['Fruit', 'Meat']
    ['Fruit', 'Meat']
    ['Food']
    ['Food']
    ['Food']

    References
    ----------
    Y. He, J. F. Naughton: Anonymization of set-valued data via top-down, local generalization,
    PVLDB 2(1), 2009.
    """

    called: ClassVar[str] = "records made equal, from broad terms to narrow ones"
    distributed: ClassVar[str] = "setveil.spark.methods:partitioned"

    def _publish_clusters(self, rows: LeafRows, engine: Engine, progress: Progress) -> Clustering:
        """Split the records; a part is known only when its parent is split."""
        offsets, leaves = distinct_in_rows(rows.offsets, rows.leaves)
        rows = replace(rows, offsets=offsets, leaves=leaves)
        # Canonical order puts the longest first, so records without items stand at the end.
        n_filled = int(np.count_nonzero(np.diff(rows.offsets)))
        self.check_empty(len(rows) - n_filled, n_filled)
        group, cover, log = self._split(rows, n_filled, progress)
        if n_filled < len(rows):
            group[n_filled:] = group[:n_filled].max(initial=-1) + 1
            log.append(
                Step(
                    action="set apart",
                    subject=f"{len(rows) - n_filled:,} records without items",
                    reason="no node stands for nothing, so they are published among themselves",
                )
            )
        # All records of a group have the same nodes, and their rows are sorted: leaves are in
        # preorder, and no node lies above another.
        _, examples = np.unique(group, return_index=True)
        group_offsets, group_nodes = distinct_in_rows(*take_rows(rows.offsets, cover, examples))
        return publish_nodes(rows, group, group_offsets, group_nodes, hides=False, log=log)

    def check_empty(self, n_empty: int, n_filled: int) -> None:
        """Refuse data in which records without items, or those with items, are too few."""
        if 0 < n_empty < self.k:
            raise InfeasibleError(
                f"{n_empty} records have no items, but k is {self.k}: Partition can publish an "
                "empty record only among other empty ones",
                fix="drop the empty records, or use gather, which can group them with others",
            )
        if n_empty and 0 < n_filled < self.k:
            raise InfeasibleError(
                f"only {n_filled} records have items, but k is {self.k}, and Partition publishes "
                f"the {n_empty} empty records by themselves",
                fix=f"use k of at most {n_filled}, or use gather",
            )

    def _split(
        self,
        rows: LeafRows,
        n_filled: int,
        progress: Progress,
    ) -> tuple[Int64Array, Int32Array, list[Step]]:
        """Return each record's group, the node published for each item, and what was done."""
        tree = rows.taxonomy
        child_offsets = offsets_of(np.bincount(tree.parents[1:], minlength=len(tree)))
        children = np.argsort(tree.parents[1:], kind="stable").astype(np.int32) + np.int32(1)
        # In units of 1 / all leaves, so that gains are whole numbers and ties are exact.
        ncp = price_of_nodes(tree)
        cover = np.zeros(len(rows.leaves), dtype=np.int32)
        below_root = children[: child_offsets[1]]
        below = np.full(len(rows.leaves), -1, dtype=np.int32)
        if len(below_root):
            below[:] = below_root[np.searchsorted(below_root, rows.leaves, side="right") - 1]
        stack = np.zeros((n_filled // self.k + 1, 2), dtype=np.int64)
        stack[0] = 0, n_filled
        state = np.zeros(5, dtype=np.int64)
        state[DEPTH] = int(n_filled > 0)
        group = np.zeros(len(rows), dtype=np.int64)
        splits = np.zeros(len(tree), dtype=np.int64)
        place = np.arange(n_filled)
        while state[DEPTH] > 0:
            progress("splitting", int(state[DONE]), n_filled)
            stop = int(state[DONE]) + n_filled // REPORTS + 1
            split_parts(
                rows.offsets, rows.leaves, child_offsets, children, ncp, self.k,
                cover, below, place, stack, group, splits, state, stop,
            )  # fmt: skip
        progress("splitting", n_filled, n_filled)
        return group, cover, _log(tree, splits, state)


def _log(tree: Taxonomy, splits: Int64Array, state: Int64Array) -> list[Step]:
    """Name the nodes that were split, most records first, and what evened out the parts."""
    used = np.flatnonzero(splits)
    used = used[np.argsort(-splits[used], kind="stable")]
    log = [
        Step(
            action="split",
            subject=tree.ids[node],
            reason=f"for {splits[node]:,} records its children could be published instead",
        )
        for node in used.tolist()
    ]
    log.append(
        Step(
            action="partition",
            subject=f"{state[GROUPS]:,} groups",
            reason="no group could be split further without one below k",
        )
    )
    if state[MOVED]:
        log.append(
            Step(
                action="move",
                subject=f"{state[MOVED]:,} records",
                reason="a leftover of fewer than k records took those of least gain",
            )
        )
    if state[ABSORBED]:
        log.append(
            Step(
                action="absorb",
                subject=f"{state[ABSORBED]:,} subparts",
                reason="no other subpart could spare enough records for the leftover",
            )
        )
    return log
