import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import worlds as reference
from tests.strategies import published

from setveil import Taxonomy, TransactionTable
from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.release import GeneralizedRelease, Key, Release, publish_groups
from setveil.release import generalized_worlds as worlds_module

FOOD = Taxonomy.from_parents(
    {
        "apple": "fruit",
        "orange": "fruit",
        "banana": "fruit",
        "beef": "meat",
        "chicken": "meat",
        "fruit": "food",
        "meat": "food",
    }
)


def publish(tree, groups, group_of, *, hides=True):
    offsets = np.cumsum([0, *map(len, groups)])
    nodes = list(itertools.chain.from_iterable(groups))
    return publish_groups(
        tree, group_offsets=offsets, group_nodes=nodes, group_of=group_of, hides=hides
    )


def named(tree, *groups):
    return [[tree.node(name) for name in group] for group in groups]


def whole_rows(release, tree):
    """Return the published rows as node numbers of the whole tree."""
    return [[tree.ids.index(i) for i in row] for row in release.to_rows(ids=True)]


# --- publishing -----------------------------------------------------------------------------------


def test_rows_come_longest_first_and_the_key_leads_back():
    groups = named(FOOD, ["meat"], ["fruit", "beef", "food"])
    release, key = publish(FOOD, groups, [0, 1, 0, 1])
    assert release.to_rows() == [["food", "fruit", "beef"]] * 2 + [["meat"]] * 2
    assert key.records.tolist() == [1, 3, 0, 2]


def test_published_tree_holds_nothing_below_or_beside_the_published_nodes():
    release, _ = publish(FOOD, named(FOOD, ["fruit"], ["beef"]), [0, 0])
    assert release.tree.ids == ("food", "fruit")
    assert release.tree.leaves.tolist() == [5, 3]


@given(published(), st.randoms(use_true_random=False))
def test_permuting_records_and_groups_changes_nothing(case, random):
    tree, groups, group_of, hides = case
    release, _ = publish(tree, groups, group_of, hides=hides)
    order = random.sample(range(len(groups)), len(groups))
    place = {old: new for new, old in enumerate(order)}
    mixed = random.sample(group_of, len(group_of))
    shuffled = [random.sample(groups[g], len(groups[g])) for g in order]
    other, _ = publish(tree, shuffled, [place[g] for g in mixed], hides=hides)
    assert other.tree.ids == release.tree.ids
    assert other.offsets.tolist() == release.offsets.tolist()
    assert other.nodes.tolist() == release.nodes.tolist()


@given(published())
def test_key_lines_up_with_the_groups(case):
    tree, groups, group_of, hides = case
    release, key = publish(tree, groups, group_of, hides=hides)
    assert sorted(key.records.tolist()) == list(range(len(group_of)))
    for row, record in zip(whole_rows(release, tree), key.records.tolist(), strict=True):
        assert row == sorted(groups[group_of[record]])


def test_release_is_a_release():
    release, _ = publish(FOOD, named(FOOD, ["fruit"]), [0])
    assert isinstance(release, Release)
    assert "1 records" in repr(release)


@pytest.mark.parametrize(
    ("offsets", "nodes", "hides", "message"),
    [
        ([0, 2], [0], True, "do not fit"),
        ([0, 2, 1, 2], [0, 1], True, "decrease"),
        ([0, 1], [99], True, "not in the tree"),
        ([0, 2], [3, 1], True, "not sorted"),
        ([0, 1, 3], [1, 1, 2], True, "canonical"),
        ([0, 1, 2], [2, 1], True, "canonical"),
        ([0, 2], [1, 1], False, "twice"),
        ([0, 2], [0, 1], False, "above another"),
    ],
)
def test_broken_releases_are_refused(offsets, nodes, hides, message):
    with pytest.raises(ParameterError, match=message):
        GeneralizedRelease(tree=FOOD, offsets=offsets, nodes=nodes, hides=hides)


def test_group_that_is_not_there():
    with pytest.raises(ParameterError, match="group"):
        publish(FOOD, named(FOOD, ["fruit"]), [0, 1])


def test_frames_keep_empty_records():
    release, _ = publish(FOOD, named(FOOD, ["fruit"], []), [0, 1])
    assert release.to_frame().rows() == [(0, "fruit"), (1, None)]


# --- the verbs against all worlds -----------------------------------------------------------------


