"""Releases on disk that the workers read: records as tables, clusters as blocks, all checked."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import ReleaseError, SetveilError
from setveil.engine.spark import spoken_errors
from setveil.release.chunk_blocks import COLUMNS, NAMED, Lists, check_blocks
from setveil.release.data_file import content_blocks
from setveil.spark.batches import fold, share
from setveil.spark.chunks import DistributedChunks, assembled
from setveil.spark.reading import address_of, reader_of
from setveil.spark.table import ITEMS, DistributedTable

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from setveil.core.records import Shared
    from setveil.engine.spark import Spark
    from setveil.release.manifest import Manifest


def has_data_in_parts(manifest: Manifest) -> bool:
    """Tell whether workers wrote the data file: one row per record, or per block of clusters."""
    return manifest.structure.get("parts") is True


def stored_records(folder: Path, manifest: Manifest, engine: Spark) -> DistributedTable:
    """Return the records of a release as rows of labels; the hash and the counts are checked.

    Raises
    ------
    ReleaseError
        Something is damaged, or the data file is not Parquet.
    """
    if manifest.format != "parquet":
        raise ReleaseError(
            f"Spark reads releases in Parquet, and this one is {manifest.format}",
            where=str(folder),
            fix="check it with --engine local",
        )
    lines = _read(folder, manifest, engine)
    columns = {} if has_data_in_parts(manifest) else {"id": "record", "item": "item"}
    if has_data_in_parts(manifest):
        _check_names(folder, lines)
    # Bags: k-anonymity counts them.
    table = DistributedTable.from_frame(lines, bags=True, **columns)
    _check_counts(folder, manifest, table.n_records, _places(table.frame, ITEMS))
    return table


def stored_chunks(folder: Path, manifest: Manifest, engine: Spark) -> DistributedChunks:
    """Return the blocks of clusters that workers wrote, with all that is checked here of them.

    Raises
    ------
    ReleaseError
        Something is damaged, or the blocks are no clusters of a release.
    """
    blocks = _read(folder, manifest, engine)
    _check_blocks(folder, blocks)
    chunks = DistributedChunks.from_names(blocks)
    _check_counts(folder, manifest, chunks.n_records, _places(chunks.frame, *NAMED))
    names = share(chunks.frame, chunks.vocabulary.names)
    _refuse(folder, fold(chunks.frame, partial(fault_of_clusters, names=names), max, ""))
    return chunks


def _read(folder: Path, manifest: Manifest, engine: Spark) -> DataFrame:
    """Let the workers read a data file that is whole."""
    _check_hash(folder, manifest)
    # By its full path: workers have another working directory.
    file = folder / manifest.file
    with spoken_errors():
        return reader_of(engine.start(), file).parquet(address_of(file))


def _places(frame: DataFrame, *columns: str) -> int:
    """Return how many names the lists of some columns hold."""
    from pyspark.sql import functions as sql

    with spoken_errors():
        sums = frame.select(*(sql.sum(sql.size(name)) for name in columns)).collect()[0]
    return sum(int(each or 0) for each in sums)


def _check_names(folder: Path, lines: DataFrame) -> None:
    """Refuse records with names that are missing."""
    from pyspark.sql import functions as sql

    if lines.dtypes != [(ITEMS, "array<string>")]:
        raise ReleaseError("a part of the data must have the column items", where=str(folder))
    missing = sql.isnull(ITEMS) | sql.exists(ITEMS, sql.isnull)
    with spoken_errors():
        found = lines.where(missing).limit(1).count()
    if found:
        raise ReleaseError("a record of the data has a name that is missing", where=str(folder))


def _check_blocks(folder: Path, blocks: DataFrame) -> None:
    """Refuse blocks whose lists do not fit each other."""
    kinds = [(name, f"array<{'string' if name in NAMED else 'int'}>") for name in COLUMNS]
    if blocks.dtypes != kinds:
        wanted = ", ".join(f"{name} ({kind})" for name, kind in kinds)
        raise ReleaseError(f"a part of the data must have the columns {wanted}", where=str(folder))
    _refuse(folder, fold(blocks, fault_of, max, ""))


def _refuse(folder: Path, fault: str) -> None:
    if fault:
        raise ReleaseError(fault, where=str(folder), fix="copy or write the release again")


def fault_of(blocks: pa.Table) -> str:
    """Return what is wrong with some blocks, or nothing (on a worker)."""
    columns = {}
    for name in COLUMNS:
        lists = blocks[name].combine_chunks()
        if lists.null_count or lists.flatten().null_count:
            return "a block of the data has a name or a number that is missing"
        offsets = lists.offsets.to_numpy().astype(np.int64)
        flat = lists.flatten()
        numbers = np.zeros(len(flat), dtype=np.int32) if name in NAMED else flat.to_numpy()
        columns[name] = Lists(offsets - offsets[0], numbers)
    try:
        check_blocks(columns)
    except ReleaseError as error:
        return error.what
    return ""


def fault_of_clusters(blocks: pa.Table, names: Shared[tuple[str, ...]]) -> str:
    """Return why some blocks are no clusters of a release, or nothing (on a worker)."""
    try:
        assembled(blocks, names.value)
    except SetveilError as error:
        return error.what
    return ""


def _check_counts(folder: Path, manifest: Manifest, records: int, occurrences: int) -> None:
    if (records, occurrences) != (manifest.records, manifest.occurrences):
        raise ReleaseError(
            f"the data holds {records} records with {occurrences} items, the manifest says "
            f"{manifest.records} with {manifest.occurrences}",
            where=str(folder),
            fix="copy or write the release again",
        )


def _check_hash(folder: Path, manifest: Manifest) -> None:
    digest = hashlib.sha256()
    try:
        for block in content_blocks(folder / manifest.file):
            digest.update(block)
    except OSError as error:
        raise ReleaseError(
            f"{manifest.file} cannot be read: {error.strerror or error}", where=str(folder)
        ) from None
    if digest.hexdigest() != manifest.sha256:
        raise ReleaseError(
            f"{manifest.file} is damaged: its content does not match its hash",
            where=str(folder),
            fix="copy or write the release again",
        )
