"""A set-valued column among others: lists, or texts with a sign between the items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.core.errors import InputError
from setveil.tabular.columns import exact_times

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

SEPARATOR = "|"
"""What stands between the items of a cell in a file of texts."""


def item_sets(column: pl.Series) -> list[tuple[str, ...]]:
    """Return the items of each row, sorted and once each; a missing cell holds none.

    >>> import polars as pl
    >>> item_sets(pl.Series("visits", [["flu", "cold", "flu"], None]))
    [('cold', 'flu'), ()]
    >>> item_sets(pl.Series("visits", ["flu|cold", ""]))
    [('cold', 'flu'), ()]
    """
    import polars as pl

    kind = column.dtype
    inner = kind.inner if isinstance(kind, pl.List | pl.Array) else kind
    if inner.is_object() or inner == pl.Binary:
        raise InputError(
            f"the column {column.name!r} holds bytes or objects", fix="convert it to text first"
        )
    if isinstance(kind, pl.List | pl.Array):
        lists = column if isinstance(kind, pl.List) else column.arr.to_list()
        if inner.is_temporal():
            lists = lists.list.eval(pl.element().dt.to_string("iso"))
        cells = lists.to_list()
    elif column.dtype == pl.String:
        cells = [(text or "").split(SEPARATOR) for text in column.to_list()]
    else:
        cells = [[] if value is None else [value] for value in exact_times(column).to_list()]
    found = []
    for cell in cells:
        items = {str(item).strip() for item in cell or () if item is not None}
        found.append(tuple(sorted(items - {""})))
    return found


def joined(sets: Iterable[Iterable[str]]) -> list[str]:
    """Return the items of each row as one text.

    >>> joined([("cold", "flu"), ()])
    ['cold|flu', '']
    """
    cells = []
    for items in map(list, sets):
        if any(SEPARATOR in item for item in items):
            raise InputError(
                f"an item holds the sign {SEPARATOR} that separates items",
                fix="write a file that ends in .parquet or .jsonl",
            )
        cells.append(SEPARATOR.join(items))
    return cells
