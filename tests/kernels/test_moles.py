"""The search for minimal moles and the greedy hitting set against plain enumeration."""

import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.coherence import all_moles, greedy_hits, minimal

from setveil.anonymize.coherence.mole_kernels import COMPLETE, STOPPED, hit_all, minimal_moles

PLENTY = 10**9


def csr(rows):
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return offsets, np.array([item for row in rows for item in sorted(row)], dtype=np.int32)


def mine(rows, secrets=(), *, n_items, n_secrets=0, k, h=Fraction(1), p, lead=None, **bounds):
    secrets = secrets or [[] for _ in rows]
    most = np.array([h * s // 1 for s in range(len(rows) + 1)], dtype=np.int64)
    offsets, items, state = minimal_moles(
        *csr(rows), n_items, *csr(secrets), n_secrets, k, most, p,
        n_items if lead is None else lead,
        bounds.get("limit", PLENTY), bounds.get("work", PLENTY),
    )  # fmt: skip
    sets = [tuple(items[a:b].tolist()) for a, b in pairwise(offsets.tolist())]
    assert len(set(sets)) == len(sets)
    return sorted(sets, key=lambda s: (len(s), s)), state


@st.composite
def databases(draw, max_items=7, max_rows=9, max_secrets=3):
    n_items = draw(st.integers(1, max_items))
    n_secrets = draw(st.integers(0, max_secrets))
    row = st.tuples(
        st.sets(st.integers(0, n_items - 1)),
        st.sets(st.integers(0, n_secrets - 1), max_size=n_secrets) if n_secrets else st.just(set()),
    )
    drawn = draw(st.lists(row, max_size=max_rows))
    drawn += draw(st.lists(st.sampled_from(drawn), max_size=4)) if drawn else []
    return n_items, n_secrets, [sorted(a) for a, _ in drawn], [sorted(b) for _, b in drawn]


def by_enumeration(rows, secrets, h, k, p):
    """The moles of the reference, which wants names: secrets become negative numbers."""
    together = [
        [*row, *(-1 - s for s in hidden)] for row, hidden in zip(rows, secrets, strict=True)
    ]
    sensitive = {-1 - s for hidden in secrets for s in hidden}
    return minimal(all_moles(together, sensitive, h, k, p))


@given(
    databases(),
    st.integers(1, 4),
    st.fractions(0, 1, max_denominator=6),
    st.integers(1, 6),
)
@settings(max_examples=300)
def test_minimal_moles_are_those_of_enumeration(database, k, h, p):
    n_items, n_secrets, rows, secrets = database
    found, state = mine(rows, secrets, n_items=n_items, n_secrets=n_secrets, k=k, h=h, p=p)
    assert state == COMPLETE
    assert found == by_enumeration(rows, secrets, h, k, p)


@given(databases(max_secrets=0), st.integers(1, 4), st.integers(1, 6), st.data())
@settings(max_examples=200)
def test_sets_with_a_leading_item(database, k, p, data):
    """All minimal moles with a leading item are found; of others only such as hold a mole."""
    n_items, _, rows, secrets = database
    lead = data.draw(st.integers(1, n_items))
    # Callers leave out what is a mole by itself.
    rare = {i for i in range(lead, n_items) if sum(i in row for row in rows) < k}
    rows = [[i for i in row if i not in rare] for row in rows]
    found, _ = mine(rows, n_items=n_items, k=k, p=p, lead=lead)
    expected = by_enumeration(rows, secrets, 1, k, p)
    others = [s for s in expected if min(s) >= lead]
    assert sorted(minimal([*found, *others])) == sorted(expected)
    assert all(min(s) < lead for s in found)


def test_bounds_stop_the_search():
    rows = [[i, j] for i in range(6) for j in range(i + 1, 6)]
    whole, state = mine(rows, n_items=6, k=2, p=2)
    assert (len(whole), state) == (15, COMPLETE)
    some, state = mine(rows, n_items=6, k=2, p=2, limit=4)
    assert (len(some), state) == (4, STOPPED)
    assert set(some) <= set(whole)
    assert mine(rows, n_items=6, k=2, p=2, limit=15) == (whole, COMPLETE)
    assert mine(rows, n_items=6, k=2, p=2, work=20)[1] == STOPPED


def test_equal_long_records_cost_nothing():
    """A record of 164 items has more subsets than atoms in the world, but one generator each."""
    assert mine([list(range(164))] * 5, n_items=164, k=5, p=164) == ([], COMPLETE)


def test_more_than_65536_rows_and_items():
    rng = random.Random(5)
    base = 66_000
    rows = [[0, 1], [0, base], *([0, 1 + rng.randrange(3), base] for _ in range(66_000)), [2, 3]]
    rows = [sorted(set(row)) for row in rows]
    found, _ = mine(rows, n_items=base + 1, k=2, p=3)
    assert found == [(2, 3)]


@given(
    st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=4), max_size=12),
    st.lists(st.integers(0, 5), min_size=7, max_size=7),
)
@settings(max_examples=300)
def test_hitting_set_is_the_plain_greedy(sets, costs):
    sets = [tuple(sorted(s)) for s in sets]
    offsets, items = csr(sets)
    chosen, gains = hit_all(offsets, items.astype(np.int64), np.array(costs))
    assert chosen.tolist() == greedy_hits(sets, costs)
    assert gains.sum() == len(sets)


def test_hitting_with_costs_near_the_end_of_64_bits():
    offsets, items = csr([[0, 1], [1, 2], [2]])
    costs = np.array([1, 2**61, 2**62])
    assert hit_all(offsets, items.astype(np.int64), costs)[0].tolist() == [0, 1, 2]


def test_hitting_more_than_65536_sets():
    offsets, items = csr([[7, 10 + i] for i in range(70_000)])
    costs = np.ones(70_010, dtype=np.int64)
    assert hit_all(offsets, items.astype(np.int64), costs)[1].tolist() == [70_000]
    costs[7] = 70_001
    chosen, gains = hit_all(offsets[:301], items[:600].astype(np.int64), costs)
    assert chosen.tolist() == list(range(10, 310))
    assert gains.tolist() == [1] * 300
