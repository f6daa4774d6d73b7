"""Clusters and chunks: their canonical order, and what must hold of them."""

from __future__ import annotations

import hashlib
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.arrays import is_ascending, neighbour_order, occurring
from setveil.core.table import canonical_order, take_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.release.disassociated import DisassociatedRelease

MOST = 0xFFFFFFFF
"""The greatest number of four bytes: subtracted from it, larger numbers sort first."""

Range = tuple[int, int]


class Block(NamedTuple):
    """A cluster or a joint cluster while clusters are being sorted."""

    last: int
    clusters: list[int]
    key: bytes


def chunk_keys(
    chunk_offsets: Int64Array, row_offsets: Int64Array, items: Int32Array
) -> list[bytes]:
    """Return for each chunk what it is sorted by: more rows first, then more items, then content.

    >>> keys = chunk_keys(np.array([0, 1, 3]), np.array([0, 1, 2, 3]), np.array([0, 1, 1]))
    >>> keys[1] < keys[0]
    True
    """
    lengths = np.diff(row_offsets).astype(">u4").tobytes()
    content = np.asarray(items).astype(">u4").tobytes()
    bounds = zip(chunk_offsets.tolist(), row_offsets[chunk_offsets].tolist(), strict=True)
    return [
        number_key(MOST - (b - a)) + number_key(MOST - (end - start))
        + lengths[4 * a : 4 * b] + content[4 * start : 4 * end]
        for (a, start), (b, end) in pairwise(bounds)
    ]  # fmt: skip


def cluster_keys(
    sizes: Int64Array,
    chunk_first: Int64Array,
    keys: Sequence[bytes],
    term_offsets: Int64Array,
    terms: Int32Array,
) -> list[bytes]:
    r"""Return for each cluster what it is sorted by: larger ones first, then by content.

    `keys` are those of the record chunks, cluster after cluster, `chunk_first` their clusters.

    >>> cluster_keys(np.array([2]), np.array([0]), [b"chunk"], np.array([0, 0]), np.array([]))
    [b'\xff\xff\xff\xfd\x00\x00\x00\x01chunk']
    """
    content = np.asarray(terms).astype(">u4").tobytes()
    starts = np.searchsorted(chunk_first, np.arange(len(sizes) + 1)).tolist()
    return [
        number_key(MOST - size) + number_key(b - a) + b"".join(keys[a:b]) + content[4 * t : 4 * u]
        for size, (a, b), (t, u) in zip(
            sizes.tolist(), pairwise(starts), pairwise(term_offsets.tolist()), strict=True
        )
    ]


def number_key(value: int) -> bytes:
    """Return a number as four bytes that compare as it does.

    >>> number_key(255) < number_key(256)
    True
    """
    return value.to_bytes(4, "big")


def canonical_clusters(
    keys: Sequence[bytes], ranges: Sequence[Range], shared_keys: Sequence[bytes]
) -> list[int]:
    """Return the order of clusters by content; those of a joint cluster stay neighbours.

    A joint cluster stands where its first member would. `ranges` are those of the shared chunks,
    nested or disjoint, and `shared_keys` what these are sorted by.

    >>> canonical_clusters([b"c", b"a", b"b"], [(0, 2)], [b"shared"])
    [1, 0, 2]
    """
    blocks = {c: Block(c + 1, [c], key) for c, key in enumerate(keys)}
    inner_first = sorted(
        zip(ranges, shared_keys, strict=True), key=lambda s: (s[0][1] - s[0][0], s)
    )
    for (first, last), group in groupby(inner_first, key=lambda shared: shared[0]):
        parts = sorted(_walk(blocks, first, last), key=lambda block: block.key)
        said = [part.key for part in parts] + [key for _, key in group]
        digest = hashlib.sha256(b"".join(number_key(len(key)) + key for key in said)).digest()
        clusters = [c for part in parts for c in part.clusters]
        blocks[first] = Block(last, clusters, parts[0].key + digest)
    outermost = sorted(_walk(blocks, 0, len(keys)), key=lambda block: block.key)
    return [c for block in outermost for c in block.clusters]


def _walk(blocks: dict[int, Block], first: int, last: int) -> list[Block]:
    found = []
    while first < last:
        found.append(blocks[first])
        first = found[-1].last
    return found


def are_nested(ranges: Sequence[Range]) -> bool:
    """Tell whether ranges, sorted by first and the longer ones first, are nested or disjoint.

    >>> are_nested([(0, 4), (0, 2), (2, 4)]), are_nested([(0, 3), (2, 4)])
    (True, False)
    """
    open_ends: list[int] = []
    for first, last in ranges:
        while open_ends and open_ends[-1] <= first:
            open_ends.pop()
        if open_ends and last > open_ends[-1]:
            return False
        open_ends.append(last)
    return True


