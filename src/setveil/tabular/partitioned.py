"""A table that was made k-anonymous: what is published, and the private way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.table import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from setveil.core.table import Int64Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Partitioned:
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
    key: Int64Array
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", frozen(self.classes, np.int64))
        object.__setattr__(self, "key", frozen(self.key, np.int64))

    def __len__(self) -> int:
        return len(self.key)


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
    key = by_content(changed)
    shown = changed[key.tolist()]
    return Partitioned(
        frame=shown,
        quasi=tuple(quasi),
        k=k,
        classes=_classes(shown.select(list(quasi))),
        key=key,
        notes=tuple(notes),
    )


def by_content(table: pl.DataFrame) -> Int64Array:
    """Return the order of the rows by all their columns, so that the input's order is forgotten.

    >>> import polars as pl
    >>> by_content(pl.DataFrame({"a": [2, 1, 1], "b": ["x", "z", "y"]})).tolist()
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

    order = by_content(table)
    ranks = np.empty(len(order), dtype=np.int64)
    steps = table[order.tolist()].select(pl.struct(pl.all()).rle_id())
    ranks[order] = steps.to_series().to_numpy()
    return ranks


def drawn_order(
    table: pl.DataFrame, known: Sequence[Int64Array], rng: np.random.Generator | None
) -> Int64Array:
    """Return an order of the rows by some numbers of each; of equal ones chance decides.

    Were they left in the order of their other columns, or of the input, the order would tell of
    these. The operating system's chance, or `rng`, is applied to the sorted rows, so that the
    same draw gives the same whatever the input's order.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [40, 30, 30], "ill": ["flu", "gout", "hiv"]})
    >>> drawn_order(table, [table["age"].to_numpy()], np.random.default_rng(1)).tolist()[2]
    0
    """
    generator = np.random.default_rng() if rng is None else rng
    mixed = by_content(table)[generator.permutation(len(table))]
    return mixed[np.lexsort([numbers[mixed] for numbers in reversed(known)])]


def _classes(quasi: pl.DataFrame) -> Int64Array:
    """Give the distinct rows numbers in the order of their first appearance."""
    seen: dict[tuple[object, ...], int] = {}
    return np.array([seen.setdefault(row, len(seen)) for row in quasi.iter_rows()], dtype=np.int64)
