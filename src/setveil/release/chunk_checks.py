"""What a disassociated release must be like: the first fault, in words."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from setveil.release.chunk_order import (
    are_nested,
    canonical_clusters,
    chunk_keys,
    cluster_keys,
    unfilled,
)
from setveil.release.rows import is_ascending, neighbour_order, occurring

if TYPE_CHECKING:
    from setveil.release.disassociated import DisassociatedRelease


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
