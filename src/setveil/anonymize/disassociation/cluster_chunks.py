"""Records in clusters, with every item of a cluster in a record chunk or in the term chunk."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.anonymize.disassociation.cluster_kernels import horizontal_partition
from setveil.anonymize.disassociation.safe_kernels import safe_clusters
from setveil.core.arrays import Int32Array, Int64Array, offsets_of
from setveil.core.errors import InfeasibleError, ParameterError
from setveil.kernels.vertical_partition import TERM_CHUNK, partition_clusters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from setveil.core.table import TransactionTable
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine


BATCH = 16_384
"""About how many records are worked on at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClusterChunks:
    """What becomes of the items of each cluster.

    Parameters
    ----------
    table
        The records, cluster by cluster.
    records
        The place of each in the table that was given.
    borders
        Where the clusters begin and end.
    term_offsets, terms
        The items of cluster `c` are ``terms[term_offsets[c]:term_offsets[c + 1]]``.
    chunk
        For each of them the number of its record chunk within the cluster, or ``TERM_CHUNK``.
    removed
        Places in ``table.items`` of the occurrences that are deleted.
    """

    table: TransactionTable
    records: Int64Array
    borders: Int64Array
    term_offsets: Int64Array
    terms: Int32Array
    chunk: Int64Array
    removed: Int64Array

    @property
    def sizes(self) -> Int64Array:
        """Records per cluster."""
        return np.diff(self.borders)

    @property
    def cluster_of_term(self) -> Int64Array:
        """The cluster of each entry of `terms`."""
        return np.repeat(np.arange(len(self.borders) - 1), np.diff(self.term_offsets))

    def chunk_of_occurrences(self) -> Int64Array:
        """Return for each occurrence in the table the number of its chunk within its cluster."""
        width = np.int64(max(self.table.n_items, 1))
        keys = self.cluster_of_term * width + self.terms
        order = np.argsort(keys)
        cluster = np.repeat(np.repeat(np.arange(len(self.sizes)), self.sizes), self.table.lengths)
        found = np.searchsorted(keys[order], cluster * width + self.table.items)
        return self.chunk[order[found]]


class Batch(NamedTuple):
    """Some neighbouring clusters with what the kernels need of them."""

    number: int
    offsets: Int64Array
    items: Int32Array
    borders: Int64Array
    n_items: int
    k: int
    m: int
    caps: Int64Array | None


Parted = tuple[Int64Array, Int32Array, Int64Array, Int64Array]


def part_batch(batch: Batch) -> dict[int, Parted]:
    """Part the items of the clusters of a batch into chunks; returns its number → the parts.

    >>> batch = Batch(7, np.array([0, 1, 2]), np.array([0, 0], np.int32), np.array([0, 2]), 1,
    ...               2, 2, None)
    >>> [array.tolist() for array in part_batch(batch)[7]]
    [[0, 1], [0], [0], []]
    """
    rows = (batch.offsets, batch.items, batch.borders, batch.n_items, batch.k, batch.m)
    if batch.caps is None:
        return {batch.number: (*partition_clusters(*rows), np.zeros(0, dtype=np.int64))}
    return {batch.number: safe_clusters(*rows, batch.caps)}


