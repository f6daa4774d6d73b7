"""Turning documents into postings, and counting the documents that hold two terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.bitsets import ones, set_bits
from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import Int32Array, Int64Array, Weights


@compiled
def count_words(
    tokens: Weights,
    lengths: Int64Array,
    first: int,
    word_of: Int32Array,
    occurrences: Int64Array,
    documents: Int64Array,
    last: Int64Array,
) -> None:
    """Add a batch of documents to each word's number of occurrences and of documents.

    `word_of` gives the word of a token; `first` is the batch's first document; `last` holds each
    word's last document, -1 before any.

    >>> once, held, last = np.zeros(2, np.int64), np.zeros(2, np.int64), np.full(2, -1)
    >>> count_words(np.array([0, 0, 1]), np.array([2, 1]), 0, np.array([0, 1], np.int32),
    ...             once, held, last)
    >>> once.tolist(), held.tolist()
    ([2, 1], [1, 1])
    """
    t = 0
    for d in range(len(lengths)):
        for _ in range(lengths[d]):
            word = word_of[tokens[t]]
            occurrences[word] += 1
            # Once per document: `last` survives batches, since documents are numbered through.
            if last[word] != first + d:
                last[word] = first + d
                documents[word] += 1
            t += 1


@compiled
def place_words(
    tokens: Weights,
    lengths: Int64Array,
    first: int,
    start: int,
    word_of: Int32Array,
    next_place: Int64Array,
    next_posting: Int64Array,
    last: Int64Array,
    places: Weights,
    postings: Weights,
) -> None:
    """Write a batch's words to where they belong: their places, and the documents that hold them.

    The first token of the batch has place `start`; between two documents one place stays empty,
    so that a phrase never goes on in the next document. `next_place` and `next_posting` say where
    the next entry of a word goes, and move on.
    """
    t = 0
    place = start
    for d in range(len(lengths)):
        for _ in range(lengths[d]):
            word = word_of[tokens[t]]
            places[next_place[word]] = place
            next_place[word] += 1
            # Postings name each document once; places name every occurrence.
            if last[word] != first + d:
                last[word] = first + d
                postings[next_posting[word]] = first + d
                next_posting[word] += 1
            t += 1
            place += 1
        place += 1


@compiled
def pair_counts(
    row_starts: Int64Array,
    row_documents: Int32Array,
    column_starts: Int64Array,
    column_documents: Int32Array,
    total: int,
) -> Int64Array:
    """Count for each row term and column term the documents that hold both.

    A term in more than one of 64 documents is held as a bitset. Two bitsets are ANDed; a short
    list is looked up in a bitset; two short lists meet through the columns of each document. So
    no pair costs more than one pass over a bitset, and rare terms cost what they have in common.

    >>> rows, columns = np.array([0, 1, 2], np.int32), np.array([1, 2, 5], np.int32)
    >>> pair_counts(np.array([0, 3]), rows, np.array([0, 2, 3]), columns, 6).tolist()
    [[2, 0]]
    """
    n_rows, n_columns = len(row_starts) - 1, len(column_starts) - 1
    words = (total >> 6) + 1
    counts = np.zeros((n_rows, n_columns), dtype=np.int64)
    # A list longer than a bitset has words is kept as a bitset.
    bitset_of = np.full(n_columns, -1, dtype=np.int64)
    n_dense = 0
    held = np.zeros(total + 1, dtype=np.int64)
    for j in range(n_columns):
        documents = column_documents[column_starts[j] : column_starts[j + 1]]
        if len(documents) > words:
            bitset_of[j] = n_dense
            n_dense += 1
        else:
            for x in documents:
                if 0 <= x < total:
                    held[x + 1] += 1
    bitsets = np.zeros((n_dense, words), dtype=np.uint64)
    # The short columns of each document: `short[starts[x] : starts[x + 1]]`.
    starts = np.cumsum(held)
    places = starts.copy()
    short = np.empty(starts[total], dtype=np.int32)
    for j in range(n_columns):
        documents = column_documents[column_starts[j] : column_starts[j + 1]]
        if bitset_of[j] >= 0:
            set_bits(bitsets[bitset_of[j]], documents, total)
        else:
            for x in documents:
                if 0 <= x < total:
                    short[places[x]] = j
                    places[x] += 1
    # One bitset for the current row term, used where the term is dense.
    row_bits = np.zeros(words, dtype=np.uint64)
    for i in range(n_rows):
        documents = row_documents[row_starts[i] : row_starts[i + 1]]
        dense = len(documents) > words
        if dense:
            row_bits[:] = 0
            set_bits(row_bits, documents, total)
        else:
            for x in documents:
                if 0 <= x < total:
                    # Short row, short columns: only what they share is touched.
                    for at in range(starts[x], starts[x + 1]):
                        counts[i, short[at]] += 1
        for j in range(n_columns):
            n = 0
            if bitset_of[j] >= 0:
                # Dense column: ANDed with a dense row, looked up for a short one.
                column_bits = bitsets[bitset_of[j]]
                if dense:
                    for w in range(words):
                        n += ones(row_bits[w] & column_bits[w])
                else:
                    for x in documents:
                        if 0 <= x < total:
                            n += (column_bits[x >> 6] >> np.uint64(x & 63)) & np.uint64(1)
                counts[i, j] = n
            # Short column, dense row: looked up the other way round.
            elif dense:
                for x in column_documents[column_starts[j] : column_starts[j + 1]]:
                    if 0 <= x < total:
                        n += (row_bits[x >> 6] >> np.uint64(x & 63)) & np.uint64(1)
                counts[i, j] = n
    return counts
