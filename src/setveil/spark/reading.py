"""Reading data that is distributed: Parquet with lists or long, FIMI and basket text."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from setveil.engine.spark import Spark, spoken_errors
from setveil.errors import InputError, ParameterError
from setveil.io.delimited import checked_delimiter
from setveil.io.formats_delimited import ID_NAMES, ITEM_NAMES, column_place, find_column
from setveil.spark.sources import check_source, place_of, reader_of
from setveil.spark.table import ITEMS, DistributedTable, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FORMATS = ("parquet", "fimi", "basket")
TEXTS = frozenset({"string", "tinyint", "smallint", "int", "bigint", "decimal(20,0)", "void"})
"""What items may be: texts, and whole numbers (the last but one is what Spark makes of uint64)."""
NUMBERS = r"^[ \t]*((0|[1-9][0-9]{0,17})[ \t]+)*(0|[1-9][0-9]{0,17})?[ \t]*\r?$"


def read_distributed(
    path: str,
    engine: Spark | None = None,
    *,
    format: str | None = None,  # noqa: A002  (as in setveil.read)
    delimiter: str = ",",
    id: str | None = None,  # noqa: A002
    item: str | None = None,
    on_error: str = "raise",
) -> DistributedTable:
    """Read records where they are: a file, a directory or a pattern that all workers can read.

    Parameters
    ----------
    path
        Files on a shared disk, or an address such as ``hdfs://...`` or ``s3a://...``.
    engine
        The Spark that reads; all cores of this machine if not given.
    format
        ``parquet`` (a column of lists, or long), ``fimi`` (numbers with blanks between them) or
        ``basket`` (names with `delimiter` between them, without quotes). By the ending of `path`
        if not given: ``.dat`` and ``.fimi`` are FIMI's.
    delimiter
        What separates the names of a basket.
    id, item
        Columns of Parquet; found by their usual names if not given.
    on_error
        ``"raise"`` stops at a record of Parquet that cannot be read, such as a list with a null
        in it or a row without an id; ``"skip"`` leaves it out.

    Notes
    -----
    Text is not searched for a header, and a line that cannot be read stops the reading.
    """
    chosen = format or _guessed(path)
    if chosen not in FORMATS:
        raise ParameterError(
            f"Spark cannot read the format {chosen!r}", fix=f"use one of {', '.join(FORMATS)}"
        )
    if on_error not in {"raise", "skip"}:
        raise ParameterError(f"on_error is {on_error!r}", fix="use 'raise' or 'skip'")
    check_source(path, parquet=chosen == "parquet")
    session = (engine or Spark()).start()
    reader, place = reader_of(session, path), place_of(path)
    with spoken_errors():
        if chosen == "parquet":
            return _from_parquet(reader.parquet(place), id, item, path, on_error)
        lines = reader.text(place)
        rows = _numbers() if chosen == "fimi" else _names(checked_delimiter(delimiter))
        return DistributedTable.from_frame(lines.select(rows.alias(ITEMS)))


def _guessed(path: str) -> str:
    return {".dat": "fimi", ".fimi": "fimi", ".basket": "basket", ".txt": "basket"}.get(
        PurePath(path).suffix.lower(), "parquet"
    )


def _from_parquet(
    frame: DataFrame,
    id_column: str | None,
    item_column: str | None,
    where: str,
    on_error: str,
) -> DistributedTable:
    from pyspark.sql import functions as sql  # noqa: PLC0415  (an extra)

    kinds = dict(frame.dtypes)
    lists = [name for name, kind in kinds.items() if kind.startswith("array<")]
    place = find_column(frame.columns, item_column, ITEM_NAMES)
    if lists and (place is None or frame.columns[place] in lists):
        usual = ITEM_NAMES if len(lists) > 1 else tuple(name.lower() for name in lists)
        item = lists[column_place(lists, item_column, usual, "item", where)]
        _check_kind(item, kinds[item].removeprefix("array<").removesuffix(">"), where)
        column = sql.col(quoted(item))
        missing = sql.coalesce(sql.exists(column, sql.isnull), sql.lit(False))
        said = "a list holds a null. To fix: leave missing items out, or use --on-error skip"
        frame = _without(frame, item, missing, f"{where}: {said}", on_error)
        return DistributedTable.from_frame(frame, id=id_column, item=item)
    header = frame.columns
    item = header[column_place(header, item_column, ITEM_NAMES, "item", where)]
    _check_kind(item, kinds[item], where)
    name = header[column_place(header, id_column, ID_NAMES, "id", where)]
    said = f"a row has no {name!r}. To fix: give every row an id, or use --on-error skip"
    frame = _without(frame, name, sql.isnull(sql.col(quoted(name))), f"{where}: {said}", on_error)
    return DistributedTable.from_frame(frame, id=name, item=item)


def _check_kind(column: str, kind: str, where: str) -> None:
    """Refuse items that are neither texts nor whole numbers."""
    if kind not in TEXTS:
        raise InputError(
            f"the items in {column!r} are of type {kind}, not texts or whole numbers",
            where=where,
            fix="convert the column to text, or name another",
        )


def _without(frame: DataFrame, column: str, wrong: Column, said: str, on_error: str) -> DataFrame:
    """Leave out rows that are wrong, or stop at the first when it is read."""
    from pyspark.sql import functions as sql  # noqa: PLC0415

    if on_error == "skip":
        return frame.where(~wrong)
    stop = sql.raise_error(sql.lit(f"InputError: {said}"))
    return frame.withColumn(column, sql.when(wrong, stop).otherwise(sql.col(quoted(column))))


def _numbers() -> Column:
    from pyspark.sql import functions as sql  # noqa: PLC0415  (an extra)

    line = sql.col("value")
    said = _line_said("this line is not numbers", line, "check it, or its --format")
    checked = sql.when(line.rlike(NUMBERS), line).otherwise(sql.raise_error(said))
    return _without_empty(sql.split(checked, r"[ \t\r]+"))


def _names(delimiter: str) -> Column:
    import re  # noqa: PLC0415

    from pyspark.sql import functions as sql  # noqa: PLC0415

    line = sql.rtrim(sql.col("value"), sql.lit("\r"))
    parts = sql.transform(
        sql.split(line, re.escape(delimiter)), lambda name: sql.trim(name, sql.lit(" \t"))
    )
    in_quotes = sql.exists(parts, lambda name: name.startswith('"'))
    said = _line_said("this line has quotes", line, "use --engine local, which reads them")
    return _without_empty(sql.when(in_quotes, sql.raise_error(said)).otherwise(parts))


def _line_said(what: str, line: Column, fix: str) -> Column:
    """Return what an error says about a line of a file."""
    from pyspark.sql import functions as sql  # noqa: PLC0415

    return sql.concat(
        sql.lit("InputError: "),
        sql.input_file_name(),
        sql.lit(f": {what}: "),
        sql.substring(line, 1, 60),
        sql.lit(f". To fix: {fix}"),
    )


def _without_empty(names: Column) -> Column:
    from pyspark.sql import functions as sql  # noqa: PLC0415

    return sql.filter(names.cast("array<string>"), lambda name: name != "")
