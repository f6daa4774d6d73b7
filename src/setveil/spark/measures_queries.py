"""Count queries over distributed data: how well a release answers them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import NotApplicable
from setveil.core.table import TransactionTable
from setveil.measure.queries import QUERIES, SIZES, Holders, QueryError, query_error
from setveil.spark.batches import fold
from setveil.spark.chunks import DistributedChunks, assembled
from setveil.spark.risk_drawing import draw_queries, numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa
    from pyspark import Broadcast

    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.core.table import Vocabulary
    from setveil.core.taxonomy import Taxonomy
    from setveil.spark.batches import Batch
    from setveil.spark.measures_parts import DistributedRelease, Sketch
    from setveil.spark.table import DistributedTable


def average_relative_error(
    release: DistributedRelease,
    original: DistributedTable,
    *,
    taxonomy: Taxonomy | None = None,
    queries: Iterable[Iterable[str]] | None = None,
    count: int = QUERIES,
    sizes: Sequence[int] = SIZES,
    rng: np.random.Generator | None = None,
) -> QueryError:
    """Return the error of count queries, as :func:`setveil.measure.average_relative_error`.

    The same queries are drawn where the original's records have the same numbers; actual and
    expected supports are added up over all parts.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    named = numbered(original)
    given = None if queries is None else [tuple(dict.fromkeys(query)) for query in queries]
    asked = draw_queries(named, rng, count=count, sizes=sizes) if given is None else given
    if not asked:
        raise NotApplicable("there are no queries to average over")
    distinct = list(dict.fromkeys(asked))
    place = {query: i for i, query in enumerate(distinct)}
    chosen = [place[query] for query in asked]
    share = named.broadcast
    shared, words = share(distinct), share(original.vocabulary)
    actual = named.fold(
        partial(held_by, queries=shared, vocabulary=words),
        np.add,
        np.zeros(len(distinct), dtype=np.int64),
    )
    nothing = np.zeros(len(distinct))
    published = release.published
    if isinstance(published, DistributedChunks):
        names = published.broadcast_names()
        function: Any = partial(expected_in_chunks, queries=shared, names=names)
        expected = fold(published.frame, function, np.add, nothing)
    else:
        table, sketch = release.records()
        for query in distinct:  # refuses here, before any worker does
            sketch.release.expected_support(query, taxonomy)
        function = partial(
            expected_in, queries=shared, sketch=share(sketch), taxonomy=share(taxonomy)
        )
        expected = table.fold(function, np.add, nothing)
    return query_error(expected[chosen], actual[chosen], named.n_records, drawn=given is None)


def held_by(
    batch: Batch,
    queries: Broadcast[list[tuple[str, ...]]],
    vocabulary: Broadcast[Vocabulary],
) -> Int64Array:
    """Return how many records of a batch hold each itemset (on a worker)."""
    table = TransactionTable(**batch._asdict(), vocabulary=vocabulary.value)
    holders = Holders(table)
    return np.array([holders.support(query) for query in queries.value], dtype=np.int64)


def expected_in(
    batch: Batch,
    queries: Broadcast[list[tuple[str, ...]]],
    sketch: Broadcast[Sketch],
    taxonomy: Broadcast[Taxonomy | None],
) -> FloatArray:
    """Return the support that a batch of a release leads one to expect (on a worker)."""
    nothing = type(batch)(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32))
    release: Any = sketch.value.part(batch, whole=False).release
    added: Any = sketch.value.part(nothing, whole=False).release
    return np.array(
        [
            release.expected_support(query, taxonomy.value)
            - (added.expected_support(query, taxonomy.value) if len(added) else 0.0)
            for query in queries.value
        ]
    )


def expected_in_chunks(
    table: pa.Table,
    queries: Broadcast[list[tuple[str, ...]]],
    names: Broadcast[tuple[str, ...]],
) -> FloatArray:
    """Return the support that some clusters lead one to expect (on a worker)."""
    release = assembled(table, names.value)
    return np.array([release.expected_support(query) for query in queries.value])
