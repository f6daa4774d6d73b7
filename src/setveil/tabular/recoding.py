"""What the schemes of generalization share: the classes of rows, and splitting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.anonymize.base import check_enough, check_k
from setveil.tabular.columns import quasi_columns, whole_table
from setveil.tabular.hierarchies import flat_tree, value_tree
from setveil.tabular.partitioned import publish

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from setveil.core.table import Int64Array
    from setveil.tabular.hierarchies import Hierarchy, ValueTree
    from setveil.tabular.partitioned import Partitioned

LARGEST_KEY = 2**62


def prepared(
    frame: Any,  # noqa: ANN401  (polars, pandas or pyarrow)
    quasi: Sequence[str],
    k: int,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    *,
    flat: bool = False,
) -> tuple[pl.DataFrame, list[ValueTree]]:
    """Check what a scheme is asked for, and return the table and the trees of its columns.

    With `flat`, nothing but ``*`` stands above a value.
    """
    check_k(k)
    given = dict(hierarchies or {})
    names = quasi_columns(frame, quasi, given)
    table = whole_table(frame)
    check_enough(table, k)
    trees = [
        flat_tree(table[name]) if flat else value_tree(table[name], given.get(name))
        for name in names
    ]
    return table, trees


def published(
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


def combined(columns: Sequence[Int64Array], sizes: Sequence[int]) -> Int64Array:
    """Return one number per row that tells rows apart exactly as all the columns together do.

    >>> combined([np.array([0, 1, 1]), np.array([2, 2, 2])], [2, 3]).tolist()
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
