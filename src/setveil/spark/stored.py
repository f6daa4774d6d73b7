"""Releases on disk for checks on Spark: the data file is read by the workers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from setveil.errors import ReleaseError
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.forms import rebuild
from setveil.release.parts import content_blocks
from setveil.release.published import published_rows
from setveil.release.store import load_manifest, load_release
from setveil.spark.chunks import DistributedChunks
from setveil.spark.reading import address_of
from setveil.spark.table import DistributedTable
from setveil.spark.verify import check

if TYPE_CHECKING:
    import os

    from setveil.engine.spark import Spark
    from setveil.guarantee.base import Guarantee, Verdict
    from setveil.release.manifest import Manifest
    from setveil.release.published import PublishedRows


@dataclass(frozen=True, eq=False)
class OpenedRelease:
    """A release whose records are distributed, with what their numbers stand for."""

    published: DistributedTable | DistributedChunks
    shape: PublishedRows | None = None

    def check(self, guarantee: Guarantee) -> Verdict:
        """Check a promise without collecting the records."""
        return check(guarantee, self.published, shape=self.shape)


def open_release(directory: str | os.PathLike[str], engine: Spark) -> OpenedRelease:
    """Open a release on disk for checks on Spark.

    The hash and the counts are checked. Clusters of chunks are read here and then distributed,
    since their manifest lists them all; records are read by the workers.

    Raises
    ------
    ReleaseError
        Something is damaged, or the data file is not Parquet.
    """
    folder = Path(directory)
    manifest = load_manifest(folder)
    in_parts = manifest.structure.get("parts") is True
    if manifest.form == DisassociatedRelease.form and in_parts:
        _check_hash(folder, manifest)
        blocks = engine.start().read.parquet(address_of(folder / manifest.file))
        chunks = DistributedChunks.from_names(blocks)
        _check_records(folder, manifest, chunks.n_records)
        return OpenedRelease(chunks)
    if manifest.form == DisassociatedRelease.form:
        release = load_release(folder)
        assert isinstance(release, DisassociatedRelease)
        return OpenedRelease(DistributedChunks.from_release(release, engine))
    if manifest.format != "parquet":
        raise ReleaseError(
            f"Spark reads releases in Parquet, and this one is {manifest.format}",
            where=str(folder),
            fix="check it with --engine local",
        )
    _check_hash(folder, manifest)
    # By its full path: workers have another working directory. Bags: k-anonymity counts them.
    file = address_of(folder / manifest.file)
    lines = engine.start().read.parquet(file)
    columns = {} if in_parts else {"id": "record", "item": "item"}
    table = DistributedTable.from_frame(lines, bags=True, **columns)
    _check_records(folder, manifest, table.n_records)
    return OpenedRelease(table, _shape(manifest, table))


def _check_records(folder: Path, manifest: Manifest, records: int) -> None:
    if records != manifest.records:
        raise ReleaseError(
            f"the data holds {records} records, the manifest says {manifest.records}",
            where=str(folder),
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


def _shape(manifest: Manifest, table: DistributedTable) -> PublishedRows:
    """Return what the labels stand for: those of a release with each of them in one record."""
    labels = table.vocabulary.names
    nodes = manifest.structure.get("nodes")
    place = {node.get("id"): v for v, node in enumerate(nodes)} if isinstance(nodes, list) else {}
    row = sorted(labels, key=lambda label: (place.get(label, 0), label))
    whole = published_rows(rebuild(manifest.form, [[label] for label in row], manifest.structure))
    # From the numbers of the form to those of the table, which are the places of sorted labels.
    at = {label: i for i, label in enumerate(row)}
    numbers = whole.items[np.array([at[label] for label in labels], dtype=np.int64)]
    known = whole.ids if whole.known_as is None else whole.known_as
    return type(whole)(
        offsets=np.array([0, len(labels)]),
        items=np.arange(len(labels), dtype=np.int32),
        names=tuple(whole.names[i] for i in numbers.tolist()),
        ids=tuple(whole.ids[i] for i in numbers.tolist()),
        exact=whole.exact[numbers],
        known_as=tuple(known[i] for i in numbers.tolist()),
    )
