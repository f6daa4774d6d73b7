"""What every generator returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """Generated records with the tree of their items.

    Parameters
    ----------
    table
        The records; its vocabulary holds the items that occur.
    taxonomy
        A tree in which every item is a node.
    sensitive
        Items whose disclosure would hurt; empty where the data has no such notion.
    description
        One sentence on what this is.

    Examples
    --------
    >>> from setveil.synthetic import clinic
    >>> clinic(n=100).description
    '100 invented patients of a clinic: conditions, drugs and symptoms'
    """

    table: TransactionTable
    taxonomy: Taxonomy
    sensitive: tuple[str, ...]
    description: str


def check_size_and_seed(n: int, seed: int) -> None:
    """Refuse a number of records or a seed that cannot be drawn with."""
    if n < 1:
        raise ParameterError(f"n is {n}", fix="ask for at least one record")
    if seed < 0:
        raise ParameterError(f"seed is {seed}", fix="use 0 or a positive number")
