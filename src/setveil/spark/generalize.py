"""Clump, Gather and Partition on distributed records: bucket by bucket, with the local method."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.anonymize import Clump, Gather, Partition
from setveil.anonymize.base import check_enough
from setveil.core.table import TransactionTable, Vocabulary
from setveil.engine import Local
from setveil.guarantee.k_anonymity import KAnonymity
from setveil.release.base import Step
from setveil.release.generalized import GeneralizedRelease
from setveil.spark.anonymized import DistributedAnonymization, kept
from setveil.spark.batches import apply_groups, lists_of, map_batches, rows_of
from setveil.spark.buckets import BUCKET, Buckets, Limits, make_buckets
from setveil.spark.generalized import DistributedGeneralized
from setveil.spark.table import ITEMS, RECORD

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import Broadcast

    from setveil.core.arrays import Int32Array
    from setveil.core.taxonomy import Taxonomy
    from setveil.spark.table import DistributedTable

Bucketed = Clump | Gather | Partition


class Shared(NamedTuple):
    """What a worker needs to know of the items: their names and their tree."""

    vocabulary: Vocabulary
    tree: Taxonomy


def items_in_tree(table: DistributedTable, taxonomy: Taxonomy) -> tuple[Taxonomy, Int32Array]:
    """Return the tree with a leaf for every item that occurs, and the leaf of each item."""
    occurring = np.flatnonzero(table.supports())
    names = [table.vocabulary[i] for i in occurring.tolist()]
    tree = taxonomy.for_items(names)
    leaf = np.full(table.n_items, -1, dtype=np.int32)
    leaf[occurring] = tree.leaf_of(names)
    return tree, leaf


def bucketed(
    method: Bucketed, table: DistributedTable, taxonomy: Taxonomy, *, most: int = BUCKET
) -> DistributedAnonymization:
    """Return the k-anonymous release that a method makes of buckets of like records.

    Parameters
    ----------
    method
        Clump, Gather or Partition with its parameters.
    table
        The records.
    taxonomy
        The tree of the items.
    most
        Most records that go to one worker together, and 32 times as many items. The release
        depends on it, and on nothing else of the cluster; of records that are no more than this
        it is the same as local.
    """
    check_enough(range(table.n_records), method.k)
    apart = isinstance(method, Partition)
    tree, leaf = items_in_tree(table, taxonomy)
    limits = Limits.of(method.k, max(most, 4 * method.k))
    buckets = make_buckets(table, tree, leaf, limits, apart=apart)
    if isinstance(method, Partition):
        n_empty = int(buckets.sizes[-1]) if buckets.apart else 0
        method.check_empty(n_empty, table.n_records - n_empty)
    ids = f", {RECORD} {dict(table.frame.dtypes)[RECORD]}" if table.has_ids else ""
    columns = [ITEMS, *([RECORD] if table.has_ids else [])]
    routed = map_batches(
        table.frame.select(columns),
        partial(send, buckets=buckets),
        f"{ITEMS} array<int>{ids}, bucket int",
    )
    shared = table.broadcast(Shared(table.vocabulary, tree))
    solved = kept(
        apply_groups(
            routed, "bucket", partial(solve, method=method, shared=shared),
            f"{ITEMS} array<int>{ids}",
        )
    )  # fmt: skip
    release = DistributedGeneralized.of_nodes(solved, tree, hides=not apart)
    sizes = buckets.sizes
    step = Step(
        action="bucket",
        subject=f"{sizes.sum():,} records in {len(sizes):,} buckets "
        f"of {sizes.min():,} to {sizes.max():,}",
        reason="records of like lengths and topics are solved together, by one worker",
    )
    return DistributedAnonymization(
        release=release,
        promise=KAnonymity(k=method.k),
        key=solved if table.has_ids else None,
        log=(step,),
        figures={"buckets": len(sizes)},
    )


# --- functions that run on the workers ------------------------------------------------------------


def send(table: pa.Table, buckets: Buckets) -> pa.Table:
    """Add the bucket of each record."""
    import pyarrow as pa

    bucket = buckets.route(*rows_of(table[ITEMS]))
    return table.append_column("bucket", pa.array(bucket.astype(np.int32)))


def solve(table: pa.Table, method: Bucketed, shared: Broadcast[Shared]) -> pa.Table:
    """Anonymize one bucket; records come back as nodes of the whole tree."""
    import pyarrow as pa

    vocabulary, tree = shared.value
    offsets, items = rows_of(table[ITEMS])
    records = TransactionTable(offsets=offsets, items=items, vocabulary=vocabulary)
    made = method.anonymize(records, taxonomy=tree, engine=Local(workers=1))
    release = made.release
    assert isinstance(release, GeneralizedRelease)
    place = np.array([tree.node(node_id) for node_id in release.tree.ids], dtype=np.int32)
    columns = {ITEMS: lists_of(release.offsets, place[release.nodes])}
    if RECORD in table.column_names:
        columns[RECORD] = table[RECORD].take(pa.array(made.key.records))
    return pa.table(columns)
