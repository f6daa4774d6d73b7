"""From query logs to records: one per user, per session or per query.

Of a log only the words of the queries go further: no identifier, no time, no clicked address. The
words themselves may still name a person, as they did when AOL published a log in 2006.

References
----------
.. [1] J. Shao, H. Ong: Exploiting contextual information in attacking set-generalized
   transactions. ACM Transactions on Internet Technology 17 (4), 2017, section 6.1.2.
.. [2] A. Milani Fard: Clustering-based web query log anonymization. Thesis, Simon Fraser
   University, 2010, section 6.1.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import InputError, ParameterError
from setveil.core.files import shown_name
from setveil.core.params import is_whole
from setveil.core.table import TransactionTable, take_rows
from setveil.io.delimited import checked_delimiter, header_delimiter
from setveil.io.sources import Source, plain_ending
from setveil.text.extract import Extractor, TableFigures, cores, extract_batches

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import polars as pl

    from setveil.core.arrays import Int64Array
    from setveil.core.threads import Progress


PER = ("user", "session", "query")
ITEMS = ("queries", "noun-phrases", "nouns", "tokens")
TIME_FORMATS = (
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%m/%d/%Y %H:%M:%S%.f",
    "%m/%d/%Y %H:%M",
)
LONGEST_GAP = 10_000_000
"""Minutes between two queries of a session at most: some 19 years."""

BATCH = 5000
"""Queries that a process takes apart at a time."""
WORTH_IT = 100_000
"""Queries below which starting processes takes longer than the work."""


@dataclass(frozen=True, kw_only=True)
class QueryReport(TableFigures):
    """What `transactions` met and made.

    Parameters
    ----------
    lines
        Lines of the log, without those that name the columns.
    without_user, without_query, without_time
        Lines that were left out because they lack what is needed. A query needs a letter or a
        digit; a time is needed only for sessions.
    users, queries
        Different users, and different queries.
    without_items
        Users, sessions or queries that gave no item; they give no record.
    records, items, occurrences
        Size of the table: rows, different items, items over all rows.
    """

    lines: int
    without_user: int
    without_query: int
    without_time: int
    users: int
    queries: int
    without_items: int
    records: int
    items: int
    occurrences: int

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as JSON holds them."""
        return {**asdict(self), "length_mean": self.length_mean, "ttr": self.ttr}

    def sentences(self) -> list[str]:
        """Return what was left out, in words."""
        met = (
            (self.without_user, "without a user was left out", "without a user were left out"),
            (self.without_query, "without a query was left out", "without a query were left out"),
            (
                self.without_time,
                "whose time cannot be read was left out",
                "whose time cannot be read were left out",
            ),
        )
        said = [
            f"{number:,} {'line' if number == 1 else 'lines'} {one if number == 1 else many}."
            for number, one, many in met
            if number
        ]
        if self.without_items:
            said.append(f"Left out for want of an item: {self.without_items:,} records.")
        return said


