"""The check of k^m-anonymity: right on everything small, fast on what is large."""

import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.km import violations
from tests.strategies import published, tables

from setveil import Taxonomy, TransactionTable
from setveil.core.errors import ParameterError
from setveil.core.registry import find
from setveil.guarantee import Guarantee, KmAnonymity, from_manifest, parse
from setveil.release import GeneralizedRelease, publish_groups
from setveil.synthetic import lookalike


def assert_agrees(verdict, rows, k, m):
    """Compare a verdict with all rare itemsets: the smallest are told, and their number."""
    rare = violations(rows, k, m)
    assert verdict.exact
    assert verdict.holds == (not rare)
    if not rare:
        assert verdict.witnesses == ()
        return
    size = min(map(len, rare))
    smallest = {items: count for items, count in rare.items() if len(items) == size}
    assert len(verdict.witnesses) == min(len(smallest), 20)
    assert verdict.reason.startswith(f"{len(smallest):,} ")
    found = {tuple(sorted(w.items)): w.support for w in verdict.witnesses}
    assert len(found) == len(verdict.witnesses)
    assert found.items() <= smallest.items()
    assert sorted(found.values()) == sorted(smallest.values())[:20]
    told = [w.support for w in verdict.witnesses]
    assert told == sorted(told)


@given(tables(max_rows=20, max_items=6), st.integers(1, 5), st.integers(1, 7))
@settings(max_examples=200, deadline=None)
def test_tables_against_the_reference(table, k, m):
    assert_agrees(KmAnonymity(k=k, m=m).check(table), table.to_rows(), k, m)


@given(tables(max_rows=5, max_items=6), st.integers(2, 4), st.integers(2, 6), st.data())
@settings(max_examples=200, deadline=None)
def test_rare_sets_among_frequent_ones(table, k, m, data):
    """Copies of records lift single items and pairs above k, so that larger sets decide."""
    rows = table.to_rows() * data.draw(st.integers(1, 4))
    again = TransactionTable.from_rows(rows)
    assert_agrees(KmAnonymity(k=k, m=m).check(again), rows, k, m)


