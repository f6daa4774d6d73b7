"""Records drawn from a distributed table: the same ones as from a table here.

Only what is drawn is brought here: a thousand records, say, of any number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from setveil.attack.linkage.linkage import Linkage, Targets
from setveil.core.arrays import Int32Array, Int64Array, kept_offsets
from setveil.core.errors import InputError, NotApplicable
from setveil.core.params import check_values
from setveil.engine.spark import spoken_errors
from setveil.measure.queries import QUERIES, SIZES, chosen_items
from setveil.measure.targets import chooser, draw_people, made_up
from setveil.spark.batches import rows_of
from setveil.spark.table import ITEMS, RECORD, DistributedTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from pyspark import Broadcast

    from setveil.spark.batches import Batch

PLACE, PART = "place", "part"
BITS = 33
"""Spark counts the rows of a partition in the lower bits of a row's number."""


def numbered(table: DistributedTable) -> DistributedTable:
    """Return a table whose records are named by numbers from 0 up.

    Where they already are, as those of a stored release or of :meth:`DistributedTable.from_table`,
    they keep them. Otherwise they are counted where they lie, and Spark keeps the numbers.
    """
    from pyspark.sql import functions as sql

    kind = dict(table.frame.dtypes).get(RECORD, "")
    if kind in {"int", "bigint"}:
        with spoken_errors():
            low, high = table.frame.select(sql.min(RECORD), sql.max(RECORD)).collect()[0]
        if not table.n_records or (low, high) == (0, table.n_records - 1):
            return table
    # Kept: a partition that is computed again may have its rows in another order.
    held = table.frame.select(
        ITEMS,
        sql.spark_partition_id().alias(PART),
        sql.monotonically_increasing_id().alias(PLACE),
    ).persist()
    with spoken_errors():
        sizes = {row[PART]: row["count"] for row in held.groupBy(PART).count().collect()}
    starts, total = {}, 0
    for part in sorted(sizes):
        starts[part] = total - (part << BITS)
        total += sizes[part]
    begins = sql.create_map(*(sql.lit(each) for pair in starts.items() for each in pair))
    number = sql.col(PLACE) + begins[sql.col(PART)] if starts else sql.col(PLACE)
    frame = held.select(ITEMS, number.cast("bigint").alias(RECORD))
    return DistributedTable(
        frame=frame, vocabulary=table.vocabulary, item_supports=table.item_supports, bags=table.bags
    )


def rows_at(table: DistributedTable, numbers: Sequence[int]) -> dict[int, Int32Array]:
    """Return the items of some records of a table that :func:`numbered` gave."""
    from pyspark.sql import functions as sql

    wanted = sorted(set(numbers))
    if not wanted:
        return {}
    with spoken_errors():
        here = table.frame.where(sql.col(RECORD).isin(wanted)).toArrow()
    offsets, items = rows_of(here[ITEMS])
    places = zip(here[RECORD].to_pylist(), offsets.tolist(), offsets[1:].tolist(), strict=False)
    return {record: np.unique(items[start:end]) for record, start, end in places}


def draw_queries(
    table: DistributedTable,
    rng: np.random.Generator,
    *,
    count: int = QUERIES,
    sizes: Sequence[int] = SIZES,
) -> list[tuple[str, ...]]:
    """Draw itemsets that occur, as :func:`setveil.measure.draw_queries` does from a table here.

    Parameters
    ----------
    table
        The original, :func:`numbered`.
    rng
        Draws them.
    count, sizes
        How many, and of which sizes.
    """
    from pyspark.sql import functions as sql

    with spoken_errors():  # the numbers of records without items: nothing else comes here
        empty = table.frame.where(sql.size(ITEMS) == 0).select(RECORD).toArrow()[RECORD]
    gaps = np.sort(empty.to_numpy())
    filled = table.n_records - len(gaps)
    if not filled:
        raise NotApplicable("the original has no items to ask for")
    ranks, wanted = rng.choice(filled, count), rng.choice(np.array(sizes), count)
    # The record of a rank: as many numbers further as there are gaps up to there.
    records = ranks + np.searchsorted(gaps - np.arange(len(gaps)), ranks, side="right")
    rows = rows_at(table, records.tolist())
    names = table.vocabulary
    return [
        tuple(names[i] for i in chosen_items(rows[record], size, rng).tolist())
        for record, size in zip(records.tolist(), wanted.tolist(), strict=True)
    ]


def draw_targets(
    table: DistributedTable,
    *,
    m: int = 2,
    knowledge: str = "random",
    sample: int = 1000,
    rng: np.random.Generator | None = None,
) -> Targets:
    """Draw people from a distributed table, as :func:`setveil.measure.draw_targets` does here.

    For up to two known items they are the same as drawn from the table here. For more, a made-up
    itemset of which all pairs occur is taken as one that somebody may hold, and drawn again.

    Parameters
    ----------
    table
        The original, :func:`numbered`.
    m, knowledge, sample, rng
        As there.
    """
    check_values(Linkage, m=m, knowledge=knowledge, sample=sample)
    if not table.n_records:
        raise InputError("nobody can be drawn from a table without records", fix="give some")
    rng = np.random.default_rng(0) if rng is None else rng
    who = draw_people(table.n_records, sample, rng)
    rows = rows_at(table, who.tolist())
    choose = chooser(knowledge, table.supports(), rng)
    known = [choose(rows[record], m) for record in who.tolist()]
    pairs = _Pairs.of(table, known)
    strangers = made_up(known, pairs.together, rng)
    names = table.vocabulary
    return Targets(
        records=tuple(who.tolist()),
        known=tuple(tuple(names[i] for i in items.tolist()) for items in known),
        strangers=tuple(tuple(names[i] for i in items.tolist()) for items in strangers),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pairs:
    """Which of some items are held together by anybody."""

    items: Int64Array
    held: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, table: DistributedTable, known: Sequence[Int64Array]) -> _Pairs:
        items = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *known]))
        place = np.full(table.n_items, -1, dtype=np.int64)
        place[items] = np.arange(len(items))
        function = partial(pairs_held, place=table.broadcast(place), width=len(items))
        held = table.distinct().fold(
            function, np.logical_or, np.zeros((len(items), len(items)), dtype=bool)
        )
        return cls(items=items, held=held)

    def together(self, items: Int64Array) -> bool:
        at = np.searchsorted(self.items, items)
        return bool(self.held[np.ix_(at, at)].all())


def pairs_held(batch: Batch, place: Broadcast[Int64Array], width: int) -> npt.NDArray[np.bool_]:
    """Return which of the chosen items some record of a batch holds together (on a worker)."""
    from setveil.kernels.rows import row_pairs

    at = place.value[batch.items]
    kept = at >= 0
    offsets = kept_offsets(batch.offsets, kept)
    pairs = np.unique(row_pairs(offsets, at[kept].astype(np.int32), max(width, 1)))
    held = np.zeros((width, width), dtype=bool)
    held[pairs // max(width, 1), pairs % max(width, 1)] = True
    held |= held.T
    np.fill_diagonal(held, True)
    return held
