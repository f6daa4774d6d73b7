from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import generalization as reference
from tests.reference import worlds
from tests.strategies import published, tables

from setveil import Taxonomy, TransactionTable, measure
from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.release import Key, Release, publish_groups

FOOD = Taxonomy.from_parents(
    {"Apple": "Fruit", "Orange": "Fruit", "Banana": "Fruit", "Beef": "Meat", "Chicken": "Meat"}
    | {"Milk": "Dairy", "Cheese": "Dairy", "Butter": "Dairy"}
    | {"Fruit": "Food", "Meat": "Food", "Dairy": "Food"}
)
MEALS = TransactionTable.from_rows(
    [
        ["Orange", "Chicken", "Beef"],
        ["Banana", "Beef", "Cheese"],
        ["Chicken", "Milk", "Butter"],
        ["Apple", "Chicken"],
        ["Chicken", "Beef"],
    ]
)


def publish(tree, groups, group_of, *, hides=True):
    return publish_groups(
        tree,
        group_offsets=np.cumsum([0, *map(len, groups)]),
        group_nodes=[v for group in groups for v in group],
        group_of=group_of,
        hides=hides,
    )


def named(groups):
    return [[FOOD.node(name) for name in group] for group in groups]


CLUMP, CLUMP_KEY = publish(
    FOOD, named([["Fruit", "Beef", "Food"], ["Chicken", "Food"]]), [0, 0, 1, 1, 1]
)
PARTITION, PARTITION_KEY = publish(
    FOOD, named([["Fruit", "Meat"], ["Food"]]), [0, 1, 1, 0, 1], hides=False
)


def test_distortion_of_the_worked_examples():
    assert measure.ggd_exact(CLUMP, MEALS) == Fraction(46, 7)
    assert measure.ggd_exact(PARTITION, MEALS) == Fraction(69, 7)
    assert measure.ggd(CLUMP, MEALS) == pytest.approx(6.571, abs=5e-4)
    assert measure.ggd_share(CLUMP, MEALS) == pytest.approx(46 / 7 / 13)
    assert CLUMP.is_consistent_with(MEALS, CLUMP_KEY, FOOD)
    assert PARTITION.is_consistent_with(MEALS, PARTITION_KEY, FOOD)


def test_figures_of_the_worked_example_by_hand():
    figures = measure.measure_all(CLUMP, MEALS, key=CLUMP_KEY, taxonomy=FOOD)
    # 2 x Fruit (3 of 8 leaves), 5 x Food (all), 1 item of 13 suppressed in t3 alone.
    assert figures["ncp"] == pytest.approx((2 * 3 / 8 + 5 + 1) / 13)
    assert figures["length_mean"] == pytest.approx(12 / 5)
    assert figures["level_mean"] == pytest.approx((2 * (2 + 3 + 1) + 3 * (3 + 1)) / 12)
    assert figures["records_kept"] == 1
    assert figures["items_kept"] == pytest.approx(12 / 13)
    assert figures["items_exact"] == pytest.approx(5 / 13)
    assert figures["items_suppressed"] == pytest.approx(1 / 13)
    assert figures["are_low"] <= figures["are"] <= figures["are_high"]


def test_items_that_share_a_node_are_charged_for_its_width():
    # t1 and t4 below Fruit (3/8) and Meat (2/8), t2, t3 and t5 below Food.
    by_hand = (2 * 3 / 8 + 3 * 2 / 8 + 8) / 13
    assert measure.ncp(PARTITION, MEALS, key=PARTITION_KEY, taxonomy=FOOD) == pytest.approx(by_hand)
    with pytest.raises(NotApplicable, match="key"):
        measure.ncp(PARTITION, MEALS, taxonomy=FOOD)
    assert measure.measure_all(PARTITION, MEALS)["ncp"] is None


