"""Clusters and their chunks: how disassociation splits records, and what clusters come to share.

First records are split into clusters, and the items of each cluster into record chunks and a term
chunk (:func:`chunk_clusters`). Then items of term chunks are published in chunks that several
clusters share (:func:`refine`).
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from itertools import cycle, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.anonymize.disassociation.cluster_kernels import horizontal_partition, share_terms
from setveil.anonymize.disassociation.safe_kernels import safe_clusters
from setveil.core.arrays import BoolArray, Int32Array, Int64Array, kept_offsets, offsets_of
from setveil.core.errors import InfeasibleError, ParameterError
from setveil.core.table import take_rows
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
    progress: Progress,
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
    >>> from setveil.anonymize.base import silent
    >>> from setveil.engine import Local
    >>> table = TransactionTable.from_rows([["a", "b"], ["b"], ["a"]])
    >>> moved_terms(chunk_clusters(table, k=2, m=2, most=2, share=None, engine=Local(),
    ...                            progress=silent), 2)
    1
    """
    width = np.int64(max(chunks.table.n_items, 1))
    cluster = np.repeat(np.arange(len(chunks.sizes)), chunks.sizes)
    held = np.sort(np.repeat(cluster, chunks.table.lengths) * width + chunks.table.items)
    keys = (chunks.cluster_of_term * width + chunks.terms)[chunks.chunk == TERM_CHUNK]
    counts = np.searchsorted(held, keys, side="right") - np.searchsorted(held, keys)
    return int(np.count_nonzero(counts >= k))


