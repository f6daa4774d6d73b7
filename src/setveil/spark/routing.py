"""Sending records to the parts of a search over sets of items.

Items are ranked from the rarest up, and a set is searched under its first item. A part of the
search is a range of ranks. A record goes to every part in whose range it has an item, from the
first such item on: what stands before it belongs to other parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.arrays import Int64Array, kept_offsets, offsets_of
from setveil.core.table import take_rows
from setveil.spark.batches import Batch, lists_of
from setveil.spark.table import sorted_rows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import Broadcast


PLACES = 4_000_000
"""About how many places of records a part gets; a worker holds that many at a time."""


class Routes(NamedTuple):
    """The rank of each item, and the ranges of ranks that make the parts."""

    rank: Broadcast[Int64Array]
    bounds: Int64Array


def cut_into_parts(costs: Int64Array, most: int = PLACES) -> Int64Array:
    """Return where the parts begin and end, so that each costs about `most` or is one item.

    >>> cut_into_parts(np.array([1, 1, 5, 1, 1]), 3).tolist()
    [0, 2, 3, 5]
    """
    bounds, total = [0], 0
    for place, cost in enumerate(costs.tolist()):
        if total and total + cost > most:
            bounds.append(place)
            total = 0
        total += cost
    return np.array([*bounds, len(costs)], dtype=np.int64)


def place_costs(batch: Batch, rank: Broadcast[Int64Array], n_ranks: int) -> Int64Array:
    """Return for each rank how many places of records stand behind it, itself included."""
    offsets, items = ranked_rows(batch, rank.value)
    behind = np.repeat(offsets[1:], np.diff(offsets)) - np.arange(len(items))
    costs = np.zeros(n_ranks, dtype=np.int64)
    np.add.at(costs, items, behind)
    return costs


def ranked_rows(batch: Batch, rank: Int64Array, *, secrets: bool = False) -> Batch:
    """Return the rows with ranks instead of numbers, sorted; of secrets those below -1 instead.

    >>> rows = Batch(np.array([0, 2, 3]), np.array([0, 2, 1], dtype=np.int32))
    >>> ranked_rows(rows, np.array([1, -2, 0])).items.tolist()
    [0, 1]
    >>> ranked_rows(rows, np.array([1, -2, 0]), secrets=True).offsets.tolist()
    [0, 0, 1]
    """
    own = rank[batch.items]
    own = -2 - own if secrets else own
    kept = own >= 0
    offsets = kept_offsets(batch.offsets, kept)
    return Batch(*sorted_rows(offsets, own[kept].astype(np.int32), len(rank), bags=True))


def split_rows(batch: Batch, routes: Routes, *, secrets: bool = False) -> pa.Table:
    """Return the part and the cut record for each record and part that it goes to."""
    import pyarrow as pa

    offsets, items = ranked_rows(batch, routes.rank.value)
    lengths = np.diff(offsets)
    record = np.repeat(np.arange(len(lengths)), lengths)
    part = np.searchsorted(routes.bounds, items, side="right") - 1
    first = np.ones(len(items), dtype=bool)
    first[1:] = (np.diff(part) != 0) | (np.diff(record) != 0)
    starts = np.flatnonzero(first)
    ends = offsets[1:][record[starts]]
    # Overlapping stretches: each begins at its start and ends where its record does.
    sizes = ends - starts
    into = offsets_of(sizes)
    places = np.arange(into[-1]) + np.repeat(starts - into[:-1], sizes)
    columns = {"part": part[starts].astype(np.int32), "items": lists_of(into, items[places])}
    if secrets:
        hidden = ranked_rows(batch, routes.rank.value, secrets=True)
        columns["secrets"] = lists_of(*take_rows(*hidden, record[starts]))
    return pa.table(columns)