@settings(max_examples=100)
@given(published(max_nodes=9), st.integers(0, 2**32 - 1), st.data())
def test_losses_against_the_reference(case, seed, data):
    tree, groups, group_of, hides = case
    release, key = publish(tree, groups, group_of, hides=hides)
    world = release.sample_world(np.random.default_rng(seed), tree)
    rows = [set(row) for row in world.to_rows()]
    extra = data.draw(st.lists(st.sampled_from(worlds.all_leaves(tree)), max_size=3))
    originals = [set()] * len(rows)
    nodes = [[tree.ids.index(i) for i in row] for row in release.to_rows(ids=True)]
    for place, (row, record) in enumerate(zip(rows, key.records.tolist(), strict=True)):
        more = {
            tree.ids[x]
            for x in extra
            if hides or any(x in worlds.leaves_below(tree, v) for v in nodes[place])
        }
        originals[record] = row | more
    table = TransactionTable.from_rows(originals)
    assert release.is_consistent_with(table, key, tree)
    lined_up = [[tree.ids.index(i) for i in originals[r]] for r in key.records.tolist()]
    expected = reference.group_distortion(tree, nodes, lined_up)
    assert measure.ggd_exact(release, table) == expected
    penalty = reference.mean_certainty_penalty(tree, nodes, lined_up, hides=hides)
    figures = measure.measure_all(release, table, key=key, taxonomy=tree)
    if penalty is None:
        assert figures["ncp"] is None
        assert figures["ggd_share"] is None
    else:
        assert figures["ncp"] == pytest.approx(float(penalty))
        assert figures["ggd_share"] == pytest.approx(float(expected / len(table.items)))
        assert figures["items_kept"] + figures["items_suppressed"] == pytest.approx(1)


def test_interior_items_published_as_they_are_cost_nothing():
    tree = FOOD.for_items(["Fruit", "Beef"])
    rows = [["Fruit", "Beef"]] * 2
    release, key = publish(tree, [tree.leaf_of(["Fruit", "Beef"]).tolist()], [0, 0])
    table = TransactionTable.from_rows(rows)
    figures = measure.measure_all(release, table, key=key, taxonomy=FOOD)
    assert (figures["ggd"], figures["ncp"], figures["items_exact"]) == (0, 0, 1)
    assert figures["are"] == 0
    assert figures["level_mean"] == (2 + 3) / 2


def test_a_tree_of_one_leaf_loses_nothing():
    tree = Taxonomy.balanced(["a"])
    release, _ = publish(tree, [[0]], [0])
    assert measure.ggd(release, TransactionTable.from_rows([["a"]])) == 0


def test_records_left_out_lose_all_their_items():
    release, _ = publish(FOOD, named([["Beef"]]), [0])
    table = TransactionTable.from_rows([["Beef"], ["Milk", "Apple"]])
    figures = measure.measure_all(release, table)
    assert (figures["records_kept"], figures["ggd"]) == (0.5, 2)


def test_nothing_to_measure():
    release, key = publish(FOOD, [], [])
    figures = measure.measure_all(release, TransactionTable.from_rows([]), key=key, taxonomy=FOOD)
    assert figures.pop("ggd") == 0
    assert set(figures.values()) == {None}


def test_other_forms_have_no_such_measures():
    class Other(Release):
        form = "other"

        def __len__(self):
            return 5

    figures = measure.measure_all(Other(), MEALS, taxonomy=FOOD)
    assert figures.pop("records_kept") == 1
    assert set(figures.values()) == {None}


def test_a_key_of_another_release_is_refused():
    with pytest.raises(InputError, match="key"):
        measure.ncp(PARTITION, MEALS, key=Key(records=[0]), taxonomy=FOOD)
    with pytest.raises(InputError, match="key"):
        measure.ncp(PARTITION, MEALS, key=Key(records=[0, 1, 2, 3, 9]), taxonomy=FOOD)


# --- count queries --------------------------------------------------------------------------------


