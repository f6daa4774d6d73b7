"""Published records as long frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.table import Int32Array, Int64Array


def long_frame(offsets: Int64Array, items: Int32Array, labels: Sequence[str]) -> pl.DataFrame:
    """Return ``record`` and ``item``, one row each; an empty record has one row, item null.

    >>> long_frame(np.array([0, 1, 1]), np.array([0], dtype=np.int32), ["flu"]).rows()
    [(0, 'flu'), (1, None)]
    """
    lengths = np.diff(offsets)
    filled = np.maximum(lengths, 1)
    # Polars counts with 32 bits; of indexes of 64 it would make a copy.
    places = items.astype(np.uint32)
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        places = np.insert(places, offsets[empty], len(labels))
    with_null = pl.Series(labels, dtype=pl.String).extend_constant(None, 1)
    item = with_null.gather(pl.Series(places, dtype=pl.UInt32))
    del places
    record = np.repeat(np.arange(len(lengths), dtype=np.int64), filled)
    return pl.DataFrame({"record": record, "item": item})
