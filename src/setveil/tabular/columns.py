"""Columns of a table: which can be used, their values in order, as exact texts, as item sets."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import InputError, ParameterError
from setveil.core.words import some
from setveil.io.frames import as_polars

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from setveil.core.arrays import Int64Array
    from setveil.core.table import Frame

ZONE = r"([+-][0-9][0-9]:[0-9][0-9])?$"


def is_number(value: object) -> bool:
    """Tell whether a parameter is a number; true and false are none.

    >>> is_number(0.5), is_number("0.5"), is_number(True)
    (True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool)


def whole_table(frame: Frame) -> pl.DataFrame:
    """Return all columns of a frame, of which every one can be sorted; zeros lose their sign.

    Zeros that differ in nothing but the sign are equal, and would stay in the input's order.

    >>> import polars as pl
    >>> whole_table(pl.DataFrame({"a": [-0.0, 1.5]})).rows()
    [(0.0,), (1.5,)]
    """
    table = as_polars(frame, None)
    for name, kind in table.schema.items():
        if kind.is_object():
            raise InputError(
                f"the column {name!r} holds objects, which have no order and no text",
                fix="convert it to text, or leave it out",
            )
    return unsigned_zeros(table)


def unsigned_zeros(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose zeros have no sign."""
    import polars as pl

    floats = [name for name, kind in table.schema.items() if kind.is_float()]
    # Adding 0.0 would do by the rules of floats, but polars leaves that out.
    return table.with_columns(
        pl.when(pl.col(name) == 0)
        .then(0.0)
        .otherwise(pl.col(name))
        .cast(table.schema[name])
        .alias(name)
        for name in floats
    )


def plain_kind(name: str, kind: pl.DataType) -> None:
    """Refuse a column whose cells cannot be published as single texts."""
    import polars as pl

    if kind.is_nested():
        raise InputError(
            f"the column {name!r} holds lists or structures",
            fix="name columns of plain values; setveil.anonymize is for records of items",
        )
    if kind.is_object() or kind == pl.Binary:
        raise InputError(
            f"the column {name!r} holds {'bytes' if kind == pl.Binary else 'objects'}",
            fix="convert it to text first",
        )


def quasi_columns(
    frame: Frame,
    quasi: Sequence[str],
    hierarchies: Iterable[str] = (),
) -> list[str]:
    """Return the quasi-identifying columns once each, or say what is wrong with them."""
    if isinstance(quasi, str) or not quasi:
        raise ParameterError(
            "no quasi-identifying columns are given", fix="name the columns that people may know"
        )
    names = list(dict.fromkeys(quasi))
    table = as_polars(frame, names)
    for name in names:
        plain_kind(name, table.schema[name])
    strange = [name for name in hierarchies if name not in names]
    if strange:
        raise ParameterError(
            f"a hierarchy is given for {some(strange)}, which is no quasi-identifying column",
            fix=f"give hierarchies for {some(names)} only",
        )
    return names


def distinct_values(column: pl.Series) -> tuple[list[Any], Int64Array]:
    """Return the sorted values of a column, a missing one first, and the place of each row's.

    Numbers stay numbers, and whole ones become whole; everything else becomes text. Times are
    sorted as times.

    >>> import polars as pl
    >>> values, places = distinct_values(pl.Series([2.0, None, 1.0]))
    >>> values, places.tolist()
    ([None, 1, 2], [2, 0, 1])
    """
    import polars as pl

    plain_kind(column.name, column.dtype)
    if column.dtype.is_float():
        column = unsigned_zeros(column.fill_nan(None).to_frame()).to_series()
        if column.is_infinite().any():
            raise InputError(
                f"the column {column.name!r} holds an infinite number", fix="leave these rows out"
            )
        whole = column.cast(pl.Int64, strict=False)
        if whole.null_count() == column.null_count() and bool((whole == column).all()):
            column = whole
    elif not column.dtype.is_numeric() and not column.dtype.is_temporal():
        column = column.cast(pl.String)
    missing = int(column.null_count() > 0)
    order = column.to_physical() if column.dtype.is_temporal() else column
    places = order.rank("dense").fill_null(0).to_numpy().astype(np.int64) - 1 + missing
    return exact_times(column.unique().sort(nulls_last=False)).to_list(), places


def exact_times(column: pl.Series) -> pl.Series:
    """Return times, dates and lengths of time as texts; other columns as they are.

    Python knows no times finer than a microsecond: as its objects, different ones become equal.
    The unit in which times are stored leaves no trace in the text.

    >>> import polars as pl
    >>> exact_times(pl.Series([1, 5_000_000_000]).cast(pl.Datetime("ns"))).to_list()
    ['1970-01-01 00:00:00.000000001', '1970-01-01 00:00:05']
    """
    import polars as pl

    if not column.dtype.is_temporal():
        return column
    texts = column.dt.to_string("iso")
    if isinstance(column.dtype, pl.Datetime):
        texts = texts.str.replace(rf"\.0+{ZONE}", "${1}")
        texts = texts.str.replace(rf"(\.[0-9]*[1-9])0+{ZONE}", "${1}${2}")
    return texts


# --- A set-valued column ---

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


def join_items(sets: Iterable[Iterable[str]]) -> list[str]:
    """Return the items of each row as one text.

    >>> join_items([("cold", "flu"), ()])
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
