"""Releases over many machines: their parts are releases of the same form.

Guarantees, :func:`setveil.measure.measure_all` and the attacks take them as they take any release.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import NotApplicable
from setveil.core.records import Whole
from setveil.core.registry import name_of
from setveil.core.table import TransactionTable, Vocabulary, canonical_order, take_rows
from setveil.engine.spark import spoken_errors
from setveil.release.base import Key, Part, rebuild
from setveil.release.chunk_blocks import COLUMNS, Lists, part_of_blocks
from setveil.release.data_file import LabelledRows
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.grouped import GroupedRelease
from setveil.release.parts import PartedRelease, check_parts, sketch_of
from setveil.release.store import load_manifest, load_release
from setveil.release.views import sums_at
from setveil.spark.batches import FrameParts, fold, lists_of, map_batches, rows_of, share
from setveil.spark.chunks import DistributedChunks, lists_in
from setveil.spark.stored import has_data_in_parts, stored_chunks, stored_records
from setveil.spark.table import ITEMS, RECORD, DistributedTable, count_items, sorted_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.records import Shared
    from setveil.core.taxonomy import Taxonomy
    from setveil.engine.spark import Spark
    from setveil.guarantee.base import Guarantee, Verdict
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
        The records, or the clusters of chunks; None where the release is here, in one part.
    parts
        The same as parts of a release.
    """

    published: DistributedTable | DistributedChunks | None = None

    def __len__(self) -> int:
        return super().__len__() if self.published is None else self.published.n_records

    @property
    def has_numbers(self) -> bool:
        """Whether records can be named."""
        return isinstance(self.published, DistributedTable) and self.published.has_ids

    # --- in -----------------------------------------------------------------------------------

    @classmethod
    def of_table(
        cls, table: DistributedTable, form: str, structure: Mapping[str, Any]
    ) -> DistributedRelease:
        """Return the release of records over labels; the structure is that of its manifest."""
        sketch = sketch_of(form, table.vocabulary.names, structure)
        shown = sketch.data_rows()
        number = {shown.labels[item]: item for item in shown.items.tolist()}
        numbers = np.array([number[label] for label in table.vocabulary.names], dtype=np.int32)
        if table.has_ids:
            table = table.numbered
        parts = FrameParts(
            frame=table.frame,
            read=partial(read_records, sketch=table.share(sketch), numbers=table.share(numbers)),
            sample=Part(sketch, np.full(len(sketch), UNNAMED)),
            room=table.room,
            spread=table.parts.spread,
        )
        return cls(published=table, parts=parts)

    @classmethod
    def of_rows(
        cls,
        frame: DataFrame,
        labels: Sequence[str],
        form: str,
        structure: Callable[[Int64Array], Mapping[str, Any]],
        *,
        bags: bool,
    ) -> DistributedRelease:
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
        function = partial(renumber, place=share(frame, place))
        table = DistributedTable(
            frame=map_batches(frame.select(ITEMS), function, f"{ITEMS} array<int>"),
            vocabulary=Vocabulary(names=tuple(labels[i] for i in order.tolist())),
            item_supports=supports[order],
            bags=bags,
        )
        return cls.of_table(table, form, structure(used))

    @classmethod
    def of_chunks(cls, chunks: DistributedChunks) -> DistributedRelease:
        """Return the disassociated release of blocks of clusters."""
        none = {name: Lists(np.zeros(1, np.int64), np.zeros(0, np.int32)) for name in COLUMNS}
        parts = FrameParts(
            frame=chunks.frame,
            read=partial(read_blocks, vocabulary=share(chunks.frame, chunks.vocabulary)),
            sample=Part(part_of_blocks(none, chunks.vocabulary), np.zeros(0, np.int64)),
        )
        return cls(published=chunks, parts=parts)

    @classmethod
    def from_release(cls, release: Release, engine: Spark | None = None) -> DistributedRelease:
        """Distribute a release that is here; records keep their places."""
        with suppress(NotApplicable):
            return cls.of_chunks(DistributedChunks.from_release(release.as_chunks(), engine))
        check_parts(release.form)
        stored = release.data_rows()
        used, items = np.unique(stored.items, return_inverse=True)
        labels = [stored.labels[i] for i in used.tolist()]
        table = TransactionTable.from_csr(stored.offsets, items, labels, bags=True)
        there = DistributedTable.from_table(table, engine, bags=True)
        return cls.of_table(there, release.form, release.structure())

    @classmethod
    def open(cls, directory: str | os.PathLike[str], engine: Spark) -> DistributedRelease:
        """Open a release on disk; the hash and the counts are checked.

        Records are read by the workers. Clusters of chunks whose manifest lists them all are read
        here and then distributed. Groups are read here and stay: what they say depends on all of
        them. Guarantees are checked of any form; other questions are for those that are cut into
        parts.

        Raises
        ------
        ReleaseError
            Something is damaged, or the data file is not Parquet.
        """
        folder = Path(directory)
        manifest = load_manifest(folder)
        if manifest.form == DisassociatedRelease.form:
            if has_data_in_parts(manifest):
                return cls.of_chunks(stored_chunks(folder, manifest, engine))
            return cls.from_release(load_release(folder), engine)
        if manifest.form == GroupedRelease.form:
            release = load_release(folder)
            return cls(parts=Whole(Part(release, np.arange(len(release)))))
        table = stored_records(folder, manifest, engine)
        return cls.of_table(table, manifest.form, manifest.structure)

    # --- out ----------------------------------------------------------------------------------

    def in_form_order(self) -> DataFrame:
        """Return the records as sorted rows of the numbers that their labels have in the sample."""
        assert isinstance(self.published, DistributedTable)
        function = partial(rows_in_form, read=self.parts.read)  # type: ignore[attr-defined]
        return map_batches(self.published.frame, function, f"{ITEMS} array<int>")

    def collect(self) -> Release:
        """Return the release here, in canonical order; for releases that fit."""
        if self.published is None:
            return self.sample
        if isinstance(self.published, DistributedChunks):
            return self.published.collect()
        with spoken_errors():
            offsets, items = rows_of(self.in_form_order().toArrow()[ITEMS])
        rows = take_rows(offsets, items, canonical_order(offsets, items))
        labels = self.sample.data_rows().labels
        return rebuild(self.form, LabelledRows(*rows, labels), self.sample.structure())

    def items_below_labels(  # type: ignore[override]
        self, original: DistributedTable, key: Key | DataFrame, taxonomy: Taxonomy
    ) -> Int64Array:
        """Return how many original items lie below each node in the records that publish it.

        Records and originals are joined: by a key, or by what each was published as, as
        :func:`setveil.spark.anonymize` gives it.
        """
        import pyarrow as pa

        nodes, published = self.as_nodes(), self.published
        assert isinstance(published, DistributedTable)  # what has nodes has records
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


