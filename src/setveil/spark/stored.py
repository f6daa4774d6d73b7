"""Releases that are distributed: as a method made them, or on disk and read by the workers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import NotApplicable, ReleaseError
from setveil.core.records import Whole
from setveil.core.table import Vocabulary, canonical_order, take_rows
from setveil.engine.spark import spoken_errors
from setveil.release.base import rebuild
from setveil.release.chunk_blocks import COLUMNS, NAMED, Lists, check_blocks
from setveil.release.data_file import LabelledRows, content_blocks
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.grouped import GroupedRelease
from setveil.release.store import load_manifest, load_release
from setveil.spark.batches import fold, lists_of, map_batches, rows_of
from setveil.spark.chunks import DistributedChunks
from setveil.spark.reading import address_of, reader_of
from setveil.spark.table import ITEMS, DistributedTable, count_items, sorted_rows
from setveil.spark.verify import check, chunk_parts, release_parts

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.records import Parts, Shared
    from setveil.engine.spark import Spark
    from setveil.guarantee.base import Guarantee, Verdict
    from setveil.release.base import Release
    from setveil.release.manifest import Manifest


@dataclass(frozen=True, eq=False)
class OpenedRelease:
    """A release whose records are distributed, and its parts, which are releases.

    One of groups is here: what its groups say depends on all of them. `sample` is a release of the
    same form that shows each published label in one record, where records are rows of labels.
    """

    published: DistributedTable | DistributedChunks | Release
    parts: Parts[Any]
    sample: Release | None = None

    @classmethod
    def of_table(
        cls, table: DistributedTable, form: str, structure: Mapping[str, Any]
    ) -> OpenedRelease:
        """Return the release of records over labels; the structure is that of its manifest."""
        nodes = structure.get("nodes")
        place = {}
        if isinstance(nodes, list) and all(isinstance(node, dict) for node in nodes):
            place = {str(node.get("id")): v for v, node in enumerate(nodes)}
        order = sorted(table.vocabulary.names, key=lambda label: (place.get(label, 0), label))
        sample = rebuild(form, LabelledRows.of([label] for label in order), structure)
        numbers = numbers_in(sample, table.vocabulary.names)
        return cls(table, release_parts(table.parts, sample, numbers), sample)

    @classmethod
    def of_rows(
        cls,
        frame: DataFrame,
        labels: Sequence[str],
        form: str,
        structure: Callable[[Int64Array], Mapping[str, Any]],
        *,
        bags: bool,
    ) -> OpenedRelease:
        """Return the release of what a method made.

        Parameters
        ----------
        frame
            A column ``items`` of places in `labels`; it is read to count them, so keep one that
            is costly to compute.
        labels
            What may be published.
        form, structure
            The form, and what its manifest says beside the records, by the labels that occur.
        bags
            Whether a label may stand in a record more than once.
        """
        supports = count_items(frame, len(labels))
        used = np.flatnonzero(supports)
        order = np.array(sorted(used.tolist(), key=labels.__getitem__), dtype=np.int64)
        place = np.full(len(labels), -1, dtype=np.int32)
        place[order] = np.arange(len(order))
        shared = frame.sparkSession.sparkContext.broadcast(place)
        renumbered = map_batches(
            frame.select(ITEMS), partial(renumber, place=shared), f"{ITEMS} array<int>"
        )
        table = DistributedTable(
            frame=renumbered,
            vocabulary=Vocabulary(names=tuple(labels[i] for i in order.tolist())),
            item_supports=supports[order],
            bags=bags,
        )
        return cls.of_table(table, form, structure(used))

    @property
    def records(self) -> tuple[DistributedTable, Release]:
        """The records, and the sample of their labels; chunks and groups are no such records."""
        if not isinstance(self.published, DistributedTable) or self.sample is None:
            raise NotApplicable("chunks are no records of items")
        return self.published, self.sample

    @property
    def numbers(self) -> Int32Array:
        """For each label of the records its number in the sample."""
        table, sample = self.records
        return numbers_in(sample, table.vocabulary.names)

    def __len__(self) -> int:
        table, _ = self.records
        return table.n_records

    def check(self, guarantee: Guarantee) -> Verdict:
        """Check a promise without collecting the records."""
        return check(guarantee, self.parts)

    def in_form_order(self) -> DataFrame:
        """Return the records as sorted rows of the sample's numbers."""
        table, _ = self.records
        place = table.share(self.numbers)
        return map_batches(
            table.frame.select(ITEMS), partial(renumber, place=place), f"{ITEMS} array<int>"
        )

    def collect(self) -> Release:
        """Return the release here, in canonical order; for releases that fit."""
        _, sample = self.records
        with spoken_errors():
            offsets, items = rows_of(self.in_form_order().toArrow()[ITEMS])
        rows = take_rows(offsets, items, canonical_order(offsets, items))
        return rebuild(
            sample.form, LabelledRows(*rows, sample.data_rows().labels), sample.structure()
        )


def numbers_in(sample: Release, labels: Iterable[str]) -> Int32Array:
    """Return the number that each of some labels has in a sample."""
    shown = sample.data_rows()
    number = {shown.labels[item]: item for item in shown.items.tolist()}
    return np.array([number[label] for label in labels], dtype=np.int32)


def renumber(table: pa.Table, place: Shared[Int32Array]) -> pa.Table:
    """Give the numbers of rows other ones, and sort the rows (runs on a worker)."""
    import pyarrow as pa

    offsets, items = rows_of(table[ITEMS])
    numbers = place.value[items] if len(items) else items
    width = int(place.value.max(initial=0)) + 1
    return pa.table({ITEMS: lists_of(*sorted_rows(offsets, numbers, width, bags=True))})


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
    return OpenedRelease.of_table(table, manifest.form, manifest.structure)


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
