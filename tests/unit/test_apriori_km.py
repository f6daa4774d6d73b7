"""AprioriKm as an anonymizer: the count-tree's decisions, what it refuses, what it tells."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.km import (
    apriori_reference,
    is_km_anonymous,
    optimal_reference,
    published_ncp,
    recoded,
)
from tests.reference.lcg import Tree
from tests.strategies import tables_with_taxonomy
from tests.unit.km_instances import TREE, instances, published

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import AprioriKm
from setveil.core.errors import InfeasibleError
from setveil.guarantee import KmAnonymity


def run(rows, k, m=2, taxonomy=TREE, **inputs):
    table = TransactionTable.from_rows(rows)
    return AprioriKm(k=k, m=m).anonymize(table, taxonomy=taxonomy, **inputs)


def assert_as_the_count_tree(rows, tree, taxonomy, k, m):
    result = run(rows, k, m, taxonomy)
    found = published(result)
    assert is_km_anonymous(found, k, m)
    expected = apriori_reference(rows, tree, k, m)
    leaves = tree.for_rows([sorted(set(row)) for row in rows])[1]
    assert [set(row) for row in found] == recoded(leaves, expected.image)
    assert sum(step.cost for step in result.log) == pytest.approx(float(expected.ncp))
    return result


def test_2000_random_instances_against_the_count_tree():
    for rows, parents, k, m in instances(2000, seed=11):
        assert_as_the_count_tree(rows, Tree(parents), Taxonomy.from_parents(parents), k, m)


def test_bushy_trees_against_the_count_tree():
    for rows, parents, k, m in instances(200, seed=12, bushy=True):
        assert_as_the_count_tree(rows, Tree(parents), Taxonomy.from_parents(parents), k, m)


@pytest.mark.slow
def test_50000_random_instances():
    for rows, parents, k, m in instances(50_000, seed=13):
        found = published(run(rows, k, m, Taxonomy.from_parents(parents)))
        assert is_km_anonymous(found, k, m)


def test_nearly_always_optimal():
    """The specification says about 97.6% of small instances; rarely far from the optimum."""
    losses = []
    for rows, parents, k, m in instances(300, seed=14, bushy=True):
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
    result = assert_as_the_count_tree(rows, Tree.of(taxonomy), taxonomy, k, m)
    assert result.promise == KmAnonymity(k=k, m=m)
    assert result.promise.check(result.release).holds
    assert not result.release.hides


def test_a_tree_of_one_node():
    assert published(run([["a"], ["a"]], 2, taxonomy=Taxonomy.balanced(["a"]))) == [["a"], ["a"]]


def test_repeated_items_of_a_bag_count_once():
    bag = TransactionTable.from_rows([["a", "a", "c"], ["a", "c"], ["a", "c", "c"]], bags=True)
    result = AprioriKm(k=3).anonymize(bag, taxonomy=TREE)
    assert result.release.to_rows() == [["a", "c"]] * 3


def test_the_cheapest_way_is_taken_and_told():
    # A and c are together in one record. Below A lie 5 occurrences, below C 3: C is cheaper.
    rows = [["a", "c"], ["a", "d"], ["a", "d"], ["b"], ["b"]]
    result = run(rows, 2)
    assert published(result) == [["a", "C"], ["a", "C"], ["a", "C"], ["b"], ["b"]]
    (step,) = result.log
    assert (step.action, step.subject) == ("generalize", "C")
    assert step.reason == "{c} is in 1 record"
    assert step.cost == pytest.approx(3 * 2 / 4 / 8)


def test_a_long_record_does_not_hurt():
    names = [f"i{n:03}" for n in range(164)]
    rows = [names, *([name] for name in names)]
    result = run(rows, 2, 3, Taxonomy.balanced(names))
    assert is_km_anonymous(result.release.to_rows(), 2, 3)


def test_equal_long_records_need_no_walk_through_their_subsets():
    names = [f"i{n:03}" for n in range(164)]
    result = run([names] * 7, 5, 20, Taxonomy.balanced(names))
    assert [sorted(row) for row in result.release.to_rows()] == [names] * 7
    assert result.log == ()


def test_more_items_known_than_any_record_has():
    rows = [["a", "c"], ["a", "c"], ["b"], ["b"]]
    assert published(run(rows, 2, 1000)) == rows


def test_the_log_stays_short():
    names = [f"i{n:05}" for n in range(4400)]
    result = run([[name] for name in names], 2, 1, Taxonomy.balanced(names))
    assert len(result.log) == 1001
    assert result.log[-1].subject == "100 further steps"
    assert result.figures["generalizations"] == 1100


def test_progress_runs_from_none_to_all():
    seen = []
    run([["a", "c"], ["b", "d"]] * 5, 2, 2, progress=lambda *told: seen.append(told))
    assert seen[0] == ("repairing sets of 2", 0, 40)
    assert seen[-1] == ("repairing sets of 2", 40, 40)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
