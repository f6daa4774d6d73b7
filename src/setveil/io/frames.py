"""Tables from polars, pandas and pyarrow frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import InputError, Problems
from setveil.core.table import Collected, collected_pairs
from setveil.core.words import some

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from setveil.core.table import Frame, TransactionTable

FRAME = "the frame"


def table_from_frame(
    frame: Frame,
    *,
    item_column: str,
    id_column: str | None = None,
) -> TransactionTable:
    """Build a table from a polars, pandas or pyarrow frame.

    Parameters
    ----------
    frame
        One row per record and item; or, where the item column holds lists, one row per record.
    item_column
        The column of item names: texts, categories, whole numbers, or lists of these. A null is
        no item: it only makes sure that its record exists.
    id_column
        The column that tells records apart; not needed with lists.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"who": [7, 7, 3], "what": ["flu", "gout", None]})
    >>> table_from_frame(frame, id_column="who", item_column="what").to_rows()
    [['flu', 'gout'], []]
    >>> lists = pl.DataFrame({"what": [["flu", "gout"], []]})
    >>> table_from_frame(lists, item_column="what").to_rows()
    [['flu', 'gout'], []]
    """
    import polars as pl

    problems = Problems(name=FRAME)
    columns = [item_column] if id_column is None else [item_column, id_column]
    table = as_polars(frame, columns)
    if isinstance(table.schema[item_column], (pl.List, pl.Array)):
        return gathered_lists(table[item_column], problems).table
    if id_column is None:
        raise InputError(
            f"{item_column!r} holds no lists, and no column tells the records apart",
            where=FRAME,
            fix="name the column of the records' ids",
        )
    return gathered_pairs(table[id_column], table[item_column], problems).table


def table_from_one_hot(frame: Frame, *, id_column: str | None = None) -> TransactionTable:
    """Build a table from a frame with one column per item that holds 0 or 1, false or true.

    The column `id_column`, if there is one, is left out.

    >>> import polars as pl
    >>> table_from_one_hot(pl.DataFrame({"flu": [1, 0], "gout": [True, None]})).to_rows()
    [['flu', 'gout'], []]
    """
    table = as_polars(frame, None)
    if id_column is not None and id_column not in table.columns:
        raise InputError(
            f"there is no column {id_column!r}",
            where=FRAME,
            fix=f"name a column among {some(table.columns)}",
        )
    columns = [column for column in table.columns if column != id_column]
    return gathered_flags(table, columns, Problems(name=FRAME)).table


def as_polars(frame: Frame, columns: Sequence[str] | None) -> pl.DataFrame:
    """Return the columns of a frame of any of the three libraries as a polars frame.

    >>> import pandas as pd
    >>> as_polars(pd.DataFrame({"a": [1, 2]}), ["a"])["a"].to_list()
    [1, 2]
    """
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    library = type(frame).__module__.partition(".")[0]
    if library == "pyarrow":
        names = [str(name) for name in frame.schema.names]
    elif library in {"polars", "pandas"} and hasattr(frame, "columns"):
        names = [str(name) for name in frame.columns]
    else:
        raise InputError(
            f"a {type(frame).__name__} is no frame",
            fix="pass a polars, pandas or pyarrow frame, or use TransactionTable.from_rows",
        )
    for column in names if columns is None else columns:
        if names.count(column) != 1:
            count = names.count(column) or "no"
            raise InputError(
                f"{count} columns are called {column!r}",
                where=FRAME,
                fix=f"name a column among {', '.join(map(repr, names[:8])) or 'none'}",
            )
    wanted = names if columns is None else list(columns)
    if library == "polars":
        return pl.DataFrame(frame.select(wanted))
    if library == "pyarrow":
        return pl.DataFrame(pl.from_arrow(frame.select(wanted)))
    places = [names.index(name) for name in wanted]
    return pl.DataFrame(
        [
            _pandas_column(name, frame.iloc[:, place])
            for name, place in zip(wanted, places, strict=True)
        ]
    )


def _pandas_column(name: str, column: Any) -> pl.Series:  # noqa: ANN401
    """Convert by way of Python objects: needs no pyarrow, and NaN in a text column is no text."""
    import polars as pl

    gone = column.isna().tolist()
    values = [None if missing else v for v, missing in zip(column.tolist(), gone, strict=True)]
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        raise InputError(
            f"the column {name!r} mixes types", where=FRAME, fix="convert it to text first"
        ) from None


def _texts(column: pl.Series, where: str) -> pl.Series:
    """Return item names as texts; whole numbers that became floats beside a null count as whole."""
    import polars as pl

    kind = column.dtype
    if kind.is_float():
        whole = column.cast(pl.Int64, strict=False)
        if (whole.cast(pl.Float64) == column.cast(pl.Float64)).fill_null(value=False).sum() == (
            len(column) - column.null_count()
        ):
            column, kind = whole, whole.dtype
    if kind == pl.Null or kind.is_integer() or kind in (pl.String, pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    raise InputError(
        f"the items in {column.name!r} are of type {kind}, not texts or whole numbers",
        where=where,
        fix="convert the column to text, or name another",
    )


def gathered_pairs(ids: pl.Series, items: pl.Series, problems: Problems) -> Collected:
    """Gather pairs of id and item; a null item only makes sure that its record exists."""
    import polars as pl

    items = _texts(items, problems.name)
    if ids.null_count():
        for row in ids.is_null().arg_true().to_list():
            problems.add(
                f"in {items.name!r} has no {ids.name!r}",
                row=row + 1,
                text=str(items[row]),
                fix="give every row the id of its record",
            )
        items, ids = items.filter(ids.is_not_null()), ids.drop_nulls()
    pairs = pl.DataFrame([ids.alias("id"), items.alias("item")])
    return gathered_lists(pairs.group_by("id", maintain_order=True).agg("item")["item"], None)


def gathered_lists(lists: pl.Series, problems: Problems | None) -> Collected:
    """Gather a column of lists; nulls are no items, but problems where `problems` is given."""
    import polars as pl

    if isinstance(lists.dtype, pl.Array):
        lists = lists.arr.to_list()
    if problems is not None:
        holds_null = lists.list.eval(pl.element().is_null()).list.any().fill_null(value=False)
        for row in holds_null.arg_true().to_list():
            problems.add(
                f"in {lists.name!r} holds a null",
                row=row + 1,
                text=str(lists[row].to_list()),
                fix="leave missing items out",
            )
        lists = lists.filter(~holds_null)
        name = problems.name
    else:
        name = FRAME
    lists = lists.list.drop_nulls()
    lengths = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    flat = _texts(lists.explode().drop_nulls(), name)
    rows = np.repeat(np.arange(len(lists), dtype=np.int64), lengths)
    # Polars orders texts by their UTF-8 bytes, which is Python's order: dense ranks are numbers.
    numbers = flat.rank("dense").to_numpy().astype(np.int32) - np.int32(1)
    return collected_pairs(len(lists), rows, numbers, flat.unique().sort().to_list())


def gathered_flags(table: pl.DataFrame, columns: Sequence[str], problems: Problems) -> Collected:
    """Gather columns of 0 and 1, one per item."""
    import polars as pl

    rows: list[Any] = [np.empty(0, dtype=np.int64)]
    lengths: list[int] = []
    wrong = np.zeros(len(table), dtype=bool)
    for column in map(table.get_column, columns):
        kind = column.dtype
        if not (kind in (pl.Boolean, pl.Null) or kind.is_numeric()):
            raise InputError(
                f"the column {column.name!r} is of type {kind}, not 0 and 1 or false and true",
                where=problems.name,
                fix="convert it, or leave it out; a column of record ids is named by --id (id=)",
            )
        numbers = column.cast(pl.Float64).fill_null(0.0).to_numpy()
        for row in np.flatnonzero((numbers != 0) & (numbers != 1)).tolist():
            problems.add(
                f"is neither 0 nor 1 (item {column.name!r})",
                row=row + 1,
                text=str(column[row]),
                fix="write 0 or 1, or false and true",
            )
            wrong[row] = True
        rows.append(np.flatnonzero(numbers == 1))
        lengths.append(len(rows[-1]))
    held = np.concatenate(rows)
    used = [place for place, length in enumerate(lengths) if length]
    numbers = np.repeat(np.arange(len(used), dtype=np.int32), [lengths[i] for i in used])
    keep = ~wrong[held]
    place = np.cumsum(~wrong) - 1
    names = [columns[i] for i in used]
    return collected_pairs(int((~wrong).sum()), place[held[keep]], numbers[keep], names)
