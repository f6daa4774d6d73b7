"""Disassociated clusters as a Spark DataFrame: one row per cluster, or per joint cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from setveil.core.errors import ParameterError
from setveil.core.table import Vocabulary
from setveil.engine.spark import Spark, spoken_errors
from setveil.release.chunk_blocks import (
    COLUMNS,
    NAMED,
    Lists,
    block_lists,
    release_of_blocks,
)
from setveil.spark.batches import map_batches, rows_of, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from setveil.core.arrays import Int32Array
    from setveil.core.records import Shared
    from setveil.release.disassociated import DisassociatedRelease

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
        from pyspark.sql import functions as sql

        size = sql.aggregate("sizes", sql.lit(0), lambda total, one: total + one)
        with spoken_errors():
            return int(self.frame.select(sql.sum(size)).collect()[0][0] or 0)

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
        from pyspark.sql import functions as sql

        with spoken_errors():
            each = sql.explode(sql.array_distinct(sql.concat("items", "terms")))
            found = frame.select(each.alias("name")).distinct().toArrow()["name"].to_pylist()
        vocabulary = Vocabulary(names=tuple(sorted(found)))
        names = share(frame, vocabulary.names)
        numbered = map_batches(frame.select(*COLUMNS), partial(number_names, names=names), SCHEMA)
        return cls(frame=numbered, vocabulary=vocabulary)

    def collect(self) -> DisassociatedRelease:
        """Return the release here, clusters in canonical order; for releases that fit."""
        with spoken_errors():
            return assembled(self.frame.toArrow(), self.vocabulary.names)


def lists_in(blocks: pa.Table) -> dict[str, Lists]:
    """Return the columns of blocks."""
    return {name: Lists(*rows_of(blocks[name])) for name in COLUMNS}


def assembled(blocks: pa.Table, names: Sequence[str]) -> DisassociatedRelease:
    """Return blocks as one release: clusters in canonical order, no name that does not occur."""
    return release_of_blocks(lists_in(blocks), names)


def number_names(table: pa.Table, names: Shared[tuple[str, ...]]) -> pa.Table:
    """Replace the names of items and terms by numbers; their order stays (runs on a worker)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(names.value, pa.string())
    for name in NAMED:
        lists = table[name].combine_chunks()
        numbers = pc.index_in(lists.flatten(), value_set=known)
        offsets = lists.offsets.to_numpy() - lists.offsets[0].as_py()
        column = pa.ListArray.from_arrays(pa.array(offsets), numbers)
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def blocks_of(release: DisassociatedRelease, numbers: Int32Array | None = None) -> pa.Table:
    """Return the blocks of a release as rows; `numbers` are those of its items elsewhere."""
    import pyarrow as pa

    columns = block_lists(release)
    if numbers is not None:
        for name in NAMED:
            columns[name] = [numbers[items].tolist() for items in columns[name]]
    kind = pa.list_(pa.int32())
    return pa.table({name: pa.array(lists, kind) for name, lists in columns.items()})
