"""Perturbation, which promises nothing: noise added to numbers, values swapped between rows."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import InputError, ParameterError
from setveil.io.frames import as_polars
from setveil.tabular.columns import distinct_values, is_number, quasi_columns, whole_table
from setveil.tabular.recoding import PublishedRows, content_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.core.table import Frame


DISTRIBUTIONS = ("gaussian", "laplace", "uniform")
"""Kinds of noise, by name."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyTable(PublishedRows):
    """A table with noise in some columns.

    Parameters
    ----------
    frame
        What may be published: rows sorted by content.
    deviations
        The standard deviation of the noise in each noisy column; public.
    distribution
        What the noise is drawn from: ``"gaussian"``, ``"laplace"`` or ``"uniform"``; public.
    key
        The original row behind each published one; private.
    """

    frame: pl.DataFrame
    deviations: dict[str, float]
    distribution: str


def add_noise(
    frame: Frame,
    columns: Sequence[str] | None = None,
    *,
    share: float = 1.0,
    deviations: Mapping[str, float] | None = None,
    distribution: str = "gaussian",
    rng: np.random.Generator | None = None,
) -> NoisyTable:
    """Publish numeric columns with noise of mean 0; promises nothing.

    Means stay as they are but for chance, and variances grow by the known variance of the noise.
    What an adversary makes of correlated columns: :mod:`setveil.tabular.noise_attacks`.

    Parameters
    ----------
    frame
        A polars, pandas or pyarrow frame.
    columns
        The columns that get noise; all numeric ones if not given.
    share
        The noise's standard deviation as a share of that of each column.
    deviations
        The noise's standard deviation in each column instead.
    distribution
        ``"gaussian"``, ``"laplace"`` or ``"uniform"``.
    rng
        Draws the noise, for research; otherwise the operating system's chance.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"job": ["nurse", "cook"] * 500, "age": [30.0, 50.0] * 500})
    >>> noisy = add_noise(people, share=0.5, rng=np.random.default_rng(1))
    >>> noisy.deviations, noisy.frame.columns
    ({'age': 5.0}, ['job', 'age'])
    >>> round(noisy.frame["age"].mean()), round(noisy.frame["age"].std())  # √(10² + 5²)
    (40, 11)

    References
    ----------
    R. Brand: Microdata protection through noise addition, Inference Control in Statistical
    Databases, LNCS 2316, 2002.
    """
    table = whole_table(frame)
    numeric = [name for name in table.columns if table.schema[name].is_numeric()]
    names = numeric if columns is None else list(dict.fromkeys(columns))
    values = numeric_values(table, names)
    if not len(values):
        raise InputError("the table has no rows", fix="check the file")
    check_distribution(distribution)
    # Added up and drawn in an order that only the content decides, so that the input's order
    # leaves no trace, not even in the last digit.
    order = content_order(table)
    noise = _deviations(names, values[order], share, deviations)
    rng = np.random.default_rng(rng)
    drawn = np.empty_like(values)
    drawn[order] = _unit_noise(rng, values.shape, distribution) * noise
    changed = table.with_columns(
        **{name: values[:, c] + drawn[:, c] for c, name in enumerate(names)}
    )
    key = content_order(changed)
    return NoisyTable(
        frame=changed[key.tolist()],
        deviations=dict(zip(names, noise.tolist(), strict=True)),
        distribution=distribution,
        key=key,
    )


def check_distribution(distribution: str) -> None:
    """Refuse what is no kind of noise."""
    if distribution not in DISTRIBUTIONS:
        raise ParameterError(
            f"distribution is {distribution!r}", fix=f"use one of {', '.join(DISTRIBUTIONS)}"
        )


def numeric_values(frame: Frame, columns: Sequence[str]) -> FloatArray:
    """Return columns of a frame as numbers, or say which one has none.

    >>> import polars as pl
    >>> numeric_values(pl.DataFrame({"age": [30, 50], "job": ["cook", "nurse"]}), ["age"]).tolist()
    [[30.0], [50.0]]
    """
    if not columns:
        raise InputError("there are no numeric columns", fix="name columns that hold numbers")
    table = as_polars(frame, columns)
    for name in columns:
        if not table.schema[name].is_numeric():
            raise InputError(f"the column {name!r} holds no numbers", fix="name other columns")
    values: FloatArray = np.column_stack(
        [table[name].cast(float).fill_null(float("nan")).to_numpy() for name in columns]
    )
    wrong = np.flatnonzero(~np.isfinite(values).all(axis=0))
    if len(wrong):
        raise InputError(
            f"the column {columns[int(wrong[0])]!r} has values that are missing or no numbers",
            fix="leave these rows out, or fill them in",
        )
    return values


