"""Set-valued data as a Spark DataFrame: one row per record, items as numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.arrays import Int32Array, Int64Array, kept_offsets, offsets_of
from setveil.core.errors import InputError, ParameterError
from setveil.core.records import Records, Rows, Shared
from setveil.core.table import TransactionTable, Vocabulary, frozen, take_rows
from setveil.engine.spark import Spark, spoken_errors
from setveil.spark.batches import PLACES, FrameParts, fold, lists_of, map_batches, rows_of, share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

ITEMS, RECORD = "items", "record"
"""The columns of a table: the items of a record, and what names the record, where it is known."""
PLACE_BITS = 33
"""Spark counts the rows of a partition in the lower bits of a row's number."""


def quoted(column: str) -> str:
    """Return the name of a column as Spark reads it, whatever letters it has.

    >>> quoted("my.items"), quoted("a`b")
    ('`my.items`', '`a``b`')
    """
    return "`" + column.replace("`", "``") + "`"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DistributedTable(Records):
    """Records over many machines: a Spark DataFrame with one row per record.

    Only the vocabulary, with its supports, is here; a million names are a few dozen megabytes.
    Everything else stays where it is, and what is computed from it runs there.

    Parameters
    ----------
    frame
        A column ``items`` of lists of item numbers (``array<int>``), ascending; and, where the
        source names its records, a column ``record``.
    vocabulary
        The names behind the numbers, sorted: the same numbers as in a :class:`TransactionTable`
        of the same records.
    item_supports
        For each item how many records hold it.
    bags
        Whether an item may stand in a record more than once.
    room
        About how many places of records a worker holds at a time, where a search sends them.

    Notes
    -----
    The frame is computed anew from its source by each verb; :meth:`persist` keeps it.
    """

    frame: DataFrame
    vocabulary: Vocabulary
    item_supports: Int64Array
    bags: bool = False
    room: int = PLACES

    def __post_init__(self) -> None:
        object.__setattr__(self, "item_supports", frozen(self.item_supports, np.int64))
        kinds = dict(self.frame.dtypes)
        if kinds.get(ITEMS) != "array<int>" or set(kinds) - {ITEMS, RECORD}:
            raise ParameterError(
                f"the frame has the columns {kinds}, not items: array<int>",
                fix="build tables with DistributedTable.from_frame, from_table or read_distributed",
            )
        if len(self.item_supports) != len(self.vocabulary):
            raise ParameterError(
                f"{len(self.item_supports)} supports for {len(self.vocabulary)} items",
                fix="build tables with DistributedTable.from_frame",
            )

    # --- in -----------------------------------------------------------------------------------

    @classmethod
    def from_frame(
        cls,
        frame: DataFrame,
        *,
        id: str | None = None,
        item: str = ITEMS,
        bags: bool = False,
    ) -> DistributedTable:
        """Build a table from a Spark DataFrame of texts, long or with a column of lists.

        Parameters
        ----------
        frame
            Where `item` is a column of lists, one row per record; otherwise one row per record
            and item, and `id` says which rows belong together. A null item is none.
        id
            Column that names the record; needed for long frames.
        item
            Column of the items.
        bags
            Keep items that a record holds several times as often as it holds them.
        """
        from pyspark.sql import functions as sql

        kinds = dict(frame.dtypes)
        for column in filter(None, (id, item)):
            if column not in kinds:
                raise InputError(
                    f"there is no column {column!r}", fix=f"use one of {', '.join(kinds)}"
                )
        if kinds[item].startswith("array<"):
            names = sql.array_compact(sql.col(quoted(item)).cast("array<string>"))
            names = sql.coalesce(names, sql.array().cast("array<string>"))
            kept = [] if id is None else [sql.col(quoted(id)).alias(RECORD)]
            lists = frame.select(names.alias(ITEMS), *kept)
        elif id is None:
            raise ParameterError(
                f"the column {item!r} holds no lists, so a column must name the record of a row",
                fix="give id=COLUMN",
            )
        else:
            collected = sql.collect_list(sql.col(quoted(item)).cast("string"))
            lists = frame.groupBy(sql.col(quoted(id)).alias(RECORD)).agg(collected.alias(ITEMS))
        return cls._numbered(lists, bags=bags)

    @classmethod
    def _numbered(cls, lists: DataFrame, *, bags: bool) -> DistributedTable:
        """Give the items of lists of texts the numbers of the sorted vocabulary."""
        from pyspark.sql import functions as sql

        # What a function gives back is matched by the order of the columns.
        lists = lists.select(ITEMS, *(name for name in lists.columns if name == RECORD))

        each = sql.explode(sql.array_distinct(ITEMS)).alias("name")
        with spoken_errors():
            counted = lists.select(each).groupBy("name").count().toArrow()
        names = counted["name"].to_pylist()
        counts = counted["count"].to_numpy()
        order = sorted(range(len(names)), key=names.__getitem__)
        vocabulary = Vocabulary(names=tuple(names[i] for i in order))
        shared = share(lists, vocabulary.names)
        kept = f", {RECORD} {dict(lists.dtypes)[RECORD]}" if RECORD in lists.columns else ""
        frame = map_batches(
            lists, partial(number_items, names=shared, bags=bags), f"{ITEMS} array<int>{kept}"
        )
        return cls(frame=frame, vocabulary=vocabulary, item_supports=counts[order], bags=bags)

    @classmethod
    def from_table(
        cls, table: TransactionTable, engine: Spark | None = None, *, bags: bool = False
    ) -> DistributedTable:
        """Distribute a table that is here; its vocabulary stays, records keep their places.

        The column ``record`` is the place of the record in `table`.
        """
        import pyarrow as pa

        if not bags and np.any(table._steps() == 0):  # noqa: SLF001  (the class next door)
            raise ParameterError("a record holds an item twice", fix="pass bags=True")
        columns = {
            ITEMS: lists_of(table.offsets, table.items),
            RECORD: pa.array(np.arange(len(table), dtype=np.int64)),
        }
        session = (engine or Spark()).start()
        schema = f"{ITEMS} array<int>, {RECORD} bigint"
        frame = (
            session.createDataFrame(pa.table(columns))
            if len(table)
            else session.createDataFrame([], schema)
        )
        record = np.repeat(np.arange(len(table)), np.diff(table.offsets))
        first = np.ones(len(table.items), dtype=bool)
        first[1:] = (np.diff(table.items) != 0) | (np.diff(record) != 0)
        supports = np.bincount(table.items[first], minlength=len(table.vocabulary))
        return cls(frame=frame, vocabulary=table.vocabulary, item_supports=supports, bags=bags)

    # --- out ----------------------------------------------------------------------------------

    def named(self) -> DataFrame:
        """Return the frame with item names instead of numbers (``array<string>``)."""
        kept = f", {RECORD} {dict(self.frame.dtypes)[RECORD]}" if self.has_ids else ""
        function = partial(name_items, names=self.share(self.vocabulary.names))
        ordered = self.frame.select(ITEMS, *([RECORD] if self.has_ids else []))
        return map_batches(ordered, function, f"{ITEMS} array<string>{kept}")

    def write(self, path: str, *, force: bool = False) -> None:
        """Write a directory of Parquet files with item names, one row per record."""
        with spoken_errors():
            self.named().write.mode("overwrite" if force else "error").parquet(path)

    def collect(self) -> TransactionTable:
        """Return the records as a table here; for data that fits. By ``record`` where it is known.

        Tests and small results use it; no verb does.
        """
        with spoken_errors():
            here = self.frame.toArrow()
        if self.has_ids:
            here = here.sort_by(RECORD)
        batch = rows_of(here[ITEMS])
        return TransactionTable(
            offsets=batch.offsets, items=batch.items, vocabulary=self.vocabulary
        )

    def sampled(self, most: int) -> TransactionTable:
        """Return some records as a table here: at most so many, whichever come first.

        The vocabulary is that of all records.
        """
        with spoken_errors():
            here = self.frame.select(ITEMS).limit(most).toArrow()
        batch = rows_of(here[ITEMS])
        return TransactionTable(
            offsets=batch.offsets, items=batch.items, vocabulary=self.vocabulary
        )

    # --- views --------------------------------------------------------------------------------

    @property
    def parts(self) -> FrameParts[Rows]:
        """The rows of the frame, as many at a time as a worker holds."""
        occurring = np.flatnonzero(self.item_supports).astype(np.int32)
        return FrameParts(
            frame=self.frame,
            read=items_in,
            sample=Rows(np.array([0, len(occurring)], dtype=np.int64), occurring),
            room=self.room,
            spread=1 + int(self.item_supports.sum()) // self.room,
        )

    def supports(self) -> Int64Array:
        """Return for each item how many records hold it."""
        return self.item_supports

    @property
    def session(self) -> SparkSession:
        """The Spark session of the frame."""
        return self.frame.sparkSession

    @property
    def has_ids(self) -> bool:
        """Whether the frame names its records."""
        return RECORD in self.frame.columns

    @property
    def n_items(self) -> int:
        """Number of distinct items."""
        return len(self.vocabulary)

    @cached_property
    def n_records(self) -> int:
        """Number of records: counted on the first call."""
        with spoken_errors():
            return self.frame.count()

    def occurrences(self) -> Int64Array:
        """Return for each item in how many places it stands; of sets it is known."""
        return self._occurrences if self.bags else self.item_supports

    @cached_property
    def _occurrences(self) -> Int64Array:
        return super().occurrences()

    @cached_property
    def numbered(self) -> DistributedTable:
        """The same records, named by numbers from 0 up.

        Where they already are, as those of a stored release or of :meth:`from_table`, they keep
        them. Otherwise they are counted where they lie, and Spark keeps the numbers.
        """
        from pyspark.sql import functions as sql

        kind = dict(self.frame.dtypes).get(RECORD, "")
        if kind in {"int", "bigint"}:
            with spoken_errors():
                low, high = self.frame.select(sql.min(RECORD), sql.max(RECORD)).collect()[0]
            if not self.n_records or (low, high) == (0, self.n_records - 1):
                return self
        part, place = sql.spark_partition_id(), sql.monotonically_increasing_id()
        # Kept: a partition that is computed again may have its rows in another order.
        held = self.frame.select(ITEMS, part.alias("part"), place.alias("place")).persist()
        with spoken_errors():
            sizes = {row["part"]: row["count"] for row in held.groupBy("part").count().collect()}
        starts, total = {}, 0
        for number in sorted(sizes):
            starts[number] = total - (number << PLACE_BITS)
            total += sizes[number]
        begins = sql.create_map(*(sql.lit(each) for pair in starts.items() for each in pair))
        number = sql.col("place") + begins[sql.col("part")] if starts else sql.col("place")
        return replace(self, frame=held.select(ITEMS, number.cast("bigint").alias(RECORD)))

    def table_of(self, places: Iterable[int] | None) -> TransactionTable:
        """Return as many records here, with the items of those at some places; None for all."""
        if places is None:
            return self.numbered.collect()
        asked = sorted(set(places))
        inside = [place for place in asked if place < self.n_records]
        rows = self.rows_at(inside)
        lengths = np.zeros(self.n_records, dtype=np.int64)
        lengths[inside] = np.diff(rows.offsets)
        return TransactionTable(
            offsets=offsets_of(lengths), items=rows.items, vocabulary=self.vocabulary
        )

    def empty_places(self) -> Int64Array:
        """Return the numbers of records without items, ascending: nothing else comes here."""
        from pyspark.sql import functions as sql

        frame = self.numbered.frame
        with spoken_errors():
            empty = frame.where(sql.size(ITEMS) == 0).select(RECORD).toArrow()[RECORD]
        return np.sort(empty.to_numpy())

    @cached_property
    def longest(self) -> int:
        """The greatest number of items of a record."""
        from pyspark.sql import functions as sql

        with spoken_errors():
            return int(self.frame.select(sql.max(sql.size(ITEMS))).collect()[0][0] or 0)

    def __repr__(self) -> str:
        return f"<DistributedTable: {self.n_items:,} items, {self.item_supports.sum():,} places>"

    # --- verbs --------------------------------------------------------------------------------

    def persist(self) -> DistributedTable:
        """Return the table with its frame kept by Spark, in memory and on disk."""
        return replace(self, frame=self.frame.persist())

    def unpersist(self) -> None:
        """Let Spark forget a frame that :meth:`persist` kept."""
        with spoken_errors():
            self.frame.unpersist()

    def where(self, condition: Column | str) -> DistributedTable:
        """Return the records that meet a condition, with the same numbers and new supports."""
        return self.with_frame(self.frame.where(condition))

    def with_frame(self, frame: DataFrame) -> DistributedTable:
        """Return a table of other records over the same vocabulary; supports are counted."""
        return replace(self, frame=frame, item_supports=count_items(frame, self.n_items))

    def map(self, function: Callable[[Rows], pa.Table], schema: str) -> DataFrame:
        """Apply a function to batches of compressed rows on the workers, as a new frame."""
        return map_batches(self.frame, partial(_on_rows, function=function), schema)

    def rows_at(self, places: Iterable[int]) -> Rows:
        """Return the records of some numbers, by :attr:`numbered`."""
        from pyspark.sql import functions as sql

        asked = [int(place) for place in places]
        with spoken_errors():
            here = self.numbered.frame.where(sql.col(RECORD).isin(sorted(set(asked)))).toArrow()
        place_of = {record: row for row, record in enumerate(here[RECORD].to_pylist())}
        order = np.array([place_of[place] for place in asked], dtype=np.int64)
        return Rows(*take_rows(*rows_of(here[ITEMS]), order))

    def without(self, items: Iterable[str]) -> DistributedTable:
        """Return the records without these items; the numbers of the others stay."""
        gone = np.zeros(self.n_items, dtype=bool)
        gone[[self.vocabulary.number(item) for item in items]] = True
        if not gone.any():
            return self
        frame = map_batches(
            self.frame,
            partial(drop_items, gone=self.share(gone)),
            ", ".join(f"{name} {kind}" for name, kind in self.frame.dtypes),
        )
        return replace(self, frame=frame, item_supports=np.where(gone, 0, self.item_supports))

    def distinct(self) -> DistributedTable:
        """Return the table as sets: an item counts once in a record."""
        if not self.bags:
            return self
        from pyspark.sql import functions as sql

        frame = self.frame.withColumn(ITEMS, sql.array_distinct(ITEMS))
        return replace(self, frame=frame, bags=False)

    def pair_counts(self, *, least: int = 1) -> DataFrame:
        """Count the records that hold both items of a pair.

        Returns
        -------
        DataFrame
            Columns ``first`` and ``second`` (item numbers, the lower first) and ``count``, for
            all pairs that occur in at least `least` records; distributed, not collected.
        """
        from pyspark.sql import functions as sql

        width = max(self.n_items, 1)
        pairs = self.distinct().map(
            partial(pairs_of_rows, width=width), "pair bigint, count bigint"
        )
        total = pairs.groupBy("pair").agg(sql.sum("count").alias("count"))
        return total.where(sql.col("count") >= least).select(
            sql.expr(f"int(pair div {width})").alias("first"),
            sql.expr(f"int(pair % {width})").alias("second"),
            "count",
        )


