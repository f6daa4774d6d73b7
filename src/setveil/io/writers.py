"""Writing tables in every format that can be read."""

from __future__ import annotations

import gzip
import json
import os
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from setveil.core.errors import InputError, ParameterError, shortened
from setveil.core.files import output_file, shown_name
from setveil.io.delimited import BLANKS, QUOTE, checked_delimiter
from setveil.io.layout import checked_format
from setveil.io.number_lines import NUMBER
from setveil.io.tables import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

    from setveil.core.table import TransactionTable

BATCH = 10_000
ID_NAMES = ("id", "record_id", "tid", "transaction_id", "row_id", "patient_id", "user_id")
"""Names for the column of record ids; the first that is no item is taken."""
ENDINGS = {
    ".dat": "fimi",
    ".fimi": "fimi",
    ".csv": "basket",
    ".tsv": "basket",
    ".basket": "basket",
    ".txt": "basket",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".spmf": "spmf",
    ".parquet": "long",
}
WRITTEN = ("fimi", "basket", "long", "one-hot", "jsonl", "spmf")
"""Formats that are written; `wide` says nothing that `basket` does not."""


def write(
    table: TransactionTable,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    delimiter: str | None = None,
) -> None:
    """Write a table; the file appears whole or not at all.

    Parameters
    ----------
    table
        The records; an item that a record holds twice is written twice, and merged when read.
    path
        Where to; ``.gz`` and ``.zst`` compress, ``.parquet`` writes Parquet (``long``, ``one-hot``
        or ``basket``), ``-`` writes to standard output.
    format
        One of the formats `read` knows; by the ending of the name if not given.
    delimiter
        What separates fields in the delimited formats: a tab for ``.tsv``, else a comma.

    Raises
    ------
    InputError
        If the format cannot carry the table, or the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["milk", "bread, brown"], ["milk"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "baskets.csv")
    ...     write(table, path)
    ...     print(path.read_text(), end="")
    "bread, brown",milk
    milk
    """
    name = os.fspath(path)
    ending = _ending_of(name)
    chosen = format_for(name, format)
    _refuse_unwritable(table, chosen, shown_name(path))
    if ending == ".parquet":
        frame = _parquet_frame(table, chosen, shown_name(path))
        with output_file(path) as out, compressed(out, name) as stream:
            frame.write_parquet(stream)
        return
    usual = "\t" if ending == ".tsv" else ","
    fields = checked_delimiter(delimiter) if delimiter is not None else usual
    with output_file(path) as out, compressed(out, name) as stream:
        for text in _join_lines(WRITERS[chosen](table, fields)):
            stream.write(text.encode())


def format_for(name: str, format: str | None = None) -> str:
    """Return the format a file of this name is written in: the one given, else by its ending.

    >>> format_for("baskets.csv.gz"), format_for("-", "jsonl")
    ('basket', 'jsonl')
    """
    if format is not None:
        chosen = checked_format(format)
        if chosen not in WRITTEN:
            raise ParameterError(
                f"the format {chosen!r} is read, but not written",
                fix=f"write one of {', '.join(WRITTEN)}",
            )
        return chosen
    ending = _ending_of(name)
    if ending not in ENDINGS:
        raise ParameterError(
            f"the name {name!r} does not say which format to write",
            fix=f"name the format, or end the name in {', '.join(ENDINGS)}",
        )
    return ENDINGS[ending]


def _ending_of(name: str) -> str:
    plain = name.removesuffix(".gz").removesuffix(".zst")
    return os.path.splitext(plain)[1].lower()  # noqa: PTH122  (a text already)


@contextmanager
def compressed(out: BinaryIO, name: str) -> Iterator[BinaryIO]:
    """Compress what is written where the name asks for it; the bytes carry no time and no name.

    >>> import io
    >>> plain = io.BytesIO()
    >>> with compressed(plain, "a.gz") as stream:
    ...     _ = stream.write(b"1 2")
    >>> gzip.decompress(plain.getvalue())
    b'1 2'
    """
    if name.endswith(".gz"):
        with gzip.GzipFile(filename="", fileobj=out, mode="wb", mtime=0, compresslevel=6) as stream:
            yield stream  # type: ignore[misc]
    elif name.endswith(".zst"):
        import zstandard

        with zstandard.ZstdCompressor().stream_writer(out, closefd=False) as stream:
            yield stream
    else:
        yield out


def _join_lines(lines: Iterator[str]) -> Iterator[str]:
    """Join lines so that each write is worth its call."""
    while batch := [line for _, line in zip(range(BATCH), lines, strict=False)]:
        yield "".join(batch)


# --- what a format cannot carry -----------------------------------------------------------------


def _refuse_unwritable(table: TransactionTable, chosen: str, where: str) -> None:
    """Say which name or record a format cannot carry."""
    if not len(table):
        raise InputError("a table without records is not written", where=where)
    if chosen == "one-hot" and table.is_bag:
        raise InputError(
            "one-hot cannot carry a record that holds an item twice",
            where=where,
            fix="write basket or jsonl",
        )
    for name in table.vocabulary.names:
        problem = _problem_of(name, chosen)
        if problem:
            raise InputError(
                f"{chosen} cannot carry the item {shortened(name)}: {problem}",
                where=where,
                fix="rename the item" if chosen == "jsonl" else "rename the item, or write jsonl",
            )


