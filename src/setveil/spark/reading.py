"""Reading data that is distributed: Parquet with lists or long, FIMI and basket text.

Spark takes names for patterns and passes over what it does not like. Here a name is a name, and
what would be passed over is told: files are looked at first, where they are on this machine.
"""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from setveil.core.errors import InputError, ParameterError
from setveil.engine.spark import Spark, spoken_errors
from setveil.io.column_names import is_item_name, record_kind
from setveil.io.delimited import checked_delimiter
from setveil.io.layout import listed
from setveil.io.roles import resolve
from setveil.spark.table import ITEMS, DistributedTable, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession

FORMATS = ("parquet", "fimi", "basket")
TEXTS = frozenset({"string", "tinyint", "smallint", "int", "bigint", "decimal(20,0)", "void"})
"""What items may be: texts, and whole numbers (the last but one is what Spark makes of uint64)."""
NUMBERS = r"^[ \t]*((0|[1-9][0-9]{0,17})[ \t]+)*(0|[1-9][0-9]{0,17})?[ \t]*\r?$"
HIDDEN = ("_", ".")
FORBIDDEN = ":\\"
"""Letters that Java's names of files cannot have."""


def read_distributed(
    path: str,
    engine: Spark | None = None,
    *,
    format: str | None = None,
    delimiter: str = ",",
    id: str | None = None,
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
    from pyspark.sql import functions as sql

    kinds = dict(frame.dtypes)
    lists = [name for name, kind in kinds.items() if kind.startswith("array<")]
    if lists and (item_column is None or item_column in lists):
        item = item_column or (lists[0] if len(lists) == 1 else _only(lists, "item", where))
        _check_kind(item, kinds[item].removeprefix("array<").removesuffix(">"), where)
        column = sql.col(quoted(item))
        missing = sql.coalesce(sql.exists(column, sql.isnull), sql.lit(False))
        said = "a list holds a null. To fix: leave missing items out, or use --on-error skip"
        frame = _without(frame, item, missing, f"{where}: {said}", on_error)
        return DistributedTable.from_frame(frame, id=id_column, item=item)
    header = frame.columns
    item = _named(header, item_column, "item", where)
    _check_kind(item, kinds[item], where)
    name = _named(header, id_column, "id", where)
    said = f"a row has no {name!r}. To fix: give every row an id, or use --on-error skip"
    frame = _without(frame, name, sql.isnull(sql.col(quoted(name))), f"{where}: {said}", on_error)
    return DistributedTable.from_frame(frame, id=name, item=item)


def _named(header: list[str], asked: str | None, what: str, where: str) -> str:
    """Return a column: the one asked for, or the only one whose name says what it is."""
    if asked is not None:
        return header[resolve(asked, header, f"--{what}", where)]
    return _only(header, what, where)


def _only(header: list[str], what: str, where: str) -> str:
    fits = is_item_name if what == "item" else record_kind
    found = [name for name in header if fits(name)]
    if len(found) != 1:
        said = f"there is no column for the {what} among {listed(header)}"
        if found:
            said = f"the columns {listed(found)} may all be the {what}"
        raise InputError(
            said, where=where, fix=f"name the column with --{what} ({what}= in Python)"
        )
    return found[0]


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
    from pyspark.sql import functions as sql

    if on_error == "skip":
        return frame.where(~wrong)
    stop = sql.raise_error(sql.lit(f"InputError: {said}"))
    return frame.withColumn(column, sql.when(wrong, stop).otherwise(sql.col(quoted(column))))


def _numbers() -> Column:
    from pyspark.sql import functions as sql

    line = sql.col("value")
    said = _line_said("this line is not numbers", line, "check it, or its --format")
    checked = sql.when(line.rlike(NUMBERS), line).otherwise(sql.raise_error(said))
    return _without_empty(sql.split(checked, r"[ \t\r]+"))


def _names(delimiter: str) -> Column:
    import re

    from pyspark.sql import functions as sql

    line = sql.rtrim(sql.col("value"), sql.lit("\r"))
    parts = sql.transform(
        sql.split(line, re.escape(delimiter)), lambda name: sql.trim(name, sql.lit(" \t"))
    )
    in_quotes = sql.exists(parts, lambda name: name.startswith('"'))
    said = _line_said("this line has quotes", line, "use --engine local, which reads them")
    return _without_empty(sql.when(in_quotes, sql.raise_error(said)).otherwise(parts))


def _line_said(what: str, line: Column, fix: str) -> Column:
    """Return what an error says about a line of a file."""
    from pyspark.sql import functions as sql

    return sql.concat(
        sql.lit("InputError: "),
        sql.input_file_name(),
        sql.lit(f": {what}: "),
        sql.substring(line, 1, 60),
        sql.lit(f". To fix: {fix}"),
    )


def _without_empty(names: Column) -> Column:
    from pyspark.sql import functions as sql

    return sql.filter(names.cast("array<string>"), lambda name: name != "")


# --- files that Spark is to read ------------------------------------------------------------------


def address_of(path: str | Path) -> str:
    """Return the whole name of a file of this machine as Java reads it: spaces stay spaces.

    >>> address_of("/data/of mine.parquet")
    'file:///data/of mine.parquet'
    """
    return f"file://{Path(path).resolve()}"


def place_of(path: str) -> str:
    """Return where Spark finds what a user names: Java may work in another directory.

    >>> place_of("hdfs://somewhere/a.parquet"), place_of("/data/a.parquet")
    ('hdfs://somewhere/a.parquet', 'file:///data/a.parquet')
    """
    return path if "://" in path else address_of(path)


def reader_of(session: SparkSession, path: str | Path) -> DataFrameReader:
    """Return what reads a file or directory; where it is on this machine, its name is no pattern.

    A pattern such as ``logs/*.parquet`` is one only if nothing has that name.
    """
    if "://" not in str(path) and Path(path).exists():
        return session.read.option("__globPaths__", "false")
    return session.read


def check_source(path: str, *, parquet: bool = False) -> None:
    """Refuse what Spark would pass over in silence; what is elsewhere is left to Spark.

    Parameters
    ----------
    path
        A file, a directory, or an address.
    parquet
        Whether it is Parquet: then all files of a directory must have the same columns.

    Raises
    ------
    InputError
        A file is hidden, empty or not like the others, or a directory holds none.
    """
    place = Path(path)
    if "://" in path or not place.exists():
        return
    if any(letter in str(place.resolve()) for letter in FORBIDDEN):
        raise InputError(
            "Spark cannot read names with : or \\", where=path, fix="rename it, or its directory"
        )
    if place.is_file():
        if place.name.startswith(HIDDEN):
            raise InputError(
                "Spark passes over files whose names begin with _ or .", where=path, fix="rename it"
            )
        return
    files = list(_files(place))
    if not files:
        raise InputError("there is no file in this directory", where=path, fix="check the path")
    if parquet:
        _check_columns(files)


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files that Spark reads in a directory; ``name=value`` are parts of one."""
    seen = [path for path in sorted(folder.iterdir()) if not path.name.startswith(HIDDEN)]
    files = [path for path in seen if path.is_file()]
    for path in seen:
        if any(letter in path.name for letter in FORBIDDEN):
            raise InputError(
                "Spark cannot read names with : or \\", where=str(path), fix="rename it"
            )
        if path not in files and (files or "=" not in path.name):
            raise InputError(
                "Spark would pass over this directory within the one that is named",
                where=str(path),
                fix="move its files up, or name it instead",
            )
    yield from files
    for path in seen:
        if path.is_dir():
            yield from _files(path)


def _check_columns(files: list[Path]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = None
    for path in files:
        try:
            schema = pq.read_schema(path)
        except (pa.ArrowInvalid, OSError):
            raise InputError(
                "this is no Parquet file, or a damaged one",
                where=str(path),
                fix="take it out of the directory, or copy it again",
            ) from None
        columns = {field.name: str(field.type) for field in schema}
        first = first or (path.name, columns)
        if columns != first[1]:
            here, there = (
                ", ".join(f"{name} ({kind})" for name, kind in sorted(said.items()))
                for said in (columns, first[1])
            )
            raise InputError(
                f"this file has the columns {here}, and {first[0]} has {there}",
                where=str(path),
                fix="give all files of a directory the same columns",
            )
