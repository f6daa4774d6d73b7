"""Published records as bytes: Parquet, JSON lines or CSV, the same bytes for the same records."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from array import array
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.errors import ParameterError, ReleaseError
from setveil.core.parquet import parquet_blocks, read_parquet
from setveil.core.untrusted import (
    FILE_LIMIT,
    check_size,
    list_folder,
    open_file,
    parse_json,
    read_file,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from setveil.core.arrays import Int32Array, Int64Array


RECORDS_AT_ONCE = 1 << 16
"""How many records, or numbers, are worked on at a time where all at once would take memory."""


class LabelledRows(NamedTuple):
    """Records as numbers, and the text that the data file shows for each number.

    Record `j` is ``items[offsets[j]:offsets[j + 1]]``. Built from rows or from a file, the labels
    are sorted and each occurs.

    >>> records = LabelledRows.of([["flu", "asthma"], [], ["flu"]])
    >>> records.labels, records.items.tolist(), records.offsets.tolist()
    (('asthma', 'flu'), [1, 0, 1], [0, 2, 2, 3])
    >>> list(records.rows())
    [['flu', 'asthma'], [], ['flu']]
    """

    offsets: Int64Array
    items: Int32Array
    labels: Sequence[str]

    @classmethod
    def of(cls, rows: Iterable[Iterable[str]]) -> LabelledRows:
        """Return rows of labels as numbers."""
        builder = LabelledRowsBuilder()
        for row in rows:
            builder.add_row(row)
        return builder.records()

    def rows(self) -> Iterator[list[str]]:
        """Yield each record as a list of labels."""
        labels = self.labels
        for first in range(0, len(self.offsets) - 1, RECORDS_AT_ONCE):
            bounds = self.offsets[first : first + RECORDS_AT_ONCE + 1]
            flat = [labels[number] for number in self.items[bounds[0] : bounds[-1]].tolist()]
            for start, end in pairwise((bounds - bounds[0]).tolist()):
                yield flat[start:end]


class LabelledRowsBuilder:
    """Collects records one after the other, or many at once, as numbers.

    >>> builder = LabelledRowsBuilder()
    >>> builder.add_row(["flu", "asthma"])
    >>> builder.records().items.tolist()
    [1, 0]
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        # Arrays of the standard library grow in place, by a little at a time.
        self._items = array("i")
        self._offsets = array("q", [0])

    def add_row(self, row: Iterable[str]) -> None:
        """Add a record."""
        numbers = self._numbers
        self._items.extend([numbers.setdefault(label, len(numbers)) for label in row])
        self._offsets.append(len(self._items))

    def add_column(self, lengths: Int64Array, labels: pl.Series) -> None:
        """Add records of these lengths; `labels` are those of one record after the other.

        >>> import polars as pl
        >>> builder = LabelledRowsBuilder()
        >>> builder.add_column(np.array([2, 0]), pl.Series(["flu", "gout"]))
        >>> list(builder.records().rows())
        [['flu', 'gout'], []]
        """
        ends = np.cumsum(lengths, dtype=np.int64) + len(self._items)
        self._offsets.frombytes(ends.tobytes())
        self._items.frombytes(self._numbered(labels).tobytes())

    def lengthen_last(self, labels: pl.Series) -> None:
        """Add labels to the last record.

        >>> import polars as pl
        >>> builder = LabelledRowsBuilder()
        >>> builder.add_row(["flu"])
        >>> builder.lengthen_last(pl.Series(["gout"]))
        >>> list(builder.records().rows())
        [['flu', 'gout']]
        """
        self._items.frombytes(self._numbered(labels).tobytes())
        self._offsets[-1] = len(self._items)

    def _numbered(self, labels: pl.Series) -> Int32Array:
        import polars as pl

        numbers = self._numbers
        found = np.empty(len(labels), dtype=np.int32)
        for start in range(0, len(labels), RECORDS_AT_ONCE):
            block = labels.slice(start, RECORDS_AT_ONCE)
            distinct = block.unique()
            known = [numbers.setdefault(label, len(numbers)) for label in distinct.to_list()]
            coded = block.replace_strict(distinct, known, return_dtype=pl.Int32)
            found[start : start + RECORDS_AT_ONCE] = coded.to_numpy()
        return found

    def records(self) -> LabelledRows:
        """Return the records, with the labels sorted; the builder is then spent."""
        labels = tuple(sorted(self._numbers))
        number_of = {label: number for number, label in enumerate(labels)}
        sorted_number = np.array([number_of[label] for label in self._numbers], dtype=np.int32)
        # Both are views of the builder's memory, not copies.
        items = np.frombuffer(self._items, dtype=np.int32)
        offsets = np.frombuffer(self._offsets, dtype=np.int64)
        for start in range(0, len(items), RECORDS_AT_ONCE):
            block = items[start : start + RECORDS_AT_ONCE]
            block[:] = sorted_number[block]
        return LabelledRows(offsets, items, labels)