def _problem_of(name: str, chosen: str) -> str:
    if any("\ud800" <= sign <= "\udfff" for sign in name):
        return "it is not valid Unicode"
    if chosen == "jsonl":
        return ""
    if chosen == "fimi":
        return "" if NUMBER.fullmatch(name) else "only whole numbers of 0 or more can be written"
    if chosen == "long" and name in MISSING:
        return "in a table it means that there is no item"
    if not name or "\0" in name:
        return "its name holds a zero byte" if name else "its name is empty"
    in_one_line = chosen != "spmf" or not ("\n" in name or "\r" in name)
    return "" if in_one_line else "its name holds a line end"


# --- text -----------------------------------------------------------------------------------


def _fimi_lines(table: TransactionTable, _delimiter: str) -> Iterator[str]:
    return (" ".join(row) + "\n" for row in table)


def _quote(name: str, delimiter: str) -> str:
    needs = (
        delimiter in name
        or QUOTE in name
        or "\n" in name
        or "\r" in name
        or name[0] in BLANKS + "\ufeff"
        or name[-1] in BLANKS
        # The name's end and the delimiter's start may form the delimiter one place too early.
        or delimiter in (name + delimiter)[:-1]
    )
    return QUOTE + name.replace(QUOTE, QUOTE * 2) + QUOTE if needs else name


def _basket_lines(table: TransactionTable, delimiter: str) -> Iterator[str]:
    names = [_quote(name, delimiter) for name in table.vocabulary.names]
    for row in _numbers(table):
        yield delimiter.join([names[i] for i in row]) + "\n"


def _long_lines(table: TransactionTable, delimiter: str) -> Iterator[str]:
    names = [_quote(name, delimiter) for name in table.vocabulary.names]
    yield f"{_quote('id', delimiter)}{delimiter}{_quote('item', delimiter)}\n"
    for record, row in enumerate(_numbers(table), 1):
        start = _quote(str(record), delimiter) + delimiter
        if not row:
            yield f"{start}\n"
        for number in row:
            yield f"{start}{names[number]}\n"


def _one_hot_lines(table: TransactionTable, delimiter: str) -> Iterator[str]:
    names = [_quote(name, delimiter) for name in table.vocabulary.names]
    no, yes = _quote("0", delimiter), _quote("1", delimiter)
    yield delimiter.join([_quote(_free_id(table), delimiter), *names]) + "\n"
    for record, row in enumerate(_numbers(table), 1):
        cells = [no] * len(names)
        for number in row:
            cells[number] = yes
        yield delimiter.join([_quote(str(record), delimiter), *cells]) + "\n"


def _json_lines(table: TransactionTable, _delimiter: str) -> Iterator[str]:
    return (json.dumps(row, ensure_ascii=False) + "\n" for row in table)


def _spmf_lines(table: TransactionTable, _delimiter: str) -> Iterator[str]:
    names = table.vocabulary.names
    codes = list(names)
    if not all(NUMBER.fullmatch(name) for name in names):
        codes = [str(number) for number in range(1, len(names) + 1)]
        yield "@CONVERTED_FROM_TEXT\n"
        for code, name in zip(codes, names, strict=True):
            yield f"@ITEM={code}={name}\n"
    for row in _numbers(table):
        yield " ".join([codes[i] for i in row]) + "\n"


def _numbers(table: TransactionTable) -> Iterator[list[int]]:
    return (table.items[a:b].tolist() for a, b in pairwise(table.offsets.tolist()))


def _free_id(table: TransactionTable) -> str:
    """Return a name for the id column that no item bears and that the reader knows."""
    free = next((name for name in ID_NAMES if name not in table.vocabulary), None)
    if free is None:
        raise InputError("the items bear every name an id column could have", fix="write jsonl")
    return free


WRITERS: dict[str, Callable[[TransactionTable, str], Iterator[str]]] = {
    "fimi": _fimi_lines,
    "basket": _basket_lines,
    "long": _long_lines,
    "one-hot": _one_hot_lines,
    "jsonl": _json_lines,
    "spmf": _spmf_lines,
}


# --- Parquet --------------------------------------------------------------------------------


def _parquet_frame(table: TransactionTable, chosen: str, where: str) -> pl.DataFrame:
    import polars as pl

    if chosen == "basket":
        return pl.DataFrame({"items": pl.Series(table.to_rows(), dtype=pl.List(pl.String))})
    if chosen == "one-hot":
        held = np.zeros((table.n_items, len(table)), dtype=bool)
        held[table.items, np.repeat(np.arange(len(table)), table.lengths)] = True
        ids = pl.Series(_free_id(table), np.arange(1, len(table) + 1))
        columns = zip(table.vocabulary.names, held, strict=True)
        return pl.DataFrame([ids, *(pl.Series(name, column) for name, column in columns)])
    if chosen == "long":
        pairs = [(i, name) for i, row in enumerate(table, 1) for name in row or (None,)]
        return pl.DataFrame(
            pairs, schema={"id": pl.Int64, "item": pl.String}, orient="row", strict=True
        )
    raise InputError(
        f"Parquet cannot hold the format {chosen!r}",
        where=where,
        fix="write long, one-hot or basket, or give the file another ending",
    )
