"""Published records as long frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.data.table import Int32Array, Int64Array


def long_frame(offsets: Int64Array, items: Int32Array, labels: Sequence[str]) -> pl.DataFrame:
    """Return ``record`` and ``item``, one row each; an empty record has one row, item null.

    >>> long_frame(np.array([0, 1, 1]), np.array([0], dtype=np.int32), ["flu"]).rows()
    [(0, 'flu'), (1, None)]
    """
    lengths = np.diff(offsets)
    filled = np.maximum(lengths, 1)
    is_item = np.repeat(lengths > 0, filled)
    places = np.full(len(is_item), len(labels), dtype=np.int64)
    places[is_item] = items
    with_null = pl.Series(labels, dtype=pl.String).extend_constant(None, 1)
    return pl.DataFrame(
        {
            "record": np.repeat(np.arange(len(lengths), dtype=np.int64), filled),
            "item": with_null.gather(places),
        }
    )