def _deviations(
    names: Sequence[str], values: FloatArray, share: float, given: Mapping[str, float] | None
) -> FloatArray:
    """Return the standard deviation of the noise in each column."""
    if given is not None:
        if set(given) != set(names):
            raise ParameterError(
                "deviations are given for other columns than those that get noise",
                fix=f"give one for each of {', '.join(names)}",
            )
        wrong = [name for name in names if not is_number(given[name])]
        if wrong:
            raise ParameterError(
                f"the standard deviation in {wrong[0]!r} is {given[wrong[0]]!r}",
                fix="use a number above 0",
            )
        noise = np.array([float(given[name]) for name in names])
    elif not is_number(share) or not 0 < share < float("inf"):
        raise ParameterError(f"share is {share!r}", fix="use a number above 0, such as 0.5")
    else:
        noise = share * values.std(axis=0)
    for name, deviation in zip(names, noise.tolist(), strict=True):
        if not 0 < deviation < float("inf"):
            raise ParameterError(
                f"the noise in {name!r} would have the standard deviation {deviation}",
                fix="leave the column out where it has one value only, or give deviations",
            )
    return noise


def _unit_noise(rng: np.random.Generator, shape: tuple[int, ...], distribution: str) -> FloatArray:
    """Draw noise of variance 1."""
    if distribution == "gaussian":
        return rng.normal(size=shape)
    if distribution == "laplace":
        return rng.laplace(scale=0.5**0.5, size=shape)
    return rng.uniform(-(3**0.5), 3**0.5, size=shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class Swapped(PublishedRows):
    """A table with exchanged values. It promises nothing.

    Parameters
    ----------
    frame
        What may be published: rows sorted by content.
    moved
        How many cells of each column came from another row; public.
    key
        The original row behind each published one, but for the swapped columns; private.
    """

    frame: pl.DataFrame
    moved: dict[str, int]


def swap(
    frame: Frame,
    columns: Sequence[str],
    *,
    share: float = 0.1,
    window: float = 1.0,
    rng: np.random.Generator | None = None,
) -> Swapped:
    """Exchange values of columns between pairs of rows; **promises nothing**.

    Each column keeps its values and how often it has them; what goes together with what is
    blurred. A value that is rare stays in the table for all to see, a row that was not drawn
    stays as it is, and no share of swapped rows bounds what an adversary learns. It stands here
    because it is in use, and to be attacked.

    Parameters
    ----------
    frame
        A polars, pandas or pyarrow frame.
    columns
        The columns whose values are exchanged, each for itself.
    share
        The share of rows that take part, above 0.
    window
        How far apart the two values of an exchange may be, in ranks, as a share of the rows that
        take part: 1 for any two (plain swapping), 0.05 for near values (rank swapping).
    rng
        Draws the pairs, for research; otherwise the operating system's chance.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"Age": list(range(20, 60)), "Job": ["cook", "nurse"] * 20})
    >>> done = swap(people, ["Age"], share=0.5, rng=np.random.default_rng(1))
    >>> done.moved, sorted(done.frame["Age"]) == people["Age"].to_list()
    ({'Age': 20}, True)

    References
    ----------
    T. Dalenius, S. P. Reiss: Data-swapping, Journal of Statistical Planning and Inference 6(1),
    1982. R. A. Moore: Controlled data-swapping techniques for masking public use microdata sets,
    U.S. Bureau of the Census, 1996.
    """
    names = quasi_columns(frame, columns)
    table = whole_table(frame)
    for name, value in (("share", share), ("window", window)):
        if not is_number(value) or not 0 < value <= 1:
            raise ParameterError(f"{name} is {value!r}", fix="use a number above 0, at most 1")
    if len(table) < 2:
        raise InputError("a table of fewer than two rows has nothing to swap", fix="check the file")
    generator = np.random.default_rng(rng)
    # Drawn from the sorted rows, so that the input's order leaves no trace.
    order = content_order(table)
    changed = table
    moved = {}
    for name in names:
        _, places = distinct_values(table[name])
        source = np.arange(len(table))
        source[order] = order[_pairs(places[order], share, window, generator)]
        changed = changed.with_columns(table[name][source.tolist()].alias(name))
        moved[name] = int(np.count_nonzero(source != np.arange(len(table))))
    key = content_order(changed)
    return Swapped(frame=changed[key.tolist()], moved=moved, key=key)


def _pairs(ranks: Int64Array, share: float, window: float, rng: np.random.Generator) -> Int64Array:
    """Return the row that each row gets its value from; most give theirs back in return."""
    rows = len(ranks)
    taking = min(rows, max(2, round(share * rows)))
    drawn = rng.choice(rows, size=taking, replace=False)
    # Equal values stand in random order, so that ties do not decide who meets whom.
    drawn = drawn[np.lexsort((rng.random(taking), ranks[drawn]))]
    reach = max(1, ceil(window * (taking - 1)))
    source = np.arange(rows)
    free = list(range(taking))
    while len(free) > 1:
        first = free.pop(0)
        near = bisect_right(free, first + reach)
        if not near:
            continue
        second = free.pop(int(rng.integers(near)))
        source[drawn[first]], source[drawn[second]] = drawn[second], drawn[first]
    return source
