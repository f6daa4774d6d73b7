"""Anatomization and permutation: what people know stays exact, what is sensitive is set apart."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import InfeasibleError, InputError, ParameterError
from setveil.core.params import check_whole
from setveil.io.frames import as_polars
from setveil.tabular.columns import distinct_values, is_number, plain_kind, whole_table
from setveil.tabular.recoding import PublishedRows, content_order, content_ranks

if TYPE_CHECKING:
    import polars as pl

    from setveil.core.arrays import Int64Array
    from setveil.core.table import Frame

GROUP = "group"
"""The column that names a row's group."""

COUNT = "count"
"""The column that says how often a group has a value."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Anatomized(PublishedRows):
    """Two tables that are published instead of one.

    Parameters
    ----------
    quasi
        The rows without the sensitive column, each with its group; sorted.
    sensitive
        For each group its sensitive values and how often it has them; sorted.
    l
        No value has more than one in `l` of a group's rows.
    key
        The original row behind each row of `quasi`; private.
    """

    quasi: pl.DataFrame
    sensitive: pl.DataFrame
    l: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Permuted(PublishedRows):
    """A table whose sensitive column was shuffled within groups.

    Parameters
    ----------
    frame
        What may be published: all columns, and the group of each row; sorted.
    l
        No value has more than one in `l` of a group's rows.
    spread
        The least range of the sensitive numbers of a group; 0 if none was asked for.
    key
        The original row behind each published one, but for its sensitive value; private.
    """

    frame: pl.DataFrame
    l: int
    spread: float


def anatomize(
    frame: Frame,
    *,
    sensitive: str,
    l: int,
    rng: np.random.Generator | None = None,
) -> Anatomized:
    """Publish the sensitive column apart from the others, joined by groups only.

    Again and again a row with each of the `l` most frequent sensitive values left makes a group;
    what remains joins groups that lack its value. Who knows a person's row learns the group, and
    that each of its values is the person's with a chance of at most 1 in `l`.

    Parameters
    ----------
    frame
        A polars, pandas or pyarrow frame.
    sensitive
        The sensitive column; a missing value is a value like the others.
    l
        No value may have more than one in `l` of a group's rows.
    rng
        Draws which rows meet in a group, for research; otherwise the operating system's chance.

    Raises
    ------
    InfeasibleError
        Some value is in more than one in `l` of all rows.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"Age": [35, 38, 30], "Disease": ["Flu", "HIV", "Gout"]})
    >>> done = anatomize(people, sensitive="Disease", l=3)
    >>> done.quasi.rows()
    [(30, 0), (35, 0), (38, 0)]
    >>> done.sensitive.rows()
    [(0, 'Flu', 1), (0, 'Gout', 1), (0, 'HIV', 1)]

    References
    ----------
    X. Xiao, Y. Tao: Anatomy: Simple and Effective Privacy Preservation, VLDB 2006.
    """
    import polars as pl

    if sensitive == COUNT:
        raise InputError(
            f"the sensitive column is called {COUNT!r}, and so would be the column of the counts",
            fix="rename it",
        )
    table, order, group_of = _group_rows(frame, sensitive, l, rng)
    rest = table.drop(sensitive)
    numbers = _number_groups(group_of, content_ranks(rest), content_ranks(table.select(sensitive)))
    rows = rest.with_columns(pl.Series(GROUP, numbers))
    key = content_order(rows)
    values = pl.DataFrame([pl.Series(GROUP, numbers), table[sensitive]])
    counted = values.group_by(values.columns).len(COUNT).sort(values.columns)
    return Anatomized(quasi=rows[key.tolist()], sensitive=counted, l=l, key=order[key])


def permute(
    frame: Frame,
    *,
    sensitive: str,
    l: int,
    spread: float = 0,
    rng: np.random.Generator | None = None,
) -> Permuted:
    """Shuffle the sensitive column within groups in which every value is rare enough.

    The groups are those of :func:`anatomize`; with `spread`, groups of numbers that lie closer
    together are put together until they do not.

    Parameters
    ----------
    frame, sensitive, l
        As for :func:`anatomize`.
    spread
        For numbers: the greatest and the least of each group must be so far apart, since a group
        of 30,000, 30,100 and 30,200 tells an income well enough.
    rng
        Draws groups and orders, for research; otherwise the operating system's chance.

    Raises
    ------
    InfeasibleError
        Some value is in more than one in `l` of all rows, or all numbers lie closer together
        than `spread`.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"Age": [35, 38, 30, 41], "Income": [30, 31, 90, 91]})
    >>> done = permute(people, sensitive="Income", l=2, spread=50)
    >>> done.frame.group_by("group").agg(pl.col("Income").max() - pl.col("Income").min() >= 50
    ...     )["Income"].unique().to_list()
    [True]
    >>> sorted(done.frame["Income"].to_list()) == [30, 31, 90, 91]
    True

    References
    ----------
    Q. Zhang, N. Koudas, D. Srivastava, T. Yu: Aggregate query answering on anonymized tables,
    ICDE 2007 (who ask for l different values and the spread).
    """
    import polars as pl

    generator = np.random.default_rng(rng)
    if not is_number(spread) or not 0 <= spread < float("inf"):
        raise ParameterError(f"spread is {spread!r}", fix="use a number of at least 0")
    table, order, group_of = _group_rows(frame, sensitive, l, generator)
    if spread:
        group_of = _merge_close_groups(table[sensitive], group_of, spread)
    shuffled = _shuffle(group_of, generator)
    mixed = table.with_columns(table[sensitive][shuffled.tolist()].alias(sensitive))
    rest = content_ranks(table.drop(sensitive))
    changed = mixed.with_columns(
        pl.Series(GROUP, _number_groups(group_of, rest, content_ranks(mixed)))
    )
    key = content_order(changed.select(GROUP, *table.columns))
    return Permuted(frame=changed[key.tolist()], l=l, spread=float(spread), key=order[key])


def _group_rows(
    frame: Frame,
    sensitive: str,
    l: int,
    rng: np.random.Generator | None,
) -> tuple[pl.DataFrame, Int64Array, Int64Array]:
    """Return the table sorted, the order it had, and the group of each row, or say why not."""
    from setveil.anonymize.groups.anatomy import spread

    check_whole("l", l, least=2)
    as_polars(frame, [sensitive])
    table = whole_table(frame)
    if not len(table):
        raise InputError("the table has no rows", fix="check the file")
    if GROUP in table.columns:
        raise InputError(
            f"there is a column {GROUP!r} already, which is what the groups' column is called",
            fix="rename it",
        )
    if table.width == 1:
        raise InputError(
            f"the table has no column but {sensitive!r}, so there is nothing to set it apart from",
            fix="give the columns that people may know, too",
        )
    plain_kind(sensitive, table.schema[sensitive])
    values, places = distinct_values(table[sensitive])
    most = np.bincount(places)
    if int(most.max()) * l > len(table):
        worst = int(np.argmax(most))
        largest = len(table) // int(most[worst])
        raise InfeasibleError(
            f"l is {l}, but {values[worst]!r} stands in {int(most[worst]):,} of "
            f"{len(table):,} rows of {sensitive!r}",
            fix=f"use l of at most {largest}"
            if largest > 1
            else "no l helps: a value that most rows have is known of most people",
        )
    generator = np.random.default_rng(rng)
    # Drawn from the sorted rows, so that the input's order leaves no trace.
    order = content_order(table)
    drawn = generator.permutation(len(table))
    offsets = np.arange(len(table) + 1)
    group_of = np.empty(len(table), dtype=np.int64)
    group_of[drawn] = spread((offsets, places[order[drawn]].astype(np.int32)), l)
    return table[order.tolist()], order, group_of


def _number_groups(group_of: Int64Array, *published: Int64Array) -> Int64Array:
    """Give the groups numbers by what is published of their rows, each column for itself.

    Groups of which the same is published are interchangeable; nothing else may decide, above all
    not which of two equal rows has which value.
    """
    number = np.unique(group_of, return_inverse=True)[1]
    ends = np.cumsum(np.bincount(number))[:-1]
    bags = []
    for column in published:
        inside = column[np.lexsort((column, number))]
        bags.append([tuple(part.tolist()) for part in np.split(inside, ends)])
    keys = list(zip(*bags, strict=True))
    new = np.empty(len(keys), dtype=np.int64)
    new[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    numbers: Int64Array = new[number]
    return numbers


def _merge_close_groups(column: pl.Series, group_of: Int64Array, spread: float) -> Int64Array:
    """Put groups together whose numbers lie too close; what is rare in both is rare in the sum."""
    if not column.dtype.is_numeric() or column.null_count() or not column.is_finite().all():
        raise InputError(
            f"the column {column.name!r} has values that are no numbers, so they have no spread",
            fix="leave spread out, or leave these rows out",
        )
    exact = [Fraction(str(value)) for value in column.to_list()]
    wanted = Fraction(str(spread))
    if max(exact) - min(exact) < wanted:
        raise InfeasibleError(
            f"spread is {spread}, but all numbers of {column.name!r} lie between {min(exact)} "
            f"and {max(exact)}",
            fix=f"use a spread of at most {float(max(exact) - min(exact))}",
        )
    lows: dict[int, Fraction] = {}
    highs: dict[int, Fraction] = {}
    for group, value in zip(group_of.tolist(), exact, strict=True):
        lows[group] = min(lows.get(group, value), value)
        highs[group] = max(highs.get(group, value), value)
    close = sorted((g for g in lows if highs[g] - lows[g] < wanted), key=lambda g: (lows[g], g))
    fine = sorted(g for g in lows if highs[g] - lows[g] >= wanted)
    into: dict[int, int] = {}
    first, last = 0, len(close) - 1
    while first < last and highs[close[last]] - lows[close[first]] >= wanted:
        into[close[last]] = close[first]  # the lowest numbers meet the highest
        fine.append(close[first])
        first, last = first + 1, last - 1
    left = close[first : last + 1]
    # Without a group that is spread enough, only all of them together are.
    target = fine[0] if fine else close[0]
    into |= {group: target for group in left if group != target}
    if not fine:
        into |= {group: target for group in lows if group != target}
    return np.array([into.get(group, group) for group in group_of.tolist()], dtype=np.int64)


def _shuffle(group_of: Int64Array, rng: np.random.Generator) -> Int64Array:
    """Return for each row the row of the same group whose value it gets."""
    by_group = np.argsort(group_of, kind="stable")
    mixed = np.lexsort((rng.random(len(group_of)), group_of))
    taken = np.empty(len(group_of), dtype=np.int64)
    taken[by_group] = mixed
    return taken
