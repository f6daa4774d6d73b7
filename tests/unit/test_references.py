"""The slow references against something slower still: definitions, matching and enumeration."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference.clump import clump_reference, scaled_ggd, sorted_places
from tests.reference.lcg import (
    Tree,
    counts,
    ggd,
    incremental,
    is_generalization,
    lcg,
    lcg_bottom_up_printed,
)
from tests.reference.optimum import divisions, optimum, optimum_by_enumeration
from tests.reference.partition import partition_reference


@st.composite
def trees(draw, max_nodes=8):
    size = draw(st.integers(1, max_nodes))
    above = [None] + [f"v{draw(st.integers(0, i - 1))}" for i in range(1, size)]
    return Tree({f"v{i}": parent for i, parent in enumerate(above)})


def bags(tree):
    return st.lists(st.sampled_from(tree.preorder), max_size=4)


@st.composite
def records(draw, *, max_nodes=8, min_rows=1, max_rows=4, unique=False, max_size=4):
    """A tree and rows over any of its nodes."""
    tree = draw(trees(max_nodes))
    row = st.lists(st.sampled_from(tree.preorder), max_size=max_size, unique=unique)
    return tree, draw(st.lists(row, min_size=min_rows, max_size=max_rows))


@given(st.data(), trees())
@settings(max_examples=300)
def test_matching_agrees_with_counts(data, tree):
    """By Hall's theorem: g generalizes t iff no subtree holds more of g than of t."""
    general, row = data.draw(bags(tree)), data.draw(bags(tree))
    in_row, in_general = counts(row, tree), counts(general, tree)
    by_counts = all(in_general[v] <= in_row[v] for v in tree.preorder)
    assert is_generalization(general, row, tree) == by_counts


@given(records(max_nodes=6, max_rows=3, max_size=3))
@settings(max_examples=150)
def test_closed_form_is_the_least_of_all_common_generalizations(drawn):
    tree, rows = drawn
    best = lcg(rows, tree)
    assert all(is_generalization(best, row, tree) for row in rows)
    shortest = min(map(len, rows))
    assert len(best) == shortest
    least = ggd(rows, best, tree)
    for size in range(shortest + 1):
        for other in combinations_with_replacement(tree.preorder, size):
            if all(is_generalization(other, row, tree) for row in rows):
                assert ggd(rows, other, tree) >= least
                assert is_generalization(other, best, tree)


@given(st.randoms(use_true_random=False), records(max_rows=5))
@settings(max_examples=150)
def test_closed_form_may_be_updated_in_any_order(rng, drawn):
    tree, rows = drawn
    shuffled = rng.sample(rows, len(rows))
    assert incremental(shuffled, tree, lcg) == lcg(rows, tree)


@given(records(max_rows=4))
@settings(max_examples=150)
def test_printed_procedure_gives_a_valid_generalization_never_a_better_one(drawn):
    tree, rows = drawn
    printed = lcg_bottom_up_printed(rows, tree)
    assert all(is_generalization(printed, row, tree) for row in rows)
    assert ggd(rows, printed, tree) >= ggd(rows, lcg(rows, tree), tree)


@given(st.data())
@settings(max_examples=100)
def test_printed_procedure_is_exact_for_sets_of_leaves_at_height_two(data):
    widths = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    parents = {"R": None}
    for group, width in enumerate(widths):
        parents[f"g{group}"] = "R"
        parents |= {f"g{group}i{i}": f"g{group}" for i in range(width)}
    tree = Tree(parents)
    leaves = [v for v in tree.preorder if not tree.children[v]]
    row = st.lists(st.sampled_from(leaves), unique=True, max_size=5)
    rows = data.draw(st.lists(row, min_size=1, max_size=4))
    assert lcg_bottom_up_printed(rows, tree) == lcg(rows, tree)


@given(records())
@settings(max_examples=200)
def test_whole_number_objective_is_the_distortion(drawn):
    tree, rows = drawn
    tree, rows = tree.for_rows(rows)
    assume(tree.n_leaves > 1)
    by_loss_metric = ggd(rows, lcg(rows, tree), tree)
    assert Fraction(scaled_ggd(rows, tree), tree.n_leaves - 1) == by_loss_metric


