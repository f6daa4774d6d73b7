"""What stands above the values of a column: categories of texts, intervals of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from setveil.core.arrays import Int64Array, offsets_of
from setveil.core.errors import InputError, ParameterError
from setveil.core.table import frozen
from setveil.core.taxonomy import Taxonomy
from setveil.core.words import some
from setveil.io.frames import as_polars
from setveil.tabular.columns import distinct_values, quasi_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from setveil.core.table import Frame

    Number = int | float | Fraction
    Hierarchy: TypeAlias = "Taxonomy | Intervals | Mapping[str, str]"
    Path = tuple[tuple[tuple[int, int], str | None], ...]

ANY_VALUE = "*"
"""What is published where nothing is told of a value."""

MISSING = ((0, 0), None)
"""A missing value among its siblings: it stands first, and is published as missing."""


@dataclass(frozen=True)
class Intervals:
    """Nested intervals above numbers: one width per level, each a multiple of the one before.

    Parameters
    ----------
    widths
        The widths, from the narrowest to the widest; above the widest stands ``*``.
    origin
        Where an interval begins; the others follow from the widths.

    Examples
    --------
    >>> ages = Intervals(5, 10)
    >>> ages.path(Fraction(38))
    ['[30-40)', '[35-40)']
    >>> Intervals(10, 25)
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: intervals of 25 cannot be made of intervals of 10. \
To fix: let each width be a multiple of the one before.
    """

    widths: tuple[Fraction, ...]
    origin: Fraction

    def __init__(self, *widths: Number, origin: Number = 0) -> None:
        exact = tuple(_fraction(width, "width") for width in widths)
        if not exact or exact[0] <= 0:
            raise ParameterError(
                f"the widths of intervals are {', '.join(map(str, widths)) or 'not given'}",
                fix="give numbers above 0, such as 5, 10, 20",
            )
        for narrow, wide in pairwise(exact):
            if wide <= narrow or (wide / narrow).denominator != 1:
                raise ParameterError(
                    f"intervals of {_format_number(wide)} cannot be made of intervals of "
                    f"{_format_number(narrow)}",
                    fix="let each width be a multiple of the one before",
                )
        object.__setattr__(self, "widths", exact)
        object.__setattr__(self, "origin", _fraction(origin, "origin"))

    @classmethod
    def fitting(cls, low: Fraction, high: Fraction, *, whole: bool = True) -> Intervals:
        """Return intervals for numbers of which nothing is known but the range.

        Widths are 5, 10, 50, 100 and so on (of numbers with decimals also 1, 0.5, 0.1 …), from
        about a fortieth of the range to a half.

        >>> [int(width) for width in Intervals.fitting(Fraction(17), Fraction(90)).widths]
        [5, 10]
        """
        reach = high - low
        width, wider = Fraction(1), 5
        while not whole and 0 < reach < width * 40:
            width /= 10
        widths: list[Fraction] = []
        while width * 2 <= reach or not widths:
            if width * 40 >= reach and (not whole or width > 1):
                widths.append(width)
            width, wider = width * wider, 7 - wider
        return cls(*widths)

    def places(self, value: Fraction) -> list[tuple[int, str]]:
        """Return the interval that holds a number at each level, the widest first, with labels."""
        found = []
        for width in reversed(self.widths):
            place = (value - self.origin) // width
            low = self.origin + place * width
            sign = "-" if low >= 0 else " to "
            found.append((place, f"[{_format_number(low)}{sign}{_format_number(low + width)})"))
        return found

    def path(self, value: Fraction) -> list[str]:
        """Return the labels of the intervals that hold a number, the widest first."""
        return [label for _, label in self.places(value)]


@dataclass(frozen=True, kw_only=True, eq=False)
class ValueTree:
    """The values of one column with what stands above them; only nodes above a value are kept.

    Nodes are numbered in preorder: those below `v`, itself included, are ``v .. ends[v] - 1``.

    Parameters
    ----------
    column
        The column's name.
    labels
        What is published for each node; None for missing values.
    parents
        The node above each; -1 for the root, which is 0.
    codes
        The leaf of each row.

    Examples
    --------
    >>> import polars as pl
    >>> tree = value_tree(pl.Series("age", [35, 38, 30]), Intervals(10))
    >>> tree.labels, tree.codes.tolist()
    (('*', '[30-40)', '30', '35', '38'), [3, 4, 2])
    """

    column: str
    labels: tuple[str | None, ...]
    parents: Int64Array
    codes: Int64Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", frozen(self.parents, np.int64))
        object.__setattr__(self, "codes", frozen(self.codes, np.int64))

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def depths(self) -> Int64Array:
        """How far each node is below the root."""
        depths = np.zeros(len(self), dtype=np.int64)
        for node in range(1, len(self)):
            depths[node] = depths[self.parents[node]] + 1
        return depths

    @cached_property
    def ends(self) -> Int64Array:
        """One past the last node below each."""
        ends = np.arange(1, len(self) + 1)
        for node in range(len(self) - 1, 0, -1):
            ends[self.parents[node]] = max(ends[self.parents[node]], ends[node])
        return ends

    @cached_property
    def children(self) -> list[list[int]]:
        """The nodes right below each."""
        children: list[list[int]] = [[] for _ in range(len(self))]
        for node in range(1, len(self)):
            children[self.parents[node]].append(node)
        return children

    @cached_property
    def losses(self) -> npt.NDArray[np.float64]:
        """How much each node hides: 0 for a value, 1 for the root, else its share of the values."""
        leaf = np.array([not below for below in self.children], dtype=np.int64)
        sums = offsets_of(leaf)
        below = sums[self.ends] - sums[:-1]
        losses: npt.NDArray[np.float64] = (below - 1) / max(int(below[0]) - 1, 1)
        return losses

    def contracted(self) -> ValueTree:
        """Return the tree without nodes that have one node below them: that one tells more.

        >>> import polars as pl
        >>> value_tree(pl.Series("age", [35, 38, 30]), Intervals(5, 10)).contracted().labels
        ('[30-40)', '30', '[35-40)', '35', '38')
        """
        kept = np.array([len(below) != 1 for below in self.children])
        number = np.cumsum(kept) - 1
        nodes = np.flatnonzero(kept)
        above = np.full(len(self), -1, dtype=np.int64)  # the nearest kept node above each
        for node in range(1, len(self)):
            parent = self.parents[node]
            above[node] = parent if kept[parent] else above[parent]
        parents = above[nodes]
        return ValueTree(
            column=self.column,
            labels=tuple(self.labels[node] for node in nodes.tolist()),
            parents=np.where(parents < 0, -1, number[parents]),
            codes=number[self.codes],
        )

    def at_depth(self, depth: int) -> Int64Array:
        """Return for each node the one above it that is `depth` below the root, or itself."""
        above = np.arange(len(self))
        for node in range(1, len(self)):
            if self.depths[node] > depth:
                above[node] = above[self.parents[node]]
        return above


def value_trees(
    frame: Frame,
    quasi: Sequence[str],
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> list[ValueTree]:
    """Return a tree for each quasi-identifying column.

    Parameters
    ----------
    frame
        A polars, pandas or pyarrow frame.
    quasi
        The columns that an adversary may know.
    hierarchies
        By column: a :class:`~setveil.Taxonomy`, a mapping from each value and category to
        what stands above it, or :class:`Intervals`. Numbers without one get intervals that fit
        their range, and texts have nothing but ``*`` above them.
    """
    given = dict(hierarchies or {})
    table = as_polars(frame, quasi_columns(frame, quasi, given))
    return [value_tree(table[name], given.get(name)) for name in table.columns]


def value_tree(column: pl.Series, hierarchy: Hierarchy | None = None) -> ValueTree:
    """Return the tree of a column's values; see :func:`value_trees`.

    >>> import polars as pl
    >>> jobs = {"Engineer": "Professional", "Lawyer": "Professional", "Professional": "ANY"}
    >>> value_tree(pl.Series("job", ["Lawyer", "Lawyer"]), jobs).labels
    ('ANY', 'Professional', 'Lawyer')
    """
    values, places = distinct_values(column)
    if isinstance(hierarchy, Intervals) or (hierarchy is None and column.dtype.is_numeric()):
        paths = _interval_paths(column, values, hierarchy)
    elif hierarchy is None:
        return flat_tree(column)
    else:
        paths = _category_paths(column.name, values, hierarchy)
    return _tree_of(column.name, paths, places)


def flat_tree(column: pl.Series) -> ValueTree:
    """Return the tree in which nothing but ``*`` stands above a column's values.

    >>> import polars as pl
    >>> flat_tree(pl.Series("age", [35, 30])).labels
    ('*', '30', '35')
    """
    values, places = distinct_values(column)
    top = ((1, 0), ANY_VALUE)
    paths: list[Path] = [
        (top, MISSING if value is None else ((1, i), str(value))) for i, value in enumerate(values)
    ]
    return _tree_of(column.name, paths, places)


def _interval_paths(
    column: pl.Series, values: Sequence[Any], intervals: Intervals | None
) -> list[Path]:
    if not column.dtype.is_numeric() and column.null_count() < len(column):
        raise InputError(
            f"the column {column.name!r} holds no numbers, so it cannot be cut into intervals",
            fix="give it a tree of categories, or convert it",
        )
    exact = [None if value is None else Fraction(str(value)) for value in values]
    known = [value for value in exact if value is not None]
    if intervals is None:
        low, high = (known[0], known[-1]) if known else (Fraction(0), Fraction(1))
        whole = all(number.denominator == 1 for number in known)
        intervals = Intervals.fitting(low, high, whole=whole)
    paths: list[Path] = []
    for i, (value, number) in enumerate(zip(values, exact, strict=True)):
        if number is None:
            paths.append((((1, 0), ANY_VALUE), MISSING))
            continue
        above = [((1, place), label) for place, label in intervals.places(number)]
        paths.append((((1, 0), ANY_VALUE), *above, ((1, i), str(value))))
    return paths


def _category_paths(name: str, values: Sequence[Any], hierarchy: Any) -> list[Path]:  # noqa: ANN401
    if not isinstance(hierarchy, Taxonomy):
        hierarchy = Taxonomy.from_parents(hierarchy)
    known = [str(value) for value in values if value is not None]
    absent = hierarchy.missing(known)
    if absent:
        raise InputError(
            f"{len(absent)} of {len(known)} values of the column {name!r} are not in its tree: "
            f"{some(absent)}",
            fix="add them to the tree",
        )
    tree = hierarchy.for_items(known)
    paths: list[Path] = []
    # Missing values are in no tree: where there are any, they stand beside it.
    beside = ((((1, 0), ANY_VALUE),) if len(known) < len(values) else ())  # fmt: skip
    if beside:
        paths.append((*beside, MISSING))
    for leaf in tree.leaf_of(known).tolist():
        nodes = sorted({leaf, *tree.ancestors(leaf)})  # in preorder: the root first
        paths.append((*beside, *(((1, node), tree.names[node]) for node in nodes)))
    return paths


def _tree_of(column: str, paths: Sequence[Path], places: Int64Array) -> ValueTree:
    """Put the ways from the root to each value together."""
    labels: list[str | None] = []
    parents: list[int] = []
    leaf_of = np.zeros(len(paths), dtype=np.int64)
    way: list[int] = []  # the nodes from the root to the value before
    before: Path = ()
    for i in sorted(range(len(paths)), key=lambda i: [key for key, _ in paths[i]]):
        path = paths[i]
        same = 0
        while same < min(len(path), len(before)) and path[same][0] == before[same][0]:
            same += 1
        del way[same:]
        for _, label in path[same:]:
            parents.append(way[-1] if way else -1)
            way.append(len(labels))
            labels.append(label)
        leaf_of[i] = way[-1]
        before = path
    return ValueTree(
        column=column,
        labels=tuple(labels),
        parents=np.array(parents, dtype=np.int64),
        codes=leaf_of[places] if len(places) else np.empty(0, dtype=np.int64),
    )


def _fraction(number: Number, name: str) -> Fraction:
    try:
        return Fraction(str(number))
    except (ValueError, ZeroDivisionError):
        raise ParameterError(
            f"the {name} {number!r} is not a number", fix="use 10 or 0.5"
        ) from None


def _format_number(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else f"{float(number):.12g}"
