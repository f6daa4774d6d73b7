"""Disassociated clusters as a Spark DataFrame: one row per cluster, or per joint cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.data.table import Vocabulary, take_rows
from setveil.engine.spark import Spark, spoken_errors
from setveil.errors import ParameterError
from setveil.release.chunk_order import canonical_clusters, chunk_keys, cluster_keys
from setveil.release.disassociated import DisassociatedRelease
from setveil.spark.batches import Batch, map_batches, rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    import pyarrow as pa
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

    from setveil.data.table import Int32Array, Int64Array

COLUMNS = ("sizes", "first", "last", "rows", "lengths", "items", "term_lengths", "terms")
SCHEMA = ", ".join(f"{name} array<int>" for name in COLUMNS)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DistributedChunks:
    """A disassociated release over many machines; a row is a block that nothing leaves.

    Parameters
    ----------
    frame
        Columns of lists of numbers (``array<int>``): ``sizes`` (records of each cluster of the
        block), ``first`` and ``last`` (for each chunk its clusters, counted from the block's
        first: record chunks cluster by cluster, then shared ones), ``rows`` (sub-records of each
        chunk), ``lengths`` (items of each sub-record), ``items``, ``term_lengths`` (terms of each
        cluster), ``terms``. Within a block everything is in canonical order.
    vocabulary
        The names behind the numbers of items and terms.
    """

    frame: DataFrame
    vocabulary: Vocabulary

    def __post_init__(self) -> None:
        wrong = [kind for kind in self.frame.dtypes if kind[1] != "array<int>"]
        if tuple(self.frame.columns) != COLUMNS or wrong:
            raise ParameterError(
                f"the frame has the columns {self.frame.columns}",
                fix=f"use {', '.join(COLUMNS)}, each array<int>",
            )

    def __repr__(self) -> str:
        return f"<DistributedChunks over {len(self.vocabulary):,} items>"

    @cached_property
    def n_records(self) -> int:
        """Number of records: counted on the first call."""
        from pyspark.sql import functions as sql  # noqa: PLC0415  (an extra)

        size = sql.aggregate("sizes", sql.lit(0), lambda total, one: total + one)
        with spoken_errors():
            return int(self.frame.select(sql.sum(size)).collect()[0][0] or 0)

    def broadcast_names(self) -> Broadcast[tuple[str, ...]]:
        """Send the names to all workers once."""
        return self.frame.sparkSession.sparkContext.broadcast(self.vocabulary.names)

    @classmethod
    def from_release(
        cls, release: DisassociatedRelease, engine: Spark | None = None
    ) -> DistributedChunks:
        """Distribute a release that is here, block by block."""
        session = (engine or Spark()).start()
        frame = (
            session.createDataFrame(blocks_of(release))
            if release.blocks
            else session.createDataFrame([], SCHEMA)
        )
        return cls(frame=frame, vocabulary=release.vocabulary)

    @classmethod
    def from_names(cls, frame: DataFrame) -> DistributedChunks:
        """Return the blocks of a frame in which items and terms are names."""
        from pyspark.sql import functions as sql  # noqa: PLC0415  (an extra)

        with spoken_errors():
            each = sql.explode(sql.array_distinct(sql.concat("items", "terms")))
            found = frame.select(each.alias("name")).distinct().toArrow()["name"].to_pylist()
        vocabulary = Vocabulary(names=tuple(sorted(found)))
        names = frame.sparkSession.sparkContext.broadcast(vocabulary.names)
        numbered = map_batches(frame.select(*COLUMNS), partial(number_names, names=names), SCHEMA)
        return cls(frame=numbered, vocabulary=vocabulary)

    def collect(self) -> DisassociatedRelease:
        """Return the release here, clusters in canonical order; for releases that fit."""
        with spoken_errors():
            return assembled(self.frame.toArrow(), self.vocabulary.names)


def number_names(table: pa.Table, names: Broadcast[tuple[str, ...]]) -> pa.Table:
    """Replace the names of items and terms by numbers; their order stays (runs on a worker)."""
    import pyarrow as pa  # noqa: PLC0415  (an extra)
    import pyarrow.compute as pc  # noqa: PLC0415

    known = pa.array(names.value, pa.string())
    for name in ("items", "terms"):
        lists = table[name].combine_chunks()
        numbers = pc.index_in(lists.flatten(), value_set=known)
        offsets = lists.offsets.to_numpy() - lists.offsets[0].as_py()
        column = pa.ListArray.from_arrays(pa.array(offsets), numbers)
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def blocks_of(release: DisassociatedRelease, numbers: Int32Array | None = None) -> pa.Table:
    """Return the blocks of a release as rows; `numbers` are those of its items elsewhere."""
    import pyarrow as pa  # noqa: PLC0415  (an extra)

    rows = np.arange(len(release.row_offsets) - 1)
    blocks = [_block(release, rows, first, last) for first, last in release.blocks]
    if numbers is not None:
        for place in (COLUMNS.index("items"), COLUMNS.index("terms")):
            for block in blocks:
                block[place] = numbers[block[place]].tolist()
    kind = pa.list_(pa.int32())
    return pa.table(
        {
            name: pa.array([block[place] for block in blocks], kind)
            for place, name in enumerate(COLUMNS)
        }
    )


def _block(
    release: DisassociatedRelease, every: Int64Array, first: int, last: int
) -> list[list[int]]:
    """Return a block of clusters as lists, in the order of the columns."""
    start, end = release.chunk_starts[[first, last]].tolist()
    chunks = np.concatenate([np.arange(start, end), release.shared_within(first, last)])
    row_offsets, rows = take_rows(release.chunk_offsets, every, chunks)
    offsets, items = take_rows(release.row_offsets, release.items, rows)
    begin, until = release.term_offsets[[first, last]].tolist()
    parts: list[npt.NDArray[np.integer[Any]]] = [
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


def assembled(table: pa.Table, names: Sequence[str]) -> DisassociatedRelease:
    """Return blocks as one release: clusters in canonical order, no name that does not occur."""
    columns = {name: rows_of(table[name]) for name in COLUMNS}
    fields = _joined(columns)
    used = np.unique(np.concatenate([fields["items"], fields["terms"]]))
    # Numbers ascend with names, so the order is the same with all names and with those used.
    order = _block_order(columns["sizes"].offsets, fields)
    if np.any(np.diff(order) < 0):
        fields = _joined({name: Batch(*take_rows(*rows, order)) for name, rows in columns.items()})
    for name in ("items", "terms"):
        fields[name] = np.searchsorted(used, fields[name])
    vocabulary = Vocabulary(names=tuple(names[i] for i in used.tolist()))
    return DisassociatedRelease(vocabulary=vocabulary, **fields)


def canonical_order(columns: Mapping[str, Batch]) -> Int64Array:
    """Return the order of blocks in which a release of them all lists their clusters."""
    return _block_order(columns["sizes"].offsets, _joined(columns))


def _joined(columns: Mapping[str, Batch]) -> dict[str, Any]:
    """Return the arrays of a release, with blocks one after the other and shared chunks last."""
    base = np.repeat(columns["sizes"].offsets[:-1], np.diff(columns["first"].offsets))
    first, last = columns["first"].items + base, columns["last"].items + base
    shared = last > first + 1
    chunks = np.concatenate([np.flatnonzero(~shared), np.flatnonzero(shared)])
    lengths = columns["lengths"].items
    chunk_offsets, rows = take_rows(
        _offsets(columns["rows"].items), np.arange(len(lengths)), chunks
    )
    row_offsets, items = take_rows(_offsets(lengths), columns["items"].items, rows)
    return {
        "sizes": columns["sizes"].items,
        "chunk_first": first[chunks],
        "chunk_last": last[chunks],
        "chunk_offsets": chunk_offsets,
        "row_offsets": row_offsets,
        "items": items,
        "term_offsets": _offsets(columns["term_lengths"].items),
        "terms": columns["terms"].items,
    }


def _offsets(lengths: npt.NDArray[np.integer[Any]]) -> Int64Array:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _block_order(starts: Int64Array, fields: Mapping[str, Any]) -> Int64Array:
    """Return the order of blocks in which their clusters are in canonical order."""
    first, last = fields["chunk_first"], fields["chunk_last"]
    own = int(np.count_nonzero(last == first + 1))
    keys = chunk_keys(fields["chunk_offsets"], fields["row_offsets"], fields["items"])
    of_clusters = cluster_keys(
        fields["sizes"], first[:own], keys[:own], fields["term_offsets"], fields["terms"]
    )
    ranges = list(zip(first[own:].tolist(), last[own:].tolist(), strict=True))
    clusters = canonical_clusters(of_clusters, ranges, keys[own:])
    # The clusters of a block stay neighbours.
    block = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[clusters]
    return block[np.flatnonzero(np.diff(block, prepend=-1))]