@given(published(max_groups=5), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_releases_against_the_reference(case, k, m):
    tree, groups, group_of, hides = case
    release, _ = publish_groups(
        tree,
        group_offsets=np.cumsum([0, *map(len, groups)]),
        group_nodes=[v for group in groups for v in group],
        group_of=group_of,
        hides=hides,
    )
    verdict = KmAnonymity(k=k, m=m).check(release)
    assert_agrees(verdict, release.to_rows(ids=True), k, m)


def test_2000_random_tables_against_the_reference():
    rng = np.random.default_rng(0)
    broken = 0
    for _ in range(2000):
        n_items = int(rng.integers(2, 8))
        names = [f"i{i}" for i in range(n_items)]
        share = rng.uniform(0.2, 1)
        draw = rng.random((int(rng.integers(1, 16)), n_items)) < share
        rows = [[name for name, held in zip(names, row, strict=True) if held] for row in draw]
        k, m = int(rng.integers(2, 5)), int(rng.integers(1, 6))
        verdict = KmAnonymity(k=k, m=m).check(TransactionTable.from_rows(rows))
        assert_agrees(verdict, rows, k, m)
        broken += not verdict.holds
    assert 500 < broken < 1990


@given(tables(max_rows=12, max_items=6), st.randoms(use_true_random=False), st.integers(2, 4))
@settings(max_examples=50, deadline=None)
def test_the_order_of_records_changes_nothing(table, random, k):
    rows = table.to_rows()
    shuffled = TransactionTable.from_rows(random.sample(rows, len(rows)))
    assert KmAnonymity(k=k, m=3).check(table) == KmAnonymity(k=k, m=3).check(shuffled)


def test_a_superset_of_a_rare_set_is_no_news():
    verdict = KmAnonymity(k=2, m=3).check(TransactionTable.from_rows([["a", "b", "c"], ["b", "c"]]))
    assert [w.items for w in verdict.witnesses] == [("a",)]
    assert verdict.reason == "1 item occurs in fewer than 2 records, in 1"
    assert verdict.witnesses[0].required == "0 or at least 2"


def test_reasons_for_larger_sets():
    rows = [["a", "b"], ["a", "c"], ["b", "c"]] * 2 + [["a", "b", "c"]]
    verdict = KmAnonymity(k=2, m=3).check(TransactionTable.from_rows(rows))
    assert (
        verdict.reason
        == "1 set of 3 items occurs in fewer than 2 records, in 1; smaller sets do not"
    )
    assert [w.items for w in verdict.witnesses] == [("a", "b", "c")]
    assert KmAnonymity(k=2, m=2).check(TransactionTable.from_rows(rows)).reason == (
        "every set of at most 2 of 3 published items that occurs does so in at least 2 of 7 records"
    )


def test_repeated_items_count_once():
    table = TransactionTable.from_rows([["a", "a"], ["a"]], bags=True)
    assert KmAnonymity(k=2, m=2).check(table).holds
    assert not KmAnonymity(k=3, m=2).check(table).holds


def test_equal_names_of_different_nodes_differ():
    tree = Taxonomy.from_nodes(["r", "1", "2"], ["r", "x", "x"], [-1, 0, 0])
    release = GeneralizedRelease(tree=tree, offsets=[0, 1, 2], nodes=[1, 2], hides=True)
    assert not KmAnonymity(k=2, m=1).check(release).holds


@pytest.mark.parametrize("rows", [[], [[]], [[], []]])
def test_nothing_published_is_never_rare(rows):
    verdict = KmAnonymity(k=5, m=2).check(TransactionTable.from_rows(rows))
    assert (verdict.holds, verdict.exact) == (True, True)
    assert "no record has an item" in verdict.reason


def test_m_beyond_the_longest_record_is_k_anonymity_of_what_can_be_known():
    rows = [["a", "b", "c"]] * 3 + [["a", "b"]]
    assert KmAnonymity(k=3, m=10**9).check(TransactionTable.from_rows(rows)).holds
    assert not KmAnonymity(k=4, m=10**9).check(TransactionTable.from_rows(rows)).holds


# --- the bound on work ----------------------------------------------------------------------------


def test_too_much_work_is_said():
    rows = [list(pair) for pair in combinations("abcdef", 4)] * 3
    table = TransactionTable.from_rows(rows)
    assert KmAnonymity(k=3, m=4).check(table).holds
    verdict = KmAnonymity(k=3, m=4, work=400).check(table)
    assert (verdict.holds, verdict.exact) == (True, False)
    assert "reading 400 places does not suffice" in verdict.reason
    assert "work=..." in verdict.reason


def test_a_rare_set_is_certain_even_where_work_ends():
    rows = [["a", "b"], ["c", "d"], ["a", "c"], ["b", "d"]] * 2
    rows += [["a", "d"]] + [["e", "f"]] * 50
    verdict = KmAnonymity(k=2, m=2, work=40).check(TransactionTable.from_rows(rows))
    assert (verdict.holds, verdict.exact) == (False, True)
    assert verdict.reason.startswith("at least 1 pair of items")
    assert "did not suffice to count them all" in verdict.reason


# --- speed ----------------------------------------------------------------------------------------


def test_one_record_of_164_items_does_not_hurt():
    rows = [[f"i{n:03}" for n in range(164)]] + [[f"i{n:03}"] for n in range(164)]
    long = TransactionTable.from_rows(rows)
    KmAnonymity(k=2, m=2).check(TransactionTable.from_rows([["a", "b"]] * 2))  # compiled
    start = time.perf_counter()
    verdict = KmAnonymity(k=2, m=3).check(long)
    assert verdict.reason.startswith("13,366 pairs")
    # As often as k asks for, all of its 721,764 sets of three are fine.
    assert KmAnonymity(k=2, m=3).check(TransactionTable.from_rows(rows * 2)).holds
    assert time.perf_counter() - start < 5


def test_look_alike_of_webview_2_in_seconds():
    table = lookalike("bms-webview-2").table
    KmAnonymity(k=2, m=2).check(TransactionTable.from_rows([["a", "b"]] * 2))  # compiled
    start = time.perf_counter()
    assert not KmAnonymity(k=5, m=2).check(table).holds
    assert time.perf_counter() - start < 10
    start = time.perf_counter()
    twice = table.take(np.repeat(np.arange(len(table)), 2))
    assert KmAnonymity(k=2, m=3).check(twice).holds
    assert time.perf_counter() - start < 30


# --- by name --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["k", "m", "work"])
@pytest.mark.parametrize("value", [0, -1, 2.5, "3", None, True])
def test_parameters_that_mean_nothing(name, value):
    with pytest.raises(ParameterError, match=f"{name} is"):
        KmAnonymity(**{name: value})


def test_registered_and_described():
    entry = find("guarantee", "km")
    assert entry.target is KmAnonymity
    assert "terrovitis2008privacy" in entry.bibtex
    assert isinstance(KmAnonymity(), Guarantee)
    assert KmAnonymity(k=3, m=1).describe() == (
        "whoever knows at most 1 item of a person finds no record with them, or at least 3"
    )


def test_by_name_and_from_a_manifest():
    assert parse("km:k=5,m=2") == KmAnonymity(k=5, m=2)
    assert parse("km:k=5,m=2,work=7").work == 7
    assert from_manifest("km", {"k": 3, "m": 4}) == KmAnonymity(k=3, m=4)
    assert KmAnonymity(k=3, m=4, work=9).params() == {"k": 3, "m": 4}
