"""Partition as an anonymizer: what it refuses, what it keeps, what it tells."""

import csv
import dataclasses
import random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.strategies import tables_with_taxonomy

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import Partition
from setveil.core.errors import InfeasibleError, InputError, ParameterError
from setveil.core.params import params_of
from setveil.core.registry import find
from setveil.guarantee import KAnonymity

TREE = Taxonomy.from_parents({"a": "A", "b": "A", "c": "C", "d": "C", "A": "R", "C": "R"})


def run(rows, k, taxonomy=TREE, **inputs):
    return Partition(k=k).anonymize(TransactionTable.from_rows(rows), taxonomy=taxonomy, **inputs)


def published(result):
    """What stands for each original record."""
    rows = dict(zip(result.key.records.tolist(), result.release.to_rows(), strict=True))
    return [rows[i] for i in range(len(rows))]


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "5"])
def test_group_size_must_be_a_positive_whole_number(k):
    with pytest.raises(ParameterError, match="k is "):
        Partition(k=k)


def test_too_few_records_and_none():
    with pytest.raises(InfeasibleError, match="only 1 records"):
        run([["a"]], 2)
    with pytest.raises(InputError, match="no records"):
        run([], 1)


def test_items_outside_the_tree_are_named():
    with pytest.raises(InputError, match="'x'"):
        run([["a"], ["x"]], 1)


def test_a_few_empty_records_are_refused():
    with pytest.raises(
        InfeasibleError, match=r"1 records have no items, but k is 2.*drop the empt"
    ):
        run([["a"], ["b"], []], 2)


def test_a_few_filled_records_among_empty_ones_are_refused():
    with pytest.raises(InfeasibleError, match=r"only 1 records have items, but k is 2"):
        run([["a"], [], []], 2)


def test_enough_empty_records_form_their_own_group():
    result = run([[], ["a"], [], ["b"]], 2)
    assert published(result) == [[], ["A"], [], ["A"]]
    assert result.log[-1].action == "set apart"
    clusters = result.figures["clusters"]
    assert clusters[0] == clusters[2] != clusters[1] == clusters[3]


def test_only_empty_records():
    result = run([[], []], 2)
    assert result.release.to_rows() == [[], []]
    assert result.promise.check(result.release).holds


def test_a_tree_of_one_node():
    assert published(run([["a"], ["a"]], 2, Taxonomy.balanced(["a"]))) == [["a"], ["a"]]


def test_k_of_one_publishes_the_records_themselves():
    rows = [["a", "c"], ["b"], ["a", "b", "c", "d"]]
    assert published(run(rows, 1)) == rows


def test_an_interior_item_stays_apart_from_its_category():
    result = run([["A"], ["A"], ["a", "b"], ["a", "b"]], 2)
    rows = dict(zip(result.key.records.tolist(), result.release.to_rows(ids=True), strict=True))
    assert [rows[i] for i in range(4)] == [["A (itself)"]] * 2 + [["a", "b"]] * 2


def test_repeated_items_of_a_bag_count_once():
    bag = TransactionTable.from_rows([["a", "a", "c"], ["a", "c"], ["a", "c", "c"]], bags=True)
    result = Partition(k=3).anonymize(bag, taxonomy=TREE)
    assert result.release.to_rows() == [["a", "c"]] * 3
    assert result.release.is_consistent_with(bag, result.key, TREE)


def test_long_chains_are_no_matter_of_recursion():
    """A tree deeper than Python's stack, and one group that goes all the way down."""
    depth = 5000
    parents = {f"n{i:05}": f"n{i - 1:05}" for i in range(1, depth)}
    result = run([[f"n{depth - 1:05}"]] * 3, 3, Taxonomy.from_parents(parents))
    assert result.release.to_rows() == [[f"n{depth - 1:05}"]] * 3


def test_log_tells_what_was_split_moved_and_absorbed():
    # Below R: four records of A alone, three of C alone, one of both; the one is k - 1 short.
    rows = [["a"]] * 4 + [["c"]] * 3 + [["b", "d"]]
    result = run(rows, 2)
    steps = {step.action: step for step in result.log}
    assert published(result) == [["R"]] + [["a"]] * 3 + [["c"]] * 3 + [["R"]]
    assert {s.subject for s in result.log if s.action == "split"} == {"R", "A", "C"}
    assert steps["partition"].subject == "3 groups"
    assert steps["move"].subject == "1 records"
    absorbed = run([["a"]] * 2 + [["c"]], 2)
    assert published(absorbed) == [["R"]] * 3
    assert {s.action: s.subject for s in absorbed.log}["absorb"] == "1 subparts"


def test_a_frozen_node_does_not_stop_others():
    # R splits for all; below it A cannot be split (a, b alone), C can.
    result = run([["a", "c"], ["b", "c"], ["a", "c", "d"], ["b", "c", "d"]], 2)
    assert published(result) == [["A", "c"], ["A", "c"], ["A", "c", "d"], ["A", "c", "d"]]


def test_progress_runs_from_none_to_all():
    seen = []
    rows = [["a"], ["b"], ["c"], ["d"]] * 100
    run(rows, 2, progress=lambda *told: seen.append(told))
    assert seen[0] == ("splitting", 0, 400)
    assert seen[-1] == ("splitting", 400, 400)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_registered_with_its_parameter_and_paper():
    entry = find("anonymizer", "partition")
    assert entry.target is Partition
    assert "He" in entry.paper
    assert [(p.name, p.default) for p in params_of(Partition)] == [("k", 5)]
    assert {f.name for f in dataclasses.fields(Partition)} == {"k"}


@given(
    st.randoms(use_true_random=False),
    tables_with_taxonomy(min_rows=1, max_rows=20),
    st.integers(1, 4),
)
def test_promise_consistency_and_independence_of_the_order(rng, drawn, k):
    table, taxonomy = drawn
    n_empty = int(np.count_nonzero(table.lengths == 0))
    assume(n_empty == 0 or n_empty >= k)
    assume(len(table) == n_empty or len(table) - n_empty >= k)
    before = table.items.copy()
    result = Partition(k=k).anonymize(table, taxonomy=taxonomy)
    assert result.promise == KAnonymity(k=k)
    assert result.promise.check(result.release).holds
    whole = taxonomy.for_items(sorted({name for row in table for name in row}))
    assert result.release.is_consistent_with(table, result.key, whole)
    assert not result.release.hides
    order = rng.sample(range(len(table)), len(table))
    again = Partition(k=k).anonymize(table.take(order), taxonomy=taxonomy)
    assert again.release.to_rows(ids=True) == result.release.to_rows(ids=True)
    assert np.array_equal(table.items, before)


@pytest.mark.parametrize(("k", "share"), [(5, 0.435), (10, 0.513)])
def test_groceries_lose_what_an_independent_prototype_lost(data_dir, k, share):
    parents = {}
    with (data_dir / "groceries_taxonomy.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            # Prefixes keep apart a category and an item of one name.
            parents[row["item"]] = "2 " + row["level2"]
            parents["2 " + row["level2"]] = "1 " + row["level1"]
            parents["1 " + row["level1"]] = "all"
    with (data_dir / "groceries.basket.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    random.Random(k).shuffle(rows)
    result = run(rows, k, Taxonomy.from_parents(parents))
    release, n_items = result.release, sum(map(len, rows))
    lost = release.tree.loss_metric()[release.nodes].sum() + n_items - len(release.nodes)
    assert round(lost / n_items, 3) == share
