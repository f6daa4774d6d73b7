"""Releases on disk for checks on Spark: the data file is read by the workers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import ReleaseError
from setveil.core.records import Whole
from setveil.engine.spark import spoken_errors
from setveil.release.base import rebuild
from setveil.release.chunk_blocks import COLUMNS, NAMED, Lists, check_blocks
from setveil.release.data_file import LabelledRows, content_blocks
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.grouped import GroupedRelease
from setveil.release.store import load_manifest, load_release
from setveil.spark.batches import fold
from setveil.spark.chunks import DistributedChunks
from setveil.spark.reading import address_of, reader_of
from setveil.spark.table import ITEMS, DistributedTable
from setveil.spark.verify import check, chunk_parts, release_parts

if TYPE_CHECKING:
    import os

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from setveil.core.records import Parts
    from setveil.engine.spark import Spark
    from setveil.guarantee.base import Guarantee, Verdict
    from setveil.release.base import Release
    from setveil.release.manifest import Manifest


@dataclass(frozen=True, eq=False)
class OpenedRelease:
    """A release whose records are distributed, and its parts, which are releases.

    One of groups is here: what its groups say depends on all of them.
    """

    published: DistributedTable | DistributedChunks | Release
    parts: Parts[Any]

    def check(self, guarantee: Guarantee) -> Verdict:
        """Check a promise without collecting the records."""
        return check(guarantee, self.parts)


def open_release(directory: str | os.PathLike[str], engine: Spark) -> OpenedRelease:
    """Open a release on disk for checks on Spark.

    The hash and the counts are checked. Records are read by the workers. Clusters of chunks whose
    manifest lists them all are read here and then distributed; groups are read here and stay.

    Raises
    ------
    ReleaseError
        Something is damaged, or the data file is not Parquet.
    """
    folder = Path(directory)
    manifest = load_manifest(folder)
    in_parts = manifest.structure.get("parts") is True
    if manifest.form == DisassociatedRelease.form and in_parts:
        blocks = _read(folder, manifest, engine)
        _check_blocks(folder, blocks)
        chunks = DistributedChunks.from_names(blocks)
        _check_counts(folder, manifest, chunks.n_records, _places(chunks.frame, *NAMED))
        return OpenedRelease(chunks, chunk_parts(chunks))
    if manifest.form == DisassociatedRelease.form:
        chunks = DistributedChunks.from_release(load_release(folder).as_chunks(), engine)
        return OpenedRelease(chunks, chunk_parts(chunks))
    if manifest.form == GroupedRelease.form:
        release = load_release(folder)
        return OpenedRelease(release, Whole(release))
    if manifest.format != "parquet":
        raise ReleaseError(
            f"Spark reads releases in Parquet, and this one is {manifest.format}",
            where=str(folder),
            fix="check it with --engine local",
        )
    lines = _read(folder, manifest, engine)
    columns = {} if in_parts else {"id": "record", "item": "item"}
    if in_parts:
        _check_names(folder, lines)
    # Bags: k-anonymity counts them.
    table = DistributedTable.from_frame(lines, bags=True, **columns)
    _check_counts(folder, manifest, table.n_records, _places(table.frame, ITEMS))
    nodes = manifest.structure.get("nodes")
    place = {}
    if isinstance(nodes, list) and all(isinstance(node, dict) for node in nodes):
        place = {str(node.get("id")): v for v, node in enumerate(nodes)}
    order = sorted(table.vocabulary.names, key=lambda label: (place.get(label, 0), label))
    sample = rebuild(manifest.form, LabelledRows.of([label] for label in order), manifest.structure)
    shown = sample.data_rows()
    number = {shown.labels[item]: item for item in shown.items.tolist()}
    numbers = np.array([number[label] for label in table.vocabulary.names], dtype=np.int32)
    return OpenedRelease(table, release_parts(table.parts, sample, numbers))


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
    found = fold(blocks, fault_of, max, "")
    if found:
        raise ReleaseError(found, where=str(folder), fix="copy or write the release again")


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
