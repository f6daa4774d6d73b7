"""Tables in files: delimited text, JSON lines and Parquet, plain or compressed.

``read_frame(path, delimiter=None) -> polars.DataFrame`` and ``write_frame(frame, path)``.
"""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from setveil.core.errors import InputError, ParameterError
from setveil.core.files import output_file, shown_name
from setveil.core.parquet import read_parquet
from setveil.io.delimited import checked_delimiter, header_delimiter
from setveil.io.sources import PARQUET_MAGIC, Source

if TYPE_CHECKING:
    import os

    import polars as pl

# Written as a number usually is: 02138 is a code and no number, as its first digit tells.
WHOLE = r"^-?(0|[1-9][0-9]{0,17})$"
SAFE = 15  # digits: so many always tell floats apart
DECIMAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$"


def read_frame(path: str | os.PathLike[str], *, delimiter: str | None = None) -> pl.DataFrame:
    r"""Read a table with a header; ``-`` is standard input.

    Columns of numbers become numbers, but not those with leading zeros (post codes), nor those
    with more digits than numbers hold (of cards); an empty field is a missing value.

    Parameters
    ----------
    path
        Delimited text, JSON lines or Parquet; also compressed with gzip or zstd.
    delimiter
        What separates fields of text; guessed from the header if not given.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "people.csv")
    ...     _ = file.write_text("Age;Zip\n35;02138\n;02139\n")
    ...     read_frame(file).rows()
    [(35, '02138'), (None, '02139')]
    """
    import polars as pl

    where = shown_name(path)
    with Source(path) as source:
        if not source.head.startswith(PARQUET_MAGIC):
            if ".parquet" in PurePath(path).suffixes and source.head:
                raise InputError(
                    f"this is no Parquet file, as it does not begin with {PARQUET_MAGIC.decode()}",
                    where=where,
                    fix="write it again, or name it by what it is, such as .csv",
                )
            source.refuse_foreign()
        content = source.read_all()
    if not content.strip():
        raise InputError("the file is empty", where=where, fix="check its name")
    try:
        if content.startswith(PARQUET_MAGIC):
            return read_parquet(content, own=True)
        if content.lstrip().startswith(b"{"):
            return pl.read_ndjson(io.BytesIO(content), infer_schema_length=None)
        if delimiter is None:
            header = content.partition(b"\n")[0].decode(errors="replace")
            separator = header_delimiter(header)
        else:
            separator = checked_delimiter(delimiter)
        if len(separator.encode()) != 1:
            raise ParameterError(
                f"the delimiter {separator[:60]!r} has more than one byte",
                fix='use one plain character, such as ";", or "tab"',
            )
        _check_shape(content, separator, where)
        texts = pl.read_csv(io.BytesIO(content), separator=separator, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError, ValueError, csv.Error) as error:
        reason = str(error).strip().partition("\n")[0]
        if not reason.isprintable():  # it may quote what it could not read
            reason = "its content is no text"
        raise InputError(
            f"it cannot be read as a table: {reason}",
            where=where,
            fix="give delimited text with a header, JSON lines or Parquet",
        ) from None
    return texts.with_columns(_numbers(column) for column in texts.iter_columns())


def write_frame(frame: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    r"""Write a table in the format that the file's ending names; it appears whole or not at all.

    ``.parquet``, ``.jsonl`` (``.ndjson``), ``.tsv``; everything else, and ``-`` for standard
    output, is comma-separated.

    >>> import pathlib, tempfile
    >>> import polars as pl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "people.csv")
    ...     write_frame(pl.DataFrame({"Age": ["[30-40)", None], "Sex": ["F", "M"]}), file)
    ...     file.read_text()
    'Age,Sex\n[30-40),F\n,M\n'
    """
    import polars as pl

    ending = PurePath(path).suffix.lower()
    buffer = io.BytesIO()
    try:
        if ending == ".parquet":
            frame.write_parquet(buffer)
        elif ending in {".jsonl", ".ndjson"}:
            frame.write_ndjson(buffer)
        else:
            frame.write_csv(buffer, separator="\t" if ending == ".tsv" else ",")
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"the table cannot be written so: {error}",
            where=shown_name(path),
            fix="name a file that ends in .parquet or .jsonl",
        ) from None
    with output_file(path) as out:
        out.write(buffer.getvalue())


def _check_shape(content: bytes, separator: str, where: str) -> None:
    """Refuse a header that names a column twice, and rows that lack fields.

    Which of two columns is meant, nobody knows; nor which field is the one that lacks.
    """
    rows = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=separator)
    names = next(rows, [])
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"{names.count(name)} columns are called {name!r}",
                where=where,
                fix="give each column of the header a name of its own",
            )
    for row in rows:
        if row and len(row) != len(names):
            raise InputError(
                f"the row has {len(row)} fields, and the header {len(names)}",
                where=f"{where}, line {rows.line_num}",
                fix="give every row a field for each column; a missing value is an empty field",
            )


def _numbers(column: pl.Series) -> pl.Series:
    """Return a column of texts as numbers, if every one of them is written as a number."""
    import polars as pl

    kinds: list[tuple[str, Any]] = [(WHOLE, pl.Int64), (DECIMAL, pl.Float64)]
    if column.null_count() < len(column):
        for pattern, kind in kinds:
            if column.str.contains(pattern).all():  # missing ones do not count
                return column if kind == pl.Float64 and _loses(column) else column.cast(kind)
    return column


def _loses(column: pl.Series) -> bool:
    """Tell whether different numbers would become equal as floats, or whole ones lose digits.

    Long ones are codes of cards and accounts more often than numbers.
    """
    import polars as pl

    texts = column.drop_nulls().unique()
    short = (texts.str.len_bytes() <= SAFE) & ~texts.str.contains("[eE]")
    if short.all():
        return False
    floats = texts.cast(pl.Float64)
    gone = (floats == 0) & texts.str.contains(r"^-?[0-9.]*[1-9]")
    if gone.any() or not floats.is_finite().all():
        return True
    # Exponents are small from here on, but for those of zeros.
    pairs = [(Decimal(text), text, n) for text, n in zip(texts, floats, strict=True) if n]
    for exact, text, number in pairs:
        if "e" not in text.lower() and exact == int(exact) and exact != Decimal(repr(number)):
            return True
    return len({exact for exact, _, _ in pairs}) != floats.filter(floats != 0).n_unique()
