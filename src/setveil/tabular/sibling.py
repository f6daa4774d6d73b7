"""Sibling generalization: some children of a node are told, and the node stands for the others."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from setveil.tabular.recoding import prepared, published
from setveil.tabular.subtree import specialized

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from setveil.tabular.hierarchies import Hierarchy
    from setveil.tabular.partitioned import Partitioned
    from setveil.tabular.recoding import Classes


def sibling(
    frame: Any,  # noqa: ANN401  (polars, pandas or pyarrow)
    *,
    quasi: Sequence[str],
    k: int,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Partitioned:
    """Make a table k-anonymous; a published node stands for what below it is not published.

    Each column has a set of nodes that are told, the root among them, and a value is published
    as the lowest of them above it, everywhere in the table. First whole cuts are told, as by
    :func:`~setveil.tabular.subtree.subtree`, so nothing is told less than there; then single
    nodes, from the root down, those first that gain most, wherever k is kept.

    *Minimal* here means: no further node of any column can be told with k kept; then no larger
    sets are k-anonymous at all. Published values must be read as in the lecture: "Professional"
    beside "Lawyer" means all other professionals.

    Parameters
    ----------
    frame, quasi, k, hierarchies
        As for :func:`~setveil.tabular.full_domain.full_domain`.

    Examples
    --------
    Lawyers can be told from the one engineer and the one judge:

    >>> import polars as pl
    >>> from setveil.tabular.patients import JOBS
    >>> tree = JOBS | {"Judge": "Professional"}
    >>> jobs = ["Engineer", "Judge", "Lawyer", "Lawyer", "Writer", "Dancer"]
    >>> done = sibling(pl.DataFrame({"Job": jobs}), quasi=["Job"], k=2, hierarchies={"Job": tree})
    >>> done.frame["Job"].to_list()
    ['Artist', 'Artist', 'Lawyer', 'Lawyer', 'Professional', 'Professional']

    References
    ----------
    K. LeFevre, D. J. DeWitt, R. Ramakrishnan: Incognito: efficient full-domain k-anonymity,
    SIGMOD 2005 (which names the model).
    """
    table, trees = prepared(frame, quasi, k, hierarchies)
    trees = [tree.contracted() for tree in trees]
    return published(table, trees, told_nodes(specialized(trees, k)).nodes, k)


def told_nodes(classes: Classes) -> Classes:
    """Tell as many more nodes as can be told; with trees of one level this discloses values."""
    trees = classes.trees

    def waits(column: int, node: int) -> tuple[float, int, int]:
        tree = trees[column]
        gained = float(tree.losses[tree.parents[node]] - tree.losses[node])
        return (-classes.count(column, node) * gained, column, node)

    waiting = [waits(c, node) for c, tree in enumerate(trees) for node in tree.children[0]]
    heapify(waiting)
    while waiting:
        _, column, node = heappop(waiting)
        classes.release(column, node)
        # A node may be refused because too few rows are left without it, and one below it not.
        for child in trees[column].children[node]:
            heappush(waiting, waits(column, child))
    return classes
