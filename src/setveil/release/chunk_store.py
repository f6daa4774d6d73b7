"""A disassociated release as rows and flat lists of numbers, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import ReleaseError
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.manifest import LARGEST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.core.table import Int32Array, Int64Array, Vocabulary

Numbers = np.ndarray[Any, np.dtype[Any]]

LISTS = ("sizes", "chunks", "rows", "shared", "with_terms")
UNSEEN = 2**24
"""By so many at most the records of a cluster outnumber its sub-records; terms could be in all."""


def chunk_rows(release: DisassociatedRelease) -> tuple[Int64Array, Int32Array]:
    """Return all sub-records, then all term chunks that are not empty, as compressed rows.

    >>> from setveil import TransactionTable
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a"], ["a", "b"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1], domains=((0,),), terms=(1,))])
    >>> chunk_rows(release)[0].tolist(), chunk_structure(release)["sizes"]
    ([0, 1, 2, 3], [2])
    """
    lengths = np.diff(release.term_offsets)
    ends = len(release.items) + np.cumsum(lengths[lengths > 0])
    return np.concatenate([release.row_offsets, ends]), np.concatenate(
        [release.items, release.terms]
    )


def chunk_structure(release: DisassociatedRelease) -> dict[str, Any]:
    """Return how the rows belong together, as flat lists of numbers.

    ``sizes`` and ``chunks``: records and record chunks per cluster; ``rows``: sub-records per
    chunk, the shared ones last; ``shared``: for each shared chunk its first cluster and the one
    after its last; ``with_terms``: the clusters that have a term chunk.
    """
    own = release.n_record_chunks
    shared = np.stack([release.chunk_first[own:], release.chunk_last[own:]], axis=1)
    lists = (
        release.sizes,
        np.diff(release.chunk_starts),
        np.diff(release.chunk_offsets),
        shared.ravel(),
        np.flatnonzero(np.diff(release.term_offsets)),
    )
    return {name: numbers.tolist() for name, numbers in zip(LISTS, lists, strict=True)}


def rebuild_chunks(
    *,
    vocabulary: Vocabulary,
    offsets: Int64Array,
    items: Int32Array,
    structure: Mapping[str, Any],
) -> DisassociatedRelease:
    """Return the release of some rows and a structure, or say what is wrong with them.

    >>> from setveil.core.table import Vocabulary
    >>> rebuild_chunks(vocabulary=Vocabulary(names=("a",)), offsets=np.array([0, 1]),
    ...                items=np.array([0], dtype=np.int32), structure={"sizes": "many"})
    Traceback (most recent call last):
    setveil.core.errors.ReleaseError: manifest.json is damaged: 'sizes' is no list of counts
    """
    sizes, chunks, rows, shared, with_terms = (_numbers(structure, name) for name in LISTS)
    own = int(chunks.sum())
    n_rows = int(rows.sum())
    ascending = np.all(np.diff(with_terms) > 0) and np.all(with_terms < len(sizes))
    if len(chunks) != len(sizes) or not ascending or 2 * (len(rows) - own) != len(shared):
        raise ReleaseError("manifest.json is damaged: its lists of clusters and chunks do not fit")
    if n_rows + len(with_terms) != len(offsets) - 1:
        raise ReleaseError(
            f"the data holds {len(offsets) - 1:,} rows, the manifest says {n_rows:,} sub-records "
            f"and {len(with_terms):,} term chunks"
        )
    clusters = np.repeat(np.arange(len(chunks)), chunks)
    check_sizes(sizes, np.bincount(clusters, rows[:own], minlength=len(sizes)), "manifest.json")
    lengths = np.zeros(len(sizes), dtype=np.int64)
    lengths[with_terms] = np.diff(offsets[n_rows:])
    if not np.all(lengths[with_terms]):
        raise ReleaseError("a term chunk of the data is empty")
    return DisassociatedRelease(
        vocabulary=vocabulary,
        sizes=sizes,
        chunk_first=np.concatenate([clusters, shared[::2]]),
        chunk_last=np.concatenate([clusters + 1, shared[1::2]]),
        chunk_offsets=np.concatenate([[0], np.cumsum(rows)]),
        row_offsets=offsets[: n_rows + 1],
        items=items[: offsets[n_rows]],
        term_offsets=np.concatenate([[0], np.cumsum(lengths)]),
        terms=items[offsets[n_rows] :],
    )


def check_sizes(sizes: Numbers, seen: Numbers, where: str) -> None:
    """Refuse clusters of far more records than there are sub-records: memory must suffice.

    >>> check_sizes(np.array([2**30]), np.array([3]), "the data")
    Traceback (most recent call last):
    setveil.core.errors.ReleaseError: the data is damaged: 1,073,741,824 records in 1 clusters, \
one of 1,073,741,824, are too many for 3 sub-records
    """
    total = int(sizes.sum(dtype=np.int64))
    if total >= LARGEST or np.any(sizes - seen > UNSEEN):
        raise ReleaseError(
            f"{where} is damaged: {total:,} records in {len(sizes):,} clusters, one of "
            f"{sizes.max():,}, are too many for {int(seen.sum()):,} sub-records"
        )


def _numbers(structure: Mapping[str, Any], name: str) -> Int64Array:
    """Return a list of counts from a manifest."""
    given = structure.get(name)
    if (
        set(structure) - set(LISTS)
        or not isinstance(given, list)
        or not all(type(value) is int and 0 <= value < LARGEST for value in given)
    ):
        raise ReleaseError(f"manifest.json is damaged: {name!r} is no list of counts")
    return np.array(given, dtype=np.int64)
