"""Recoding a table: the classes of its rows, how they are split, and what is published of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from setveil.anonymize.base import check_enough
from setveil.core.params import check_whole
from setveil.core.table import frozen
from setveil.tabular.columns import quasi_columns, whole_table
from setveil.tabular.hierarchies import flat_tree, value_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from setveil.core.arrays import Int64Array
    from setveil.core.table import Frame
    from setveil.tabular.hierarchies import Hierarchy, ValueTree


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedRows:
    """Rows that may be published, with the original row behind each as a private key."""

    key: Int64Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", frozen(self.key, np.int64))

    def __len__(self) -> int:
        return len(self.key)


@dataclass(frozen=True, kw_only=True, eq=False)
class Partitioned(PublishedRows):
    """A table in which at least k rows look alike in the quasi-identifying columns.

    Parameters
    ----------
    frame
        What may be published: rows sorted by content, quasi-identifying columns as texts.
    quasi
        The quasi-identifying columns.
    k
        Each class has at least so many rows.
    classes
        The class of each published row, numbered from 0 in the order of the frame.
    key
        The original row behind each published one; private.
    notes
        What a reader should know of how it was made.
    """

    frame: pl.DataFrame
    quasi: tuple[str, ...]
    k: int
    classes: Int64Array
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "classes", frozen(self.classes, np.int64))


def publish(
    table: pl.DataFrame,
    quasi: Mapping[str, Sequence[str | None]],
    k: int,
    *,
    notes: Sequence[str] = (),
) -> Partitioned:
    """Replace the quasi-identifying columns by what is published for each row.

    >>> import polars as pl
    >>> done = publish(pl.DataFrame({"age": [38, 35], "ill": ["flu", "hiv"]}),
    ...                {"age": ["[30-40)"] * 2}, 2)
    >>> done.frame.rows(), done.classes.tolist(), done.key.tolist()
    ([('[30-40)', 'flu'), ('[30-40)', 'hiv')], [0, 0], [0, 1])
    """
    import polars as pl

    changed = table.with_columns(
        pl.Series(name, list(labels), dtype=pl.String) for name, labels in quasi.items()
    )
    key = content_order(changed)
    shown = changed[key.tolist()]
    return Partitioned(
        frame=shown,
        quasi=tuple(quasi),
        k=k,
        classes=_classes(shown.select(list(quasi))),
        key=key,
        notes=tuple(notes),
    )


def content_order(table: pl.DataFrame) -> Int64Array:
    """Return the order of the rows by all their columns, so that the input's order is forgotten.

    >>> import polars as pl
    >>> content_order(pl.DataFrame({"a": [2, 1, 1], "b": ["x", "z", "y"]})).tolist()
    [2, 1, 0]
    """
    import polars as pl

    numbered = table.select(pl.struct(pl.all()).arg_sort())
    order: Int64Array = numbered.to_series().to_numpy().astype(np.int64)
    return order


def content_ranks(table: pl.DataFrame) -> Int64Array:
    """Return for each row how many different rows come before it, so that equal rows are equal.

    >>> import polars as pl
    >>> content_ranks(pl.DataFrame({"a": [2, 1, 1], "b": ["x", "z", "z"]})).tolist()
    [1, 0, 0]
    """
    import polars as pl

    order = content_order(table)
    ranks = np.empty(len(order), dtype=np.int64)
    steps = table[order.tolist()].select(pl.struct(pl.all()).rle_id())
    ranks[order] = steps.to_series().to_numpy()
    return ranks


def random_order(
    table: pl.DataFrame, known: Sequence[Int64Array], rng: np.random.Generator | None
) -> Int64Array:
    """Return an order of the rows by some numbers of each; of equal ones chance decides.

    Were they left in the order of their other columns, or of the input, the order would tell of
    these. The operating system's chance, or `rng`, is applied to the sorted rows, so that the
    same draw gives the same whatever the input's order.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [40, 30, 30], "ill": ["flu", "gout", "hiv"]})
    >>> random_order(table, [table["age"].to_numpy()], np.random.default_rng(1)).tolist()[2]
    0
    """
    generator = np.random.default_rng(rng)
    mixed = content_order(table)[generator.permutation(len(table))]
    return mixed[np.lexsort([numbers[mixed] for numbers in reversed(known)])]


def _classes(quasi: pl.DataFrame) -> Int64Array:
    """Give the distinct rows numbers in the order of their first appearance."""
    seen: dict[tuple[object, ...], int] = {}
    return np.array([seen.setdefault(row, len(seen)) for row in quasi.iter_rows()], dtype=np.int64)


LARGEST_KEY = 2**62


def read_table_and_trees(
    frame: Frame,
    quasi: Sequence[str],
    k: int,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    *,
    flat: bool = False,
    whole: bool = False,
) -> tuple[pl.DataFrame, list[ValueTree]]:
    """Check what a scheme is asked for, and return the table and the trees of its columns.

    With `flat`, nothing but ``*`` stands above a value. Unless it is `whole`, a tree lacks the
    nodes that have one node below them.
    """
    given = dict(hierarchies or {})
    table, names = read_columns(frame, quasi, k, given)
    trees = [
        flat_tree(table[name]) if flat else value_tree(table[name], given.get(name))
        for name in names
    ]
    return table, trees if whole else [tree.contracted() for tree in trees]


def read_columns(
    frame: Frame, quasi: Sequence[str], k: int, hierarchies: Iterable[str]
) -> tuple[pl.DataFrame, list[str]]:
    """Check what a scheme is asked for, and return the table and the names of its columns."""
    check_whole("k", k)
    names = quasi_columns(frame, quasi, hierarchies)
    table = whole_table(frame)
    check_enough(table, k)
    return table, names


def publish_nodes(
    table: pl.DataFrame,
    trees: Sequence[ValueTree],
    nodes: Sequence[Int64Array],
    k: int,
    notes: Sequence[str] = (),
) -> Partitioned:
    """Publish for each row the labels of its nodes."""
    shown = {
        tree.column: [tree.labels[node] for node in column.tolist()]
        for tree, column in zip(trees, nodes, strict=True)
    }
    silent = [
        f"nothing is told of {tree.column!r}: every row shows {tree.labels[0]!r}"
        for tree, column in zip(trees, nodes, strict=True)
        if len(tree) > 1 and not column.any()
    ]
    return publish(table, shown, k, notes=(*notes, *silent))


def row_keys(columns: Sequence[Int64Array], sizes: Sequence[int]) -> Int64Array:
    """Return one number per row that tells rows apart exactly as all the columns together do.

    >>> row_keys([np.array([0, 1, 1]), np.array([2, 2, 2])], [2, 3]).tolist()
    [2, 5, 5]
    """
    key = columns[0]
    largest = sizes[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if largest * size > LARGEST_KEY:
            key = np.unique(key, return_inverse=True)[1]
            largest = int(key.max(initial=0)) + 1
        key = key * size + column
        largest *= size
    return key


class Classes:
    """Rows in classes that are split, and never put together again.

    At first all rows are one class, published as the root of each tree. Because classes only
    become smaller, a split that is refused once can be forgotten.

    Parameters
    ----------
    trees
        One per quasi-identifying column.
    k
        Splits that leave a class of fewer rows are refused.

    Examples
    --------
    >>> import polars as pl
    >>> tree = flat_tree(pl.Series("job", ["cook", "cook", "nurse", "clerk", "clerk"]))
    >>> classes = Classes([tree], k=2)
    >>> classes.split(0)  # the nurse would be alone
    False
    >>> classes.release(0, 1), classes.nodes[0].tolist()  # clerks told apart from the others
    (True, [0, 0, 0, 1, 1])
    """

    def __init__(self, trees: Sequence[ValueTree], k: int) -> None:
        self.trees = trees
        self.k = k
        rows = len(trees[0].codes)
        self.nodes = [np.zeros(rows, dtype=np.int64) for _ in trees]
        self._class_of = np.zeros(rows, dtype=np.int64)
        self._sizes = np.zeros(16, dtype=np.int64)
        self._sizes[0] = rows
        self._made = 1
        self._order = [np.argsort(tree.codes, kind="stable") for tree in trees]
        self._starts = [
            np.searchsorted(tree.codes[order], np.arange(len(tree) + 1))
            for tree, order in zip(trees, self._order, strict=True)
        ]

    def count(self, column: int, node: int) -> int:
        """Return how many rows have a value below a node."""
        starts = self._starts[column]
        return int(starts[self.trees[column].ends[node]] - starts[node])

    def rows_below(self, column: int, node: int) -> Int64Array:
        """Return the rows that have a value below a node."""
        starts = self._starts[column]
        return self._order[column][starts[node] : starts[self.trees[column].ends[node]]]

    def split(self, column: int, node: int = 0) -> bool:
        """Publish the children of a node in its place, if every class keeps k rows."""
        below = self.trees[column].children[node]
        if min(self.count(column, child) for child in below) < self.k:
            return False
        rows = self.rows_below(column, node)
        child = np.array(below)[
            np.searchsorted(below, self.trees[column].codes[rows], side="right") - 1
        ]
        size = len(self.trees[column])
        _, place, counts = np.unique(
            self._class_of[rows] * size + child, return_inverse=True, return_counts=True
        )
        if counts.min() < self.k:
            return False
        self._class_of[rows] = self._new(counts) + place
        self.nodes[column][rows] = child
        return True

    def release(self, column: int, node: int) -> bool:
        """Publish a node for the rows below it, and what was published for them for the others.

        Those below it that show more than what stands next above it stay as they are.
        """
        rows = self.rows_below(column, node)
        rows = rows[self.nodes[column][rows] < node]  # in preorder what is above comes before
        if not len(rows):
            return True
        old, place, counts = np.unique(
            self._class_of[rows], return_inverse=True, return_counts=True
        )
        left = self._sizes[old] - counts
        if counts.min() < self.k or np.any((left > 0) & (left < self.k)):
            return False
        self._sizes[old] = left
        self._class_of[rows] = self._new(counts) + place
        self.nodes[column][rows] = node
        return True

    def _new(self, counts: Int64Array) -> int:
        """Make classes of these sizes, and return the number of the first."""
        first, self._made = self._made, self._made + len(counts)
        if self._made > len(self._sizes):
            grown = np.zeros(2 * self._made, dtype=np.int64)
            grown[: len(self._sizes)] = self._sizes
            self._sizes = grown
        self._sizes[first : self._made] = counts
        return first
