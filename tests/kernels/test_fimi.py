from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import fimi as reference

from setveil.core import table
from setveil.core.table import TransactionTable, grouped_pairs, number_in_place
from setveil.io.kernels import CLEAN, TOO_LARGE, parse_lines
from setveil.kernels.rows import rank_rows

SIGNS = st.sampled_from([b"0", b"1", b"7", b"42", b" ", b"\t", b"\n", b"\r\n", b"\r", b"x", b"-"])
CLEAN_LINES = st.lists(st.lists(st.integers(0, 10**18 - 1), max_size=6), max_size=8)


def parse(text: bytes) -> tuple[list[list[int]], int]:
    values = np.empty(len(text) // 2 + 1, dtype=np.int64)
    ends = np.empty(len(text), dtype=np.int64)
    seen = np.zeros(50, dtype=bool)
    found, lines, largest, wrong = parse_lines(
        np.frombuffer(text, dtype=np.uint8), values, ends, seen
    )
    bounds = [0, *ends[:lines].tolist()]
    assert wrong != CLEAN or bounds[-1] == found
    numbers = values[:found].tolist()
    assert largest == max(numbers, default=0)
    assert np.flatnonzero(seen).tolist() == sorted({n for n in numbers if n < 50})
    return [values[a:b].tolist() for a, b in pairwise(bounds)], wrong


@given(CLEAN_LINES, st.sampled_from(["\n", "\r\n", " \n"]), st.sampled_from([" ", "\t", "  "]))
def test_clean_lines_parse_as_python_does(rows, end, blank):
    text = "".join(blank.join(map(str, row)) + end for row in rows).encode()
    assert parse(text) == (rows, CLEAN)
    assert reference.parse_lines(text) == rows
    assert reference.first_wrong(text) == -1


@given(st.lists(SIGNS, max_size=40))
def test_any_bytes_stop_where_the_reference_stops(parts):
    text = b"".join(parts) + b"\n"
    rows, wrong = parse(text)
    assert wrong == reference.first_wrong(text)
    if wrong == CLEAN:
        assert rows == reference.parse_lines(text)


def test_read_only_bytes_past_65536_lines():
    rows = [[i, i + 1] for i in range(70_000)]
    text = "".join(f"{a} {b}\n" for a, b in rows).encode()
    assert parse(text) == (rows, CLEAN)


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=60), max_size=8),
    st.lists(st.integers(-1, 9), min_size=10, max_size=10),
)
def test_rows_are_ranked_sorted_and_merged(rows, rank):
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    items = np.array([item for row in rows for item in row], dtype=np.int32)
    kept = rank_rows(offsets[1:], 0, items, np.array(rank, dtype=np.int32), 10)
    assert offsets[-1] == kept
    merged = [items[a:b].tolist() for a, b in pairwise(offsets.tolist())]
    assert merged == reference.rank_rows(rows, rank)


def test_rows_past_65536_items():
    n = 70_000
    rng = np.random.default_rng(3)
    offsets = np.array([0, n, n, n + 3], dtype=np.int64)
    items = np.concatenate([rng.permutation(n) // 2, [5, 1, 5]]).astype(np.int32)
    kept = rank_rows(offsets[1:], 0, items, np.arange(n, dtype=np.int32), n)
    assert offsets.tolist() == [0, n // 2, n // 2, n // 2 + 2]
    assert np.array_equal(items[: n // 2], np.arange(n // 2))
    assert items[kept - 2 : kept].tolist() == [1, 5]


def test_numbers_too_large_for_the_array_are_not_cut():
    text = np.frombuffer(b"1 2147483647\n2147483648\n", dtype=np.uint8)
    seen = np.zeros(1, dtype=bool)
    for kind, wrong in ((np.int32, TOO_LARGE), (np.int64, CLEAN)):
        values, ends = np.empty(20, dtype=kind), np.empty(20, dtype=np.int64)
        assert parse_lines(text, values, ends, seen)[3] == wrong


@given(
    st.lists(st.lists(st.integers(0, 400_000), max_size=40), max_size=6),
    st.sampled_from([400_001, 1_000_000, 20_000_000]),
)
def test_ranks_of_large_vocabularies(rows, n_ranks):
    ends = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    items = np.array([item for row in rows for item in row], dtype=np.int32)
    scale = n_ranks // 400_001
    rank_rows(ends[1:], 0, items, np.arange(400_001, dtype=np.int32) * scale, n_ranks)
    merged = [items[a:b].tolist() for a, b in pairwise(ends.tolist())]
    assert merged == [sorted({item * scale for item in row}) for row in rows]


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=20), max_size=8),
    st.permutations([f"n{i}" for i in range(10)]),
    st.sampled_from([1, 2, 4]),
)
def test_large_tables_are_built_like_small_ones(rows, names, threads):
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    items = np.array([item for row in rows for item in row], dtype=np.int64)
    plain = TransactionTable.from_csr(offsets, items, names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "COMPILED", 1)
        patch.setattr(table, "THREADS", threads)
        compiled = TransactionTable.from_csr(offsets, items, names)
    # The constructor checks what `from_csr` did not.
    TransactionTable(offsets=compiled.offsets, items=compiled.items, vocabulary=compiled.vocabulary)
    assert compiled.vocabulary == plain.vocabulary
    assert compiled.offsets.tolist() == plain.offsets.tolist()
    assert compiled.items.tolist() == plain.items.tolist()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=40))
def test_pairs_are_grouped_in_their_order(pairs):
    records = np.array([record for record, _ in pairs], dtype=np.int64)
    items = np.array([item for _, item in pairs], dtype=np.int32)
    expected = [[item for record, item in pairs if record == wanted] for wanted in range(5)]
    for limit in (1, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(table, "COMPILED", limit)
            offsets, grouped = grouped_pairs(5, records, items)
        assert [grouped[a:b].tolist() for a, b in pairwise(offsets.tolist())] == expected


@given(st.lists(st.integers(0, 30), max_size=60))
def test_codes_are_numbered_by_first_appearance(codes):
    expected = [list(dict.fromkeys(codes)).index(code) for code in codes]
    for limit in (1, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(table, "COMPILED", limit)
            numbers = np.array(codes, dtype=np.int32)
            known = number_in_place(numbers, 31)
        assert numbers.tolist() == expected
        assert known == len(set(codes))
