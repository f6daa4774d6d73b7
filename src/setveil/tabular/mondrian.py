"""Mondrian: multidimensional generalization by cutting the table until no cut is left.

``mondrian(frame, *, quasi, k, hierarchies=None) -> Partitioned``; the result has ``frame`` (what
may be published), ``classes`` (the class of each published row), ``key`` (the original row behind
each published one; private), ``quasi`` and ``k``. Rows that are alike in the quasi-identifying
columns are always in one class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from setveil.tabular.columns import distinct_values
from setveil.tabular.hierarchies import ANY_VALUE, value_tree
from setveil.tabular.recoding import Partitioned, publish, read_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from setveil.core.arrays import Int64Array
    from setveil.core.table import Frame
    from setveil.tabular.hierarchies import Hierarchy, ValueTree

NAMED = 5
"""A class with more different texts than this shows how many, not which."""


def mondrian(
    frame: Frame,
    *,
    quasi: Sequence[str],
    k: int,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Partitioned:
    """Make a table k-anonymous by cutting it in two, again and again, where it is widest.

    A class is cut at one column: with a tree, into the children of the lowest node above its
    values; without one, into lower and higher values, as near to the middle as both parts have k
    rows. It is published as that lowest node, or as the range (of texts: the set) of its values.

    *Minimal* here means: no class can be cut, at any column and at any place, into parts of k
    rows or more, and no class is published wider than its values need. Rows with the same
    quasi-identifiers always stay together (strict partitioning).

    Parameters
    ----------
    frame
        A polars, pandas or pyarrow frame.
    quasi
        The columns that an adversary may know.
    k
        Least number of rows that look alike.
    hierarchies
        Trees for some columns, see :func:`~setveil.tabular.hierarchies.value_trees`; the others
        are cut in the order of their values.

    Examples
    --------
    The patients of the lecture; engineers are told apart from lawyers only where two are alike:

    >>> from setveil.tabular.generalization import JOBS, patients
    >>> done = mondrian(patients(), quasi=["Job", "Sex", "Age"], k=2, hierarchies={"Job": JOBS})
    >>> for row in done.frame.rows():
    ...     print(*row)
    Dancer Female 30 HIV
    Dancer Female 30 HIV
    Professional Male [35-38] HIV
    Professional Male [35-38] Hepatitis
    Professional Male [35-38] Hepatitis
    Writer Female 30 Flu
    Writer Female 30 HIV

    References
    ----------
    K. LeFevre, D. J. DeWitt, R. Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006.
    """
    given = dict(hierarchies or {})
    table, names = read_columns(frame, quasi, k, given)
    columns = [
        _TreeColumn(tree=value_tree(table[name], given[name]))
        if name in given
        else _ordered_column(table[name])
        for name in names
    ]
    shown: list[list[str | None]] = [[None] * len(table) for _ in names]
    waiting = [np.arange(len(table))]
    while waiting:
        rows = waiting.pop()
        parts = _cut(columns, rows, k)
        if parts:
            waiting += parts
            continue
        for labels, column in zip(shown, columns, strict=True):
            label = column.label(rows)
            for row in rows.tolist():
                labels[row] = label
    return publish(table, dict(zip(names, shown, strict=True)), k)


def _cut(
    columns: Sequence[_TreeColumn | _OrderedColumn], rows: Int64Array, k: int
) -> list[Int64Array]:
    """Return the parts of a class, cut at the widest column that allows it; none if none does."""
    if len(rows) < 2 * k:
        return []
    widths = [column.width(rows) for column in columns]
    for place in sorted(range(len(columns)), key=lambda c: (-widths[c], c)):
        parts = columns[place].parts(rows, k)
        if parts:
            return parts
    return []


@dataclass(frozen=True, kw_only=True, eq=False)
class _TreeColumn:
    """A column that is cut along a tree."""

    tree: ValueTree

    def _lowest(self, rows: Int64Array) -> int:
        """Return the lowest node above the values of some rows."""
        codes = self.tree.codes[rows]
        first, last = int(codes.min()), int(codes.max())
        node = first
        while self.tree.ends[node] <= last:
            node = int(self.tree.parents[node])
        return node

    def width(self, rows: Int64Array) -> float:
        return float(self.tree.losses[self._lowest(rows)])

    def parts(self, rows: Int64Array, k: int) -> list[Int64Array]:
        below = np.array(self.tree.children[self._lowest(rows)], dtype=np.int64)
        if not len(below):
            return []
        child = np.searchsorted(below, self.tree.codes[rows], side="right") - 1
        counts = np.bincount(child, minlength=len(below))
        if counts[counts > 0].min() < k:
            return []
        return [rows[child == place] for place in np.flatnonzero(counts).tolist()]

    def label(self, rows: Int64Array) -> str | None:
        return self.tree.labels[self._lowest(rows)]


@dataclass(frozen=True, kw_only=True, eq=False)
class _OrderedColumn:
    """A column that is cut in the order of its values; missing ones stand first."""

    values: list[Any]
    places: Int64Array
    positions: npt.NDArray[np.float64]
    numeric: bool

    def width(self, rows: Int64Array) -> float:
        places = self.places[rows]
        whole = self.positions[-1] - self.positions[0]
        if not whole:
            return 0.0
        return float((self.positions[places.max()] - self.positions[places.min()]) / whole)

    def parts(self, rows: Int64Array, k: int) -> list[Int64Array]:
        places = self.places[rows]
        values, counts = np.unique(places, return_counts=True)
        lower = np.cumsum(counts)[:-1]
        allowed = np.flatnonzero((lower >= k) & (len(rows) - lower >= k))
        if not len(allowed):
            return []
        middle = allowed[np.argmin(np.abs(2 * lower[allowed] - len(rows)))]
        left = places <= values[middle]
        return [rows[left], rows[~left]]

    def label(self, rows: Int64Array) -> str | None:
        places = np.unique(self.places[rows]).tolist()
        first, last = self.values[places[0]], self.values[places[-1]]
        if len(places) == 1:
            return None if first is None else str(first)
        if first is None or len(places) == len(self.values):
            return ANY_VALUE
        if self.numeric:
            return f"[{first}{'-' if first >= 0 else ' to '}{last}]"
        if len(places) > NAMED:
            return f"{{{first} to {last}}}"
        return "{" + ", ".join(str(self.values[place]) for place in places) + "}"


def _ordered_column(column: pl.Series) -> _OrderedColumn:
    values, places = distinct_values(column)
    numeric = column.dtype.is_numeric()
    positions = np.arange(len(values), dtype=np.float64)
    if numeric:
        known = [float(value) for value in values if value is not None]
        positions = np.array([*known[:1] * (len(values) - len(known)), *known])
    return _OrderedColumn(values=values, places=places, positions=positions, numeric=numeric)
