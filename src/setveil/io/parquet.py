"""Reader of Parquet files: long tables, one-hot tables and columns of lists."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil.data.frames import gathered_flags, gathered_lists, gathered_pairs
from setveil.errors import InputError
from setveil.io.formats_delimited import (
    ID_NAMES,
    ITEM_NAMES,
    column_place,
    find_column,
    one_hot_id,
)

if TYPE_CHECKING:
    from setveil.data.collectors import Collected
    from setveil.data.problems import Problems
    from setveil.data.sources import Source
    from setveil.io.layout import Layout


def read_parquet(source: Source, asked: Layout, problems: Problems) -> tuple[Layout, Collected]:
    """Read a Parquet file: a long table, a one-hot table, or a column of lists (a basket).

    Parameters
    ----------
    source
        An input whose first bytes are Parquet's.
    asked
        The format, if it was given, and the columns that were asked for.
    problems
        Where malformed rows are reported.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import polars as pl
    >>> from setveil.io.layout import Layout
    >>> from setveil.data.problems import Problems
    >>> from setveil.data.sources import Source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.parquet")
    ...     pl.DataFrame({"id": [1, 1], "item": ["flu", "gout"]}).write_parquet(path)
    ...     with Source(path) as source:
    ...         layout, done = read_parquet(source, Layout(), Problems(name="a"))
    >>> layout.format, done.table.to_rows()
    ('long', [['flu', 'gout']])
    """
    import polars as pl  # noqa: PLC0415

    packed = source.is_stdin or source.compression
    where: Any = io.BytesIO(source.read_all()) if packed else Path(source.path)
    try:
        # Given a path, polars would take the brackets in a file's name for a pattern.
        with where if packed else where.open("rb") as opened:
            schema = dict(pl.read_parquet_schema(opened))
            layout = asked if asked.format else _guessed(schema, asked, source.name)
            columns = _columns(schema, layout, source.name)
            opened.seek(0)
            # One-hot: the id too, since it alone tells how many records there are without items.
            wanted = list(schema) if layout.format == "one-hot" else columns
            table = pl.read_parquet(opened if packed else where, columns=wanted, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise InputError(
            f"cannot be read as Parquet: {str(error).partition(chr(10))[0][:200]}",
            where=source.name,
            fix="write the file again",
        ) from None
    if layout.format == "one-hot":
        return layout, gathered_flags(table, columns, problems)
    if layout.format == "basket":
        return layout, gathered_lists(table[columns[0]], problems)
    return layout, gathered_pairs(table[columns[0]], table[columns[1]], problems)


def _columns(schema: dict[str, Any], layout: Layout, name: str) -> list[str]:
    """Return the columns a layout needs, for long tables the id first."""
    import polars as pl  # noqa: PLC0415

    header = list(schema)
    if layout.format == "one-hot":
        place = one_hot_id(header, layout.id_column, name)
        return [column for i, column in enumerate(header) if i != place]
    if layout.format == "long":
        return [
            header[column_place(header, layout.id_column, ID_NAMES, "id", name)],
            header[column_place(header, layout.item_column, ITEM_NAMES, "item", name)],
        ]
    if layout.format == "basket":
        lists = [column for column, kind in schema.items() if isinstance(kind, (pl.List, pl.Array))]
        usual = ITEM_NAMES if len(lists) > 1 else tuple(column.lower() for column in lists)
        place = column_place(lists, layout.item_column, usual, "item", name)
        return [lists[place]]
    raise InputError(
        f"a Parquet file cannot hold the format {layout.format!r}",
        where=name,
        fix="use long, one-hot or basket (a column of lists)",
    )


def _guessed(schema: dict[str, Any], asked: Layout, name: str) -> Layout:
    """Choose a layout by the names and types of the columns."""
    import polars as pl  # noqa: PLC0415

    header = list(schema)
    found = replace(asked, guessed=True)
    id_place = find_column(header, asked.id_column, ID_NAMES)
    item_place = find_column(header, asked.item_column, ITEM_NAMES)
    lists = [column for column, kind in schema.items() if isinstance(kind, (pl.List, pl.Array))]
    if lists and (item_place is None or header[item_place] in lists):
        why = f"a Parquet file whose column {lists[0]!r} holds lists"
        return replace(found, format="basket", why=why)
    if id_place is not None and item_place is not None:
        columns = f"{header[id_place]!r} and {header[item_place]!r}"
        return replace(found, format="long", why=f"a Parquet file with the columns {columns}")
    first = one_hot_id(header, asked.id_column, name)
    kinds = [kind for i, kind in enumerate(schema.values()) if i != first]
    if all(kind == pl.Boolean or kind.is_numeric() for kind in kinds):
        why = "a Parquet file of numbers or truth values with one column per item"
        return replace(found, format="one-hot", why=why)
    shown = ", ".join(repr(column) for column in header[:8])
    raise InputError(
        f"it is not clear how this Parquet file is laid out; its columns are {shown}",
        where=name,
        fix="name the columns with --id and --item (id=, item=)",
    )
