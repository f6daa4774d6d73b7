"""Counting pairs against plain sets: rare and common terms, and past 65,536 documents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setveil.relatedness.posting_kernels import count_words, ones, pair_counts, place_words


def joined(lists):
    starts = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return starts, np.array([x for each in lists for x in sorted(each)], dtype=np.int32)


def check(rows, columns, total):
    expected = [[len(set(a) & set(b)) for b in columns] for a in rows]
    found = pair_counts(*joined(rows), *joined(columns), total)
    assert found.shape == (len(rows), len(columns))
    assert found.tolist() == expected


@st.composite
def terms(draw, total):
    """Terms in none, few or nearly all documents, so that lists meet lists, bitsets and both."""
    kinds = st.sampled_from(["none", "few", "many"])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = {"none": 0.0, "few": 0.01, "many": 0.7}
    return [
        set(np.flatnonzero(rng.random(total) < share[kind]).tolist())
        for kind in draw(st.lists(kinds, max_size=6))
    ]


@given(st.data(), st.sampled_from([1, 2, 63, 64, 65, 300]))
def test_pairs_against_sets(data, total):
    check(data.draw(terms(total)), data.draw(terms(total)), total)


def test_past_65536_documents():
    rng = np.random.default_rng(5)
    total = 70_001
    shares = [0.3, 0.0001, 0.02, 1.0]
    lists = [set(np.flatnonzero(rng.random(total) < share).tolist()) for share in shares]
    check(lists, lists, total)


@pytest.mark.parametrize("total", [10, 1000])
def test_numbers_outside_are_passed_over(total):
    wild = [[-5, 3, total, total + 7, 2**31 - 1], list(range(total))]
    found = pair_counts(*joined(wild), *joined(wild), total)
    assert found.tolist() == [[1, 1], [1, total]]


@given(st.integers(0, 2**64 - 1))
def test_ones(bits):
    assert ones(np.uint64(bits)) == bits.bit_count()


@given(st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=8), st.integers(0, 8))
def test_inverting_in_batches(documents, cut):
    """Words 0 to 4 are spellings; 3 and 4 are the same word."""
    word_of = np.array([0, 1, 2, 3, 3], dtype=np.int32)
    batches = [(0, documents[:cut]), (min(cut, len(documents)), documents[cut:])]
    n_words = 4
    once, held = np.zeros(n_words, np.int64), np.zeros(n_words, np.int64)
    last = np.full(n_words, -1)
    for first, batch in batches:
        count_words(*flat(batch), first, word_of, once, held, last)
    expected = {word: [] for word in range(n_words)}
    place = 0
    for document in documents:
        for spelling in document:
            expected[min(spelling, 3)].append(place)
            place += 1
        place += 1
    assert once.tolist() == [len(expected[word]) for word in range(n_words)]
    holders = [
        [d for d, document in enumerate(documents) if word in {min(s, 3) for s in document}]
        for word in range(n_words)
    ]
    assert held.tolist() == [len(each) for each in holders]
    places, postings = np.zeros(once.sum(), np.uint32), np.zeros(held.sum(), np.uint32)
    next_place, next_posting = np.cumsum(once) - once, np.cumsum(held) - held
    last[:] = -1
    start = 0
    for first, batch in batches:
        tokens, lengths = flat(batch)
        place_words(tokens, lengths, first, start, word_of, next_place, next_posting, last,
                    places, postings)  # fmt: skip
        start += len(tokens) + len(lengths)
    assert places.tolist() == [x for word in range(n_words) for x in expected[word]]
    assert postings.tolist() == [x for each in holders for x in each]


def flat(batch):
    tokens = np.array([x for document in batch for x in document], dtype=np.uint32)
    return tokens, np.array([len(document) for document in batch], dtype=np.int64)
