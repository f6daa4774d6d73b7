"""Reading data that is distributed: Parquet with lists or long, FIMI and basket text."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from setveil.data.delimited import checked_delimiter
from setveil.data.formats_delimited import ID_NAMES, ITEM_NAMES, column_place, find_column
from setveil.engine.spark import Spark, spoken_errors
from setveil.errors import ParameterError
from setveil.spark.table import ITEMS, DistributedTable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FORMATS = ("parquet", "fimi", "basket")
NUMBERS = r"^[ \t]*((0|[1-9][0-9]{0,17})[ \t]+)*(0|[1-9][0-9]{0,17})?[ \t]*\r?$"


def read_distributed(
    path: str,
    engine: Spark | None = None,
    *,
    format: str | None = None,  # noqa: A002  (as in setveil.read)
    delimiter: str = ",",
    id: str | None = None,  # noqa: A002
    item: str | None = None,
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

    Notes
    -----
    Text is not searched for a header, and a line that cannot be read stops the reading.
    """
    chosen = format or _guessed(path)
    if chosen not in FORMATS:
        raise ParameterError(
            f"Spark cannot read the format {chosen!r}", fix=f"use one of {', '.join(FORMATS)}"
        )
    session = (engine or Spark()).start()
    place = found_from_here(path)
    with spoken_errors():
        if chosen == "parquet":
            return _from_parquet(session.read.parquet(place), id, item, path)
        lines = session.read.text(place)
        rows = _numbers() if chosen == "fimi" else _names(checked_delimiter(delimiter))
        return DistributedTable.from_frame(lines.select(rows.alias(ITEMS)))


def address_of(path: str | Path) -> str:
    """Return the whole name of a file of this machine as Java reads it: spaces stay spaces.

    >>> address_of("/data/of mine.parquet")
    'file:///data/of mine.parquet'
    """
    return f"file://{Path(path).resolve()}"


def found_from_here(path: str) -> str:
    """Return the whole name of a file that is found from here: Java may work in another place.

    >>> found_from_here("hdfs://somewhere/a.parquet")
    'hdfs://somewhere/a.parquet'
    """
    near = "://" not in path and not Path(path).is_absolute() and Path(path).exists()
    return address_of(path) if near else path


def _guessed(path: str) -> str:
    return {".dat": "fimi", ".fimi": "fimi", ".basket": "basket", ".txt": "basket"}.get(
        PurePath(path).suffix.lower(), "parquet"
    )


def _from_parquet(
    frame: DataFrame, id_column: str | None, item_column: str | None, where: str
) -> DistributedTable:
    kinds = dict(frame.dtypes)
    lists = [name for name, kind in kinds.items() if kind.startswith("array<")]
    place = find_column(frame.columns, item_column, ITEM_NAMES)
    if lists and (place is None or frame.columns[place] in lists):
        usual = ITEM_NAMES if len(lists) > 1 else tuple(name.lower() for name in lists)
        item = lists[column_place(lists, item_column, usual, "item", where)]
        return DistributedTable.from_frame(frame, id=id_column, item=item)
    header = frame.columns
    return DistributedTable.from_frame(
        frame,
        id=header[column_place(header, id_column, ID_NAMES, "id", where)],
        item=header[column_place(header, item_column, ITEM_NAMES, "item", where)],
    )


def _numbers() -> Column:
    from pyspark.sql import functions as sql  # noqa: PLC0415  (an extra)

    line = sql.col("value")
    said = sql.concat(sql.lit("InputError: this line is not numbers: "), sql.substring(line, 1, 60))
    checked = sql.when(line.rlike(NUMBERS), line).otherwise(sql.raise_error(said))
    return _without_empty(sql.split(checked, r"[ \t\r]+"))


def _names(delimiter: str) -> Column:
    import re  # noqa: PLC0415

    from pyspark.sql import functions as sql  # noqa: PLC0415

    line = sql.rtrim(sql.col("value"), sql.lit("\r"))
    parts = sql.transform(
        sql.split(line, re.escape(delimiter)), lambda name: sql.trim(name, sql.lit(" \t"))
    )
    quoted = sql.exists(parts, lambda name: name.startswith('"'))
    said = sql.concat(sql.lit("InputError: this line has quotes: "), sql.substring(line, 1, 60))
    return _without_empty(sql.when(quoted, sql.raise_error(said)).otherwise(parts))


def _without_empty(names: Column) -> Column:
    from pyspark.sql import functions as sql  # noqa: PLC0415

    return sql.filter(names.cast("array<string>"), lambda name: name != "")