def unfilled(lacking: npt.ArrayLike, ranges: Sequence[Range], rows: Sequence[int]) -> int:
    """Return how many records stay empty when shared sub-records fill what clusters lack.

    Sub-records of inner joint clusters go first: nothing else can be done with them. What is
    left then is the least there can be.

    Parameters
    ----------
    lacking
        For each cluster how many of its records nothing of its own can fill.
    ranges, rows
        The shared chunks, nested or disjoint: their clusters, and how many sub-records each has.

    Examples
    --------
    >>> unfilled([2, 0, 1], [(0, 3), (0, 2)], [1, 1])
    1
    """
    left = np.array(lacking, dtype=np.int64)
    if not left.any():
        return 0
    for (first, last), free in sorted(
        zip(ranges, rows, strict=True), key=lambda shared: shared[0][1] - shared[0][0]
    ):
        part = left[first:last]
        before = np.concatenate([[0], np.cumsum(part)[:-1]])
        part -= np.clip(free - before, 0, part)
    return int(left.sum())


def rows_within(
    group: Int64Array, offsets: Int64Array, items: Int32Array
) -> tuple[Int64Array, Int64Array, Int32Array]:
    """Sort rows by their group, then canonically: longer ones first, then by content.

    >>> rows_within(np.array([1, 0, 0]), np.array([0, 1, 2, 4]), np.array([5, 5, 1, 2]))
    (array([0, 0, 1]), array([0, 2, 3, 4]), array([1, 2, 5, 5]))
    """
    order = canonical_order(offsets, items)
    order = order[np.argsort(group[order], kind="stable")]
    return group[order], *take_rows(offsets, items, order)


# --- What must hold ---


def first_fault(release: DisassociatedRelease) -> str | None:
    """Return what is wrong with the arrays of a release, or None.

    The checks build on each other: each may rely on those before it.

    >>> from setveil.core.table import Vocabulary
    >>> from setveil.release.disassociated import DisassociatedRelease
    >>> DisassociatedRelease(
    ...     vocabulary=Vocabulary(names=("a",)), sizes=[1], chunk_first=[0], chunk_last=[1],
    ...     chunk_offsets=[0, 2], row_offsets=[0, 1, 2], items=[0, 0], term_offsets=[0, 0],
    ...     terms=[])
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: a chunk has 2 sub-records for 1 records. \
To fix: build releases with publish_disassociated.
    """
    for check in (_shapes, _ranges, _rows, _sorted, _disjoint, _worlds, _order):
        fault = check(release)
        if fault is not None:
            return fault
    return None


def _shapes(release: DisassociatedRelease) -> str | None:
    """Check that offsets fit what they cut, and that numbers are numbers of items."""
    clusters, chunks = len(release.sizes), len(release.chunk_first)
    rows = len(release.row_offsets) - 1
    cuts = (
        ("chunk_offsets", release.chunk_offsets, chunks, rows),
        ("row_offsets", release.row_offsets, rows, len(release.items)),
        ("term_offsets", release.term_offsets, clusters, len(release.terms)),
    )
    for name, offsets, parts, whole in cuts:
        if len(offsets) != parts + 1 or offsets[0] != 0 or offsets[-1] != whole:
            return f"{name} do not fit what they cut"
        if np.any(np.diff(offsets) < 0):
            return f"{name} decrease"
    if len(release.chunk_last) != chunks:
        return "chunk_first and chunk_last are not equally long"
    for numbers in (release.items, release.terms):
        if len(numbers) and (numbers.min() < 0 or numbers.max() >= len(release.vocabulary)):
            return "an item is not in the vocabulary"
    used = np.zeros(len(release.vocabulary), dtype=bool)
    used[occurring(release.items)] = True
    used[occurring(release.terms)] = True
    if not used.all():
        return f"nothing publishes the item {release.vocabulary[int(np.argmin(used))]!r}"
    return None


