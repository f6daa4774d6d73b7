"""Buckets of like records, each small enough for one worker and none below k.

A bucket is split by a question: do at least so many items of a record lie below a node of the
taxonomy? For the root that is the record's length, for others where its items are. Questions are
chosen here from histograms, which the workers count; records never come here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.arrays import Int32Array, Int64Array, offsets_of
from setveil.spark.batches import fold, rows_of
from setveil.spark.table import ITEMS, sorted_rows

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa
    from pyspark import Broadcast

    from setveil.core.taxonomy import Taxonomy
    from setveil.spark.table import DistributedTable

BUCKET = 65_536
"""Most records of a bucket: what one worker solves at a time."""
LONG = 32
"""Most items of a bucket for each of so many records: long records fill it before their number."""
HEADS = 64
"""Nodes that questions are about: those that carry most weight."""
COUNTS = 31
"""Greatest number of items below a node that is told apart."""
EVEN = 8
"""A side of a split has at least one in so many records, where there is such a split."""
CELLS = 1024
"""Into so many cells, by their content, the records of a bucket go that no question splits."""


class Limits(NamedTuple):
    """How large a bucket may be: at least so many records; at most so many, and items in them."""

    least: int
    most: int
    most_items: int

    @classmethod
    def of(cls, k: int, most: int) -> Limits:
        """Return the limits for `k` and the greatest number of records.

        >>> Limits.of(k=5, most=100)
        Limits(least=5, most=100, most_items=3200)
        """
        return cls(k, most, LONG * most)

    def over(self, loads: Int64Array) -> npt.NDArray[np.bool_]:
        """Return which buckets are too large, by their records and items."""
        large: npt.NDArray[np.bool_] = np.any(loads > (self.most, self.most_items), axis=-1)
        return large


class Places(NamedTuple):
    """What a worker needs to place items in the taxonomy: the leaf of each, and the tree's ends."""

    leaf: Int32Array
    ends: Int32Array


class Questions(NamedTuple):
    """A tree of questions, as :mod:`setveil.spark.kernels` walks it."""

    nodes: Int64Array
    least: Int64Array
    yes: Int64Array
    no: Int64Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Buckets:
    """How records are sent to buckets; it is sent to the workers.

    Parameters
    ----------
    places
        The leaves of the items.
    questions
        What is asked of a record.
    sizes
        Records of each bucket.
    apart
        Whether records without items are a bucket of their own, the last.
    cells
        For each bucket and cell the number of the bucket that takes its place; without columns
        where questions suffice.
    """

    places: Broadcast[Places]
    questions: Questions
    sizes: Int64Array
    apart: bool
    cells: Int64Array

    def route(self, offsets: Int64Array, items: Int32Array) -> Int64Array:
        """Return the bucket of each record."""
        from setveil.spark.kernels import content_buckets

        bucket = asked(offsets, items, self.places.value, self.questions)
        if self.cells.shape[1]:
            bucket = self.cells[bucket, content_buckets(offsets, items, self.cells.shape[1])]
        if self.apart:
            bucket[np.diff(offsets) == 0] = len(self.sizes) - 1
        return bucket


def asked(
    offsets: Int64Array, items: Int32Array, places: Places, questions: Questions
) -> Int64Array:
    """Return where the questions lead each record."""
    from setveil.spark.kernels import route_by_counts

    rows = sorted_rows(offsets, places.leaf[items], len(places.ends), bags=True)
    return route_by_counts(*rows, places.ends, *questions)