def long_frame(offsets: Int64Array, items: Int32Array, labels: Sequence[str]) -> pl.DataFrame:
    """Return ``record`` and ``item``, one row each; an empty record has one row, item null.

    >>> long_frame(np.array([0, 1, 1]), np.array([0], dtype=np.int32), ["flu"]).rows()
    [(0, 'flu'), (1, None)]
    """
    import polars as pl

    lengths = np.diff(offsets)
    filled = np.maximum(lengths, 1)
    # Polars counts with 32 bits; of indexes of 64 it would make a copy.
    places = items.astype(np.uint32)
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        places = np.insert(places, offsets[empty], len(labels))
    with_null = pl.Series(labels, dtype=pl.String).extend_constant(None, 1)
    item = with_null.gather(pl.Series(places, dtype=pl.UInt32))
    del places
    record = np.repeat(np.arange(len(lengths), dtype=np.int64), filled)
    return pl.DataFrame({"record": record, "item": item})


MAGIC = b"setveil parts\n"
BLOCK = 1 << 20
PARTS = "part-{:05}.parquet"


def content_blocks(path: Path) -> Iterator[bytes]:
    r"""Yield the content of a data file, or of a directory of parts, a piece at a time.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "part-00000.parquet").write_bytes(b"PAR1")
    ...     b"".join(content_blocks(pathlib.Path(folder)))
    b'setveil parts\n\x00\x00\x00\x00\x00\x00\x00\x04PAR1'
    """
    folder = path.parent
    in_parts = path.is_dir()
    if in_parts:
        yield MAGIC
    for file in list_folder(path, inside=folder) if in_parts else [path]:
        with open_file(file, inside=folder) as data:
            if in_parts:
                yield os.fstat(data.fileno()).st_size.to_bytes(8, "big")
            while block := data.read(BLOCK):
                yield block


def file_content(path: Path) -> bytes:
    """Return the whole content of a data file, or of a directory of parts, within the limit."""
    if not path.is_dir():
        return read_file(path, inside=path.parent)
    content = io.BytesIO()
    for block in content_blocks(path):
        content.write(block)
        check_size(content.tell(), FILE_LIMIT, where=str(path), what="it holds at least")
    return content.getvalue()


def is_in_parts(data: bytes) -> bool:
    """Tell whether this is the content of a directory of parts."""
    return data.startswith(MAGIC)


def frames_of_parts(data: bytes, columns: Mapping[str, pl.DataType]) -> Iterator[pl.DataFrame]:
    """Yield the parts, in their order, and check that they have these columns."""
    at = len(MAGIC)
    while at < len(data):
        end = at + 8 + int.from_bytes(data[at : at + 8], "big")
        try:
            yield read_parquet(data[at + 8 : end], columns)
        except ValueError as error:
            raise ReleaseError(f"a part of the data cannot be read as Parquet: {error}") from None
        at = end


