"""From records and a plan of clusters and domains to a disassociated release."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.data.table import Int32Array, Int64Array, TransactionTable, Vocabulary, take_rows
from setveil.errors import ParameterError
from setveil.release.base import Key
from setveil.release.chunk_order import (
    canonical_clusters,
    chunk_keys,
    cluster_keys,
    rows_within,
)
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.rows import occurring

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

Joint = tuple[int, int, tuple[int, ...]]
"""A shared chunk: its first cluster, the one after its last, and its domain."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """How one cluster is to be published.

    Parameters
    ----------
    records
        Places of its records in the table.
    domains
        For each record chunk the items that stand in it.
    terms
        The items of the term chunk.
    """

    records: npt.ArrayLike
    domains: tuple[tuple[int, ...], ...]
    terms: tuple[int, ...]


def publish_disassociated(
    table: TransactionTable,
    clusters: Sequence[Plan],
    joints: Sequence[Joint] = (),
    removed: Iterable[tuple[int, int]] = (),
) -> tuple[DisassociatedRelease, Key]:
    """Cut records into the chunks of a plan and publish them in canonical order.

    Parameters
    ----------
    table
        The original records; none may be empty.
    clusters
        What becomes of which records; every record belongs to one cluster. Items of a domain that
        no record of the cluster holds do no harm.
    joints
        Shared chunks: first cluster, the one after the last, domain. Ranges are nested or
        disjoint.
    removed
        Occurrences that partial suppression deletes: record and item.

    Returns
    -------
    tuple of DisassociatedRelease and Key
        What may be published; and for each record slot, cluster by cluster, its original. Within
        a cluster the originals come in ascending order, so that slots say nothing about chunks.
        The key also keeps what was removed.

    Raises
    ------
    ParameterError
        The plan does not fit the records; the message says where.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["a", "b"], ["a"], ["a", "c"], ["c"], ["c", "d"]])
    >>> release, key = publish_disassociated(table, [
    ...     Plan(records=[3, 4], domains=((2,),), terms=(3,)),
    ...     Plan(records=[2, 1, 0], domains=((0,),), terms=(1, 2))])
    >>> [(c.size, c.chunks[0].subrecords, c.terms) for c in release.clusters]
    [(3, (('a',), ('a',), ('a',)), ('b', 'c')), (2, (('c',), ('c',)), ('d',))]
    >>> key.records.tolist()
    [0, 1, 2, 3, 4]
    """
    cut = _cut(table, clusters, joints, removed)
    order, joint_places = _canonical(cut, len(clusters))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    own = cut.last == cut.first + 1
    first = np.where(own, place[np.minimum(cut.first, len(order) - 1)], joint_places)
    last = first + cut.last - cut.first
    keys = cut.keys
    chunk_order = sorted(
        range(len(first)), key=lambda q: (not own[q], int(first[q]), -int(last[q]), keys[q])
    )
    rows, row_offsets, items = _take_chunks(cut, np.array(chunk_order, dtype=np.int64))
    term_offsets, terms = take_rows(cut.term_offsets, cut.terms, np.array(order, dtype=np.int64))
    used = occurring(np.concatenate([items, terms]))
    number = np.full(table.n_items, -1, dtype=np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    release = DisassociatedRelease(
        vocabulary=Vocabulary(names=tuple(table.vocabulary[i] for i in used.tolist())),
        sizes=np.array([len(cut.records[c]) for c in order], dtype=np.int64),
        chunk_first=first[chunk_order],
        chunk_last=last[chunk_order],
        chunk_offsets=np.concatenate([[0], np.cumsum(rows)]),
        row_offsets=row_offsets,
        items=number[items],
        term_offsets=term_offsets,
        terms=number[terms],
    )
    slots = np.concatenate([cut.records[c] for c in order]) if order else np.zeros(0, np.int64)
    gone = tuple((r, table.vocabulary[i]) for r, i in sorted(set(cut.removed)))
    return release, Key(records=slots, removed=gone)


class _Cut(NamedTuple):
    """The chunks of a plan, in its own order; rows are sorted within each chunk."""

    records: list[Int64Array]
    first: Int64Array
    last: Int64Array
    chunk_offsets: Int64Array
    row_offsets: Int64Array
    items: Int32Array
    term_offsets: Int64Array
    terms: Int32Array
    removed: list[tuple[int, int]]
    keys: list[bytes]


def _cut(
    table: TransactionTable,
    clusters: Sequence[Plan],
    joints: Sequence[Joint],
    removed: Iterable[tuple[int, int]],
) -> _Cut:
    gone = [(int(record), int(item)) for record, item in removed]
    records = [np.sort(np.asarray(plan.records, dtype=np.int64)) for plan in clusters]
    width = np.int64(max(table.n_items, 1))
    cluster_of = _cluster_of(table, records)
    keys, chunk, first, last = _destinations(clusters, joints, int(width))
    if len(keys) and np.any(keys[1:] == keys[:-1]):
        at, twice = divmod(int(keys[np.flatnonzero(keys[1:] == keys[:-1])[0]]), int(width))
        _refuse(f"cluster {at} has two places for the item {table.vocabulary[twice]!r}")
    record, item = _kept(table, gone)
    wanted = cluster_of[record] * width + item
    found = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    lost = np.flatnonzero(keys[found] != wanted) if len(keys) else np.arange(len(wanted))
    if len(lost):
        at = int(lost[0])
        _refuse(
            f"cluster {cluster_of[record[at]]} has no place for the item "
            f"{table.vocabulary[int(item[at])]!r} of record {record[at]}"
        )
    goes = chunk[found]
    in_terms = goes < 0
    terms = np.unique(wanted[in_terms])
    asked = keys[chunk < 0]
    if len(terms) != len(asked):
        at, missing = divmod(int(np.setdiff1d(asked, terms)[0]), int(width))
        _refuse(f"no record of cluster {at} holds its term {table.vocabulary[missing]!r}")
    row_key = goes[~in_terms] * np.int64(len(table)) + record[~in_terms]
    order = np.argsort(row_key, kind="stable")
    distinct, lengths = np.unique(row_key, return_counts=True)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    of_row, row_offsets, row_items = rows_within(
        distinct // max(len(table), 1), offsets, item[~in_terms][order]
    )
    used, rows = np.unique(of_row, return_counts=True)  # domains that nobody holds are no chunks
    chunk_offsets = np.concatenate([[0], np.cumsum(rows)])
    return _Cut(
        records=records,
        first=first[used],
        last=last[used],
        chunk_offsets=chunk_offsets,
        row_offsets=row_offsets,
        items=row_items,
        term_offsets=np.searchsorted(terms, np.arange(len(clusters) + 1) * width),
        terms=(terms % width).astype(np.int32),
        removed=gone,
        keys=chunk_keys(chunk_offsets, row_offsets, row_items),
    )


def _refuse(what: str) -> None:
    raise ParameterError(what, fix="give every item of every record one place in its cluster")


def _cluster_of(table: TransactionTable, records: list[Int64Array]) -> Int64Array:
    """Return the cluster of each record, or say which record has none or several."""
    if table.is_bag:
        raise ParameterError("a record holds an item twice", fix="disassociate sets")
    together = np.concatenate([*records, np.zeros(0, dtype=np.int64)])
    if not np.array_equal(np.sort(together), np.arange(len(table))):
        raise ParameterError(
            f"the clusters hold {len(together)} records, the table {len(table)}, or not the same",
            fix="put every record into one cluster",
        )
    cluster_of = np.empty(len(table), dtype=np.int64)
    cluster_of[together] = np.repeat(np.arange(len(records)), [len(r) for r in records])
    return cluster_of


def _destinations(
    clusters: Sequence[Plan], joints: Sequence[Joint], width: int
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Return where items go: sorted keys (cluster and item), their chunk, and chunks' clusters.

    Chunk -1 is the term chunk.
    """
    keys: list[int] = []
    chunk: list[int] = []
    ranges: list[tuple[int, int]] = []
    for c, plan in enumerate(clusters):
        for domain in plan.domains:
            keys += [c * width + item for item in domain]
            chunk += [len(ranges)] * len(domain)
            ranges.append((c, c + 1))
        keys += [c * width + item for item in plan.terms]
        chunk += [-1] * len(plan.terms)
    for first, last, domain in joints:
        if not 0 <= first < last - 1 < len(clusters):
            raise ParameterError(
                f"a shared chunk belongs to the clusters {first} to {last - 1}",
                fix="name two or more neighbouring clusters",
            )
        keys += [c * width + item for c in range(first, last) for item in domain]
        chunk += [len(ranges)] * (len(domain) * (last - first))
        ranges.append((first, last))
    as_array = np.array(keys, dtype=np.int64)
    order = np.argsort(as_array, kind="stable")
    bounds = np.array(ranges, dtype=np.int64).reshape(-1, 2)
    return as_array[order], np.array(chunk, dtype=np.int64)[order], bounds[:, 0], bounds[:, 1]


