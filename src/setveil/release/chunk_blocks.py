"""Disassociated clusters in blocks that nothing leaves: as rows of lists, and back to a release.

A block is a cluster, or a joint cluster with all that it shares. A cluster of machines works on
blocks and writes them as they are; here they are put together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil.core.arrays import Int64Array, offsets_of
from setveil.core.errors import ReleaseError
from setveil.core.table import Vocabulary, take_rows
from setveil.release.chunk_arrays import are_nested, chunk_keys, order_of_clusters
from setveil.release.data_file import LabelledRowsBuilder, flat_lists, frames_of_parts, is_in_parts
from setveil.release.disassociated import DisassociatedRelease, check_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


Numbers = np.ndarray[Any, np.dtype[np.integer[Any]]]

COLUMNS = ("sizes", "first", "last", "rows", "lengths", "items", "term_lengths", "terms")
"""What :class:`setveil.spark.DistributedChunks` says of them."""
NAMED = ("items", "terms")
MISSING = "a block of the data has a name or a number that is missing"
CUTS = (("sizes", "term_lengths"), ("first", "last"), ("first", "rows"))
"""Columns with one number for each of the same things."""
TOTALS = (("rows", "lengths"), ("lengths", "items"), ("term_lengths", "terms"))
"""Columns whose numbers add up to the length of another."""


class Lists(NamedTuple):
    """A column of lists: that of block `i` is ``items[offsets[i]:offsets[i + 1]]``."""

    offsets: Int64Array
    items: Numbers


def block_lists(release: DisassociatedRelease) -> dict[str, list[list[int]]]:
    """Return the blocks of a release, for each column a list for each block.

    >>> from setveil import TransactionTable
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a"], ["a", "b"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1], domains=((0,),), terms=(1,))])
    >>> lists = block_lists(release)
    >>> lists["sizes"], lists["rows"], lists["items"], lists["terms"]
    ([[2]], [[2]], [[0, 0]], [[1]])
    """
    rows = np.arange(len(release.row_offsets) - 1)
    blocks = [_block(release, rows, first, last) for first, last in release.blocks]
    return {name: [block[place] for block in blocks] for place, name in enumerate(COLUMNS)}


def _block(
    release: DisassociatedRelease, every: Int64Array, first: int, last: int
) -> list[list[int]]:
    """Return a block of clusters as lists, in the order of the columns."""
    start, end = release.chunk_starts[[first, last]].tolist()
    chunks = np.concatenate([np.arange(start, end), release.shared_within(first, last)])
    row_offsets, rows = take_rows(release.chunk_offsets, every, chunks)
    offsets, items = take_rows(release.row_offsets, release.items, rows)
    begin, until = release.term_offsets[[first, last]].tolist()
    parts: list[Numbers] = [
        release.sizes[first:last],
        release.chunk_first[chunks] - first,
        release.chunk_last[chunks] - first,
        np.diff(row_offsets),
        np.diff(offsets),
        items,
        np.diff(release.term_offsets[first : last + 1]),
        release.terms[begin:until],
    ]
    return [part.tolist() for part in parts]


def release_in_parts(data: bytes) -> DisassociatedRelease:
    """Return the release whose blocks a cluster of machines wrote, from the parts' content.

    Raises
    ------
    ReleaseError
        What is there is no release.
    """
    import polars as pl

    if not is_in_parts(data):
        raise ReleaseError("the data is one file, and the manifest says that it is in parts")
    kinds = {name: pl.List(pl.String if name in NAMED else pl.Int32) for name in COLUMNS}
    blocks = pl.concat([pl.DataFrame(schema=kinds), *frames_of_parts(data, kinds)])
    lists = {name: flat_lists(blocks[name], MISSING) for name in COLUMNS}
    builder = LabelledRowsBuilder()
    for name in NAMED:
        builder.add_column(*lists[name])
    named = builder.records()
    columns, start = {}, 0
    for name, (lengths, flat) in lists.items():
        if name in NAMED:
            items = named.items[start : start + len(flat)]
            start += len(flat)
        else:
            items = flat.to_numpy().astype(np.int32)
        columns[name] = Lists(offsets_of(lengths), items)
    check_blocks(columns)
    return release_of_blocks(columns, named.labels)


def check_blocks(columns: Mapping[str, Lists]) -> None:
    """Check that the lists of each block fit each other; of names just how many there are."""
    length = {name: np.diff(lists.offsets) for name, lists in columns.items()}
    counts = (name for name in COLUMNS if name not in NAMED)
    fit = all(np.all(columns[name].items >= 0) for name in counts)
    fit = fit and all(np.array_equal(length[one], length[other]) for one, other in CUTS)
    for counted, whole in TOTALS:
        offsets, numbers = columns[counted]
        sums = np.diff(offsets_of(numbers)[offsets])
        fit = fit and np.array_equal(sums, length[whole])
    first, last = columns["first"].items, columns["last"].items
    clusters = np.repeat(length["sizes"], length["first"])
    if not fit or np.any(last <= first) or np.any(last > clusters):
        raise ReleaseError("the lists of a block of the data do not fit each other")
    fields = join_blocks(columns)
    shared = fields["chunk_last"] > fields["chunk_first"] + 1
    ranges = zip(fields["chunk_first"][shared], fields["chunk_last"][shared], strict=True)
    if not are_nested(sorted(ranges, key=lambda each: (each[0], -each[1]))):
        raise ReleaseError("two joint clusters overlap, and neither is part of the other")
    own = np.bincount(
        fields["chunk_first"][~shared],
        np.diff(fields["chunk_offsets"])[~shared],
        minlength=len(fields["sizes"]),
    )
    check_sizes(fields["sizes"], own, "the data")


def release_of_blocks(columns: Mapping[str, Lists], names: Sequence[str]) -> DisassociatedRelease:
    """Return blocks as one release: clusters in canonical order, no name that does not occur.

    >>> one = np.array([0, 1, 2])
    >>> each = {"sizes": [1, 1], "first": [0, 0], "last": [1, 1], "rows": [1, 1],
    ...         "lengths": [1, 1], "items": [2, 0], "term_lengths": [0, 0]}
    >>> columns = {name: Lists(one, np.array(numbers)) for name, numbers in each.items()}
    >>> columns["terms"] = Lists(np.array([0, 0, 0]), np.array([], dtype=np.int32))
    >>> release = release_of_blocks(columns, ["flu", "gout", "mumps"])
    >>> release.items.tolist(), release.vocabulary.names
    ([0, 1], ('flu', 'mumps'))
    """
    fields = join_blocks(columns)
    used = np.unique(np.concatenate([fields["items"], fields["terms"]]))
    # Numbers ascend with names, so the order is the same with all names and with those used.
    order = _block_order(columns["sizes"].offsets, fields)
    if np.any(np.diff(order) < 0):
        fields = join_blocks(
            {name: Lists(*take_rows(*rows, order)) for name, rows in columns.items()}
        )
    for name in NAMED:
        fields[name] = np.searchsorted(used, fields[name])
    vocabulary = Vocabulary(names=tuple(names[i] for i in used.tolist()))
    return DisassociatedRelease(vocabulary=vocabulary, **fields)


def part_of_blocks(columns: Mapping[str, Lists], vocabulary: Vocabulary) -> DisassociatedRelease:
    """Return blocks as a part of a release: in the order given, over all its names.

    Nothing is checked; items of the vocabulary need not occur.
    """
    part = object.__new__(DisassociatedRelease)
    for name, values in join_blocks(columns).items():
        kind = np.int32 if name in NAMED else np.int64
        object.__setattr__(part, name, np.asarray(values, dtype=kind))
    object.__setattr__(part, "vocabulary", vocabulary)
    return part


def canonical_blocks(columns: Mapping[str, Lists]) -> Int64Array:
    """Return the order of blocks in which a release of them all lists their clusters."""
    return _block_order(columns["sizes"].offsets, join_blocks(columns))


def join_blocks(columns: Mapping[str, Lists]) -> dict[str, Any]:
    """Return the arrays of a release, with blocks one after the other and shared chunks last."""
    base = np.repeat(columns["sizes"].offsets[:-1], np.diff(columns["first"].offsets))
    first, last = columns["first"].items + base, columns["last"].items + base
    shared = last > first + 1
    chunks = np.concatenate([np.flatnonzero(~shared), np.flatnonzero(shared)])
    lengths = columns["lengths"].items
    chunk_offsets, rows = take_rows(
        offsets_of(columns["rows"].items), np.arange(len(lengths)), chunks
    )
    row_offsets, items = take_rows(offsets_of(lengths), columns["items"].items, rows)
    return {
        "sizes": columns["sizes"].items,
        "chunk_first": first[chunks],
        "chunk_last": last[chunks],
        "chunk_offsets": chunk_offsets,
        "row_offsets": row_offsets,
        "items": items,
        "term_offsets": offsets_of(columns["term_lengths"].items),
        "terms": columns["terms"].items,
    }


def _block_order(starts: Int64Array, fields: Mapping[str, Any]) -> Int64Array:
    """Return the order of blocks in which their clusters are in canonical order."""
    keys = chunk_keys(fields["chunk_offsets"], fields["row_offsets"], fields["items"])
    ranges = fields["chunk_first"], fields["chunk_last"]
    clusters = order_of_clusters(
        fields["sizes"], ranges, keys, fields["term_offsets"], fields["terms"]
    )
    # The clusters of a block stay neighbours.
    block = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[clusters]
    return block[np.flatnonzero(np.diff(block, prepend=-1))]
