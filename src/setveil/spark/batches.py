"""Spark's batches as the arrays that kernels work on, and back.

A function that runs on Spark's workers gets an Arrow table of some rows at a time, never a single
row. Lists of numbers become compressed rows without copying them.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.records import Other, Part, Parts, Result, Rows, Shared, Value
from setveil.engine.spark import spoken_errors, unwarned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from setveil.core.arrays import Int32Array, Int64Array

ROWS = 1 << 18
"""How many rows a function gets at a time at most; a worker holds no more of a partition."""
MERGERS = 8
"""How many tasks merge the results of partitions before the driver does."""
PLACES = 4_000_000
"""About how many places of records a group of a search gets; a worker holds that many at a time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FrameParts(Parts[Part]):
    """The rows of a frame in parts, as `read` makes them from Arrow tables on the workers."""

    frame: DataFrame
    read: Callable[[pa.Table], Part]
    sample: Part
    room: int | None = PLACES
    spread: int = 1

    def fold(
        self,
        part: Callable[[Part], Result],
        merge: Callable[[Result, Result], Result],
        empty: Result,
    ) -> Result:
        """Apply the function to each part where it lies, and merge."""
        return fold(self.frame, _Composed(self.read, part), merge, empty)

    def regroup(
        self,
        split: Callable[[Part], Iterable[tuple[int, Any]]],
        solve: Callable[[int, list[Any]], Result],
    ) -> list[Result]:
        """Send the pieces of each group to one worker and solve it there."""
        pieces = map_batches(
            self.frame, _Pieces(_Composed(self.read, split)), "number int, piece binary"
        )
        results = apply_groups(pieces, "number", _Solved(solve), "result binary")
        with spoken_errors():
            return [pickle.loads(row.result) for row in results.collect()]  # from our own workers

    def map(self, change: Callable[[Part], Other]) -> Parts[Other]:
        """Return parts that are changed where they lie; the sample is changed here."""
        return FrameParts(
            frame=self.frame,
            read=_Composed(self.read, change),
            sample=change(self.sample),
            room=self.room,
            spread=self.spread,
        )

    def share(self, value: Value) -> Shared[Value]:
        """Send a value to all workers once."""
        return share(self.frame, value)


def share(frame: DataFrame, value: Value) -> Shared[Value]:
    """Send a value to all workers that read a frame, once."""
    return frame.sparkSession.sparkContext.broadcast(value)


def rows_of(column: pa.Array | pa.ChunkedArray) -> Rows:
    """Return a column of lists of numbers as compressed rows.

    >>> import pyarrow as pa
    >>> rows = rows_of(pa.array([[9], [3, 5], []], pa.list_(pa.int32()))[1:])
    >>> rows.offsets.tolist(), rows.items.tolist()
    ([0, 2, 2], [3, 5])
    """
    lists = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    if not len(lists):
        return Rows(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32))
    offsets = lists.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    items = lists.values.to_numpy(zero_copy_only=False)[offsets[0] : offsets[-1]]
    return Rows(offsets - offsets[0], items)


def lists_of(offsets: Int64Array, items: Int32Array) -> pa.ListArray:
    """Return compressed rows as a column of lists.

    >>> lists_of(np.array([0, 2, 2]), np.array([3, 5], dtype=np.int32)).to_pylist()
    [[3, 5], []]
    """
    import pyarrow as pa

    return pa.ListArray.from_arrays(
        pa.array(offsets.astype(np.int32)), pa.array(np.ascontiguousarray(items))
    )


def map_batches(
    frame: DataFrame, function: Callable[[pa.Table], pa.Table], schema: str, *, rows: int = ROWS
) -> DataFrame:
    """Apply a function to the rows of each partition, at most so many at a time.

    Parameters
    ----------
    frame
        What is distributed.
    function
        From an Arrow table to an Arrow table; it is sent to the workers.
    schema
        The columns of the result as Spark names them: ``"part int, items array<int>"``.
    rows
        Most rows that the function gets at a time.
    """
    return _mapped(frame, _Mapped(function, rows), schema)


