"""Subtree generalization: each column is told along a cut through its tree."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from setveil.tabular.recoding import Classes, prepared, published

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from setveil.tabular.hierarchies import Hierarchy, ValueTree
    from setveil.tabular.partitioned import Partitioned


def subtree(
    frame: Any,  # noqa: ANN401  (polars, pandas or pyarrow)
    *,
    quasi: Sequence[str],
    k: int,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Partitioned:
    """Make a table k-anonymous; at a node of a column's tree all children are told, or none.

    Starting with the roots, the node whose specialization gains most is replaced by its children,
    everywhere in the table, wherever this leaves no class of fewer than k rows. A specialization
    that is refused once would be refused later too, so each is tried once.

    *Minimal* here means: no node of any column's cut can be replaced by its children with k kept;
    then no cuts that tell strictly more are k-anonymous at all.

    Parameters
    ----------
    frame, quasi, k, hierarchies
        As for :func:`~setveil.tabular.full_domain.full_domain`.

    Examples
    --------
    The patients of the lecture, their ages in ten-year intervals. Writers and dancers can be told
    apart, though engineers and lawyers cannot:

    >>> from setveil.tabular.hierarchies import Intervals
    >>> from setveil.tabular.patients import JOBS, SEXES, patients
    >>> trees = {"Job": JOBS, "Sex": SEXES, "Age": Intervals(10)}
    >>> done = subtree(patients(), quasi=["Job", "Sex", "Age"], k=2, hierarchies=trees)
    >>> for row in done.frame.rows():
    ...     print(*row)
    Dancer Female [30-40) HIV
    Dancer Female [30-40) HIV
    Professional Male [30-40) HIV
    Professional Male [30-40) Hepatitis
    Professional Male [30-40) Hepatitis
    Writer Female [30-40) Flu
    Writer Female [30-40) HIV

    References
    ----------
    B. C. M. Fung, K. Wang, P. S. Yu: Top-down specialization for information and privacy
    preservation, ICDE 2005.
    """
    table, trees = prepared(frame, quasi, k, hierarchies)
    trees = [tree.contracted() for tree in trees]
    return published(table, trees, specialized(trees, k).nodes, k)


def specialized(trees: Sequence[ValueTree], k: int) -> Classes:
    """Replace nodes by their children from the roots down, those first that gain most."""
    classes = Classes(trees, k)

    def gain(column: int, node: int) -> float:
        tree = trees[column]
        return sum(
            classes.count(column, child) * float(tree.losses[node] - tree.losses[child])
            for child in tree.children[node]
        )

    waiting = [(-gain(c, 0), c, 0) for c, tree in enumerate(trees) if tree.children[0]]
    heapify(waiting)
    while waiting:
        _, column, node = heappop(waiting)
        if classes.split(column, node):
            for child in trees[column].children[node]:
                if trees[column].children[child]:
                    heappush(waiting, (-gain(column, child), column, child))
    return classes
