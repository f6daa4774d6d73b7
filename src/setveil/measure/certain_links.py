"""In how many records known items give another one away, in spite of the chunks."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.arrays import Int32Array, Int64Array, offsets_of
from setveil.core.errors import NotApplicable, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from setveil.core.table import TransactionTable
    from setveil.release.base import Key, Release
    from setveil.release.chunk_worlds import ChunkCertainty
    from setveil.release.disassociated import DisassociatedRelease

BATCH = 4_000_000
"""About so many pairs of items are held in memory at once."""


def linked_share(
    release: Release, original: TransactionTable, *, key: Key | None = None, m: int = 2
) -> float:
    """Return the share of records in which one or two items give another one away for certain.

    Whoever knows these items of a person, but not the person's cluster, knows the other item as
    well: every original that the release allows has it in every record with the known items
    (:class:`~setveil.release.chunk_worlds.ChunkCertainty`). It makes no difference whether the
    items stand in one chunk or in several. The share is exact. Occurrences that the method deleted
    count as not there.

    Parameters
    ----------
    release, original, key
        What was published of what; the key says who is in which cluster, and what was deleted.
    m
        Greatest number of items that are known, 1 or 2.

    Raises
    ------
    NotApplicable
        The release has no chunks, or there is no key.
    ParameterError
        `m` is neither 1 nor 2.

    Examples
    --------
    The records ab, ab and c in one chunk: whoever holds a holds b.

    >>> from setveil import TransactionTable
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a", "b"], ["a", "b"], ["c"]])
    >>> plan = Plan(records=[0, 1, 2], domains=((0, 1, 2),), terms=())
    >>> release, key = publish_disassociated(table, [plan])
    >>> round(linked_share(release, table, key=key), 3)
    0.667
    """
    chunks = release.as_chunks()
    if key is None:
        raise NotApplicable("who is in which cluster is not known", fix="give the key")
    if m not in (1, 2):
        raise ParameterError(f"m is {m!r}", fix="use 1 or 2")
    if not len(release):
        return 0.0
    from setveil.release.chunk_worlds import ChunkCertainty

    certainty = ChunkCertainty(chunks)
    offsets, items = _published_rows(chunks, original, key)
    linked = _linked_by_one(certainty, offsets, items, len(chunks.vocabulary))
    if m == 2:
        linked |= _linked_by_two(certainty, offsets, items, linked, len(chunks.vocabulary))
    return float(linked.mean())


def _linked_by_one(
    certainty: ChunkCertainty, offsets: Int64Array, items: Int32Array, width: int
) -> npt.NDArray[np.bool_]:
    """Tell which rows have an item that gives another one away."""
    found = certainty.certain_sets(np.arange(width + 1), np.arange(width, dtype=np.int32))
    giving = np.diff(found.offsets) > 0
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.bincount(row[giving[items]], minlength=len(offsets) - 1) > 0


def _linked_by_two(
    certainty: ChunkCertainty,
    offsets: Int64Array,
    items: Int32Array,
    done: npt.NDArray[np.bool_],
    width: int,
) -> npt.NDArray[np.bool_]:
    """Tell which rows have two items that give another one away; those that are done have none."""
    from setveil.kernels.rows import row_pairs

    lengths = np.where(done, 0, np.diff(offsets))
    pairs_of = lengths * (lengths - 1) // 2
    kept = items[np.repeat(~done, np.diff(offsets))]
    starts = offsets_of(lengths)
    linked = np.zeros(len(lengths), dtype=bool)
    for first, last in _batches(pairs_of):
        part = kept[starts[first] : starts[last]]
        pairs = row_pairs(starts[first : last + 1] - starts[first], part, width)
        distinct, place = np.unique(pairs, return_inverse=True)
        known = np.stack([distinct // width, distinct % width], axis=1).ravel()
        found = certainty.certain_sets(2 * np.arange(len(distinct) + 1), known.astype(np.int32))
        giving = (np.diff(found.offsets) > 0)[place]
        row = np.repeat(np.arange(first, last), pairs_of[first:last])
        linked[row[giving]] = True
    return linked


def _batches(pairs_of: Int64Array) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows with about as many pairs as a batch has, never less than a row."""
    batch = (np.cumsum(pairs_of) - pairs_of) // BATCH
    cuts = [0, *(np.flatnonzero(np.diff(batch)) + 1).tolist(), len(pairs_of)]
    yield from pairwise(cuts)


def _published_rows(
    release: DisassociatedRelease, original: TransactionTable, key: Key
) -> tuple[Int64Array, Int32Array]:
    """Return the published items of each record by the release's numbers, each once, ascending."""
    number = {name: i for i, name in enumerate(release.vocabulary.names)}
    as_published = np.array([number.get(name, -1) for name in original.vocabulary.names], np.int64)
    record = np.repeat(np.arange(len(original)), original.lengths)
    item = as_published[original.items]
    width = np.int64(max(len(number), 1))
    held = np.unique((record * width + item)[item >= 0])
    gone = [r * width + number[name] for r, name in key.removed if name in number]
    held = held[~np.isin(held, np.array(gone, dtype=np.int64))]
    lengths = np.bincount(held // width, minlength=len(original))
    return offsets_of(lengths), (held % width).astype(np.int32)