def items_in(table: pa.Table) -> Rows:
    """Return the column ``items`` of a table as compressed rows."""
    return rows_of(table[ITEMS])


def count_items(frame: DataFrame, n_items: int) -> Int64Array:
    """Return for each item number how many rows hold it."""
    empty = np.zeros(n_items, dtype=np.int64)
    return fold(frame, partial(_supports, n_items=n_items), np.add, empty)


# --- functions that run on the workers ------------------------------------------------------------


def number_items(table: pa.Table, names: Shared[tuple[str, ...]], *, bags: bool) -> pa.Table:
    """Replace names by their places in the vocabulary; sort rows, merge repetitions."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lists = table[ITEMS].combine_chunks()
    offsets = lists.offsets.to_numpy().astype(np.int64)
    texts = lists.values.slice(offsets[0], offsets[-1] - offsets[0])
    places = pc.index_in(texts, value_set=pa.array(names.value, texts.type)).to_numpy()
    offsets, items = sorted_rows(offsets - offsets[0], places, len(names.value), bags=bags)
    return table.set_column(table.schema.get_field_index(ITEMS), ITEMS, lists_of(offsets, items))


def sorted_rows(
    offsets: Int64Array, items: Int32Array, n_items: int, *, bags: bool = False
) -> tuple[Int64Array, Int32Array]:
    """Return compressed rows with each row ascending, and distinct unless `bags`.

    >>> [a.tolist() for a in sorted_rows(np.array([0, 3, 4]), np.array([2, 0, 2, 1]), 3)]
    [[0, 2, 3], [0, 2, 1]]
    """
    width = np.int64(max(n_items, 1))
    keys = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64) * width, np.diff(offsets))
    keys += items
    keys.sort()
    if not bags and len(keys):
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
        borders = np.arange(len(offsets), dtype=np.int64) * width
        offsets = np.searchsorted(keys, borders).astype(np.int64)
    return offsets, (keys % width).astype(np.int32)


def name_items(table: pa.Table, names: Shared[tuple[str, ...]]) -> pa.Table:
    """Replace numbers by names."""
    import pyarrow as pa

    rows = rows_of(table[ITEMS])
    texts = pa.array(names.value, pa.string()).take(pa.array(rows.items))
    lists = pa.ListArray.from_arrays(pa.array(rows.offsets.astype(np.int32)), texts)
    return table.set_column(table.schema.get_field_index(ITEMS), ITEMS, lists)


def drop_items(table: pa.Table, gone: Shared[npt.NDArray[np.bool_]]) -> pa.Table:
    """Leave out the items with these numbers; records that hold nothing else stay, empty."""
    rows = rows_of(table[ITEMS])
    stays = ~gone.value[rows.items] if len(rows.items) else np.zeros(0, dtype=bool)
    offsets = kept_offsets(rows.offsets, stays)
    lists = lists_of(offsets, rows.items[stays])
    return table.set_column(table.schema.get_field_index(ITEMS), ITEMS, lists)


def pairs_of_rows(batch: Rows, width: int) -> pa.Table:
    """Count the pairs of a batch; a pair is ``first * width + second``."""
    import pyarrow as pa

    from setveil.kernels.rows import row_pairs

    pairs, counts = np.unique(row_pairs(*batch, width), return_counts=True)
    return pa.table({"pair": pairs, "count": counts.astype(np.int64)})


def _supports(table: pa.Table, n_items: int) -> Int64Array:
    offsets, items = rows_of(table[ITEMS])
    record = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    first = np.ones(len(items), dtype=bool)
    first[1:] = (np.diff(items) != 0) | (np.diff(record) != 0)
    return np.bincount(items[first], minlength=n_items)


def _on_rows(table: pa.Table, function: Callable[[Rows], Any]) -> Any:  # noqa: ANN401
    return function(items_in(table))