def _kept(
    table: TransactionTable, removed: Sequence[tuple[int, int]]
) -> tuple[Int64Array, Int32Array]:
    """Return record and item of every occurrence that is not removed."""
    record = np.repeat(np.arange(len(table)), table.lengths)
    width = np.int64(max(table.n_items, 1))
    if any(not 0 <= r < len(table) for r, _ in removed):
        raise ParameterError(
            "something is removed from a record that is not there", fix="name records of the table"
        )
    gone = np.unique(np.array([r * int(width) + i for r, i in removed], dtype=np.int64))
    keep = np.ones(len(record), dtype=bool)
    if len(gone):
        keep = ~np.isin(record * width + table.items, gone)
        if len(keep) - np.count_nonzero(keep) != len(gone):
            raise ParameterError(
                "something is removed that was not there", fix="name occurrences of the table"
            )
    record = record[keep]
    bare = np.flatnonzero(np.bincount(record, minlength=len(table)) == 0)
    if len(bare):
        raise ParameterError(
            f"record {bare[0]} has no item{' left' if len(gone) else ''}",
            fix="leave records without items out: disassociation has no place for them",
        )
    return record, table.items[keep]


def _canonical(cut: _Cut, n_clusters: int) -> tuple[list[int], Int64Array]:
    """Return the order of the clusters, and for each chunk the new place of its first cluster."""
    own = np.flatnonzero(cut.last == cut.first + 1)
    own = own[np.argsort(cut.first[own], kind="stable")]
    by_cluster = sorted(own.tolist(), key=lambda q: (int(cut.first[q]), cut.keys[q]))
    sizes = np.array([len(records) for records in cut.records], dtype=np.int64)
    keys = cluster_keys(
        sizes,
        cut.first[by_cluster],
        [cut.keys[q] for q in by_cluster],
        cut.term_offsets,
        cut.terms,
    )
    joints = np.flatnonzero(cut.last > cut.first + 1).tolist()
    ranges = [(int(cut.first[q]), int(cut.last[q])) for q in joints]
    order = canonical_clusters(keys, ranges, [cut.keys[q] for q in joints])
    place = np.empty(n_clusters, dtype=np.int64)
    place[order] = np.arange(n_clusters)
    first = np.zeros(len(cut.first), dtype=np.int64)
    for q, (start, stop) in zip(joints, ranges, strict=True):
        first[q] = place[start:stop].min()
    return order, first