@settings(max_examples=150)
@given(published(), st.data())
def test_support_bounds_are_the_extremes_over_all_worlds(case, data):
    tree, groups, group_of, hides = case
    release, _ = publish(tree, groups, group_of, hides=hides)
    leaves = reference.all_leaves(tree)
    itemset = data.draw(st.lists(st.sampled_from(leaves), max_size=3, unique=True))
    low = high = 0
    for row in whole_rows(release, tree):
        held = [set(itemset) <= t for t in reference.worlds(tree, row, hides=hides)]
        low += all(held)
        high += any(held)
    bounds = release.support_bounds([tree.ids[v] for v in itemset], tree)
    assert (bounds.low, bounds.high, bounds.tight) == (low, high, True)


@settings(max_examples=100)
@given(published(max_nodes=6), st.integers(0, 2**32 - 1))
def test_sampled_worlds_are_allowed(case, seed):
    tree, groups, group_of, hides = case
    release, _ = publish(tree, groups, group_of, hides=hides)
    world = release.sample_world(np.random.default_rng(seed), tree)
    rows = whole_rows(release, tree)
    for row, items in zip(rows, world.to_rows(), strict=True):
        t = frozenset(tree.ids.index(i) for i in items)
        assert len(t) == len(row)
        assert t in reference.worlds(tree, row, hides=hides)
    key = Key(records=np.arange(len(release)))
    assert release.is_consistent_with(world, key, tree)


@pytest.mark.parametrize(
    "group",
    [
        ["fruit", "fruit", "beef"],
        ["food", "fruit", "apple"],
        ["food", "food", "meat", "fruit"],
        ["food"],
        ["apple", "fruit", "fruit", "food", "food"],
    ],
)
def test_distribution_of_sampled_worlds(group):
    copies = 20_000
    release, _ = publish(FOOD, named(FOOD, group), [0] * copies)
    world = release.sample_world(np.random.default_rng(7), FOOD)
    seen = {}
    for row in world.to_rows():
        t = frozenset(FOOD.node(i) for i in row)
        seen[t] = seen.get(t, 0) + 1
    expected = reference.draws(FOOD, named(FOOD, group)[0])
    assert set(seen) <= set(expected)
    statistic = sum(
        float((seen.get(t, 0) - copies * p) ** 2 / (copies * p)) for t, p in expected.items()
    )
    # Mean and variance of chi-square are df and 2 df; six deviations leave no room for chance.
    df = max(len(expected) - 1, 1)
    assert statistic < df + 6 * (2 * df) ** 0.5


@settings(max_examples=150)
@given(published(max_nodes=8, max_bag=4), st.data())
def test_chances_equal_enumeration(case, data):
    tree, groups, group_of, hides = case
    release, _ = publish(tree, groups, group_of, hides=hides)
    itemset = data.draw(
        st.lists(st.sampled_from(reference.all_leaves(tree)), max_size=3, unique=True)
    )
    names = [tree.ids[v] for v in itemset]
    expected, weights = Fraction(0), {}
    for j, row in enumerate(whole_rows(release, tree)):
        chances = reference.draws(tree, row)
        expected += sum(p for t, p in chances.items() if set(itemset) <= t)
        weight = Fraction(1)
        for x in itemset:
            single = sum(p for t, p in chances.items() if x in t)
            above = any(x in reference.leaves_below(tree, v) for v in row)
            assert (single > 0) == above
            weight *= single if above else Fraction(hides, tree.n_leaves)
        if weight:
            weights[j] = weight
    assert release.expected_support(names, tree) == pytest.approx(float(expected))
    found = release.matches(names, tree)
    assert found.records.tolist() == list(weights)
    assert found.weights.tolist() == pytest.approx([float(w) for w in weights.values()])


@settings(max_examples=150)
@given(published(max_nodes=8), st.data())
def test_consistency_equals_matching(case, data):
    tree, groups, group_of, hides = case
    release, key = publish(tree, groups, group_of, hides=hides)
    leaves = reference.all_leaves(tree)
    rows = [data.draw(st.lists(st.sampled_from(leaves), max_size=4, unique=True)) for _ in group_of]
    original = TransactionTable.from_rows([[tree.ids[v] for v in row] for row in rows])
    expected = all(
        reference.allows(tree, row, rows[record], hides=hides)
        for row, record in zip(whole_rows(release, tree), key.records.tolist(), strict=True)
    )
    assert release.is_consistent_with(original, key, tree) == expected


