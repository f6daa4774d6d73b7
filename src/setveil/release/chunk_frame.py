"""A disassociated release as a long frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from setveil.release.disassociated import DisassociatedRelease


def chunk_frame(release: DisassociatedRelease) -> pl.DataFrame:
    """Return ``cluster``, ``chunk``, ``row`` and ``item``: one line per published item.

    >>> from setveil import TransactionTable
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a"], ["a", "b"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1], domains=((0,),), terms=(1,))])
    >>> chunk_frame(release).rows()
    [(0, 'record 0', 0, 'a'), (0, 'record 0', 1, 'a'), (0, 'term', 0, 'b')]
    """
    chunks = np.arange(len(release.chunk_first))
    own = release.n_record_chunks
    within = (chunks[:own] - release.chunk_starts[release.chunk_first[:own]]).tolist()
    ranges = zip(release.chunk_first[own:].tolist(), release.chunk_last[own:].tolist(), strict=True)
    labels = [f"record {i}" for i in within] + [f"shared {a}-{b - 1}" for a, b in ranges]
    lengths = np.diff(release.row_offsets)
    row = np.arange(len(lengths)) - release.chunk_offsets[release.chunk_of_row]
    chunk = np.repeat(release.chunk_of_row, lengths)
    terms_of = np.repeat(np.arange(len(release.sizes)), np.diff(release.term_offsets))
    names = pl.Series([*labels, "term"], dtype=pl.String)
    items = pl.Series(release.vocabulary.names, dtype=pl.String)
    return pl.DataFrame(
        {
            "cluster": np.concatenate([release.chunk_first[chunk], terms_of]),
            "chunk": names.gather(np.concatenate([chunk, np.full(len(terms_of), len(labels))])),
            "row": np.concatenate([np.repeat(row, lengths), np.zeros(len(terms_of), np.int64)]),
            "item": items.gather(np.concatenate([release.items, release.terms])),
        }
    )