def _take_chunks(cut: _Cut, order: Int64Array) -> tuple[Int64Array, Int64Array, Int32Array]:
    """Return the chunks in another order: rows per chunk, and all rows."""
    numbers = np.arange(len(cut.row_offsets) - 1)
    offsets, rows = take_rows(cut.chunk_offsets, numbers, order)
    return np.diff(offsets), *take_rows(cut.row_offsets, cut.items, rows)


def gives(release: DisassociatedRelease, original: TransactionTable, key: Key) -> bool:
    """Tell whether `original`, lined up by `key`, could have given a release.

    The domains are read from the release, the records are cut by them, and the result must be
    the release.

    >>> table = TransactionTable.from_rows([["a"], ["a", "b"]])
    >>> release, key = publish_disassociated(table, [Plan(records=[0, 1], domains=((0,),),
    ...                                                   terms=(1,))])
    >>> gives(release, table, key), gives(release, table, Key(records=[0]))
    (True, False)
    """
    records = key.records
    if len(key) != len(release) or not np.array_equal(np.sort(records), np.arange(len(original))):
        return False
    if not set(release.vocabulary.names) <= set(original.vocabulary.names):
        return False
    number = [original.vocabulary.number(name) for name in release.vocabulary.names]
    chunk, item, _ = release.chunk_items
    cuts = np.searchsorted(chunk, np.arange(len(release.chunk_first) + 1)).tolist()
    domains = [tuple(number[i] for i in item[a:b].tolist()) for a, b in pairwise(cuts)]
    own, starts = release.chunk_starts.tolist(), release.cluster_starts.tolist()
    plans = [
        Plan(
            records=records[starts[c] : starts[c + 1]],
            domains=tuple(domains[own[c] : own[c + 1]]),
            terms=tuple(
                number[i]
                for i in release.terms[release.term_offsets[c] : release.term_offsets[c + 1]]
            ),
        )
        for c in range(len(release.sizes))
    ]
    joints = [
        (int(release.chunk_first[q]), int(release.chunk_last[q]), domains[q])
        for q in range(release.n_record_chunks, len(domains))
    ]
    if not {name for _, name in key.removed} <= set(original.vocabulary.names):
        return False
    removed = [(record, original.vocabulary.number(name)) for record, name in key.removed]
    try:
        again, _ = publish_disassociated(original, plans, joints, removed)
    except ParameterError:
        return False
    same = again.vocabulary == release.vocabulary
    return same and all(
        np.array_equal(getattr(again, name), getattr(release, name))
        for name in ("sizes", "chunk_first", "chunk_last", "chunk_offsets", "row_offsets", "items",
                     "term_offsets", "terms")
    )  # fmt: skip
