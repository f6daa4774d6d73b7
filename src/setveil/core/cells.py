"""Cells of generalized items: how many of the members that a record is published with it had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.arrays import Int64Array
    from setveil.core.table import TransactionTable


def record_cells(
    table: TransactionTable, groups: Iterable[Iterable[str]]
) -> tuple[Int64Array, Int64Array]:
    """Return for each record its original cells, and all cells of its generalized items.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "cold"], ["flu"], ["fever"]])
    >>> [cells.tolist() for cells in record_cells(table, [["flu", "cold"]])]
    [[2, 1, 0], [2, 2, 0]]
    """
    group_of = np.full(table.n_items, -1, dtype=np.int64)
    sizes: list[int] = []
    first_group: dict[str, int] = {}
    for members in (sorted(set(group)) for group in groups):
        if len(members) < 2:
            continue
        for item in members:
            if first_group.setdefault(item, len(sizes)) != len(sizes):
                raise ParameterError(
                    f"the item {item!r} stands in two groups",
                    fix="publish each item in one group only",
                )
            if item in table.vocabulary:
                group_of[table.vocabulary.number(item)] = len(sizes)
        sizes.append(len(members))
    n, n_items, width = len(table), max(table.n_items, 1), max(len(sizes), 1)
    record_of = np.repeat(np.arange(n, dtype=np.int64), table.lengths)
    within = group_of[table.items] >= 0
    # One number per cell and per row of a group's table: a bag may hold an item twice.
    held = _distinct(record_of[within] * n_items + table.items[within])
    original = np.bincount(held // n_items, minlength=n)
    rows = _distinct(np.sort(held // n_items * width + group_of[held % n_items]))
    cells = np.zeros(n, dtype=np.int64)
    np.add.at(cells, rows // width, np.array([*sizes, 0], dtype=np.int64)[rows % width])
    return original, cells


def _distinct(ascending: Int64Array) -> Int64Array:
    """Return sorted numbers once each; much faster than numpy's way through a hash table."""
    first = np.ones(len(ascending), dtype=bool)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return ascending[first]