def make_buckets(
    table: DistributedTable,
    tree: Taxonomy,
    leaf: Int32Array,
    limits: Limits,
    *,
    apart: bool = False,
) -> Buckets:
    """Decide on buckets within limits; a few passes over the data.

    Parameters
    ----------
    table
        The records; enough for one bucket, without those that are set apart.
    tree, leaf
        The taxonomy, and the leaf of each item.
    limits
        Least and greatest size of a bucket. Equal records stay together, so that a bucket of
        very many equal records may be larger.
    apart
        Whether records without items are a bucket of their own.
    """
    places = table.broadcast(Places(leaf, tree.ends))
    heads, weight = _heads(tree, leaf, table.supports())
    empty = _empty_records(table) if apart else 0
    growing = _Growing(table.n_records - empty, int(table.supports().sum()))
    while len(live := growing.live(limits)):
        place = np.full(len(growing.loads), -1, dtype=np.int64)
        place[live] = np.arange(len(live))
        counted = partial(
            histograms, places=places, questions=growing.questions, place=place, heads=heads,
            n_live=len(live), apart=apart,
        )  # fmt: skip
        nothing = np.zeros((len(live), len(heads), COUNTS + 1, 2), dtype=np.int64)
        found = fold(table.frame, counted, np.add, nothing)
        for bucket, histogram in zip(live.tolist(), found, strict=True):
            growing.split(bucket, histogram, heads, weight, limits.least)
    loads = growing.loads
    made = Buckets(
        places=places,
        questions=growing.questions,
        sizes=loads[:, 0],
        apart=False,
        cells=np.zeros((len(loads), 0), dtype=np.int64),
    )
    if len(large := np.flatnonzero(limits.over(loads))):
        made = _with_cells(table, made, large, limits, apart=apart)
    if apart and empty:
        return Buckets(
            places=places,
            questions=made.questions,
            sizes=np.append(made.sizes, empty),
            apart=True,
            cells=made.cells,
        )
    return made


