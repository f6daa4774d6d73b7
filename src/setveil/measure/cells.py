"""How much of the generalized items of a release was there before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.core.table import record_cells

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.table import TransactionTable


def cell_density(table: TransactionTable, groups: Iterable[Iterable[str]]) -> float | None:
    """Return the share of original cells among all cells, the density of Shao & Ong (2017).

    A group of items is published as one generalized item. It has a row for each record that
    holds any member and a column for each member; a cell is original where the record holds the
    member, and added otherwise. All groups count together. Not to be confused with the type-token
    ratio (:func:`setveil.measure.profile.ttr`), the density of AlShuhail & Shao (2023).

    Parameters
    ----------
    table
        The original records.
    groups
        The items that are published together. A group of one is that item as it was, and has no
        cells; members that no record holds are columns all the same.

    Returns
    -------
    float or None
        The share; None where there are no cells.

    Raises
    ------
    ParameterError
        If an item stands in two groups.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "cold"], ["flu"], ["fever"]])
    >>> cell_density(table, [["flu", "cold"], ["fever"]])
    0.75

    References
    ----------
    J. Shao, H. Ong, "Exploiting contextual information in attacking set-generalized
    transactions", ACM Transactions on Internet Technology 17(4), 2017, section 6.1.
    """
    original, cells = record_cells(table, groups)
    return int(original.sum()) / int(cells.sum()) if cells.any() else None
