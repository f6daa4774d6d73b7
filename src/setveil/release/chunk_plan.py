"""From records and a plan of clusters and domains to a disassociated release."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil.core.arrays import Int32Array, Int64Array, occurring, offsets_of, renumbered
from setveil.core.errors import ParameterError
from setveil.core.table import TransactionTable, Vocabulary, take_rows
from setveil.release.base import Key
from setveil.release.chunk_arrays import chunk_keys, order_of_clusters, rows_within
from setveil.release.disassociated import DisassociatedRelease

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

Joint = tuple[int, int, tuple[int, ...]]
"""A shared chunk: its first cluster, the one after its last, and its domain."""

CLUSTERS = 512
"""How many clusters are cut at a time, or a few more where they share chunks."""


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
    cut = _cut_records(table, clusters, joints, removed)
    order, first = _canonical(cut, len(clusters))
    own = cut.last == cut.first + 1
    last = first + cut.last - cut.first
    kinds = zip((~own).tolist(), first.tolist(), (-last).tolist(), cut.keys, strict=True)
    chunk_order = [q for _, q in sorted((kind, q) for q, kind in enumerate(kinds))]
    rows, row_offsets, items = _take_chunks(cut, np.array(chunk_order, dtype=np.int64))
    term_offsets, terms = take_rows(cut.term_offsets, cut.terms, np.array(order, dtype=np.int64))
    records = [cut.records[c] for c in order]
    gone = tuple((r, table.vocabulary[i]) for r, i in sorted(set(cut.removed)))
    del cut, kinds  # as large as the release
    used = np.union1d(occurring(items), occurring(terms))
    number = np.full(table.n_items, -1, dtype=np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    release = DisassociatedRelease(
        vocabulary=Vocabulary(names=tuple(table.vocabulary[i] for i in used.tolist())),
        sizes=np.array([len(members) for members in records], dtype=np.int64),
        chunk_first=first[chunk_order],
        chunk_last=last[chunk_order],
        chunk_offsets=offsets_of(rows),
        row_offsets=row_offsets,
        items=renumbered(items, number),
        term_offsets=term_offsets,
        terms=renumbered(terms, number),
    )
    slots = np.concatenate(records) if records else np.zeros(0, np.int64)
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


class _Batch(NamedTuple):
    """The chunks of some clusters, as in `_Cut`; term chunks by their lengths."""

    records: list[Int64Array]
    first: Int64Array
    last: Int64Array
    rows: Int64Array
    lengths: Int32Array
    items: Int32Array
    term_lengths: Int64Array
    terms: Int32Array
    keys: list[bytes]


def _cut_records(
    table: TransactionTable,
    clusters: Sequence[Plan],
    joints: Sequence[Joint],
    removed: Iterable[tuple[int, int]],
) -> _Cut:
    """Cut the records, some clusters at a time: what is in between takes far more memory."""
    gone = [(int(record), int(item)) for record, item in removed]
    if table.is_bag:
        raise ParameterError("a record holds an item twice", fix="disassociate sets")
    keep = _find_kept(table, gone)
    held = np.zeros(len(table), dtype=bool)
    made = []
    for first, last, within in _batches(len(clusters), joints):
        plans = clusters[first:last]
        records = [np.sort(np.asarray(plan.records, dtype=np.int64)) for plan in plans]
        if not _mark(_concatenate([*records]), held):
            _refuse_records(table, clusters)
        made.append(_cut_batch(table, keep, records, _destinations(plans, within, first, table)))
    if not held.all():
        _refuse_records(table, clusters)
    items = np.concatenate([batch.items for batch in made] or [np.zeros(0, np.int32)])
    return _Cut(
        records=[members for batch in made for members in batch.records],
        first=_concatenate([batch.first for batch in made]),
        last=_concatenate([batch.last for batch in made]),
        chunk_offsets=_offsets([batch.rows for batch in made]),
        row_offsets=_offsets([batch.lengths for batch in made]),
        items=items,
        term_offsets=_offsets([batch.term_lengths for batch in made]),
        terms=_concatenate([batch.terms for batch in made]),
        removed=gone,
        keys=[key for batch in made for key in batch.keys],
    )


def _concatenate(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _offsets(lengths: Sequence[npt.NDArray[np.integer[Any]]]) -> Int64Array:
    offsets = np.zeros(1 + sum(map(len, lengths)), dtype=np.int64)
    np.cumsum(_concatenate([*lengths]), out=offsets[1:])
    return offsets


def _batches(n_clusters: int, joints: Sequence[Joint]) -> Iterator[tuple[int, int, list[Joint]]]:
    """Yield ranges of clusters that no shared chunk leaves, each with the shared chunks in it."""
    waiting = sorted(joints, key=lambda joint: joint[0], reverse=True)
    for first, last, _ in waiting:
        if not 0 <= first < last - 1 < n_clusters:
            raise ParameterError(
                f"a shared chunk belongs to the clusters {first} to {last - 1}",
                fix="name two or more neighbouring clusters",
            )
    start = 0
    while start < n_clusters:
        end = min(start + CLUSTERS, n_clusters)
        within = []
        while waiting and waiting[-1][0] < end:
            within.append(waiting.pop())
            end = max(end, within[-1][1])
        yield start, end, within
        start = end


def _mark(members: Int64Array, held: npt.NDArray[np.bool_]) -> bool:
    """Mark records as members of a cluster; tell whether each is there and was in none before."""
    if len(members) and (members.min() < 0 or members.max() >= len(held)):
        return False
    fresh = not held[members].any() and len(np.unique(members)) == len(members)
    held[members] = True
    return fresh


def _cut_batch(
    table: TransactionTable,
    keep: npt.NDArray[np.bool_] | None,
    records: list[Int64Array],
    to: _Destinations,
) -> _Batch:
    """Cut the records of some neighbouring clusters."""
    width = np.int64(max(table.n_items, 1))
    members = _concatenate([*records])
    keys = to.keys
    offsets, item = take_rows(table.offsets, table.items, members)
    member = np.repeat(np.arange(len(members)), np.diff(offsets))
    if keep is not None:
        left = take_rows(table.offsets, keep, members)[1]
        item, member = item[left], member[left]
    clusters = np.arange(to.base, to.base + len(records))
    cluster_of = np.repeat(clusters, [len(each) for each in records])
    wanted = cluster_of[member] * width + item
    found = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    lost = np.flatnonzero(keys[found] != wanted) if len(keys) else np.arange(len(wanted))
    if len(lost):
        at = int(lost[0])
        _refuse(
            f"cluster {cluster_of[member[at]]} has no place for the item "
            f"{table.vocabulary[int(item[at])]!r} of record {members[member[at]]}"
        )
    goes = to.chunk[found]
    in_terms = goes < 0
    terms = np.unique(wanted[in_terms])
    asked = keys[to.chunk < 0]
    if len(terms) != len(asked):
        at, missing = divmod(int(np.setdiff1d(asked, terms)[0]), int(width))
        _refuse(f"no record of cluster {at} holds its term {table.vocabulary[missing]!r}")
    row_key = goes[~in_terms] * np.int64(len(members)) + member[~in_terms]
    order = np.argsort(row_key, kind="stable")
    distinct, lengths = np.unique(row_key, return_counts=True)
    of_row, row_offsets, row_items = rows_within(
        distinct // max(len(members), 1), _offsets([lengths]), item[~in_terms][order]
    )
    used, rows = np.unique(of_row, return_counts=True)  # domains that nobody holds are no chunks
    return _Batch(
        records=records,
        first=to.first[used],
        last=to.last[used],
        rows=rows,
        lengths=np.diff(row_offsets).astype(np.int32),
        items=row_items,
        term_lengths=np.bincount(terms // width - to.base, minlength=len(records)),
        terms=(terms % width).astype(np.int32),
        keys=chunk_keys(_offsets([rows]), row_offsets, row_items),
    )


def _refuse(what: str) -> None:
    raise ParameterError(what, fix="give every item of every record one place in its cluster")


def _refuse_records(table: TransactionTable, clusters: Sequence[Plan]) -> None:
    members = sum(np.size(plan.records) for plan in clusters)
    raise ParameterError(
        f"the clusters hold {members} records, the table {len(table)}, or not the same",
        fix="put every record into one cluster",
    )


class _Destinations(NamedTuple):
    """Where items go: sorted keys (cluster and item), their chunk, and the clusters of chunks.

    Chunk -1 is the term chunk; `base` is the number of the first cluster.
    """

    base: int
    keys: Int64Array
    chunk: Int64Array
    first: Int64Array
    last: Int64Array


def _destinations(
    plans: Sequence[Plan], joints: Sequence[Joint], base: int, table: TransactionTable
) -> _Destinations:
    """Return where the items of some clusters go, or say which item has two places."""
    width = max(table.n_items, 1)
    keys: list[int] = []
    chunk: list[int] = []
    ranges: list[tuple[int, int]] = []
    for c, plan in enumerate(plans, base):
        for domain in plan.domains:
            keys += [c * width + item for item in domain]
            chunk += [len(ranges)] * len(domain)
            ranges.append((c, c + 1))
        keys += [c * width + item for item in plan.terms]
        chunk += [-1] * len(plan.terms)
    for first, last, domain in joints:
        keys += [c * width + item for c in range(first, last) for item in domain]
        chunk += [len(ranges)] * (len(domain) * (last - first))
        ranges.append((first, last))
    as_array = np.array(keys, dtype=np.int64)
    order = np.argsort(as_array, kind="stable")
    sorted_keys = as_array[order]
    if np.any(sorted_keys[1:] == sorted_keys[:-1]):
        same = np.flatnonzero(sorted_keys[1:] == sorted_keys[:-1])
        at, twice = divmod(int(sorted_keys[same[0]]), width)
        _refuse(f"cluster {at} has two places for the item {table.vocabulary[twice]!r}")
    bounds = np.array(ranges, dtype=np.int64).reshape(-1, 2)
    chunks = np.array(chunk, dtype=np.int64)[order]
    return _Destinations(base, sorted_keys, chunks, bounds[:, 0], bounds[:, 1])


def _find_kept(
    table: TransactionTable, removed: Sequence[tuple[int, int]]
) -> npt.NDArray[np.bool_] | None:
    """Tell which occurrences are not removed; None where all stay."""
    if any(not 0 <= r < len(table) for r, _ in removed):
        raise ParameterError(
            "something is removed from a record that is not there", fix="name records of the table"
        )
    keep = None
    lengths = table.lengths
    if removed:
        width = np.int64(max(table.n_items, 1))
        gone = np.unique(np.array([r * int(width) + i for r, i in removed], dtype=np.int64))
        record = np.repeat(np.arange(len(table)), lengths)
        keep = ~np.isin(record * width + table.items, gone)
        if len(keep) - np.count_nonzero(keep) != len(gone):
            raise ParameterError(
                "something is removed that was not there", fix="name occurrences of the table"
            )
        lengths = np.bincount(record[keep], minlength=len(table))
    bare = np.flatnonzero(lengths == 0)
    if len(bare):
        raise ParameterError(
            f"record {bare[0]} has no item{' left' if removed else ''}",
            fix="leave records without items out: disassociation has no place for them",
        )
    return keep


def _canonical(cut: _Cut, n_clusters: int) -> tuple[list[int], Int64Array]:
    """Return the order of the clusters, and for each chunk the new place of its first cluster."""
    sizes = np.array([len(records) for records in cut.records], dtype=np.int64)
    order = order_of_clusters(sizes, (cut.first, cut.last), cut.keys, cut.term_offsets, cut.terms)
    place = np.empty(n_clusters, dtype=np.int64)
    place[order] = np.arange(n_clusters)
    first = place[np.minimum(cut.first, n_clusters - 1)]
    for q in np.flatnonzero(cut.last > cut.first + 1).tolist():
        first[q] = place[cut.first[q] : cut.last[q]].min()
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
    planned = _plan_of(release, original, key)
    if planned is None:
        return False
    try:
        again, _ = publish_disassociated(original, *planned)
    except ParameterError:
        return False
    same = again.vocabulary == release.vocabulary
    return same and all(
        np.array_equal(getattr(again, name), getattr(release, name))
        for name in ("sizes", "chunk_first", "chunk_last", "chunk_offsets", "row_offsets", "items",
                     "term_offsets", "terms")
    )  # fmt: skip


def _plan_of(
    release: DisassociatedRelease, original: TransactionTable, key: Key
) -> tuple[list[Plan], list[Joint], list[tuple[int, int]]] | None:
    """Return what :func:`publish_disassociated` was given; None if the three cannot fit."""
    records = key.records
    if len(key) != len(release) or not np.array_equal(np.sort(records), np.arange(len(original))):
        return None
    names = {*release.vocabulary.names, *(name for _, name in key.removed)}
    if not names <= set(original.vocabulary.names):
        return None
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
    return plans, joints, [(r, original.vocabulary.number(name)) for r, name in key.removed]


class CutRelease(NamedTuple):
    """A disassociated release of some of the people of another one.

    Parameters
    ----------
    release, original, key
        The smaller release, its records, and its key.
    weights
        For each cluster how many people of the larger release each of its people stands for.
    """

    release: DisassociatedRelease
    original: TransactionTable
    key: Key
    weights: npt.NDArray[np.float64]


FEWEST = 100
"""So many people of a cluster are never left out."""


def largest_clusters(sizes: Int64Array, people: int) -> int:
    """Return how large clusters may be so that together they have no more than some people.

    Never less than :data:`FEWEST`, so that a release of very many clusters keeps more.

    >>> largest_clusters(np.array([50, 700, 900]), 1000)
    475
    >>> largest_clusters(np.array([50, 700]), 1000)
    700
    """
    low, high = FEWEST, max(FEWEST, int(sizes.max(initial=0)))
    while low < high:  # clusters of `low` people fit, or there is no less
        middle = (low + high + 1) // 2
        if np.minimum(sizes, middle).sum() <= people:
            low = middle
        else:
            high = middle - 1
    return low


def cut_clusters(
    release: DisassociatedRelease,
    original: TransactionTable,
    key: Key,
    *,
    most: int,
    rng: np.random.Generator,
) -> CutRelease | None:
    """Publish fewer people of large clusters, drawn at random; None where no cluster is large.

    Everything else stays as it was published: chunks keep their domains, clusters share the same
    chunks. Only who has the key can do this. In a smaller cluster an attacker has fewer records
    to choose from.

    Parameters
    ----------
    release, original, key
        What was published, from what, and who is where.
    most
        How many people a cluster may keep.
    rng
        Draws them.

    Raises
    ------
    ParameterError
        The three do not belong together.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["a", "b"], ["a"], ["a", "c"], ["c"]])
    >>> release, key = publish_disassociated(table, [
    ...     Plan(records=[0, 1, 2], domains=((0,),), terms=(1, 2)),
    ...     Plan(records=[3], domains=((2,),), terms=())])
    >>> cut = cut_clusters(release, table, key, most=2, rng=np.random.default_rng(1))
    >>> cut.release.sizes.tolist(), cut.weights.tolist()
    ([2, 1], [1.5, 1.0])
    """
    if (release.sizes <= most).all():
        return None
    planned = _plan_of(release, original, key)
    if planned is None:
        raise ParameterError(
            "the release cannot come from this original by this key",
            fix="name the data and the key that the release was made with",
        )
    plans, joints, removed = planned
    members = [
        records if len(records) <= most else rng.choice(records, most, replace=False)
        for records in (np.asarray(plan.records) for plan in plans)
    ]
    kept = np.sort(np.concatenate(members))
    place = np.full(len(original), -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    table = original.take(kept)
    left = [(int(place[record]), item) for record, item in removed if place[record] >= 0]
    gone = set(left)
    fewer = []
    for plan, records in zip(plans, members, strict=True):
        rows = place[records]
        terms = plan.terms
        if len(records) < np.size(plan.records):
            # A term that none of the people who stay holds would give away one who is gone.
            held = {
                (row, item)
                for row in rows.tolist()
                for item in table.items[table.offsets[row] : table.offsets[row + 1]].tolist()
            }
            there = {item for _, item in held - gone}
            terms = tuple(item for item in terms if item in there)
        fewer.append(Plan(records=rows, domains=plan.domains, terms=terms))
    smaller, smaller_key = publish_disassociated(table, fewer, joints, left)
    cluster_of = np.empty(len(original), dtype=np.int64)
    cluster_of[key.records] = np.repeat(np.arange(len(release.sizes)), release.sizes)
    first = kept[smaller_key.records[smaller.cluster_starts[:-1]]]
    weights = release.sizes[cluster_of[first]] / smaller.sizes
    return CutRelease(smaller, table, smaller_key, weights)