def _heads(tree: Taxonomy, leaf: Int32Array, supports: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the nodes that questions are about, and what an item below each is worth.

    An item below a node is worth what publishing the node says more than its parent does. The
    root is worth half of the node worth most, so that lengths count too.
    """
    occurring = np.flatnonzero(supports)
    held = np.bincount(leaf[occurring], supports[occurring], minlength=len(tree)).astype(np.int64)
    running = offsets_of(held)
    gamma = np.zeros(len(tree), dtype=np.int64)
    gamma[1:] = tree.leaves[tree.parents[1:]] - tree.leaves[1:]
    mass = gamma * (running[tree.ends] - running[:-1])
    order = np.argsort(-mass, kind="stable")[: HEADS - 1]
    heads = order[mass[order] > 0]
    worth = gamma[heads]
    return np.append(heads, 0), np.append(worth, max(int(worth.max(initial=0)) // 2, 1))


class _Growing:
    """A tree of questions while it grows; buckets have numbers, and the yes side keeps its own."""

    def __init__(self, records: int, items: int) -> None:
        self._loads = [np.array([records, items])]
        self._tests: list[list[int]] = []  # node, least, yes, no
        self._above: list[tuple[int, int]] = [(-1, 0)]  # for each bucket its question and answer
        self._whole: set[int] = set()  # what no question splits

    @property
    def loads(self) -> Int64Array:
        """The records of each bucket, and their items."""
        return np.array(self._loads, dtype=np.int64)

    @property
    def questions(self) -> Questions:
        columns = np.array(self._tests, dtype=np.int64).reshape(-1, 4).T
        return Questions(*np.ascontiguousarray(columns))

    def live(self, limits: Limits) -> Int64Array:
        """Return the buckets that are to be split."""
        large = np.flatnonzero(limits.over(self.loads))
        return large[~np.isin(large, list(self._whole))]

    def split(
        self,
        bucket: int,
        histogram: Int64Array,
        heads: Int64Array,
        weight: Int64Array,
        k: int,
    ) -> None:
        """Split a bucket by the question that gains most, or note that there is none."""
        records = histogram[..., 0]
        found = best_question(records, weight, max(k, int(self._loads[bucket][0]) // EVEN))
        found = found or best_question(records, weight, k)
        if found is None:
            self._whole.add(bucket)
            return
        head, least = found
        upper = histogram[head, least:].sum(axis=0)
        number, other = len(self._tests), len(self._loads)
        self._tests.append([int(heads[head]), least, -1 - bucket, -1 - other])
        question, answer = self._above[bucket]
        if question >= 0:
            self._tests[question][answer] = number
        self._above[bucket] = number, 2
        self._above.append((number, 3))
        self._loads[bucket] = upper
        self._loads.append(histogram[head, :least].sum(axis=0))


def best_question(histogram: Int64Array, weight: Int64Array, side: int) -> tuple[int, int] | None:
    """Return which head and number of items part records best, with `side` or more on both sides.

    A question gains what the records that say yes are known to share by it: their number times
    the items they have more than the least of all, times what an item is worth.

    >>> best_question(np.array([[4, 0, 0], [2, 0, 2], [2, 2, 0]]), np.array([9, 1, 1]), 2)
    (1, 2)
    """
    counts = np.arange(histogram.shape[1])
    upper = histogram[:, ::-1].cumsum(axis=1)[:, ::-1]  # records with so many or more
    total = upper[:, :1]
    low = (upper == total).sum(axis=1) - 1
    gain = upper * (counts - low[:, None]) * weight[:, None]
    gain[(upper < side) | (total - upper < side)] = 0
    best = int(gain.argmax()) if gain.size else 0
    if not gain.size or gain.flat[best] <= 0:
        return None
    return best // len(counts), best % len(counts)


def _with_cells(
    table: DistributedTable, made: Buckets, large: Int64Array, limits: Limits, *, apart: bool
) -> Buckets:
    """Cut buckets that no question splits by the content of their records."""
    place = np.full(len(made.sizes), -1, dtype=np.int64)
    place[large] = np.arange(len(large))
    counted = partial(_cell_loads, made=made, place=place, n_large=len(large), apart=apart)
    nothing = np.zeros((len(large), CELLS, 2), dtype=np.int64)
    found = fold(table.frame, counted, np.add, nothing)
    cells = np.repeat(np.arange(len(made.sizes))[:, None], CELLS, axis=1)
    sizes = made.sizes.tolist()
    for bucket, within in zip(large.tolist(), found, strict=True):
        run = runs(within, limits)
        totals = np.bincount(run, within[:, 0]).astype(np.int64).tolist()
        number = np.array([bucket, *range(len(sizes), len(sizes) + len(totals) - 1)])
        cells[bucket] = number[run]
        sizes[bucket] = totals[0]
        sizes += totals[1:]
    return Buckets(
        places=made.places,
        questions=made.questions,
        sizes=np.array(sizes, dtype=np.int64),
        apart=False,
        cells=cells,
    )


def runs(loads: Int64Array, limits: Limits) -> Int64Array:
    """Put neighbours together, within limits where they allow it; return the run of each.

    >>> loads = np.array([[3, 9], [3, 9], [3, 9], [9, 9], [1, 9]])
    >>> runs(loads, Limits(least=2, most=6, most_items=99)).tolist()
    [0, 0, 1, 2, 2]
    >>> runs(loads, Limits(least=2, most=99, most_items=9)).tolist()
    [0, 1, 2, 3, 3]
    """
    run, number, total = [], 0, np.zeros(2, dtype=np.int64)
    for load in loads:
        if total[0] >= limits.least and limits.over(total + load):
            number, total = number + 1, np.zeros(2, dtype=np.int64)
        total = total + load
        run.append(number)
    result = np.array(run, dtype=np.int64)
    if number and total[0] < limits.least:
        result[result == number] = number - 1
    return result


# --- functions that run on the workers ------------------------------------------------------------


def histograms(
    table: pa.Table,
    *,
    places: Broadcast[Places],
    questions: Questions,
    place: Int64Array,
    heads: Int64Array,
    n_live: int,
    apart: bool,
) -> Int64Array:
    """Count for each live bucket and head the records with so many items below it."""
    from setveil.spark.kernels import count_histograms, route_by_counts

    offsets, items = rows_of(table[ITEMS])
    leaf, ends = places.value
    rows = sorted_rows(offsets, leaf[items], len(ends), bags=True)
    bucket = place[route_by_counts(*rows, ends, *questions)]
    if apart:
        bucket[np.diff(offsets) == 0] = -1
    found: Int64Array = count_histograms(*rows, ends, heads, bucket, n_live, COUNTS)
    return found


def _cell_loads(
    table: pa.Table, made: Buckets, place: Int64Array, n_large: int, *, apart: bool
) -> Int64Array:
    from setveil.spark.kernels import content_buckets

    offsets, items = rows_of(table[ITEMS])
    bucket = place[made.route(offsets, items)]
    lengths = np.diff(offsets)
    if apart:
        bucket[lengths == 0] = -1
    inside = bucket >= 0
    keys = bucket[inside] * CELLS + content_buckets(offsets, items, CELLS)[inside]
    found = np.zeros((n_large * CELLS, 2), dtype=np.int64)
    np.add.at(found, keys, np.stack([np.ones(len(keys), dtype=np.int64), lengths[inside]], axis=1))
    return found.reshape(n_large, CELLS, 2)


def _empty_records(table: DistributedTable) -> int:
    from pyspark.sql import functions as sql

    from setveil.engine.spark import spoken_errors

    with spoken_errors():
        return table.frame.where(sql.size(ITEMS) == 0).count()