def check(guarantee: Guarantee, published: DistributedTable | DistributedRelease) -> Verdict:
    """Decide whether distributed records keep a promise, without collecting them.

    Parameters
    ----------
    guarantee
        Any that is checked in parts.
    published
        The records, or the release.

    Returns
    -------
    Verdict
        As `guarantee` gives it here for the same records. A bound on work, or on time, counts for
        each group of a search. Of a disassociated release that breaks its promise, the reason
        tells about one part of it.
    """
    if not getattr(guarantee, "in_parts", False):
        raise NotApplicable(
            f"{name_of(type(guarantee))} needs all records in one place",
            fix="check it with --engine local",
        )
    return guarantee.check(published)  # type: ignore[arg-type]


# --- on the workers -------------------------------------------------------------------------------


def renumber(table: pa.Table, place: Shared[Int32Array]) -> pa.Table:
    """Give the numbers of rows other ones, and sort the rows."""
    import pyarrow as pa

    offsets, items = rows_of(table[ITEMS])
    numbers = place.value[items] if len(items) else items
    width = int(place.value.max(initial=0)) + 1
    return pa.table({ITEMS: lists_of(*sorted_rows(offsets, numbers, width, bags=True))})


def rows_in_form(table: pa.Table, read: Callable[[pa.Table], Part]) -> pa.Table:
    """Return a batch of records by the numbers of the form."""
    import pyarrow as pa

    rows = read(table).release.data_rows()
    return pa.table({ITEMS: lists_of(rows.offsets, rows.items)})


def read_records(table: pa.Table, sketch: Shared[Release], numbers: Shared[Int32Array]) -> Part:
    """Return a batch of records as a part of the release."""
    rows, width = rows_of(table[ITEMS]), len(sketch.value.data_rows().labels)
    items = numbers.value[rows.items] if len(rows.items) else rows.items
    offsets, items = sorted_rows(rows.offsets, items, width, bags=True)
    named = RECORD in table.column_names
    places = table[RECORD].to_numpy() if named else np.full(len(offsets) - 1, UNNAMED)
    return Part(sketch.value.with_records(offsets, items), places)


def read_blocks(table: pa.Table, vocabulary: Shared[Vocabulary]) -> Part:
    """Return a batch of blocks of clusters as a part of the release."""
    release = part_of_blocks(lists_in(table), vocabulary.value)
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
