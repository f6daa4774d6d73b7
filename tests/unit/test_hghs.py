"""HgHs: 0 violations under brute force, the plain twin's result, near the optimum, bad input."""

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.coherence import support
from tests.reference.hghs import Problem, descend
from tests.reference.lcg import Tree
from tests.strategies import tables_with_taxonomy

import setveil
from setveil import Taxonomy, TransactionTable
from setveil.anonymize import HgHs
from setveil.anonymize.base import leaf_rows
from setveil.anonymize.km import hghs
from setveil.anonymize.km.hghs import CutSearch
from setveil.core.errors import InfeasibleError, ParameterError


def random_instance(rng):
    """Up to fourteen records over a tree of three levels, some branches shorter."""
    parents = {"R": None}
    for a in range(rng.randint(2, 3)):
        parents[f"A{a}"] = "R"
        for b in range(rng.randint(1, 3)):
            parents[f"A{a}B{b}"] = f"A{a}"
            for c in range(rng.randint(1, 2)):
                if rng.random() < 0.6:
                    parents[f"A{a}B{b}C{c}"] = f"A{a}B{b}"
    tree = Tree(parents)
    leaves = [v for v in tree.preorder if not tree.children[v]]
    weights = [rng.random() for _ in leaves]
    rows = [
        sorted(set(rng.choices(leaves, weights, k=rng.randint(1, 4))))
        for _ in range(rng.randint(6, 14))
    ]
    return rows, tree, rng.randint(2, 3), rng.choice([1, 2, 2, 3, None])


def run(rows, tree, k, m, **params):
    table = TransactionTable.from_rows(rows)
    return HgHs(k=k, m=m, **params).anonymize(table, taxonomy=Taxonomy.from_parents(tree.parents))


def is_km_anonymous(rows, k, m):
    nodes = sorted({node for row in rows for node in row})
    sizes = range(1, min(m, max(map(len, rows), default=0)) + 1)
    return all(
        not 0 < support(itemset, rows) < k for i in sizes for itemset in combinations(nodes, i)
    )


def assert_safe(seeds):
    for seed in seeds:
        rows, tree, k, m = random_instance(random.Random(seed))
        made = run(rows, tree, k, m)
        assert is_km_anonymous(made.release.to_rows(), k, m or len(tree.parents)), seed


def test_no_violation_in_2000_instances():
    assert_safe(range(2_000))


@pytest.mark.slow
def test_no_violation_in_50000_instances():
    assert_safe(range(2_000, 52_000))


def test_optimal_in_most_small_instances():
    optimal = 0
    for seed in range(300):
        rows, tree, k, m = random_instance(random.Random(seed))
        problem = Problem(rows, tree, k, m)
        cost = round(run(rows, tree, k, m).figures["cost"] * problem.unit)
        assert cost >= problem.optimum()
        optimal += cost == problem.optimum()
    assert optimal >= 290  # spec: 98.7% with the look-ahead, 87% without


@given(
    tables_with_taxonomy(min_rows=1, max_rows=10, max_length=5, max_nodes=10),
    st.integers(1, 4),
    st.sampled_from([1, 2, 3, None]),
    st.booleans(),
)
@settings(max_examples=150)
def test_same_cut_as_the_plain_twin(drawn, k, m, pairs):
    table, taxonomy = drawn
    k = min(k, len(table))
    problem = Problem(table.to_rows(), Tree.of(taxonomy), k, m)
    cut, suppressed = descend(problem, pairs=pairs)
    before, hghs.PAIRS = hghs.PAIRS, hghs.PAIRS if pairs else -1
    try:
        made = HgHs(k=k, m=m).anonymize(table, taxonomy=taxonomy)
    finally:
        hghs.PAIRS = before
    assert [step.subject for step in made.log if step.action == "suppress"] == suppressed
    assert round(made.figures["cost"] * problem.unit) == problem.cost(cut, suppressed)
    published = dict(zip(made.key.records.tolist(), made.release.to_rows(ids=True), strict=True))
    for record, nodes in enumerate(problem.generalized(cut)):
        assert set(published[record]) == nodes - set(suppressed)