def flat_lists(column: pl.Series, missing: str) -> tuple[Int64Array, pl.Series]:
    """Return the length of each list of a column, and all lists in one; nothing may be null.

    >>> import polars as pl
    >>> lengths, flat = flat_lists(pl.Series([["flu", "gout"], []]), "a name is missing")
    >>> lengths.tolist(), flat.to_list()
    ([2, 0], ['flu', 'gout'])
    """
    lengths = column.list.len()
    flat = column.filter(lengths > 0).explode()
    if column.null_count() or flat.null_count():
        raise ReleaseError(missing)
    return lengths.to_numpy().astype(np.int64), flat


def records_of_parts(data: bytes) -> LabelledRows:
    """Return the records of all parts, in the order of the parts."""
    import polars as pl

    builder = LabelledRowsBuilder()
    for frame in frames_of_parts(data, {"items": pl.List(pl.String)}):
        builder.add_column(
            *flat_lists(frame["items"], "a record of the data has a name that is missing")
        )
    return builder.records()


def place_parts(staged: Path, target: Path) -> None:
    """Move a directory of parts to its place; what is there has the same content."""
    remove(target)
    staged.replace(target)


def remove(path: Path) -> None:
    """Remove a data file or a directory of parts, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


ROW_GROUP = 1 << 20
"""Rows of a Parquet row group: fixed, so that the bytes do not depend on the machine."""


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Return a table as the content of a Parquet file: the same bytes for the same table."""
    sink = io.BytesIO()
    frame.rechunk().write_parquet(
        sink, compression="zstd", compression_level=6, statistics=False, row_group_size=ROW_GROUP
    )
    return sink.getvalue()


def _to_parquet(records: LabelledRows) -> bytes:
    """Write a long frame: one line per record and item, an empty record with a null item."""
    return parquet_bytes(long_frame(*records))


def _from_parquet(data: bytes) -> LabelledRows:
    import polars as pl

    if is_in_parts(data):
        return records_of_parts(data)
    builder = LabelledRowsBuilder()
    before = 0, False  # how many records there are, and whether the last of them has items
    try:
        for block in parquet_blocks(data, {"record": pl.Int64, "item": pl.String}, ROW_GROUP):
            before = _add_lines(builder, block, *before)
    except ValueError as error:
        raise ReleaseError(f"the data file cannot be read as Parquet: {error}") from None
    return builder.records()


def _add_lines(
    builder: LabelledRowsBuilder, lines: pl.DataFrame, n_records: int, has_items: bool
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


def _to_jsonl(records: LabelledRows) -> bytes:
    """Write one JSON array of labels per line."""
    sink = io.BytesIO()
    for row in records.rows():
        sink.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return sink.getvalue()


def _from_jsonl(data: bytes) -> LabelledRows:
    builder = LabelledRowsBuilder()
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


def _to_csv(records: LabelledRows) -> bytes:
    """Write one line per record, every field quoted; an empty record is an empty line."""
    sink = io.BytesIO()
    with io.TextIOWrapper(sink, encoding="utf-8", newline="", write_through=True) as text:
        writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows(records.rows())
        text.flush()
        return sink.getvalue()


def _from_csv(data: bytes) -> LabelledRows:
    limit = csv.field_size_limit(max(len(data), csv.field_size_limit()))
    try:
        with io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="") as lines:
            return LabelledRows.of(csv.reader(lines, strict=True))
    except csv.Error as error:
        raise ReleaseError(f"the data file is not CSV ({error})") from None
    finally:
        csv.field_size_limit(limit)


FORMATS: dict[str, tuple[Callable[[LabelledRows], bytes], Callable[[bytes], LabelledRows]]] = {
    "parquet": (_to_parquet, _from_parquet),
    "jsonl": (_to_jsonl, _from_jsonl),
    "csv": (_to_csv, _from_csv),
}
"""How records are written and read, by the ending of the file's name."""


def encode(records: LabelledRows, format: str) -> bytes:
    r"""Return records, by their labels, as the content of a file.

    >>> encode(LabelledRows.of([["a"]]), "jsonl")
    b'["a"]\n'
    """
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise ParameterError(f"{format!r} is no format of a release", fix=f"use one of {known}")
    return FORMATS[format][0](records)


def decode(data: bytes, format: str) -> LabelledRows:
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