def fold(
    frame: DataFrame,
    function: Callable[[pa.Table], Result],
    merge: Callable[[Result, Result], Result],
    empty: Result,
    *,
    rows: int = ROWS,
) -> Result:
    """Reduce all rows to one result: per batch, per partition, over partitions, here.

    Only results travel; `merge` must be associative and commutative. `empty` is the result of
    no rows at all.
    """
    parts = _mapped(frame, _Folded(function, merge, rows), "result binary")
    merged = _mapped(parts.repartition(MERGERS), _Merged(merge), "result binary")
    total = empty
    with spoken_errors():
        results = merged.collect()
    for number, row in enumerate(results):
        found = pickle.loads(row.result)  # what our own workers made
        total = merge(total, found) if number else found
    return total


def apply_groups(
    frame: DataFrame, by: str, function: Callable[[pa.Table], pa.Table], schema: str
) -> DataFrame:
    """Bring the rows with an equal value of `by` together and apply a function to each group.

    A group must fit into the memory of one worker.
    """

    def grouped(table: pa.Table) -> pa.Table:  # Spark counts its arguments: with two, a key comes
        return function(table)

    with unwarned():
        return frame.groupBy(by).applyInArrow(grouped, schema)


def _mapped(frame: DataFrame, function: Callable[..., Any], schema: str) -> DataFrame:
    with unwarned():
        return frame.mapInArrow(function, schema)


# Classes and not closures: they are found by their name on the workers, so that only what they
# hold is sent.


@dataclass(frozen=True)
class _Composed:
    first: Callable[[Any], Any]
    then: Callable[[Any], Any]

    def __call__(self, table: pa.Table) -> Any:  # noqa: ANN401  (what the second function gives)
        return self.then(self.first(table))


@dataclass(frozen=True)
class _Pieces:
    split: Callable[[Any], Iterable[tuple[int, Any]]]

    def __call__(self, table: pa.Table) -> pa.Table:
        import pyarrow as pa

        found = list(self.split(table))
        numbers = pa.array([number for number, _ in found], pa.int32())
        contents = [pickle.dumps(piece, protocol=pickle.HIGHEST_PROTOCOL) for _, piece in found]
        return pa.table({"number": numbers, "piece": pa.array(contents, pa.binary())})


@dataclass(frozen=True)
class _Solved:
    solve: Callable[[int, list[Any]], Any]

    def __call__(self, table: pa.Table) -> pa.Table:
        import pyarrow as pa

        pieces = [pickle.loads(piece.as_py()) for piece in table["piece"]]  # from our own workers
        result = self.solve(table["number"][0].as_py(), pieces)
        content = pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
        return pa.table({"result": pa.array([content], pa.binary())})


@dataclass(frozen=True)
class _Mapped:
    function: Callable[[Any], Any]
    rows: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _tables(batches, self.rows):
            yield from self.function(table).to_batches()


@dataclass(frozen=True)
class _Folded:
    function: Callable[[Any], Any]
    merge: Callable[[Any, Any], Any]
    rows: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        results = (self.function(table) for table in _tables(batches, self.rows))
        yield from _pickled(results, self.merge)


@dataclass(frozen=True)
class _Merged:
    merge: Callable[[Any, Any], Any]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        results = (
            pickle.loads(part.as_py())  # what our own workers made
            for batch in batches
            for part in batch.column(0)
        )
        yield from _pickled(results, self.merge)


def _pickled(results: Iterator[Any], merge: Callable[[Any, Any], Any]) -> Iterator[pa.RecordBatch]:
    """Merge results one after the other; yield the whole, or nothing if there are none."""
    import pyarrow as pa

    nothing = object()
    total: Any = nothing
    for result in results:
        total = result if total is nothing else merge(total, result)
    if total is not nothing:
        content = pickle.dumps(total, protocol=pickle.HIGHEST_PROTOCOL)
        yield pa.RecordBatch.from_pydict({"result": pa.array([content], pa.binary())})


def _tables(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Yield tables of at most `rows` rows in one piece each."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        for start in range(0, len(batch), rows):
            piece = batch.slice(start, rows)
            if held and size + len(piece) > rows:
                yield pa.Table.from_batches(held).combine_chunks()
                held, size = [], 0
            held.append(piece)
            size += len(piece)
    if held:
        yield pa.Table.from_batches(held).combine_chunks()
