"""DirectKm as an anonymizer: what it refuses, what it keeps, what it tells."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.km import (
    direct_reference,
    is_km_anonymous,
    optimal_reference,
    published_ncp,
    recoded,
)
from tests.reference.lcg import Tree
from tests.strategies import tables_with_taxonomy
from tests.unit.km_instances import TREE, instances, published

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import DirectKm
from setveil.anonymize.km import direct_km
from setveil.core.errors import InfeasibleError
from setveil.guarantee import KmAnonymity


def run(rows, k, m=2, taxonomy=TREE, **inputs):
    table = TransactionTable.from_rows(rows)
    return DirectKm(k=k, m=m).anonymize(table, taxonomy=taxonomy, **inputs)


def assert_as_the_count_tree(rows, tree, taxonomy, k, m):
    result = run(rows, k, m, taxonomy)
    found = published(result)
    assert is_km_anonymous(found, k, m)
    expected = direct_reference(rows, tree, k, m)
    leaves = tree.for_rows([sorted(set(row)) for row in rows])[1]
    assert [set(row) for row in found] == recoded(leaves, expected.image)
    return result, expected


def test_2000_random_instances_against_the_count_tree():
    for rows, parents, k, m in instances(2000, seed=1):
        assert_as_the_count_tree(rows, Tree(parents), Taxonomy.from_parents(parents), k, m)


@pytest.mark.slow
def test_50000_random_instances():
    for rows, parents, k, m in instances(50_000, seed=2):
        found = published(run(rows, k, m, Taxonomy.from_parents(parents)))
        assert is_km_anonymous(found, k, m)


def test_nearly_always_optimal():
    """The specification says about 98.5% of small instances; rarely far from the optimum."""
    losses = []
    for rows, parents, k, m in instances(400, seed=3, bushy=True):
        found = published(run(rows, k, m, Taxonomy.from_parents(parents)))
        tree = Tree(parents)
        losses.append((published_ncp(rows, found, tree), optimal_reference(rows, tree, k, m).ncp))
    assert all(loss >= best for loss, best in losses)
    assert sum(loss == best for loss, best in losses) / len(losses) > 0.95
    assert sum(loss for loss, _ in losses) / sum(best for _, best in losses) < 1.01


@given(tables_with_taxonomy(min_rows=1, max_rows=16), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_any_tree_and_interior_items(drawn, k, m):
    table, taxonomy = drawn
    rows = table.to_rows()
    filled = sum(map(bool, rows))
    if k > len(rows) or 0 < filled < k:
        with pytest.raises(InfeasibleError):
            run(rows, k, m, taxonomy)
        return
    result, _ = assert_as_the_count_tree(rows, Tree.of(taxonomy), taxonomy, k, m)
    assert result.promise == KmAnonymity(k=k, m=m)
    assert result.promise.check(result.release).holds
    assert not result.release.hides


def test_too_large_a_count_tree_is_refused_before_it_is_walked(monkeypatch):
    monkeypatch.setattr(direct_km, "MOST_SETS", 100)
    with pytest.raises(InfeasibleError, match=r"1\.1e\+02 sets of at most 2") as caught:
        run([["a", "b", "c", "d"]] * 4, 2)
    assert "apriori-km" in caught.value.fix
    assert published(run([["a", "b", "c", "d"]] * 3, 2)) == [["a", "b", "c", "d"]] * 3


def test_the_cheapest_way_is_taken():
    # A and c are together in one record. Below A lie 5 occurrences, below C 3: C is cheaper.
    rows = [["a", "c"], ["a", "d"], ["a", "d"], ["b"], ["b"]]
    result = run(rows, 2)
    assert published(result) == [["a", "C"], ["a", "C"], ["a", "C"], ["b"], ["b"]]
    (step,) = result.log
    assert (step.action, step.subject) == ("generalize", "C")
    assert step.reason == "{A, c} is in 1 record"
    assert step.cost == pytest.approx(3 * 2 / 4 / 8)


def test_a_long_record_does_not_hurt():
    names = [f"i{n:03}" for n in range(164)]
    rows = [names, *([name] for name in names)]
    result = run(rows, 2, 3, Taxonomy.balanced(names))
    assert is_km_anonymous(result.release.to_rows(), 2, 3)


def test_the_log_stays_short():
    names = [f"i{n:05}" for n in range(4400)]
    result = run([[name] for name in names], 2, 1, Taxonomy.balanced(names))
    assert len(result.log) == 1001
    assert result.log[-1].subject == "100 further steps"
    assert result.figures["repairs"] == 1100


def test_progress_runs_from_none_to_all():
    seen = []
    run([["a"], ["b"], ["c"], ["d"]] * 5, 2, progress=lambda *told: seen.append(told))
    assert seen[0] == ("testing", 0, 7)
    assert seen[-1] == ("testing", 7, 7)