def caps_of(sizes: Int64Array, share: Fraction) -> Int64Array:
    """Return how many records of clusters of these sizes may hold an item: never all of them.

    In Python's numbers: a share such as 0.3333333333333333 times a size leaves 64 bits.

    >>> from fractions import Fraction
    >>> caps_of(np.array([3, 10]), Fraction(1, 3)).tolist(), caps_of(np.array([3]), 1).tolist()
    ([1, 3], [2])
    """
    known = {n: min(n - 1, n * share.numerator // share.denominator) for n in set(sizes.tolist())}
    return np.array([known[n] for n in sizes.tolist()], dtype=np.int64)


def check_cluster_size(most: int | None, k: int) -> None:
    """Refuse a size of clusters below k."""
    if most is not None and most < k:
        raise ParameterError(
            f"max_cluster_size is {most!r}",
            fix=f"use a whole number of at least k, which is {k}, or leave it out",
        )


def check_filled(records: int, bare: int, *, is_bag: bool) -> None:
    """Refuse records without items, of which there are `bare`, and items in a record twice."""
    if is_bag:
        raise InfeasibleError(
            "a record holds an item more than once",
            fix="give sets: disassociation has no place for the second",
        )
    if bare:
        raise InfeasibleError(
            f"{bare:,} of {records:,} records have no items, and disassociation publishes "
            "nothing but items",
            fix="leave them out with --empty drop (empty='drop' in setveil.read), or use gather, "
            "which can group them with others",
        )


def chunk_clusters(
    table: TransactionTable,
    *,
    k: int,
    m: int,
    most: int,
    share: Fraction | None,
    engine: Engine,
    progress: Progress | None,
    used: Sequence[int] = (),
) -> ClusterChunks:
    """Split records into clusters, and the items of each into chunks, through the engine.

    Parameters
    ----------
    table
        The records; none is empty.
    k, m
        Of the promise.
    most
        Size from which a part is split.
    share
        Greatest share of a cluster's records that hold an item of a record chunk; None where
        there is no limit.
    engine
        Works on batches of clusters.
    progress
        Told how many records are done.
    used
        Items that a larger table has been split by, of which this is a part.
    """
    order = table.canonical_order()
    ordered = table.take(order)
    within, borders = horizontal_partition(
        ordered.offsets, ordered.items, table.n_items, k, min(most, len(table) + 1),
        np.array(used, dtype=np.int64),
    )  # fmt: skip
    clustered = ordered.take(within)
    caps = None if share is None else caps_of(np.diff(borders), share)
    # Batches end at borders of clusters: the last border up to each multiple of their size.
    cuts = np.unique(np.searchsorted(borders, np.arange(0, len(table), BATCH)))
    cuts = np.append(cuts, len(borders) - 1)

    def batches() -> Iterator[Batch]:
        for number, (first, last) in enumerate(pairwise(cuts.tolist())):
            low, high = borders[first], borders[last]
            if progress:
                progress("chunks", int(low), len(table))
            start, end = clustered.offsets[low], clustered.offsets[high]
            yield Batch(
                number=number,
                offsets=clustered.offsets[low : high + 1] - start,
                items=clustered.items[start:end],
                borders=borders[first : last + 1] - low,
                n_items=table.n_items,
                k=k,
                m=m,
                caps=None if caps is None else caps[first:last],
            )

    parted = engine.map_reduce(batches(), part_batch, operator.or_)
    parts = [parted[number] for number in range(len(parted))]
    starts = clustered.offsets[borders[cuts[:-1]]].tolist()
    if progress:
        progress("chunks", len(table), len(table))
    return ClusterChunks(
        table=clustered,
        records=order[within],
        borders=borders,
        term_offsets=offsets_of([n for p in parts for n in np.diff(p[0])]),
        terms=np.concatenate([part[1] for part in parts]),
        chunk=np.concatenate([part[2] for part in parts]),
        removed=np.concatenate([p[3] + start for p, start in zip(parts, starts, strict=True)]),
    )


def moved_terms(chunks: ClusterChunks, k: int) -> int:
    """Return how many items are in a term chunk although k records of their cluster hold them.

    >>> from setveil import TransactionTable
    >>> from setveil.engine import Local
    >>> table = TransactionTable.from_rows([["a", "b"], ["b"], ["a"]])
    >>> moved_terms(chunk_clusters(table, k=2, m=2, most=2, share=None, engine=Local(),
    ...                            progress=None), 2)
    1
    """
    width = np.int64(max(chunks.table.n_items, 1))
    cluster = np.repeat(np.arange(len(chunks.sizes)), chunks.sizes)
    held = np.sort(np.repeat(cluster, chunks.table.lengths) * width + chunks.table.items)
    keys = (chunks.cluster_of_term * width + chunks.terms)[chunks.chunk == TERM_CHUNK]
    counts = np.searchsorted(held, keys, side="right") - np.searchsorted(held, keys)
    return int(np.count_nonzero(counts >= k))
