"""A table that was made k-anonymous: what is published, and the private way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from setveil.data.table import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from setveil.data.table import Int64Array


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
    import polars as pl  # noqa: PLC0415  (only on demand)

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
    import polars as pl  # noqa: PLC0415

    numbered = table.select(pl.struct(pl.all()).arg_sort())
    order: Int64Array = numbered.to_series().to_numpy().astype(np.int64)
    return order


def _classes(quasi: pl.DataFrame) -> Int64Array:
    """Give the distinct rows numbers in the order of their first appearance."""
    seen: dict[tuple[object, ...], int] = {}
    return np.array([seen.setdefault(row, len(seen)) for row in quasi.iter_rows()], dtype=np.int64)
