"""Checks of promises on data that is distributed: the same verdicts as on one machine.

A guarantee looks at what is published part by part (:mod:`setveil.core.records`), wherever the
parts lie. Nothing but counts and witnesses comes back.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from setveil.core.errors import NotApplicable
from setveil.core.registry import name_of
from setveil.core.table import TransactionTable, Vocabulary
from setveil.release.chunk_blocks import COLUMNS
from setveil.spark.batches import FrameParts
from setveil.spark.chunks import DistributedChunks, assembled
from setveil.spark.table import DistributedTable, sorted_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.records import Parts, Rows, Shared
    from setveil.guarantee.base import Guarantee, Verdict
    from setveil.release.base import Release
    from setveil.release.disassociated import DisassociatedRelease


def check(
    guarantee: Guarantee, published: DistributedTable | DistributedChunks | Parts[Any]
) -> Verdict:
    """Decide whether distributed records keep a promise, without collecting them.

    Parameters
    ----------
    guarantee
        Any that is checked in parts.
    published
        The records, the clusters of chunks, or a release in parts.

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
    if isinstance(published, DistributedTable):
        names = published.share(published.vocabulary)
        published = published.parts.map(partial(table_of, vocabulary=names))
    elif isinstance(published, DistributedChunks):
        published = chunk_parts(published)
    return guarantee.check(published)  # type: ignore[arg-type]


def table_of(rows: Rows, vocabulary: Shared[Vocabulary]) -> TransactionTable:
    """Return some records of a table as a table."""
    return TransactionTable.unchecked(
        offsets=rows.offsets, items=rows.items, vocabulary=vocabulary.value
    )


def chunk_parts(chunks: DistributedChunks) -> Parts[DisassociatedRelease]:
    """Return clusters in parts that are releases."""
    import pyarrow as pa

    names = chunks.broadcast_names()
    nothing = pa.table({name: pa.array([], pa.list_(pa.int32())) for name in COLUMNS})
    return FrameParts(
        frame=chunks.frame,
        read=partial(clusters_of, names=names),
        sample=clusters_of(nothing, names),
    )


def clusters_of(blocks: pa.Table, names: Shared[tuple[str, ...]]) -> DisassociatedRelease:
    """Return some clusters as a release."""
    return assembled(blocks, names.value)


def release_parts(
    table: FrameParts[Rows], sample: Release, numbers: Int32Array | None = None
) -> Parts[Release]:
    """Return published records in parts that are releases.

    Parameters
    ----------
    table
        The records.
    sample
        A release of the same form that shows all that is published.
    numbers
        For each number of the table that of the form, where they differ.
    """
    shared = table.share((sample, numbers))
    return table.map(partial(records_of, published=shared))


def records_of(rows: Rows, published: Shared[tuple[Release, Int32Array | None]]) -> Release:
    """Return some records as a release of the same form as the whole."""
    sample, numbers = published.value
    offsets, items = rows
    if numbers is not None:
        width = int(numbers.max(initial=0)) + 1
        offsets, items = sorted_rows(offsets, numbers[items], width, bags=True)
    return with_records(sample, offsets, items)


def with_records(sample: Release, offsets: Int64Array, items: Int32Array) -> Release:
    """Return other records over what a release publishes; nothing is checked."""
    made = object.__new__(type(sample))
    fields = sample.__dataclass_fields__  # type: ignore[attr-defined]
    for name in fields:
        object.__setattr__(made, name, getattr(sample, name))
    object.__setattr__(made, "offsets", offsets)
    object.__setattr__(made, "nodes" if "nodes" in fields else "items", items)
    return made