def test_drawing_in_blocks_gives_whole_records(monkeypatch):
    release, _ = publish(FOOD, named(FOOD, ["fruit", "fruit", "food"], ["meat"]), [0, 1] * 50)
    monkeypatch.setattr(worlds_module, "BLOCK", 7)
    world = release.sample_world(np.random.default_rng(1), FOOD)
    assert release.is_consistent_with(world, Key(records=np.arange(100)), FOOD)
    assert world.lengths.tolist() == [3] * 50 + [1] * 50


# --- where items are found ------------------------------------------------------------------------


def test_interior_items_have_their_private_leaf():
    tree = FOOD.for_items(["fruit", "apple"])
    own = tree.leaf_of(["fruit"]).tolist()
    release, key = publish(tree, [own, [tree.node("fruit")]], [0, 1])
    assert release.to_rows() == [["fruit"], ["fruit"]]
    assert release.to_rows(ids=True) == [["fruit"], ["fruit (itself)"]]
    assert release.support_bounds(["fruit"]).low == 1
    assert release.support_bounds(["fruit"], tree).low == 1
    world = release.sample_world(np.random.default_rng(0), tree)
    assert world[1] == ("fruit",)
    assert release.is_consistent_with(TransactionTable.from_rows([["fruit"], ["apple"]]), key, tree)


def test_release_alone_knows_only_what_it_publishes():
    release, key = publish(FOOD, named(FOOD, ["fruit", "beef"]), [0])
    assert release.support_bounds(["beef"]).low == 1
    with pytest.raises(NotApplicable, match="taxonomy"):
        release.support_bounds(["apple"])
    with pytest.raises(NotApplicable, match="fruit"):
        release.support_bounds(["fruit"])
    with pytest.raises(NotApplicable, match="fruit"):
        release.sample_world(np.random.default_rng(0))
    with pytest.raises(NotApplicable):
        release.is_consistent_with(TransactionTable.from_rows([["apple", "beef"]]), key)


def test_unknown_items_are_named():
    release, _ = publish(FOOD, named(FOOD, ["fruit"]), [0])
    with pytest.raises(InputError, match="stone"):
        release.matches(["stone"], FOOD)


def test_another_taxonomy_is_refused():
    release, _ = publish(FOOD, named(FOOD, ["fruit"]), [0])
    smaller = Taxonomy.from_parents({"apple": "fruit", "fruit": "food"})
    with pytest.raises(InputError, match="3 leaves in the release and 1 in the taxonomy"):
        release.sample_world(np.random.default_rng(0), smaller)
    foreign = Taxonomy.from_parents({"apple": "pome", "pome": "food"})
    with pytest.raises(InputError, match="'fruit' is not in the taxonomy"):
        release.sample_world(np.random.default_rng(0), foreign)


def test_releases_of_bags_have_no_worlds_of_sets():
    release, _ = publish(FOOD, named(FOOD, ["apple", "apple"]), [0, 0])
    for ask in (
        lambda: release.support_bounds(["apple"]),
        lambda: release.matches(["apple"]),
        lambda: release.sample_world(np.random.default_rng(0), FOOD),
    ):
        with pytest.raises(NotApplicable, match="more items below 'apple'"):
            ask()


def test_keys_that_do_not_fit_are_inconsistent():
    release, _ = publish(FOOD, named(FOOD, ["apple"]), [0, 0])
    original = TransactionTable.from_rows([["apple"], ["apple"]])
    assert release.is_consistent_with(original, Key(records=[1, 0]), FOOD)
    assert not release.is_consistent_with(original, Key(records=[0]), FOOD)
    assert not release.is_consistent_with(original, Key(records=[0, 2]), FOOD)


def test_empty_release():
    release, key = publish(FOOD, [], [])
    assert len(release) == 0
    assert release.to_rows() == []
    assert json.dumps(release.to_frame().rows()) == "[]"
    bounds = release.support_bounds(["apple"], FOOD)
    assert (bounds.low, bounds.high) == (0, 0)
    assert len(release.sample_world(np.random.default_rng(0), FOOD)) == 0
    assert len(release.matches(["apple"], FOOD).records) == 0
    assert release.is_consistent_with(TransactionTable.from_rows([]), key, FOOD)
