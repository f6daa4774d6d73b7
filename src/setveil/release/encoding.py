"""Published records as bytes: Parquet, JSON lines or CSV, the same bytes for the same records."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import ParameterError, ReleaseError
from setveil.core.parquet import parquet_blocks
from setveil.core.untrusted import parse_json
from setveil.release.parts import is_in_parts, records_of_parts
from setveil.release.records import Records, RecordsBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

ROW_GROUP = 1 << 20
"""Rows of a Parquet row group: fixed, so that the bytes do not depend on the machine."""


def _to_parquet(records: Records) -> bytes:
    """Write a long frame: one line per record and item, an empty record with a null item."""
    from setveil.release.frames import long_frame

    sink = io.BytesIO()
    long_frame(*records).rechunk().write_parquet(
        sink, compression="zstd", compression_level=6, statistics=False, row_group_size=ROW_GROUP
    )
    return sink.getvalue()


def _from_parquet(data: bytes) -> Records:
    import polars as pl

    if is_in_parts(data):
        return records_of_parts(data)
    builder = RecordsBuilder()
    before = 0, False  # how many records there are, and whether the last of them has items
    try:
        for block in parquet_blocks(data, {"record": pl.Int64, "item": pl.String}, ROW_GROUP):
            before = _add_lines(builder, block, *before)
    except ValueError as error:
        raise ReleaseError(f"the data file cannot be read as Parquet: {error}") from None
    return builder.records()


def _add_lines(
    builder: RecordsBuilder, lines: pl.DataFrame, n_records: int, has_items: bool
) -> tuple[int, bool]:
    """Add the next lines of a data file; return what `_from_parquet` knows before the next.

    A line begins the next record, or goes on with the last, which then must not be empty.
    """
    if lines["record"].null_count():
        raise ReleaseError("the data file has a line without its record")
    record, is_item = lines["record"].to_numpy(), lines["item"].is_not_null().to_numpy()
    is_new = np.diff(record, prepend=n_records - 1) == 1
    goes_on = is_item & np.concatenate([[has_items], is_item[:-1]])
    goes_on &= np.diff(record, prepend=n_records - 1) == 0
    wrong = np.flatnonzero(~(is_new | goes_on))
    if len(wrong):
        raise ReleaseError(f"record {record[wrong[0]]} of the data file stands in the wrong place")
    labels = lines["item"].drop_nulls()
    starts = np.flatnonzero(is_new)
    lengths = np.add.reduceat(is_item, starts, dtype=np.int64) if len(starts) else starts
    tail = len(labels) - int(lengths.sum())  # of a record that began in an earlier block
    if tail:
        builder.lengthen_last(labels[:tail])
    builder.add_column(lengths, labels[tail:])
    return n_records + len(starts), bool(is_item[-1])


def _to_jsonl(records: Records) -> bytes:
    """Write one JSON array of labels per line."""
    sink = io.BytesIO()
    for row in records.rows():
        sink.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return sink.getvalue()


def _from_jsonl(data: bytes) -> Records:
    builder = RecordsBuilder()
    # Lines of bytes end at line feeds alone; those of texts would also end at the line separators
    # of Unicode, which JSON leaves as they are.
    for number, line in enumerate(io.BytesIO(data), 1):
        try:
            row = parse_json(line.decode())
        except UnicodeDecodeError:
            raise
        except ValueError:
            row = None
        if not isinstance(row, list) or not all(isinstance(item, str) for item in row):
            raise ReleaseError(f"line {number} of the data file is not a list of texts")
        builder.add_row(row)
    return builder.records()


def _to_csv(records: Records) -> bytes:
    """Write one line per record, every field quoted; an empty record is an empty line."""
    sink = io.BytesIO()
    with io.TextIOWrapper(sink, encoding="utf-8", newline="", write_through=True) as text:
        writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows(records.rows())
        text.flush()
        return sink.getvalue()


def _from_csv(data: bytes) -> Records:
    limit = csv.field_size_limit(max(len(data), csv.field_size_limit()))
    try:
        with io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="") as lines:
            return Records.of(csv.reader(lines, strict=True))
    except csv.Error as error:
        raise ReleaseError(f"the data file is not CSV ({error})") from None
    finally:
        csv.field_size_limit(limit)


FORMATS: dict[str, tuple[Callable[[Records], bytes], Callable[[bytes], Records]]] = {
    "parquet": (_to_parquet, _from_parquet),
    "jsonl": (_to_jsonl, _from_jsonl),
    "csv": (_to_csv, _from_csv),
}
"""How records are written and read, by the ending of the file's name."""


def encode(records: Records, format: str) -> bytes:
    r"""Return records, by their labels, as the content of a file.

    >>> encode(Records.of([["a"]]), "jsonl")
    b'["a"]\n'
    """
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise ParameterError(f"{format!r} is no format of a release", fix=f"use one of {known}")
    return FORMATS[format][0](records)


def decode(data: bytes, format: str) -> Records:
    r"""Return the records in the content of a file.

    >>> list(decode(b'"a","b"\n\n', "csv").rows())
    [['a', 'b'], []]
    """
    try:
        return FORMATS[format][1](data)
    except UnicodeDecodeError:
        raise ReleaseError(f"the data file is not UTF-8 (byte {_first_fault(data)})") from None


def _first_fault(data: bytes) -> int:
    """Return the place of the first byte that is not UTF-8; readers know it only within a block."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(data)
