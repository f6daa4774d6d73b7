"""How well a release answers count queries: "how many records hold all of these items?"."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.core.arrays import distinct_in_rows
from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.interval import Rate, mean_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from setveil.core.arrays import Int32Array
    from setveil.core.records import Records
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Release

QUERIES = 1000
"""How many queries are drawn unless told otherwise."""

SIZES = (1, 2)
"""Sizes of drawn queries, equally likely."""

ROUNDING = 1e-12
"""Errors below this are those of floating point, not of the release."""
SANITY = 0.001
"""Counts below this share of the records are taken as this share, so that a miss by two records
of an item that three people have does not outweigh everything else."""


@dataclass(frozen=True, kw_only=True)
class QueryError:
    """The mean relative error over count queries, with its 95% interval.

    `low` and `high` are for the drawn queries, see :func:`~setveil.core.interval.mean_error`;
    for given queries nothing was drawn, and both equal `value`.
    """

    value: float
    low: float
    high: float
    queries: int


def draw_queries(
    original: Records,
    rng: np.random.Generator,
    *,
    count: int = QUERIES,
    sizes: Sequence[int] = SIZES,
) -> list[tuple[str, ...]]:
    """Draw itemsets that occur: a random non-empty record, a size, that many of its items.

    A record with fewer distinct items than the size gives all it has.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu"], []])
    >>> draw_queries(table, np.random.default_rng(0), count=2)
    [('flu',), ('flu',)]
    """
    if count < 1 or not sizes or min(sizes) < 1:
        raise ParameterError(
            f"{count} queries of the sizes {list(sizes)} cannot be drawn",
            fix="draw at least one query of sizes of at least 1",
        )
    gaps = original.empty_places()
    filled = original.n_records - len(gaps)
    if not filled:
        raise NotApplicable("the original has no items to ask for")
    ranks, wanted = rng.choice(filled, count), rng.choice(np.array(sizes), count)
    # The record of a rank: as many places further as there are empty ones up to there.
    places = ranks + np.searchsorted(gaps - np.arange(len(gaps)), ranks, side="right")
    rows = original.rows_at(places.tolist())
    drawn = []
    for place, size in enumerate(wanted.tolist()):
        row = np.unique(rows.items[rows.offsets[place] : rows.offsets[place + 1]])
        chosen = chosen_items(row, size, rng)
        drawn.append(tuple(original.vocabulary[i] for i in chosen.tolist()))
    return drawn


def chosen_items(row: Int32Array, size: int, rng: np.random.Generator) -> Int32Array:
    """Return so many of the distinct items of a record, or all it has.

    >>> chosen_items(np.array([4, 7]), 3, np.random.default_rng(0)).tolist()
    [4, 7]
    """
    return np.sort(rng.choice(row, min(size, len(row)), replace=False))


def query_error(
    estimates: npt.ArrayLike, actual: npt.ArrayLike, records: int, *, drawn: bool
) -> QueryError:
    """Return the mean relative error of estimates of supports, with its interval.

    Parameters
    ----------
    estimates, actual
        For each query the support that is expected, and that in the original.
    records
        Of the original.
    drawn
        Whether the queries were drawn; given ones have no interval.

    Examples
    --------
    >>> query_error([1.5], [1], 4, drawn=False).value
    0.5
    """
    held = np.asarray(actual, dtype=np.float64)
    errors = np.abs(np.asarray(estimates) - held) / np.maximum(held, SANITY * records)
    errors[errors < ROUNDING] = 0.0
    # An answer of 0 has an error of 1: about so large is one that no drawn query met.
    rate = mean_error(errors, usual=1.0) if drawn else Rate.counted(float(errors.mean()))
    assert rate is not None  # there is at least one query
    return QueryError(value=rate.value, low=rate.low, high=rate.high, queries=len(errors))


def average_relative_error(
    release: Release,
    original: Records,
    *,
    taxonomy: Taxonomy | None = None,
    queries: Iterable[Iterable[str]] | None = None,
    count: int = QUERIES,
    sizes: Sequence[int] = SIZES,
    rng: np.random.Generator | None = None,
) -> QueryError:
    """Return the mean of |estimate - actual| / max(actual, 0.1% of the records) over queries.

    The actual count is the number of original records that hold all items of the query. The
    estimate is what the release leads one to expect: the exact mean of that count over the
    release's ``sample_world``. (Of a disassociated release: over all placements, even those that
    leave a record empty; of a perturbed one: its unbiased estimate.)

    Parameters
    ----------
    release, original
        What is compared.
    taxonomy
        The tree the release was made with; only a release that generalizes needs it.
    queries
        Itemsets to ask for; otherwise `count` are drawn by :func:`draw_queries`.
    count, sizes, rng
        How queries are drawn; without `rng` always the same ones.

    Examples
    --------
    >>> from setveil import Taxonomy, TransactionTable
    >>> from setveil.release import publish_groups
    >>> tree = Taxonomy.balanced(["a", "b"])
    >>> release, _ = publish_groups(tree, group_offsets=[0, 1], group_nodes=[0],
    ...                             group_of=[0, 0, 0, 0], hides=True)
    >>> table = TransactionTable.from_rows([["a"], ["a"], ["a"], ["b"]])
    >>> average_relative_error(release, table, taxonomy=tree, queries=[["b"]]).value
    1.0
    """
    rng = np.random.default_rng(0) if rng is None else rng
    given = None if queries is None else [tuple(dict.fromkeys(query)) for query in queries]
    asked = draw_queries(original, rng, count=count, sizes=sizes) if given is None else given
    if not asked:
        raise NotApplicable("there are no queries to average over")
    distinct = list(dict.fromkeys(asked))
    place = {query: i for i, query in enumerate(distinct)}
    chosen = [place[query] for query in asked]
    estimates = release.expected_supports(distinct, taxonomy)
    actual = original.itemset_supports(distinct)
    return query_error(estimates[chosen], actual[chosen], original.n_records, drawn=given is None)


def errors_by_size(
    release: Release,
    original: TransactionTable,
    *,
    taxonomy: Taxonomy | None = None,
    sizes: Sequence[int] = (1, 2, 3),
    count: int = 300,
) -> dict[int, float | None]:
    """Return the mean relative error of counts of so many items, by their number.

    For each size the same queries are drawn for every release of a table, from the records that
    hold so many items, so that errors can be compared. None where the release leads one to expect
    no counts, or no record is that long.

    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "gout"]])
    >>> errors_by_size(publish_suppressed(table, [True, False])[0], table, sizes=(2,))
    {2: 1.0}
    """
    found: dict[int, float | None] = dict.fromkeys(sizes)
    for size in sizes:
        with suppress(NotApplicable):
            offsets, _ = distinct_in_rows(original.offsets, original.items)
            long = original.take(np.flatnonzero(np.diff(offsets) >= size))
            rng = np.random.default_rng([0, size])
            queries = draw_queries(long, rng, count=count, sizes=(size,))
            error = average_relative_error(release, original, taxonomy=taxonomy, queries=queries)
            found[size] = error.value
    return found
