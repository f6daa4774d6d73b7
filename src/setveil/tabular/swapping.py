"""Swapping: values of a column are exchanged between rows."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import InputError, ParameterError
from setveil.core.table import frozen
from setveil.tabular.columns import distinct_values, is_number, quasi_columns, whole_table
from setveil.tabular.partitioned import by_content

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from setveil.core.table import Int64Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Swapped:
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
    key: Int64Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", frozen(self.key, np.int64))

    def __len__(self) -> int:
        return len(self.key)


def swap(
    frame: Any,  # noqa: ANN401  (polars, pandas or pyarrow)
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
    generator = np.random.default_rng() if rng is None else rng
    # Drawn from the sorted rows, so that the input's order leaves no trace.
    order = by_content(table)
    changed = table
    moved = {}
    for name in names:
        _, places = distinct_values(table[name])
        source = np.arange(len(table))
        source[order] = order[_pairs(places[order], share, window, generator)]
        changed = changed.with_columns(table[name][source.tolist()].alias(name))
        moved[name] = int(np.count_nonzero(source != np.arange(len(table))))
    key = by_content(changed)
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
