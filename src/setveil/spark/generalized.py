"""Releases of generalized records that are distributed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import ParameterError
from setveil.core.records import Rows
from setveil.core.table import Vocabulary, canonical_order, frozen, take_rows
from setveil.engine.spark import spoken_errors
from setveil.release.generalized import GeneralizedRelease
from setveil.spark.batches import PLACES, FrameParts, lists_of, map_batches, rows_of
from setveil.spark.table import ITEMS, DistributedTable, count_items, items_in, sorted_rows
from setveil.spark.verify import check, release_parts

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.taxonomy import Taxonomy
    from setveil.guarantee.base import Guarantee, Verdict


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DistributedGeneralized:
    """Published records over many machines, each a bag of taxonomy nodes; they have no order.

    Parameters
    ----------
    frame
        A column ``items`` of lists of node numbers of `tree` (``array<int>``), ascending.
    tree
        The published nodes with their ancestors; leaf counts are those of the whole tree.
    supports
        For each node how many records hold it.
    records
        Number of records.
    hides, whole
        As in :class:`~setveil.release.generalized.GeneralizedRelease`.
    """

    frame: DataFrame
    tree: Taxonomy
    supports: Int64Array
    records: int
    hides: bool
    whole: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "supports", frozen(self.supports, np.int64))
        if self.frame.dtypes != [(ITEMS, "array<int>")] or len(self.supports) != len(self.tree):
            raise ParameterError(
                f"the frame has the columns {self.frame.dtypes}, the tree {len(self.tree)} nodes",
                fix="build releases with DistributedGeneralized.of_nodes",
            )

    @classmethod
    def of_nodes(
        cls, frame: DataFrame, taxonomy: Taxonomy, *, hides: bool, whole: bool = False
    ) -> DistributedGeneralized:
        """Return the release of records that are lists of nodes of a whole tree, ascending.

        The frame is read to count the nodes; keep one that is costly to compute.
        """
        supports = count_items(frame, len(taxonomy))
        tree, place = taxonomy.pruned(np.flatnonzero(supports))
        shared = frame.sparkSession.sparkContext.broadcast(place)
        renumbered = map_batches(
            frame.select(ITEMS), partial(renumber, place=shared), f"{ITEMS} array<int>"
        )
        published = np.zeros(len(tree), dtype=np.int64)
        published[place[place >= 0]] = supports[place >= 0]
        with spoken_errors():
            records = frame.count()
        return cls(
            frame=renumbered,
            tree=tree,
            supports=published,
            records=records,
            hides=hides,
            whole=whole,
        )

    def __len__(self) -> int:
        return self.records

    def __repr__(self) -> str:
        return f"<DistributedGeneralized: {self.records:,} records, {len(self.tree):,} nodes>"

    @property
    def bags(self) -> bool:
        """Whether a node may stand in a record more than once."""
        return self.hides and not self.whole

    def table(self) -> DistributedTable:
        """Return the records as a table whose items are the ids of the nodes."""
        order = np.array(sorted(range(len(self.tree)), key=self.tree.ids.__getitem__))
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order))
        shared = self.frame.sparkSession.sparkContext.broadcast(place)
        frame = map_batches(
            self.frame, partial(renumber, place=shared, ordered=False), f"{ITEMS} array<int>"
        )
        return DistributedTable(
            frame=frame,
            vocabulary=Vocabulary(names=tuple(self.tree.ids[v] for v in order.tolist())),
            item_supports=self.supports[order],
            bags=self.bags,
        )

    def check(self, guarantee: Guarantee) -> Verdict:
        """Check a promise without collecting the records."""
        nodes = np.flatnonzero(self.supports).astype(np.int32)
        sample = GeneralizedRelease(
            tree=self.tree,
            offsets=np.arange(len(nodes) + 1),
            nodes=nodes,
            hides=self.hides,
            whole=self.whole,
        )
        records = FrameParts(
            frame=self.frame,
            read=items_in,
            sample=Rows(np.array([0, len(nodes)]), nodes),
            spread=1 + int(self.supports.sum()) // PLACES,
        )
        return check(guarantee, release_parts(records, sample))

    def collect(self) -> GeneralizedRelease:
        """Return the release here, in canonical order; for releases that fit."""
        with spoken_errors():
            offsets, nodes = rows_of(self.frame.toArrow()[ITEMS])
        rows = take_rows(offsets, nodes, canonical_order(offsets, nodes))
        return GeneralizedRelease(
            tree=self.tree, offsets=rows[0], nodes=rows[1], hides=self.hides, whole=self.whole
        )


def renumber(table: pa.Table, place: Broadcast[Int32Array], *, ordered: bool = True) -> pa.Table:
    """Give the numbers of rows other ones; sort the rows unless their order stays."""
    import pyarrow as pa

    offsets, items = rows_of(table[ITEMS])
    other = place.value[items]
    if not ordered:
        offsets, other = sorted_rows(offsets, other, len(place.value), bags=True)
    return pa.table({ITEMS: lists_of(offsets, other)})