@given(
    tables_with_taxonomy(min_rows=1, max_rows=10, max_length=6, max_nodes=12),
    st.integers(1, 4),
    st.sampled_from([1, 2, 3, 4, None]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=150)
def test_threats_after_any_splits_are_those_of_enumeration(drawn, k, m, random):
    """Updating the threats split by split is the same as mining the cut anew."""
    table, taxonomy = drawn
    problem = Problem(table.to_rows(), Tree.of(taxonomy), k, m)
    search = CutSearch(leaf_rows(table, taxonomy), k=k, m=m)
    ids = search.tree.ids
    cut = search.start()
    while True:
        found = {
            frozenset(ids[v] for v in cut.threats[a:b].tolist())
            for a, b in zip(cut.threat_offsets, cut.threat_offsets[1:], strict=False)
        }
        assert len(found) == len(cut.threat_offsets) - 1
        nodes = frozenset(ids[v] for v in cut.nodes.tolist())
        assert found == set(map(frozenset, problem.threats(nodes)))
        assert cut.cost == problem.greedy(nodes)[0]
        options = search.splittable(cut)
        if not options:
            break
        cut = search.split(cut, random.choice(options))


def test_more_than_65536_records():
    """The only threats are {a, b}, in two records, and with m = 3 also {b, c, d}."""
    tree = Tree({"a": "A", "b": "A", "c": "B", "d": "B", "A": "R", "B": "R", "R": None})
    rows = [["a", "c"], ["b", "c"], ["b", "d"], ["c", "d"]] * 16_500
    rows += [["a", "b"], ["a", "b"], ["b", "c", "d"]]
    for m in (2, 3):
        problem = Problem(rows, tree, 3, m)
        cut, suppressed = descend(problem)
        made = run(rows, tree, 3, m)
        assert round(made.figures["cost"] * problem.unit) == problem.cost(cut, suppressed)
        assert made.promise.check(made.release).holds


def test_an_only_child_that_occurs_is_published_at_once():
    """Three links, each with one child: no single split gains anything by itself."""
    tree = Taxonomy.from_parents({"a": "x", "x": "y", "y": "z", "z": "*", "b": "*", "c": "*"})
    made = HgHs(k=2, m=2).anonymize(TransactionTable.from_rows([["a"], ["a"]]), taxonomy=tree)
    assert made.release.to_rows() == [["a"], ["a"]]
    assert made.figures["cost"] == 0


def test_everything_rare_is_suppressed():
    table = TransactionTable.from_rows([["a"], [], []])
    made = HgHs(k=2, m=2).anonymize(table, taxonomy=Taxonomy.balanced(["a", "b"]))
    assert made.release.to_rows() == [[], [], []]
    assert made.figures["cost"] == 1


def test_a_budget_ends_the_search_with_a_safe_cut():
    rows, tree, k, m = random_instance(random.Random(8))
    made = run(rows, tree, k, m, budget=1e-9)
    assert made.log[0].action == "stop"
    assert "the budget of 1e-09 s was used up" in made.log[0].reason
    assert is_km_anonymous(made.release.to_rows(), k, m or 9)


@pytest.mark.parametrize(("name", "value"), [("LIMIT", 2), ("WORK", 30)])
def test_splits_with_too_many_threats_are_left_alone(monkeypatch, name, value):
    blocked = 0
    monkeypatch.setattr(hghs, name, value)
    for seed in range(40):
        rows, tree, k, m = random_instance(random.Random(seed))
        made = run(rows, tree, k, m)
        blocked += any(step.action == "leave" for step in made.log)
        assert is_km_anonymous(made.release.to_rows(), k, m or 9)
    assert blocked


def test_groceries(data_dir):
    table = setveil.read(data_dir / "groceries.basket.csv")
    tree = Taxonomy.read(data_dir / "groceries_taxonomy.csv")
    made = HgHs(k=5, m=2).anonymize(table, taxonomy=tree)
    verdict = made.promise.check(made.release)
    assert (verdict.holds, verdict.exact) == (True, True)
    assert made.release.is_consistent_with(table, made.key, tree)
    assert made.figures["cost"] < 0.05 * len(table.items)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"k": 0}, "k is 0"),
        ({"m": 0}, "m is 0"),
        ({"m": 1.5}, "m is 1.5"),
        ({"budget": -1}, "budget is -1"),
    ],
)
def test_parameters_that_mean_nothing(params, said):
    with pytest.raises(ParameterError, match=said):
        HgHs(**params)


def test_more_than_there_are():
    with pytest.raises(InfeasibleError, match="only 1 records"):
        HgHs(k=2).anonymize(
            TransactionTable.from_rows([["a"]]), taxonomy=Taxonomy.balanced(["a", "b"])
        )