@dataclass(frozen=True, kw_only=True, eq=False)
class Joints:
    """Clusters that may still be joined, joint or not, in some order, and what they could share.

    Parameters
    ----------
    members
        For each joint cluster its clusters.
    sizes
        For each its number of records.
    borders
        The rows of each begin and end here.
    row_offsets, items
        For each record with items in a term chunk these items.
    row_cluster
        For each such record its cluster.
    banned_borders, banned
        For each joint cluster the items of its record chunks and shared chunks.
    """

    members: list[tuple[int, ...]]
    sizes: Int64Array
    borders: Int64Array
    row_offsets: Int64Array
    items: Int32Array
    row_cluster: Int64Array
    banned_borders: Int64Array
    banned: Int32Array

    def __len__(self) -> int:
        return len(self.members)

    def take(self, order: Int64Array) -> Joints:
        """Return some joint clusters in a given order."""
        borders, rows = take_rows(self.borders, np.arange(len(self.row_cluster)), order)
        row_offsets, items = take_rows(self.row_offsets, self.items, rows)
        banned_borders, banned = take_rows(self.banned_borders, self.banned, order)
        return Joints(
            members=[self.members[j] for j in order.tolist()],
            sizes=self.sizes[order],
            borders=borders,
            row_offsets=row_offsets,
            items=items,
            row_cluster=self.row_cluster[rows],
            banned_borders=banned_borders,
            banned=banned,
        )

    def by_terms(self, n_items: int) -> Joints:
        """Return them sorted by their items, those first that most of them have."""
        joint = np.repeat(np.arange(len(self)), np.diff(self.row_offsets[self.borders]))
        listed = distinct_keys(joint * np.int64(n_items) + self.items)
        having = np.bincount(listed % n_items, minlength=n_items)
        rank = np.empty(n_items, dtype=np.int64)
        rank[np.argsort(-having, kind="stable")] = np.arange(n_items)
        keys = np.sort(listed // n_items * n_items + rank[listed % n_items])
        raw = (keys % n_items).astype(">u4").tobytes()
        ends = (4 * np.searchsorted(keys, np.arange(len(self) + 1) * np.int64(n_items))).tolist()
        names = [raw[a:b] for a, b in pairwise(ends)]
        return self.take(np.array(sorted(range(len(self)), key=names.__getitem__), dtype=np.int64))


def distinct_keys(keys: Int64Array) -> Int64Array:
    """Return the distinct keys, sorted: for millions of them faster than numpy's own way.

    >>> distinct_keys(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(keys)
    fresh = np.ones(len(ordered), dtype=bool)
    fresh[1:] = ordered[1:] != ordered[:-1]
    return ordered[fresh]


def are_among(keys: Int64Array, wanted: Int64Array) -> BoolArray:
    """Tell of each key whether it is one of the wanted ones, which are sorted.

    >>> are_among(np.array([3, 1, 2]), np.array([1, 3])).tolist()
    [True, True, False]
    """
    if not len(wanted):
        return np.zeros(len(keys), dtype=bool)
    found = np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)
    inside: BoolArray = wanted[found] == keys
    return inside


class Sharing(NamedTuple):
    """What decides whether items are shared.

    `cluster_sizes` and `can_empty` say of each cluster how many records it has, and whether its
    term chunk may become empty; `share` is the greatest share of the records of a joint cluster
    that may hold a shared item, or None.
    """

    cluster_sizes: Int64Array
    can_empty: BoolArray
    share: Fraction | None
    n_items: int
    k: int
    m: int

    def caps(self, sizes: Int64Array) -> Int64Array:
        """Return how many records of joint clusters of these sizes may hold a shared item."""
        if self.share is None:
            return sizes
        return caps_of(sizes, self.share)


class Pairs(NamedTuple):
    """Neighbours that may be joined, one pair after the other, with what the kernel needs."""

    number: int
    joints: Joints
    sharing: Sharing


Shared = tuple[Int64Array, Int32Array, Int64Array]


def share_in_pairs(pairs: Pairs) -> dict[int, Shared]:
    """Find what pairs can share; returns the number of the batch → what the kernel says."""
    joints, sharing = pairs.joints, pairs.sharing
    sizes = joints.sizes.reshape(-1, 2).sum(axis=1)
    found = share_terms(
        joints.borders[::2], joints.row_offsets, joints.items, joints.row_cluster,
        sharing.cluster_sizes, sharing.can_empty, joints.banned_borders[::2], joints.banned,
        sizes, sharing.caps(sizes), sharing.n_items, sharing.k, sharing.m,
    )  # fmt: skip
    return {pairs.number: found}


def pair_batches(state: Joints, firsts: Int64Array, sharing: Sharing) -> Iterator[Pairs]:
    """Yield the pairs that begin at `firsts` in batches of about as many records each."""
    rows = np.cumsum(state.borders[firsts + 2] - state.borders[firsts])
    cuts = np.unique(np.searchsorted(rows, np.arange(BATCH, rows[-1], BATCH)) + 1)
    for number, some in enumerate(np.split(firsts, cuts[cuts < len(firsts)])):
        yield Pairs(number, state.take(np.stack([some, some + 1], axis=1).ravel()), sharing)


RARE = 200
"""Two rounds that join fewer than one of so many clusters are the last."""


class SharedChunk(NamedTuple):
    """The domain of a shared chunk, and its clusters: so many, from one on, in the final order."""

    first: int
    members: int
    domain: tuple[int, ...]


class Refined(NamedTuple):
    """Chunks without what is shared, the clusters in an order where joint ones are neighbours."""

    chunks: ClusterChunks
    order: Int64Array
    shared: list[SharedChunk]


def refine(
    chunks: ClusterChunks,
    *,
    k: int,
    m: int,
    share: Fraction | None,
    engine: Engine,
    progress: Progress,
) -> Refined:
    """Join clusters whose term chunks are alike, as long as something can be shared.

    Clusters, joint or not, are sorted by the items of their term chunks; neighbours are tried in
    pairs, by turns from the first and from the second on. Two rounds in a row that join fewer than
    one in 200 of those left are the last: what comes after takes most of the time for little.

    Parameters
    ----------
    chunks
        What becomes of the items of each cluster.
    k, m
        Of the promise.
    share
        Where links across chunks must not be likely: greatest share of the records of a joint
        cluster that hold a shared item. All members then keep an item in their term chunks.
    engine
        Works on batches of pairs.
    progress
        Told how many clusters have been joined.

    Notes
    -----
    Sharing is safe if (i) shared items stand in no record chunk of a member and in no other
    shared chunk of the joint cluster, (ii) sets of up to m items of a shared chunk are in k
    sub-records or none, and (iii) every member keeps an item in its term chunk, or its own chunks
    have k(h - 1) sub-records more than it has records, h = min(m, its record chunks): then k
    copies of any set that may be known can be stacked in one member while all others can still
    fill their records.
    """
    state = _loose_items(chunks)
    n_items = chunks.table.n_items
    can_empty = _fill_themselves(chunks, k, m) & (share is None)
    sharing = Sharing(chunks.sizes, can_empty, share, n_items, k, m)
    done: list[tuple[int, ...]] = []
    shared: list[SharedChunk] = []
    tried: set[tuple[int, ...]] = set()
    total = len(state)
    joins = [total, total]  # of the last two rounds
    for parity in cycle((0, 1)):
        if len(state) < 2 or sum(joins) * RARE < len(state):
            break
        progress("joint clusters", total - len(state), total)
        if joins[1]:
            state = state.by_terms(n_items)
        firsts = _untried_pairs(state, parity, tried)
        domains: dict[int, list[list[int]]] = {}
        if len(firsts):
            found = engine.map_reduce(
                pair_batches(state, firsts, sharing), share_in_pairs, operator.or_
            )
            domains = _domains([found[number] for number in range(len(found))])
        joins = [joins[1], len(domains)]
        if domains:
            state, ended = _join_pairs(state, firsts, domains, shared, n_items)
            done += ended
    joint = [*done, *state.members]
    together = [cluster for members in joint for cluster in members]
    lone = np.setdiff1d(np.arange(len(chunks.sizes)), together)
    return Refined(
        chunks=_without_shared(chunks, state),
        order=np.concatenate([np.array(together, dtype=np.int64), lone]),
        shared=shared,
    )


def _loose_items(chunks: ClusterChunks) -> Joints:
    """Return every cluster with a term chunk by itself."""
    table = chunks.table
    is_loose = chunks.chunk_of_occurrences() == TERM_CHUNK
    record = np.repeat(np.arange(len(table)), table.lengths)[is_loose]
    lengths = np.bincount(record, minlength=len(table))
    rows = np.flatnonzero(lengths)
    row_cluster = np.repeat(np.arange(len(chunks.sizes)), chunks.sizes)[rows]
    in_chunk = chunks.chunk != TERM_CHUNK
    banned_borders = np.searchsorted(
        chunks.cluster_of_term[in_chunk], np.arange(len(chunks.sizes) + 1)
    )
    every = Joints(
        members=[(cluster,) for cluster in range(len(chunks.sizes))],
        sizes=chunks.sizes,
        borders=np.searchsorted(row_cluster, np.arange(len(chunks.sizes) + 1)),
        row_offsets=offsets_of(lengths[rows]),
        items=table.items[is_loose],
        row_cluster=row_cluster,
        banned_borders=banned_borders,
        banned=chunks.terms[in_chunk],
    )
    return every.take(np.flatnonzero(np.diff(every.borders)))


def _fill_themselves(chunks: ClusterChunks, k: int, m: int) -> BoolArray:
    """Tell of each cluster whether its own chunks have sub-records enough without a term chunk."""
    table, n_clusters = chunks.table, len(chunks.sizes)
    chunk = chunks.chunk_of_occurrences()
    inside = chunk != TERM_CHUNK
    record = np.repeat(np.arange(len(table)), table.lengths)[inside]
    width = np.int64(chunk.max(initial=0) + 1)
    sub_records = distinct_keys(record * width + chunk[inside]) // width
    cluster = np.repeat(np.arange(n_clusters), chunks.sizes)
    rows = np.bincount(cluster[sub_records], minlength=n_clusters)
    n_chunks = np.zeros(n_clusters, dtype=np.int64)
    np.maximum.at(n_chunks, chunks.cluster_of_term, chunks.chunk + 1)
    reach = np.clip(n_chunks, 1, m)
    return rows >= chunks.sizes + k * (reach - 1)


def _untried_pairs(state: Joints, parity: int, tried: set[tuple[int, ...]]) -> Int64Array:
    """Return the first of each pair of neighbours that has not been tried, and note it as tried."""
    firsts = []
    for first in range(parity, len(state) - 1, 2):
        one, other = state.members[first], state.members[first + 1]
        pair = (one[0], len(one), other[0], len(other))
        if pair not in tried:
            tried.add(pair)
            firsts.append(first)
    return np.array(firsts, dtype=np.int64)


def _domains(parts: list[Shared]) -> dict[int, list[list[int]]]:
    """Return for each pair that is joined, by its number, the domains of its shared chunks."""
    found: dict[int, list[list[int]]] = {}
    before = 0
    for borders, items, chunk in parts:
        for pair in np.flatnonzero(np.diff(borders)).tolist():
            low, high = borders[pair : pair + 2].tolist()
            domains: list[list[int]] = [[] for _ in range(int(chunk[low:high].max()) + 1)]
            of_pair = zip(items[low:high].tolist(), chunk[low:high].tolist(), strict=True)
            for item, number in of_pair:
                domains[number].append(item)
            found[before + pair] = domains
        before += len(borders) - 1
    return found


def _join_pairs(
    state: Joints,
    firsts: Int64Array,
    domains: dict[int, list[list[int]]],
    shared: list[SharedChunk],
    n_items: int,
) -> tuple[Joints, list[tuple[int, ...]]]:
    """Join pairs of neighbours; returns the new state, and the clusters that have nothing left.

    The shared chunks are added to `shared`.
    """
    width = np.int64(n_items)
    pair_of = np.full(len(state), -1, dtype=np.int64)
    is_second = np.zeros(len(state), dtype=bool)
    keys = []
    for pair, chunks in domains.items():
        first = int(firsts[pair])
        pair_of[first : first + 2] = first
        is_second[first + 1] = True
        both = state.members[first] + state.members[first + 1]
        for domain in chunks:
            shared.append(SharedChunk(both[0], len(both), tuple(sorted(domain))))
            keys += [first * n_items + item for item in domain]
    gone = np.array(sorted(keys), dtype=np.int64)
    number = np.cumsum(~is_second) - 1
    # Neighbours stand one after the other, so joining them takes a border away and nothing else.
    row_joint = np.repeat(np.arange(len(state)), np.diff(state.borders))
    row = np.repeat(np.arange(len(row_joint)), np.diff(state.row_offsets))
    stays = ~are_among(pair_of[row_joint[row]] * width + state.items, gone)
    lengths = np.bincount(row[stays], minlength=len(row_joint))
    filled = lengths > 0
    banned_joint = np.repeat(np.arange(len(state)), np.diff(state.banned_borders))
    banned_joint = np.concatenate([number[banned_joint], number[gone // width]])
    order = np.argsort(banned_joint, kind="stable")
    numbers = np.arange(number[-1] + 2)
    members = [
        mine + (state.members[j + 1] if j + 1 < len(state) and is_second[j + 1] else ())
        for j, mine in enumerate(state.members)
        if not is_second[j]
    ]
    joined = replace(
        state,
        members=members,
        sizes=np.bincount(number, weights=state.sizes).astype(np.int64),
        borders=np.searchsorted(number[row_joint[filled]], numbers),
        row_offsets=offsets_of(lengths[filled]),
        items=state.items[stays],
        row_cluster=state.row_cluster[filled],
        banned_borders=np.searchsorted(banned_joint[order], numbers),
        banned=np.concatenate([state.banned, (gone % width).astype(np.int32)])[order],
    )
    active = np.diff(joined.borders) > 0
    ended = [members[j] for j in np.flatnonzero(~active).tolist()]
    return joined.take(np.flatnonzero(active)), ended


def _without_shared(chunks: ClusterChunks, state: Joints) -> ClusterChunks:
    """Return the chunks with those items in term chunks that have not been shared."""
    width = np.int64(max(chunks.table.n_items, 1))
    left = distinct_keys(
        np.repeat(state.row_cluster, np.diff(state.row_offsets)) * width + state.items
    )
    keys = chunks.cluster_of_term * width + chunks.terms
    stays = (chunks.chunk != TERM_CHUNK) | are_among(keys, left)
    return replace(
        chunks,
        term_offsets=kept_offsets(chunks.term_offsets, stays),
        terms=chunks.terms[stays],
        chunk=chunks.chunk[stays],
    )
