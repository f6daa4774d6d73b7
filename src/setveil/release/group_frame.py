"""A grouped release as a long frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from setveil.core.table import TransactionTable

if TYPE_CHECKING:
    from setveil.core.table import Int32Array, Int64Array
    from setveil.release.grouped import GroupedRelease


def group_frame(release: GroupedRelease) -> pl.DataFrame:
    """Return ``group``, ``kind``, ``row``, ``item`` and ``count``: one line per published item.

    >>> from setveil.release import publish_grouped
    >>> table = TransactionTable.from_rows([["wine", "flu"], ["flu"]])
    >>> release, _ = publish_grouped(table, [0, 0], ["flu"])
    >>> group_frame(release).rows()
    [(0, 'record', 0, 'wine', 1), (0, 'record', 1, None, 1), (0, 'sensitive', 0, 'flu', 2)]
    """
    offsets, items = release.offsets, release.items
    if release.dealt is not None:
        whole = TransactionTable.from_rows(release.to_rows())  # over the same sorted names
        offsets, items = whole.offsets, whole.items
    ones = np.ones(len(release), dtype=np.int64)
    frame = _lines(release, "record", release.starts, (offsets, items), ones)
    if release.dealt is not None:
        return frame
    parts = (release.part_offsets, release.part_items)
    listed = _lines(release, "sensitive", release.part_starts, parts, release.counts)
    return frame.vstack(listed)


def _lines(
    release: GroupedRelease,
    kind: str,
    starts: Int64Array,
    rows: tuple[Int64Array, Int32Array],
    counts: Int64Array,
) -> pl.DataFrame:
    offsets, items = rows
    lengths = np.diff(offsets)
    filled = np.maximum(lengths, 1)
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    row = np.arange(len(lengths)) - starts[group]
    places = np.full(int(filled.sum()), len(release.vocabulary), dtype=np.int64)
    places[np.repeat(lengths > 0, filled)] = items
    names = pl.Series(release.vocabulary.names, dtype=pl.String).extend_constant(None, 1)
    return pl.DataFrame(
        {
            "group": np.repeat(group, filled),
            "kind": pl.Series([kind], dtype=pl.String).gather(np.zeros(len(places), np.int64)),
            "row": np.repeat(row, filled),
            "item": names.gather(places),
            "count": np.repeat(counts, filled),
        }
    )
