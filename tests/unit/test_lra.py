"""LRA as an anonymizer: Gray order, slices, each with its own generalizations."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.km import apriori_reference, is_km_anonymous, published_ncp
from tests.reference.lcg import Tree
from tests.strategies import tables_with_taxonomy
from tests.unit.km_instances import TREE, instances, published

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import LRA
from setveil.anonymize.km.lra import gray_order
from setveil.core.errors import InfeasibleError, ParameterError
from setveil.guarantee import KmAnonymity
from setveil.measure import ncp


def run(rows, k, m=2, taxonomy=TREE, parts=None, **inputs):
    table = TransactionTable.from_rows(rows)
    return LRA(k=k, m=m, parts=parts).anonymize(table, taxonomy=taxonomy, **inputs)


def assert_safe(result, rows, parents, k, m):
    """No set is rare, every item has an image above it, and the log tells the whole cost."""
    found = published(result)
    assert is_km_anonymous(found, k, m)
    lost = published_ncp(rows, found, Tree(parents))
    assert sum(step.cost for step in result.log) == pytest.approx(float(lost))
    return lost


def test_2000_random_instances_never_lose_more_than_apriori():
    better = 0
    for rows, parents, k, m in instances(2000, seed=31):
        result = run(rows, k, m, Taxonomy.from_parents(parents))
        lost = assert_safe(result, rows, parents, k, m)
        whole = apriori_reference(rows, Tree(parents), k, m).ncp
        assert lost <= whole
        better += lost < whole
    assert better > 100


def test_2000_random_instances_with_a_number_of_slices():
    for number, (rows, parents, k, m) in enumerate(instances(2000, seed=32)):
        parts = min(1 + number % 3, sum(map(bool, rows)) // k)
        result = run(rows, k, m, Taxonomy.from_parents(parents), parts)
        assert_safe(result, rows, parents, k, m)
        assert result.figures["slices"] == parts


@pytest.mark.slow
def test_50000_random_instances():
    for number, (rows, parents, k, m) in enumerate(instances(50_000, seed=33)):
        parts = [None, min(1 + number % 3, sum(map(bool, rows)) // k)][number % 2]
        result = run(rows, k, m, Taxonomy.from_parents(parents), parts)
        assert is_km_anonymous(published(result), k, m)


@given(tables_with_taxonomy(min_rows=1, max_rows=16), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_any_tree_and_interior_items(drawn, k, m):
    table, taxonomy = drawn
    rows = table.to_rows()
    filled = sum(map(bool, rows))
    if k > len(rows) or 0 < filled < k:
        with pytest.raises(InfeasibleError):
            run(rows, k, m, taxonomy)
        return
    result = run(rows, k, m, taxonomy)
    assert is_km_anonymous(published(result), k, m)
    assert result.promise == KmAnonymity(k=k, m=m)
    assert result.promise.check(result.release).holds
    assert not result.release.hides
    tree = taxonomy.for_items(sorted({name for row in rows for name in row}))
    assert result.release.is_consistent_with(table, result.key, tree)


def test_gray_codes_count_upwards():
    """All rows over five items: each differs from the next in one item."""
    sets = [[i for i, bit in enumerate(bits) if bit] for bits in product([0, 1], repeat=5)]
    offsets = np.cumsum([0, *map(len, sets)])
    items = np.array([i for row in sets for i in row], dtype=np.int32)
    ordered = [set(sets[i]) for i in gray_order(offsets, items).tolist()]
    assert ordered[0] == set()
    assert all(len(a ^ b) == 1 for a, b in pairwise(ordered))


def test_one_item_at_two_levels():
    rows = [["a", "c"], ["b", "c"], ["a", "d"], ["a", "d"]]
    result = run(rows, 2)
    assert published(result) == [["A", "c"], ["A", "c"], ["a", "d"], ["a", "d"]]
    assert [step.subject for step in result.log] == ["2 slices", "A"]
    assert result.log[1].reason == "{a} is in 1 record of slice 1 (2 records)"
    table = TransactionTable.from_rows(rows)
    assert ncp(result.release, table, key=result.key, taxonomy=TREE) == pytest.approx(
        sum(step.cost for step in result.log)
    )


def test_nothing_to_slice():
    assert published(run([[], []], 2, parts=3)) == [[], []]


def test_slices_of_fewer_than_k_records_are_refused():
    with pytest.raises(InfeasibleError, match="3 slices of at least 2 records cannot") as caught:
        run([["a"]] * 5 + [[]], 2, parts=3)
    assert "at most 2 parts" in caught.value.fix


@pytest.mark.parametrize("parts", [0, -1, 2.5, True, "5"])
def test_parts_that_mean_nothing(parts):
    with pytest.raises(ParameterError, match="parts is "):
        LRA(parts=parts)


def test_progress_is_told():
    seen = []
    run([["a", "c"], ["b", "d"]] * 5, 2, parts=2, progress=lambda *told: seen.append(told))
    assert seen == [("repairing slices", 0, 2), ("repairing slices", 1, 2)]
