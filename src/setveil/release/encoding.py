"""Published records as bytes: Parquet, JSON lines or CSV, the same bytes for the same records."""

from __future__ import annotations

import csv
import io
import json
from itertools import pairwise
from typing import TYPE_CHECKING

from setveil.errors import ParameterError, ReleaseError
from setveil.release.parts import is_in_parts, rows_of_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from setveil.release.forms import Records

Rows = list[list[str]]

ROW_GROUP = 1 << 20
"""Rows of a Parquet row group: fixed, so that the bytes do not depend on the machine."""


def _to_parquet(records: Records) -> bytes:
    """Write a long frame: one line per record and item, an empty record with a null item."""
    from setveil.release.frames import long_frame  # noqa: PLC0415  (polars only on demand)

    sink = io.BytesIO()
    long_frame(*records).rechunk().write_parquet(
        sink, compression="zstd", compression_level=6, statistics=False, row_group_size=ROW_GROUP
    )
    return sink.getvalue()


def _labelled(records: Records) -> Rows:
    flat = [records.labels[number] for number in records.items.tolist()]
    return [flat[a:b] for a, b in pairwise(records.offsets.tolist())]


def _from_parquet(data: bytes) -> Rows:
    import polars as pl  # noqa: PLC0415  (imported on demand: start-up time)

    if is_in_parts(data):
        return rows_of_parts(data)
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except pl.exceptions.PolarsError as error:
        raise ReleaseError(f"the data file is not Parquet ({error})") from None
    if dict(frame.schema) != {"record": pl.Int64, "item": pl.String}:
        raise ReleaseError("the data file must have the columns record (Int64) and item (String)")
    if frame["record"].null_count():
        raise ReleaseError("the data file has a line without its record")
    rows: Rows = []
    for record, item in zip(frame["record"].to_list(), frame["item"].to_list(), strict=True):
        if record == len(rows):
            rows.append([] if item is None else [item])
        elif record == len(rows) - 1 and item is not None and rows[-1]:
            rows[-1].append(item)
        else:
            raise ReleaseError(f"record {record} of the data file stands in the wrong place")
    return rows


def _to_jsonl(records: Records) -> bytes:
    """Write one JSON array of labels per line."""
    rows = _labelled(records)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _from_jsonl(data: bytes) -> Rows:
    rows: Rows = []
    # Not splitlines: it would also cut at the line separators of Unicode, which JSON leaves as
    # they are.
    for number, line in enumerate(data.decode().removesuffix("\n").split("\n") if data else [], 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, list) or not all(isinstance(item, str) for item in row):
            raise ReleaseError(f"line {number} of the data file is not a list of texts")
        rows.append(row)
    return rows


def _to_csv(records: Records) -> bytes:
    """Write one line per record, every field quoted; an empty record is an empty line."""
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows(_labelled(records))
    return sink.getvalue().encode()


def _from_csv(data: bytes) -> Rows:
    limit = csv.field_size_limit(max(len(data), csv.field_size_limit()))
    try:
        return list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
    except csv.Error as error:
        raise ReleaseError(f"the data file is not CSV ({error})") from None
    finally:
        csv.field_size_limit(limit)


FORMATS: dict[str, tuple[Callable[[Records], bytes], Callable[[bytes], Rows]]] = {
    "parquet": (_to_parquet, _from_parquet),
    "jsonl": (_to_jsonl, _from_jsonl),
    "csv": (_to_csv, _from_csv),
}
"""How records are written and read, by the ending of the file's name."""


def encode(records: Records, format: str) -> bytes:  # noqa: A002  (as in the public API)
    r"""Return records, by their labels, as the content of a file.

    >>> import numpy as np
    >>> from setveil.release.forms import Records
    >>> encode(Records(np.array([0, 1]), np.array([0], dtype=np.int32), ["a"]), "jsonl")
    b'["a"]\n'
    """
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise ParameterError(f"{format!r} is no format of a release", fix=f"use one of {known}")
    return FORMATS[format][0](records)


def decode(data: bytes, format: str) -> Rows:  # noqa: A002  (as in the public API)
    r"""Return the records in the content of a file, as lists of labels.

    >>> decode(b'"a","b"\n\n', "csv")
    [['a', 'b'], []]
    """
    try:
        return FORMATS[format][1](data)
    except UnicodeDecodeError as error:
        raise ReleaseError(f"the data file is not UTF-8 (byte {error.start})") from None
