"""Suppression: records, values or cells are left out until the table is k-anonymous."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import InfeasibleError
from setveil.tabular.cell import local_recoding
from setveil.tabular.partitioned import drawn_order, publish
from setveil.tabular.recoding import Classes, combined, prepared, published
from setveil.tabular.sibling import told_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.table import Int64Array
    from setveil.tabular.hierarchies import ValueTree
    from setveil.tabular.partitioned import Partitioned


def suppress_records(
    frame: Any,  # noqa: ANN401  (polars, pandas or pyarrow)
    *,
    quasi: Sequence[str],
    k: int,
) -> Partitioned:
    """Leave out the rows that fewer than k rows look like; the others stay as they are.

    *Minimal* and more: every k-anonymous table that is made by leaving rows out leaves out all of
    these.

    Parameters
    ----------
    frame
        A polars, pandas or pyarrow frame.
    quasi
        The columns that an adversary may know.
    k
        Least number of rows that look alike.

    Raises
    ------
    InfeasibleError
        No k rows are alike: nothing would be left.

    Examples
    --------
    >>> from setveil.tabular.patients import patients
    >>> done = suppress_records(patients(), quasi=["Job", "Sex", "Age"], k=2)
    >>> done.frame["Job"].to_list(), done.notes
    (['Dancer', 'Dancer', 'Writer', 'Writer'], ('3 of 7 rows are left out',))
    """
    table, trees = prepared(frame, quasi, k, flat=True)
    key = combined([tree.codes for tree in trees], [len(tree) for tree in trees])
    _, place, counts = np.unique(key, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(counts[place] >= k)
    if not len(kept):
        raise InfeasibleError(
            f"no {k} rows are alike in {', '.join(quasi)}, so every row would be left out",
            fix="generalize the columns, name fewer of them, or lower k",
        )
    shown = {
        tree.column: [tree.labels[code] for code in tree.codes[kept].tolist()] for tree in trees
    }
    notes = [f"{len(table) - len(kept):,} of {len(table):,} rows are left out"]
    done = publish(table[kept.tolist()], shown, k, notes=notes)
    return replace(done, key=kept[done.key])


def suppress_values(
    frame: Any,  # noqa: ANN401
    *,
    quasi: Sequence[str],
    k: int,
) -> Partitioned:
    """Replace values by ``*``, wherever they occur, until the table is k-anonymous.

    It is sibling generalization with nothing but ``*`` above the values: the most frequent values
    are disclosed first.

    *Minimal* here means: no suppressed value can be disclosed (everywhere) with k kept; then no
    larger set of values can.

    Parameters
    ----------
    frame, quasi, k
        As for :func:`suppress_records`.

    Examples
    --------
    >>> from setveil.tabular.patients import patients
    >>> done = suppress_values(patients(), quasi=["Job", "Sex", "Age"], k=2)
    >>> sorted(set(done.frame.select("Job", "Sex", "Age").rows()))
    [('*', 'Male', '*'), ('Dancer', 'Female', '30'), ('Writer', 'Female', '30')]
    >>> done.notes
    ('6 of 21 cells are suppressed',)

    References
    ----------
    K. Wang, B. C. M. Fung, P. S. Yu: Handicapping attacker's confidence, KAIS 11(3), 2007.
    """
    table, trees = prepared(frame, quasi, k, flat=True)
    trees = [tree.contracted() for tree in trees]
    nodes = told_nodes(Classes(trees, k)).nodes
    return published(table, trees, nodes, k, notes=[_suppressed(trees, nodes)])


def suppress_cells(
    frame: Any,  # noqa: ANN401
    *,
    quasi: Sequence[str],
    k: int,
    rng: np.random.Generator | None = None,
) -> Partitioned:
    """Replace single cells by ``*`` until the table is k-anonymous.

    It is cell generalization with nothing but ``*`` above the values.

    *Minimal* here means: there is no class of which some rows could show their values in one
    suppressed column, with every class still of k rows or more.

    Parameters
    ----------
    frame, quasi, k
        As for :func:`suppress_records`.
    rng
        Draws which of equal rows are told, as for :func:`~setveil.tabular.cell.cell`.

    Examples
    --------
    >>> from setveil.tabular.patients import patients
    >>> done = suppress_cells(patients(), quasi=["Job", "Sex", "Age"], k=2)
    >>> sorted(set(done.frame.select("Job", "Sex", "Age").rows()))
    [('*', 'Male', '*'), ('Dancer', 'Female', '30'), ('Writer', 'Female', '30')]

    References
    ----------
    A. Meyerson, R. Williams: On the complexity of optimal k-anonymity, PODS 2004.
    """
    table, trees = prepared(frame, quasi, k, flat=True)
    trees = [tree.contracted() for tree in trees]
    nodes = local_recoding(trees, k, drawn_order(table, [tree.codes for tree in trees], rng))
    return published(table, trees, nodes, k, notes=[_suppressed(trees, nodes)])


def _suppressed(trees: Sequence[ValueTree], nodes: Sequence[Int64Array]) -> str:
    hidden = sum(
        int(np.count_nonzero(column == 0))
        for tree, column in zip(trees, nodes, strict=True)
        if len(tree) > 1
    )
    return f"{hidden:,} of {sum(len(column) for column in nodes):,} cells are suppressed"
