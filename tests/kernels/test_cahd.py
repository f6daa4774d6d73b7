import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import cahd as reference

from setveil import TransactionTable
from setveil.anonymize.groups.group_kernels import band_groups, spread_groups
from setveil.core.table import canonical_order
from setveil.release.grouped import split_rows

ORDINARY, SENSITIVE = "abcdef", "STUV"


@st.composite
def split_records(draw, *, max_rows=14):
    """Draw records as strings of letters; capital letters are sensitive."""
    row = st.sets(st.sampled_from(ORDINARY + SENSITIVE), max_size=5)
    rows = [sorted(r) for r in draw(st.lists(row, min_size=1, max_size=max_rows))]
    table = TransactionTable.from_rows([*rows, [*ORDINARY, *SENSITIVE]])  # all numbers are used
    mask = np.array([name in SENSITIVE for name in table.vocabulary.names])
    ordinary, (offsets, items) = split_rows(table.take(range(len(rows))), mask)
    place = (np.cumsum(mask) - 1).astype(np.int32)
    return rows, ordinary, (offsets, place[items])


def rank_of(ordinary):
    order = canonical_order(*ordinary)
    order = order[np.argsort(np.diff(ordinary[0])[order], kind="stable")]
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def as_groups(found):
    made = [np.flatnonzero(found == g).tolist() for g in range(found.max(initial=-1) + 1)]
    left = np.flatnonzero(found < 0).tolist()
    return made + ([left] if left else [])


@settings(max_examples=200, deadline=None)
@given(split_records(), st.integers(2, 4), st.integers(1, 3))
def test_groups_are_those_of_the_plain_twin(records, p, alpha):
    rows, ordinary, secret = records
    found = band_groups(*ordinary, *secret, rank_of(ordinary), p, alpha * p)
    assert as_groups(found) == reference.groups(rows, SENSITIVE, p, alpha=alpha)


@settings(max_examples=100, deadline=None)
@given(split_records(), st.integers(2, 4))
def test_spread_groups_share_no_sensitive_item(records, size):
    rows, _, secret = records
    feasible = reference.has_degree([rows], SENSITIVE, size)
    careful = spread_groups(*secret, size, True)
    bold = spread_groups(*secret, size, False)
    for found in (careful, bold):
        for g in range(found.max(initial=-1) + 1):
            members = [set(rows[r]) & set(SENSITIVE) for r in np.flatnonzero(found == g)]
            assert len(members) == size
            assert sum(map(len, members)) == len(set().union(*members))
    if feasible:
        assert reference.has_degree([[rows[r] for r in g] for g in as_groups(careful)],
                                    SENSITIVE, size)  # fmt: skip


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_group(n):
    none = np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    assert band_groups(*none, *none, np.arange(n), 2, 6).tolist() == [-1] * n
    assert spread_groups(*none, 2, True).tolist() == [-1] * n


def test_more_records_than_sixteen_bits_count():
    n = 70_000
    offsets = np.arange(n + 1)
    items = np.zeros(n, dtype=np.int32)
    some = np.arange(n) % 10 == 0
    secret_offsets = np.concatenate([[0], np.cumsum(some)])
    secret = np.zeros(int(some.sum()), dtype=np.int32)
    found = band_groups(offsets, items, secret_offsets, secret, np.arange(n), 10, 30)
    assert np.bincount(found[some & (found >= 0)]).max() == 1
    assert np.count_nonzero(some & (found < 0)) * 10 <= np.count_nonzero(found < 0)
    spread = spread_groups(secret_offsets, secret, 10, True)
    assert spread.min() == 0
    assert np.all(np.bincount(spread) == 10)