def transactions(
    log: QueryLog,
    *,
    per: str = "user",
    gap_minutes: float = 30,
    items: str = "noun-phrases",
    short: int = 2,
    words: Collection[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> tuple[TransactionTable, QueryReport]:
    r"""Return the records of a log, sorted by content, and what became of its lines.

    Parameters
    ----------
    log
        What :func:`read_queries` found.
    per
        What becomes a record: a ``user``, a ``session`` (queries of a user without a longer
        pause), or each different ``query`` of a user.
    gap_minutes
        The pause that ends a session.
    items
        ``queries`` (as they were typed), ``noun-phrases`` (of longer queries; short ones whole),
        ``nouns`` or ``tokens``.
    short
        Queries of up to this many words are whole items under ``noun-phrases``: two words have
        no grammar to go by.
    words
        If given, only these items are kept, for example the words of a taxonomy.
    workers
        Number of processes; None takes one per core where there is enough to do.
    progress
        Called with (stage, done, total).

    Returns
    -------
    tuple of TransactionTable and QueryReport
        The records, and the report.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> lines = ["AnonID\tQuery\tQueryTime", "7\tgood wine\t2006-03-01 21:29:00",
    ...          "7\taccent marks\t2006-03-01 22:04:00", "7\tAccent Marks\t2006-03-01 22:05:00",
    ...          "9\tsudden weight loss\t2006-03-03 19:21:00"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "log.txt").write_text("\n".join(lines))
    ...     log = read_queries(pathlib.Path(folder, "log.txt"))
    ...     transactions(log)[0].to_rows(), len(transactions(log, per="session")[0])
    ([['accent mark', 'good wine'], ['loss', 'sudden weight']], 3)
    """
    _check(per, gap_minutes, items, short)
    if per == "session" and log.time is None:
        raise ParameterError(
            "sessions need times, and the log has no column of them",
            fix="name the column (time=..., --time-column), or make records per user",
        )
    met = {"lines": 0, "without_user": 0, "without_query": 0, "without_time": 0}
    asked = _collect(log, per, gap_minutes, met, progress)
    if not len(asked):
        raise InputError(
            "no line of the log holds a user and a query", fix="check the columns and the files"
        )
    texts = asked["query"].unique().sort()
    found = query_items(
        texts.to_list(), items=items, short=short, workers=workers, progress=progress
    )
    table = _table(asked, texts, found, None if words is None else frozenset(words))
    kept = np.flatnonzero(table.lengths)
    without_items = len(table) - len(kept)
    if not len(kept):
        raise InputError(
            f"none of {len(texts):,} queries gives an item",
            fix="check the column of queries, and the words to keep",
        )
    table = table.take(kept)
    table = table.take(table.canonical_order())
    report = QueryReport(
        **met,
        users=asked["user"].n_unique(),
        queries=len(texts),
        without_items=without_items,
        records=len(table),
        items=table.n_items,
        occurrences=len(table.items),
    )
    return table, report


def _check(per: str, gap_minutes: float, items: str, short: int) -> None:
    if per not in PER:
        raise ParameterError(f"per is {per!r}", fix=f"use one of {', '.join(PER)}")
    if items not in ITEMS:
        raise ParameterError(f"items is {items!r}", fix=f"use one of {', '.join(ITEMS)}")
    if not 1 / 60 <= gap_minutes <= LONGEST_GAP:
        raise ParameterError(
            f"gap_minutes is {gap_minutes!r}",
            fix=f"use minutes from a second (0.017) to {LONGEST_GAP:,}",
        )
    if not is_whole(short, 0):
        raise ParameterError(f"short is {short!r}", fix="use a whole number of at least 0")


# --- who asked what -----------------------------------------------------------------------------


def _collect(
    log: QueryLog, per: str, gap_minutes: float, met: dict[str, int], progress: Progress | None
) -> pl.DataFrame:
    """Return ``user``, ``record`` and ``query``, each combination once."""
    import polars as pl

    clean = pl.col("query").str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
    parts = []
    for batch in log.batches():
        met["lines"] += len(batch)
        named = batch.with_columns(pl.col("user").str.strip_chars()).filter(pl.col("user") != "")
        met["without_user"] += len(batch) - len(named)
        spoken = named.with_columns(query=clean).filter(
            pl.col("query").str.contains(r"[\p{L}\p{N}]")
        )
        met["without_query"] += len(named) - len(spoken)
        if per == "session":
            timed = spoken.with_columns(time=_times(pl.col("time"))).drop_nulls("time")
            met["without_time"] += len(spoken) - len(timed)
            parts.append(timed.unique())
        else:
            parts.append(spoken.select("user", "query").unique())
        if progress:
            progress("reading", met["lines"], 0)
    if not parts:
        return pl.DataFrame(schema={"user": pl.String, "query": pl.String, "record": pl.Int64})
    whole = pl.concat(parts).unique()
    if per == "query":
        return whole.with_row_index("record")
    if per == "user":
        return whole.with_columns(record=pl.col("user").rank("dense"))
    ordered = whole.sort("user", "time")
    pause = pl.col("time").diff() > pl.duration(seconds=round(gap_minutes * 60))
    fresh = pause | (pl.col("user") != pl.col("user").shift())
    sessions = ordered.with_columns(record=fresh.fill_null(value=True).cum_sum())
    return sessions.select("user", "record", "query").unique()


def _times(column: pl.Expr) -> pl.Expr:
    """Return texts as times, in whatever of the usual ways they are written."""
    import polars as pl

    plain = column.str.strip_chars().str.replace(r"\s*(?:Z|UTC)$", "")
    written = [
        plain.str.to_datetime(each, strict=False, time_unit="us", exact=True)
        for each in TIME_FORMATS
    ]
    micros = (plain.cast(pl.Float64, strict=False) * 1e6).round().cast(pl.Int64, strict=False)
    return pl.coalesce(*written, micros.cast(pl.Datetime("us")))


# --- what a query is about ----------------------------------------------------------------------


def query_items(
    queries: list[str],
    *,
    items: str = "noun-phrases",
    short: int = 2,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[list[str]]:
    """Return the items of each query; the parameters are those of :func:`transactions`.

    >>> query_items(["accent marks", "body mass index", "the"])
    [['accent mark'], ['body mass', 'index'], []]
    """
    from setveil.text.inflection import known_singular
    from setveil.text.noun_phrases import STOP_WORDS

    if items == "queries":
        return [[query] for query in queries]
    found: list[list[str]] = [[] for _ in queries]
    longer = list(range(len(queries)))
    if items == "noun-phrases":
        longer = []
        for place, query in enumerate(queries):
            parts = query.split(" ")
            if len(parts) > short:
                longer.append(place)
            elif not STOP_WORDS.issuperset(parts):
                found[place] = [" ".join([*parts[:-1], known_singular(parts[-1])])]
    wanted = cores() if workers is None else workers
    processes = wanted if wanted > 1 and len(longer) >= WORTH_IT else 0
    batches = [longer[at : at + BATCH] for at in range(0, len(longer), BATCH)]
    texts = ([queries[place] for place in batch] for batch in batches)
    done = 0
    with closing(extract_batches(Extractor(method=items), texts, processes)) as answers:
        for batch, answer in zip(batches, answers, strict=True):
            for place, row in zip(batch, answer["rows"], strict=True):
                found[place] = row
            done += len(batch)
            if progress:
                progress("extracting", done, len(longer))
    return found


def _table(
    asked: pl.DataFrame, texts: pl.Series, found: list[list[str]], words: frozenset[str] | None
) -> TransactionTable:
    """Return the records: of each, the items of its queries."""
    import polars as pl

    numbers: dict[str, int] = {}
    flat: list[int] = []
    ends = [0]
    for items in found:
        kept = items if words is None else [item for item in items if item in words]
        flat += [numbers.setdefault(item, len(numbers)) for item in kept]
        ends.append(len(flat))
    place = pl.DataFrame({"query": texts, "place": np.arange(len(texts))})
    pairs = asked.join(place, on="query").sort("record")
    records: Int64Array = pairs["record"].to_numpy().astype(np.int64)
    taken, held = take_rows(
        np.array(ends, dtype=np.int64), np.array(flat, dtype=np.int64), pairs["place"].to_numpy()
    )
    starts = np.flatnonzero(np.diff(records, prepend=-1))
    offsets = taken[np.append(starts, len(records))]
    return TransactionTable.from_csr(offsets, held, list(numbers))


# --- Query logs on disk: who asked what, and when, in files of columns ---

USER_NAMES = ("anonid", "user", "user_id", "userid", "user id", "uid", "client", "cookie")
QUERY_NAMES = ("query", "querytext", "query_text", "q", "search", "searchterm", "keywords", "text")
TIME_NAMES = ("querytime", "time", "timestamp", "datetime", "date", "query_time")
ENDINGS = (".txt", ".tsv", ".csv", ".tab", ".log")
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
                yield from self._parse(source)

    def _parse(self, source: Source) -> Iterator[pl.DataFrame]:
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
    delimiter = header_delimiter(header) if delimiter is None else checked_delimiter(delimiter)
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
        inside = sorted(
            str(file)
            for file in Path(name).iterdir()
            if plain_ending(file.name) in ENDINGS and file.is_file() and file.name[0] != "."
        )
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