def test_private_leaf_makes_an_interior_item_free():
    tree, rows = Tree({"dog": "animal", "animal": None, "poodle": "dog"}).for_rows(
        [["dog", "poodle"], ["dog"]]
    )
    assert rows == [["dog (itself)", "poodle"], ["dog (itself)"]]
    assert lcg(rows, tree) == ("dog (itself)",)
    assert ggd(rows[1:], rows[1], tree) == 0


def clump_by_definition(rows, tree, k, r, objective):
    """Clump with every distortion computed from the records themselves."""
    order = sorted_places(rows)
    tree, rows = tree.for_rows(rows)

    def loss(members):
        part = [rows[i] for i in members]
        return ggd(part, lcg(part, tree), tree)

    def cost(members, i):
        return loss([*members, i]) - (loss(members) if objective == "increment" else 0)

    clusters = [[order[c * k]] for c in range(len(rows) // k)]
    for i in (i for place, i in enumerate(order) if place % k or place >= k * len(clusters)):
        candidates = [c for c in clusters if len(c) < k][:r] or clusters
        min(candidates, key=lambda members: cost(members, i)).append(i)
    return clusters


@given(
    st.data(),
    records(min_rows=1, max_rows=9, unique=True),
    st.sampled_from([1, 2, 10, None]),
    st.sampled_from(["total", "increment"]),
)
@settings(max_examples=200)
def test_clump_reference_follows_the_definition(data, drawn, r, objective):
    tree, rows = drawn
    assume(tree.for_rows(rows)[0].n_leaves > 1)
    k = data.draw(st.integers(1, len(rows)))
    found = clump_reference(rows, tree, k, r, objective)
    assert found.clusters == clump_by_definition(rows, tree, k, r, objective)


@given(st.data(), records(min_rows=1, max_rows=9))
def test_clump_reference_publishes_generalizations_in_groups_of_k(data, drawn):
    tree, rows = drawn
    k = data.draw(st.integers(1, len(rows)))
    for distinct in (False, True):
        found = clump_reference(rows, tree, k, distinct=distinct)
        assert sorted(i for members in found.clusters for i in members) == list(range(len(rows)))
        tree_used, leaf_rows = tree.for_rows(rows)
        for members, bag in zip(found.clusters, found.published, strict=True):
            assert k <= len(members) < 2 * k
            assert all(is_generalization(bag, leaf_rows[i], tree_used) for i in members)
            assert not distinct or max(Counter(bag).values(), default=1) == 1


@given(st.integers(1, 5), records(min_rows=5, max_rows=14, unique=True))
def test_partition_reference_generalizes_exactly(k, drawn):
    tree, rows = drawn
    rows = [row for row in rows if row]
    assume(len(rows) >= k)
    found = partition_reference(rows, tree, k)
    assert sorted(i for members in found.clusters for i in members) == list(range(len(rows)))
    tree, rows = tree.for_rows(rows)
    for members, nodes in zip(found.clusters, found.published, strict=True):
        assert len(members) >= k
        for i in members:
            # Each item lies below exactly one published node, and no node is without an item.
            above = [[v for v in nodes if tree.covers(v, item)] for item in rows[i]]
            assert all(len(found_above) == 1 for found_above in above)
            assert {v for (v,) in above} == set(nodes)


def test_divisions_are_the_set_partitions():
    assert [len(list(divisions(range(n), 1))) for n in range(8)] == [1, 1, 2, 5, 15, 52, 203, 877]
    assert sorted(len(groups) for groups in divisions(range(5), 2)) == [1] + [2] * 10


@given(st.data(), records(min_rows=1, max_rows=7, unique=True))
@settings(max_examples=60)
def test_optimum_is_the_least_over_all_divisions(data, drawn):
    tree, rows = drawn
    k = data.draw(st.integers(1, len(rows)))
    least = optimum_by_enumeration(rows, tree, k)
    assert optimum(rows, tree, k) == least
    assert clump_reference(rows, tree, k).ggd >= least


def test_optimum_refuses_too_few_records():
    with pytest.raises(ValueError, match="1 records cannot form a group of 2"):
        optimum([["a"]], Tree({"a": None}), 2)
