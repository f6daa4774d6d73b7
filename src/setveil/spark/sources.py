"""Files that Spark is to read: looked at first, where they are on this machine.

Spark takes names for patterns and passes over what it does not like. Here a name is a name, and
what would be passed over is told.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from setveil.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrameReader, SparkSession

HIDDEN = ("_", ".")
FORBIDDEN = ":\\"
"""Letters that Java's names of files cannot have."""


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
