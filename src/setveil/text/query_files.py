"""Query logs on disk: who asked what, and when, in files of columns."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from setveil.core.errors import InputError
from setveil.core.files import shown_name
from setveil.io.delimited import checked_delimiter
from setveil.io.sources import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

USER_NAMES = ("anonid", "user", "user_id", "userid", "user id", "uid", "client", "cookie")
QUERY_NAMES = ("query", "querytext", "query_text", "q", "search", "searchterm", "keywords", "text")
TIME_NAMES = ("querytime", "time", "timestamp", "datetime", "date", "query_time")
DELIMITERS = ("\t", ",", ";", "|")
ENDINGS = (".txt", ".tsv", ".csv", ".tab", ".log")
COMPRESSED = (".gz", ".zst", ".zstd")
BLOCK = 1 << 25
"""Bytes that are taken apart at once."""


@dataclass(frozen=True, kw_only=True)
class QueryLog:
    """A log whose files are read piece by piece when its records are made.

    Parameters
    ----------
    files
        The files; all have the same columns.
    columns
        The names of all columns, in their order.
    delimiter
        What separates them.
    user, query
        Which columns hold who asked, and what.
    time
        Which column holds when; None where there is none.
    """

    files: tuple[str, ...]
    columns: tuple[str, ...]
    delimiter: str
    user: str
    query: str
    time: str | None = None

    def batches(self) -> Iterator[pl.DataFrame]:
        """Yield the columns ``user``, ``query`` and ``time`` as texts, some lines at a time."""
        for file in self.files:
            with Source(file) as source:
                source.refuse_foreign()
                header = _header(source)
                if _split(header, self.delimiter) != list(self.columns):
                    raise InputError(
                        "this file has other columns than the first one",
                        where=source.name,
                        fix=f"give files with the columns {', '.join(self.columns)}",
                    )
                yield from self._parsed(source)

    def _parsed(self, source: Source) -> Iterator[pl.DataFrame]:
        import polars as pl

        # Without quotes a line is a row, wherever the blocks end. With them a field may hold line
        # ends, so that the text is needed as a whole.
        plain = self.delimiter == "\t"
        blocks = source.blocks(BLOCK) if plain else [source.read_all()]
        wanted = {"user": self.user, "query": self.query}
        if self.time is not None:
            wanted["time"] = self.time
        for number, block in enumerate(blocks):
            body = block.partition(b"\n")[2] if number == 0 else block
            if not body.strip():
                continue
            try:
                frame = pl.read_csv(
                    body,
                    has_header=False,
                    schema={str(i): pl.String for i in range(len(self.columns))},
                    separator=self.delimiter,
                    quote_char=None if plain else '"',
                    encoding="utf8-lossy",
                    truncate_ragged_lines=True,
                )
            except pl.exceptions.PolarsError as error:
                raise InputError(
                    f"the columns cannot be taken apart: {str(error).splitlines()[0]}",
                    where=source.name,
                    fix="check the quotes and the delimiter",
                ) from None
            places = {name: str(self.columns.index(column)) for name, column in wanted.items()}
            texts = frame.select(
                **{name: pl.col(place).fill_null("") for name, place in places.items()}
            )
            yield texts.filter(pl.any_horizontal(pl.all() != ""))  # without blank lines


def read_queries(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    user: str | None = None,
    query: str | None = None,
    time: str | None = None,
    delimiter: str | None = None,
) -> QueryLog:
    r"""Find the columns of a query log; its lines are read by :func:`transactions`.

    Parameters
    ----------
    path
        A file, plain or compressed by gzip or zstd, several files, or a folder of them. The
        first line names the columns: those of the AOL log (AnonID, Query, QueryTime, ItemRank,
        ClickURL, tab separated) or any others.
    user, query, time
        Names of the columns; found by their usual names if not given. Of all other columns
        nothing is kept.
    delimiter
        What separates columns; also ``tab``. Found in the first line if not given. Fields may be
        quoted unless it is a tab.

    Returns
    -------
    QueryLog
        The files and their columns.

    Raises
    ------
    InputError
        A file cannot be read, or there is no column of users or queries.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "log.txt")
    ...     _ = file.write_text("AnonID\tQuery\tQueryTime\n7\tgood wine\t2006-03-01 21:29:00\n")
    ...     log = read_queries(file)
    ...     log.user, log.query, log.time, [batch.rows() for batch in log.batches()]
    ('AnonID', 'Query', 'QueryTime', [[('7', 'good wine', '2006-03-01 21:29:00')]])
    """
    files = _files(path)
    with Source(files[0]) as source:
        source.refuse_foreign()
        header = _header(source)
        where = source.name
    if delimiter is None:
        delimiter = max(DELIMITERS, key=lambda each: (header.count(each), each == "\t"))
    else:
        delimiter = checked_delimiter(delimiter)
    columns = _split(header, delimiter)
    found_user = _column(columns, user, USER_NAMES, name="user", where=where)
    found_query = _column(columns, query, QUERY_NAMES, name="query", where=where)
    found_time = None
    if time is not None or {name.lower() for name in columns} & set(TIME_NAMES):
        found_time = _column(columns, time, TIME_NAMES, name="time", where=where)
    return QueryLog(
        files=files,
        columns=tuple(columns),
        delimiter=delimiter,
        user=found_user,
        query=found_query,
        time=found_time,
    )


def _files(path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    files: list[str] = []
    for each in given:
        name = os.fspath(each)
        if name == "-":
            raise InputError(
                "a query log cannot come from standard input: its first line is read twice",
                fix="name a file",
            )
        if not Path(name).is_dir():
            files.append(name)
            continue
        inside = sorted(str(file) for file in Path(name).iterdir() if _is_log(file))
        if not inside:
            raise InputError(
                "this folder holds no file of columns",
                where=shown_name(each),
                fix=f"give files that end in {', '.join(ENDINGS)}, perhaps compressed",
            )
        files += inside
    if not files:
        raise InputError("no file is named", fix="name the files of a query log")
    return tuple(files)


def _is_log(file: Path) -> bool:
    name = file.name.lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return file.is_file() and name.endswith(ENDINGS) and not name.startswith(".")


def _header(source: Source) -> str:
    line = source.head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    return line.decode(errors="replace").removesuffix("\r")


def _split(header: str, delimiter: str) -> list[str]:
    return [name.strip().strip('"').strip() for name in header.split(delimiter)]


def _column(
    columns: list[str], asked: str | None, usual: tuple[str, ...], *, name: str, where: str
) -> str:
    """Return the column that was asked for, or the first with a usual name."""
    lower = {column.lower(): column for column in reversed(columns)}
    for candidate in usual if asked is None else (asked,):
        if candidate in columns:
            return candidate
        if candidate.lower() in lower:
            return lower[candidate.lower()]
    missing = f"no column {asked!r}" if asked else f"no column for the {name}"
    raise InputError(
        f"there is {missing} in {', '.join(map(repr, columns))[:200]}",
        where=f"{where}, line 1",
        fix=f"name it ({name}=..., --{name}-column NAME); the first line must hold the names",
    )