def _ranges(release: DisassociatedRelease) -> str | None:
    """Check sizes, and that chunks belong to clusters in the order that is wanted."""
    first, last = release.chunk_first, release.chunk_last
    if np.any(release.sizes < 1):
        return "a cluster has no records"
    if np.any(first < 0) or np.any(last <= first) or np.any(last > len(release.sizes)):
        return "a chunk belongs to clusters that there are not"
    own = release.n_record_chunks
    if np.any(last[:own] != first[:own] + 1) or np.any(np.diff(first[:own]) < 0):
        return "the record chunks do not stand first, cluster by cluster"
    shared = list(zip(first[own:].tolist(), last[own:].tolist(), strict=True))
    if any(a > b for a, b in pairwise((begin, -end) for begin, end in shared)):
        return "the shared chunks are not in canonical order"
    if not are_nested(shared):
        return "two joint clusters overlap, and neither is part of the other"
    return None


def _rows(release: DisassociatedRelease) -> str | None:
    """Check how many sub-records a chunk has, and that none is empty."""
    rows_per_chunk = np.diff(release.chunk_offsets)
    if np.any(rows_per_chunk == 0):
        return "a chunk has no sub-records"
    starts = release.cluster_starts
    records = starts[release.chunk_last] - starts[release.chunk_first]
    crowded = np.flatnonzero(rows_per_chunk > records)
    if len(crowded):
        q = crowded[0]
        return f"a chunk has {rows_per_chunk[q]} sub-records for {records[q]} records"
    if np.any(np.diff(release.row_offsets) == 0):
        return "a sub-record is empty"
    return None


def _sorted(release: DisassociatedRelease) -> str | None:
    """Check the order within sub-records, chunks and term chunks."""
    if not is_ascending(release.row_offsets, release.items):
        return "the items of a sub-record are not sorted and distinct"
    if not is_ascending(release.term_offsets, release.terms):
        return "the terms of a term chunk are not sorted and distinct"
    wrong = neighbour_order(release.row_offsets, release.items) > 0
    wrong[release.chunk_offsets[1:-1] - 1] = False  # rows of two chunks
    if wrong.any():
        return "the sub-records of a chunk are not in canonical order"
    return None


def _disjoint(release: DisassociatedRelease) -> str | None:
    """Check that no cluster can hold an item in two ways."""
    for first, part in release.parts():
        twice = _twice(part)
        if twice is not None:
            at, number = twice
            return f"cluster {first + at} holds the item {release.vocabulary[number]!r} in two ways"
    return None


def _twice(release: DisassociatedRelease) -> tuple[int, int] | None:
    """Return a cluster and an item that it holds in two ways."""
    chunk, item, _ = release.chunk_items
    first, last = release.chunk_first[chunk], release.chunk_last[chunk]
    # A shared chunk counts for each of its clusters.
    members = last - first
    ends = np.cumsum(members)
    cluster = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - members - first, members)
    terms_of = np.repeat(np.arange(len(release.sizes)), np.diff(release.term_offsets))
    width = np.int64(len(release.vocabulary))
    keys = np.concatenate([cluster * width + np.repeat(item, members), terms_of * width])
    keys[len(cluster) :] += release.terms
    keys.sort()
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        at, number = divmod(int(keys[twice[0]]), int(width))
        return at, number
    return None


def _order(release: DisassociatedRelease) -> str | None:
    """Check that chunks and clusters are sorted by content."""
    keys = chunk_keys(release.chunk_offsets, release.row_offsets, release.items)
    place = list(
        zip(release.chunk_first.tolist(), (-release.chunk_last).tolist(), keys, strict=True)
    )
    own = release.n_record_chunks
    for part in (place[:own], place[own:]):
        if any(a > b for a, b in pairwise(part)):
            return "the chunks of a cluster are not in canonical order"
    of_clusters = cluster_keys(
        release.sizes, release.chunk_first[:own], keys[:own], release.term_offsets, release.terms
    )
    shared = [(first, -last) for first, last, _ in place[own:]]
    order = canonical_clusters(of_clusters, shared, keys[own:])
    if order != list(range(len(order))):
        return "the clusters are not in canonical order"
    return None


def _worlds(release: DisassociatedRelease) -> str | None:
    """Check that there is an original without empty records."""
    own = release.n_record_chunks
    rows = np.diff(release.chunk_offsets)
    placed = np.bincount(release.chunk_first[:own], rows[:own], minlength=len(release.sizes))
    bare = np.diff(release.term_offsets) == 0
    lacking = np.where(bare, np.maximum(release.sizes - placed.astype(np.int64), 0), 0)
    ranges = list(
        zip(release.chunk_first[own:].tolist(), release.chunk_last[own:].tolist(), strict=True)
    )
    empty = unfilled(lacking.tolist(), ranges, rows[own:].tolist())
    if empty:
        return f"{empty} records would be empty: clusters have too few sub-records and no terms"
    return None