def test_query_errors_by_hand():
    def error(*queries):
        found = measure.average_relative_error(CLUMP, MEALS, taxonomy=FOOD, queries=queries)
        assert found.low == found.value == found.high
        assert found.queries == len(queries)
        return found.value

    # Beef is certain in two records; Food is one of the other 7 (6) free leaves in the others.
    beef = 2 + 3 * Fraction(1, 7)
    assert error(["Beef"]) == pytest.approx(float(abs(beef - 3) / 3))
    # Nobody has both; less than 0.1% of five records, so that bound is the divisor.
    both = 2 * Fraction(1, 3) * Fraction(1, 6) * 2
    assert error(["Apple", "Orange"]) == pytest.approx(float(both / Fraction(5, 1000)))
    assert error(["Beef"], ["Apple", "Orange"]) == pytest.approx(
        (error(["Beef"]) + error(["Apple", "Orange"])) / 2
    )


@given(tables(max_rows=15, max_items=5), st.data())
def test_actual_counts(table, data):
    rows = [set(row) for row in table]
    names = sorted(set().union(*rows)) or ["a"]
    query = data.draw(st.lists(st.sampled_from([*names, "nobody's"]), max_size=3, unique=True))
    tree = Taxonomy.balanced([*names, "nobody's"])
    nothing, _ = publish(tree, [[]], [0] * len(table))
    if rows:
        # Nothing is published, so the estimate is 0 unless nothing is asked.
        expected = sum(set(query) <= row for row in rows)
        found = measure.average_relative_error(nothing, table, taxonomy=tree, queries=[query])
        assert found.value == (0 if expected == 0 or not query else 1)
        assert table.itemset_supports([query]).tolist() == [expected]


def test_drawn_queries_occur_and_repeat_with_the_generator():
    drawn = measure.draw_queries(MEALS, np.random.default_rng(1), count=200, sizes=(1, 2, 3))
    assert drawn == measure.draw_queries(
        MEALS, np.random.default_rng(1), count=200, sizes=(1, 2, 3)
    )
    rows = [set(row) for row in MEALS]
    assert all(any(set(query) <= row for row in rows) for query in drawn)
    assert {len(query) for query in drawn} == {1, 2, 3}


def test_measuring_twice_gives_the_same_figures():
    first, second = (measure.measure_all(CLUMP, MEALS, taxonomy=FOOD) for _ in range(2))
    assert first == second
    assert first["are_low"] < first["are"] < first["are_high"]


def test_the_interval_covers_the_mean_over_all_queries():
    """About 95 in 100 intervals hold the value that many queries give."""
    true = measure.average_relative_error(
        CLUMP, MEALS, taxonomy=FOOD, count=20_000, rng=np.random.default_rng(99)
    ).value
    hits = 0
    for seed in range(100):
        found = measure.average_relative_error(
            CLUMP, MEALS, taxonomy=FOOD, count=100, rng=np.random.default_rng(seed)
        )
        hits += found.low <= true <= found.high
    assert 85 <= hits <= 100


def test_an_untouched_release_answers_exactly():
    groups = [FOOD.leaf_of(row).tolist() for row in MEALS]
    release, _ = publish(FOOD, groups, range(5))
    found = measure.average_relative_error(release, MEALS, taxonomy=FOOD, sizes=(1, 2, 3))
    assert found.value == pytest.approx(0, abs=1e-12)


def test_queries_that_cannot_be():
    with pytest.raises(ParameterError, match="queries"):
        measure.draw_queries(MEALS, np.random.default_rng(0), count=0)
    with pytest.raises(ParameterError, match="sizes"):
        measure.draw_queries(MEALS, np.random.default_rng(0), sizes=())
    with pytest.raises(NotApplicable):
        measure.draw_queries(TransactionTable.from_rows([[]]), np.random.default_rng(0))
    with pytest.raises(NotApplicable):
        measure.average_relative_error(CLUMP, MEALS, taxonomy=FOOD, queries=[])
    with pytest.raises(InputError, match="Stone"):
        measure.average_relative_error(CLUMP, MEALS, taxonomy=FOOD, queries=[["Stone"]])


def test_errors_of_floating_point_are_none():
    assert measure.queries.query_error([0.1 + 0.2], [0.3], 1, drawn=False).value == 0
