"""Releases over many machines: their parts are releases of the same form.

:func:`setveil.measure.measure_all` and the attacks take them as they take any release.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import NotApplicable
from setveil.core.table import TransactionTable
from setveil.release.base import Key, Part
from setveil.release.chunk_blocks import COLUMNS, Lists, part_of_blocks
from setveil.release.parts import PartedRelease, check_parts, sketch_of
from setveil.release.views import sums_at
from setveil.spark.batches import FrameParts, fold, rows_of
from setveil.spark.chunks import DistributedChunks, lists_in
from setveil.spark.stored import OpenedRelease, open_release
from setveil.spark.table import ITEMS, RECORD, DistributedTable, sorted_rows

if TYPE_CHECKING:
    import os

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.records import Shared
    from setveil.core.table import Vocabulary
    from setveil.core.taxonomy import Taxonomy
    from setveil.engine.spark import Spark
    from setveil.release.base import Release

BEHIND, ORIGINAL = "behind", "original"
UNNAMED = -1
"""The number of records that have none: slots of clusters, and records without a column for it."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DistributedRelease(PartedRelease):
    """A release over many machines, with what its parts have in common here.

    Parameters
    ----------
    published
        The records, or the clusters of chunks.
    parts
        The same as parts of a release.
    """

    published: DistributedTable | DistributedChunks

    def __len__(self) -> int:
        return self.published.n_records

    @property
    def has_numbers(self) -> bool:
        """Whether records can be named."""
        return isinstance(self.published, DistributedTable) and self.published.has_ids

    @classmethod
    def from_release(cls, release: Release, engine: Spark | None = None) -> DistributedRelease:
        """Distribute a release that is here; records keep their places."""
        with suppress(NotApplicable):
            return cls.of(DistributedChunks.from_release(release.as_chunks(), engine))
        stored = release.data_rows()
        used, items = np.unique(stored.items, return_inverse=True)
        labels = [stored.labels[i] for i in used.tolist()]
        table = TransactionTable.from_csr(stored.offsets, items, labels, bags=True)
        there = DistributedTable.from_table(table, engine, bags=True)
        return cls._of_records(there, sketch_of(release.form, labels, release.structure()))

    @classmethod
    def of(cls, release: OpenedRelease | DistributedChunks) -> DistributedRelease:
        """Return what :func:`setveil.spark.anonymize` made, ready to be measured and attacked."""
        if isinstance(release, DistributedChunks):
            none = {name: Lists(np.zeros(1, np.int64), np.zeros(0, np.int32)) for name in COLUMNS}
            parts = FrameParts(
                frame=release.frame,
                read=partial(read_blocks, vocabulary=release.vocabulary),
                sample=Part(part_of_blocks(none, release.vocabulary), np.zeros(0, np.int64)),
            )
            return cls(published=release, parts=parts)
        table, sketch = release.records
        return cls._of_records(table, sketch)

    @classmethod
    def open(cls, directory: str | os.PathLike[str], engine: Spark) -> DistributedRelease:
        """Open a release on disk; the workers read its records."""
        opened = open_release(directory, engine)
        if isinstance(opened.published, DistributedChunks):
            return cls.of(opened.published)
        if not isinstance(opened.published, DistributedTable):
            raise opened.published.lacks("is not cut into parts", fix="use --engine local")
        return cls.of(opened)

    @classmethod
    def _of_records(cls, table: DistributedTable, sketch: Release) -> DistributedRelease:
        check_parts(sketch.form)
        known = sketch.data_rows()
        at = {label: number for number, label in enumerate(known.labels)}
        numbers = np.array([at.get(label, -1) for label in table.vocabulary.names], dtype=np.int32)
        if table.has_ids:
            table = table.numbered
        parts = FrameParts(
            frame=table.frame,
            read=partial(read_records, sketch=table.share(sketch), numbers=table.share(numbers)),
            sample=Part(sketch, np.full(len(sketch), UNNAMED)),
        )
        return cls(published=table, parts=parts)

    def items_below_labels(  # type: ignore[override]
        self, original: DistributedTable, key: Key | DataFrame, taxonomy: Taxonomy
    ) -> Int64Array:
        """Return how many original items lie below each node in the records that publish it.

        Records and originals are joined: by a key, or by what each was published as, as
        :func:`setveil.spark.anonymize` gives it.
        """
        import pyarrow as pa

        nodes, published = self.as_nodes(), self.published
        if isinstance(key, Key):
            if not self.has_numbers:
                raise NotApplicable("the records have no numbers, so no key fits them")
            theirs, numbers = original.numbered.frame, None
            places = pa.table({RECORD: np.arange(len(key)), ORIGINAL: key.records})
            links = published.frame.sparkSession.createDataFrame(places)
            ours = published.frame.join(links, RECORD)
            read = self.parts.read  # type: ignore[attr-defined]
        else:
            theirs = original.frame
            ours = key.withColumnRenamed(RECORD, ORIGINAL)
            place = {node_id: v for v, node_id in enumerate(nodes.tree.ids)}
            numbers = np.array([place.get(each, -1) for each in taxonomy.ids], dtype=np.int32)
            share = original.share
            read = partial(read_records, sketch=share(nodes), numbers=share(numbers))
        theirs = theirs.withColumnsRenamed({ITEMS: BEHIND, RECORD: ORIGINAL})
        function = partial(
            items_below,
            read=read,
            vocabulary=original.share(original.vocabulary),
            taxonomy=original.share(taxonomy),
        )
        pairs = ours.join(theirs, ORIGINAL).select(ITEMS, BEHIND)
        return fold(pairs, function, np.add, np.zeros(len(nodes.tree), dtype=np.int64))


# --- on the workers -------------------------------------------------------------------------------


def read_records(table: pa.Table, sketch: Shared[Release], numbers: Shared[Int32Array]) -> Part:
    """Return a batch of records as a part of the release."""
    rows, width = rows_of(table[ITEMS]), len(sketch.value.data_rows().labels)
    items = numbers.value[rows.items] if len(rows.items) else rows.items
    offsets, items = sorted_rows(rows.offsets, items, width, bags=True)
    named = RECORD in table.column_names
    places = table[RECORD].to_numpy() if named else np.full(len(offsets) - 1, UNNAMED)
    return Part(sketch.value.with_records(offsets, items), places)


def read_blocks(table: pa.Table, vocabulary: Vocabulary) -> Part:
    """Return a batch of blocks of clusters as a part of the release."""
    release = part_of_blocks(lists_in(table), vocabulary)
    return Part(release, np.full(len(release), UNNAMED))


def items_below(
    pairs: pa.Table,
    read: Any,  # noqa: ANN401
    vocabulary: Shared[Vocabulary],
    taxonomy: Shared[Taxonomy],
) -> Int64Array:
    """Count the original items below each published node in a batch of pairs."""
    nodes = read(pairs).release.as_nodes()
    theirs = TransactionTable(**rows_of(pairs[BEHIND])._asdict(), vocabulary=vocabulary.value)
    key = Key(records=np.arange(len(nodes)))
    below, _ = nodes.items_below(theirs, key, taxonomy.value)
    return sums_at(nodes.nodes, below, len(nodes.tree))
