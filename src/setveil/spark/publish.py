"""Distributed releases on disk: the workers write the data file, in parts."""

from __future__ import annotations

import hashlib
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil import __version__
from setveil.core.registry import name_of
from setveil.engine.spark import spoken_errors
from setveil.release.chunk_blocks import COLUMNS, NAMED
from setveil.release.data_file import PARTS, content_blocks, remove
from setveil.release.manifest import Manifest
from setveil.release.store import write_parts
from setveil.spark.batches import map_batches, share
from setveil.spark.chunks import DistributedChunks
from setveil.spark.reading import address_of
from setveil.spark.table import ITEMS, name_items

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from setveil.core.records import Shared
    from setveil.spark.methods import DistributedAnonymization
    from setveil.spark.release import DistributedRelease

PATIENCE, QUIET, LOOK = 10.0, 0.6, 0.1
"""Seconds: how long workers may take to stop, to write nothing before it is over, between looks."""
PART = 1 << 20
"""About how many records, or clusters, a part of the data file holds."""


def save_distributed(
    made: DistributedAnonymization,
    directory: str | os.PathLike[str],
    *,
    method: str,
    params: Mapping[str, Any],
    force: bool = False,
) -> Manifest:
    """Write a distributed release to a directory that all workers can write to.

    The data file is a directory of Parquet files. To which of them a record or a cluster belongs
    depends on its content and on how many there are, and within each they are sorted, so that
    nothing tells where they came from.

    Parameters
    ----------
    made
        What :func:`setveil.spark.anonymize` gave.
    directory
        Where to; made if need be.
    method, params
        How the release was made; `params` must be JSON values and public.
    force
        Replace a release that is already there.
    """
    folder = Path(directory).resolve()
    # By this name it is known as a leftover if it never gets its own.
    staged = folder / f".release-{'0' * 16}.parquet.{secrets.token_hex(8)}.part"
    with write_parts(folder, force=force) as commit:
        try:
            manifest = _staged(made, staged, method=method, params=params)
            commit(manifest, staged)
        except BaseException:
            _remove_for_good(staged)
            raise
    return manifest


def _staged(
    made: DistributedAnonymization, staged: Path, *, method: str, params: Mapping[str, Any]
) -> Manifest:
    """Let the workers write the data; return what is to be said about it."""
    release = made.release
    structure: dict[str, Any] = {"parts": True}
    if isinstance(release.published, DistributedChunks):
        occurrences = _write_chunks(release.published, staged)
    else:
        occurrences = _write_records(release, staged)
        structure |= release.sample.structure()
    _tidy(staged)
    digest = hashlib.sha256()
    for block in content_blocks(staged):
        digest.update(block)
    promise = made.promise
    says = {"name": name_of(type(promise)), "params": promise.params(), "says": promise.describe()}
    return Manifest(
        form=release.form,
        method=method,
        params=dict(params),
        promise=says,
        records=len(release),
        occurrences=occurrences,
        tool=f"setveil {__version__}",
        file=f"release-{digest.hexdigest()[:16]}.parquet",
        format="parquet",
        sha256=digest.hexdigest(),
        structure=structure,
    )


def _remove_for_good(staged: Path) -> None:
    """Remove what workers wrote; those that were called off may write on for a moment."""
    deadline = time.monotonic() + PATIENCE
    gone = 0.0
    while gone < QUIET and time.monotonic() < deadline:
        gone = 0.0 if staged.exists() else gone + LOOK
        with suppress(OSError):  # what appears meanwhile is removed in the next round
            remove(staged)
        time.sleep(LOOK)


def _write_records(release: DistributedRelease, staged: Path) -> int:
    """Write records as lists of labels; return how many labels there are."""
    from pyspark.sql import functions as sql

    frame, size = release.in_form_order(), sql.size(ITEMS)
    labels = share(frame, tuple(release.sample.data_rows().labels))
    parts = len(release) // PART + 1
    ordered = frame.repartition(parts, ITEMS).sortWithinPartitions(sql.desc(size), ITEMS)
    _write(map_batches(ordered, _Named(labels), f"{ITEMS} array<string>"), staged)
    with spoken_errors():
        total = frame.select(sql.sum(size)).collect()[0][0]
    return int(total or 0)


def _write_chunks(chunks: DistributedChunks, staged: Path) -> int:
    """Write blocks of clusters; return how many items they publish."""
    from pyspark.sql import functions as sql

    frame = chunks.frame
    total = [sql.count("*"), *(sql.sum(sql.size(name)) for name in NAMED)]
    with spoken_errors():
        blocks, items, terms = frame.select(*total).collect()[0]
    ordered = frame.repartition(blocks // PART + 1, *COLUMNS).sortWithinPartitions(*COLUMNS)
    kinds = (f"{name} array<{'string' if name in NAMED else 'int'}>" for name in COLUMNS)
    names = share(frame, chunks.vocabulary.names)
    _write(map_batches(ordered, _Named(names), ", ".join(kinds)), staged)
    return int(items or 0) + int(terms or 0)


class _Named:
    """Replaces the numbers of items by names."""

    def __init__(self, names: Shared[tuple[str, ...]]) -> None:
        self.names = names

    def __call__(self, table: pa.Table) -> pa.Table:
        for name in NAMED:
            if name in table.column_names:
                texts = name_items(table.select([name]).rename_columns([ITEMS]), self.names)
                place = table.schema.get_field_index(name)
                table = table.set_column(place, name, texts[ITEMS])
        return table


def _write(frame: DataFrame, staged: Path) -> None:
    with spoken_errors():
        frame.write.option("compression", "zstd").parquet(address_of(staged))


def _tidy(staged: Path) -> None:
    """Keep the parts alone, by plain names: Spark's tell about the job."""
    parts = sorted(staged.glob("part-*.parquet"))
    for path in staged.iterdir():
        if path not in parts:
            path.unlink()
    for number, path in enumerate(parts):
        path.rename(staged / PARTS.format(number))
