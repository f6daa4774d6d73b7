"""OptimalKm as an anonymizer: nothing is cheaper, and what is too large is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.km import cuts, is_km_anonymous, optimal_reference, published_ncp
from tests.reference.lcg import Tree
from tests.strategies import tables_with_taxonomy
from tests.unit.km_instances import TREE, instances, published

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import DirectKm, OptimalKm
from setveil.core.errors import InfeasibleError
from setveil.guarantee import KmAnonymity


def run(rows, k, m=2, taxonomy=TREE, **inputs):
    table = TransactionTable.from_rows(rows)
    return OptimalKm(k=k, m=m).anonymize(table, taxonomy=taxonomy, **inputs)


def assert_optimal(rows, tree, taxonomy, k, m):
    result = run(rows, k, m, taxonomy)
    found = published(result)
    assert is_km_anonymous(found, k, m)
    loss = published_ncp(rows, found, tree)
    assert loss == optimal_reference(rows, tree, k, m).ncp
    assert sum(step.cost for step in result.log) == pytest.approx(float(loss))
    return result


def test_2000_random_instances_against_all_cuts():
    for rows, parents, k, m in instances(2000, seed=11):
        assert_optimal(rows, Tree(parents), Taxonomy.from_parents(parents), k, m)


def test_trees_with_most_to_decide():
    for rows, parents, k, m in instances(150, seed=12, bushy=True):
        assert_optimal(rows, Tree(parents), Taxonomy.from_parents(parents), k, m)


@pytest.mark.slow
def test_50000_random_instances():
    for rows, parents, k, m in instances(50_000, seed=13):
        assert_optimal(rows, Tree(parents), Taxonomy.from_parents(parents), k, m)


@given(tables_with_taxonomy(min_rows=1, max_rows=12), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_any_tree_and_interior_items(drawn, k, m):
    table, taxonomy = drawn
    rows = table.to_rows()
    if k > len(rows) or 0 < sum(map(bool, rows)) < k:
        with pytest.raises(InfeasibleError):
            run(rows, k, m, taxonomy)
        return
    result = assert_optimal(rows, Tree.of(taxonomy), taxonomy, k, m)
    assert result.promise == KmAnonymity(k=k, m=m)
    assert result.promise.check(result.release).holds
    assert not result.release.hides


def test_generalizing_keeps_what_is_safe():
    """The search rests on this: of two cuts one above the other, the higher is safe too."""
    for rows, parents, k, m in instances(60, seed=14, bushy=True):
        tree = Tree(parents)
        safe = {}
        for cut in cuts(tree):
            image = {v: next(u for u in tree.up(v) if u in cut) for row in rows for v in row}
            safe[cut] = is_km_anonymous([{image[v] for v in row} for row in rows], k, m)
        for cut, is_safe in safe.items():
            for node in {tree.parents[v] for v in cut} - {None}:
                higher = frozenset(v for v in cut if not tree.covers(node, v)) | {node}
                assert safe[higher] or not is_safe


def test_32_items_and_many_records():
    rng = np.random.default_rng(0)
    names = [f"i{n:02}" for n in range(32)]
    weights = 1 / np.arange(1, 33)
    weights /= weights.sum()
    rows = [
        rng.choice(names, size=int(rng.integers(1, 9)), replace=False, p=weights).tolist()
        for _ in range(1000)
    ]
    taxonomy = Taxonomy.balanced(names, fanout=2)
    result = run(rows, 10, 3, taxonomy)
    assert result.figures["cuts"] == 458_330
    assert result.promise.check(result.release).holds
    table = TransactionTable.from_rows(rows)
    direct = DirectKm(k=10, m=3).anonymize(table, taxonomy=taxonomy)
    tree = Tree.of(taxonomy)
    best = published_ncp(rows, published(result), tree)
    assert 0 < best <= published_ncp(rows, published(direct), tree)


def test_more_items_are_refused_with_the_number_of_cuts():
    names = [f"i{n:02}" for n in range(40)]
    taxonomy = Taxonomy.balanced(names, fanout=2)
    with pytest.raises(InfeasibleError, match="takes at most 32 items") as caught:
        run([names] * 3, 2, taxonomy=taxonomy)
    assert f"with 40 items there are {taxonomy.number_of_cuts():,}; it" in str(caught.value)
    assert "direct-km" in caught.value.fix
    many = [f"i{n:03}" for n in range(999)]
    with pytest.raises(InfeasibleError, match=r"with 999 items there are about 10\^\d+"):
        run([many] * 3, 2, taxonomy=Taxonomy.balanced(many, fanout=3))


def test_only_items_that_occur_count():
    names = [f"i{n:03}" for n in range(500)]
    taxonomy = Taxonomy.balanced(names, fanout=2)
    result = run([["i000", "i400"], ["i001", "i400"], ["i499"], ["i499"]], 2, 1, taxonomy)
    # Two pairs, each in one half of the tree: together or apart, or all four as the root.
    assert result.figures["cuts"] == 2 * 2 + 1
    rows = published(result)
    assert rows[0] == rows[1]
    assert rows[2] == ["i499"]


def test_the_log_tells_the_cut_and_the_search():
    result = run([["a", "c"], ["b", "c"], ["c"]], 2)
    assert [(step.action, step.subject) for step in result.log] == [
        ("generalize", "A"),
        ("search", "2 of 3 cuts"),
    ]
    assert result.figures == {"cuts_tried": 2, "cuts": 3}


def test_progress():
    seen = []
    run([["a"], ["b"]] * 3, 2, progress=lambda *told: seen.append(told))
    # Only a and b occur, so the only other cut worth trying is A.
    assert seen == [("searching", 1, 2)]
