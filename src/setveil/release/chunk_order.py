"""Clusters, chunks and joint clusters as arrays: their canonical order, and whether they can be."""

from __future__ import annotations

import hashlib
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.table import canonical_order, take_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from setveil.core.table import Int32Array, Int64Array

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
