"""Data files in parts: a directory of Parquet files, as a cluster of machines writes them.

A record belongs to a part by its content alone, so that parts tell nothing about the original.
The content of such a directory is that of its files, by name, each after its length.
"""

from __future__ import annotations

import io
import os
import shutil
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import ReleaseError
from setveil.core.parquet import read_parquet
from setveil.core.untrusted import FILE_LIMIT, check_size, list_folder, open_file, read_file
from setveil.release.records import Records, RecordsBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import polars as pl

    from setveil.core.table import Int64Array

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


def content_of(path: Path) -> bytes:
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


def records_of_parts(data: bytes) -> Records:
    """Return the records of all parts, in the order of the parts."""
    import polars as pl

    builder = RecordsBuilder()
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
