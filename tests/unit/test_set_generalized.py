from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import worlds as reference
from tests.strategies import names, tables

from setveil import TransactionTable
from setveil.core.errors import NotApplicable, ParameterError, ReleaseError
from setveil.core.table import Vocabulary
from setveil.guarantee import KmAnonymity, SupportConstraints
from setveil.measure import (
    average_loss,
    average_relative_error,
    ggd,
    items_exact,
    items_suppressed,
    level_mean,
    measure_all,
    ncp,
    rules_kept,
    top_k_itemset_loss,
    ul,
    ul_exact,
    ul_log2,
)
from setveil.release import (
    Key,
    Release,
    SetGeneralizedRelease,
    publish_sets,
    publish_suppressed,
    published_rows,
)
from setveil.release.set_generalized import members_of, set_label
from setveil.release.store import load_release, save

FORMATS = ["parquet", "jsonl", "csv"]
VISITS = TransactionTable.from_rows(
    [["flu"], ["fever", "hiv"], ["gout", "flu", "fever"], [], ["gout"]]
)  # fever, flu, gout, hiv
NAMES = st.text(st.sampled_from('ab(),"\\ \n'), max_size=4)


@st.composite
def recoded(draw, **sizes):
    """Draw a table and the generalized item of each of its items, -1 for none."""
    table = draw(tables(**sizes))
    numbers = st.lists(st.integers(-1, 4), min_size=table.n_items, max_size=table.n_items)
    return table, np.array(draw(numbers), dtype=np.int64)


# --- how generalized items are written ------------------------------------------------------------


@settings(max_examples=400)
@given(st.lists(st.sets(NAMES, min_size=1, max_size=3), min_size=2, max_size=2))
def test_different_sets_are_written_differently_and_read_back(sets):
    first, second = sets
    assert members_of(set_label(first)) == tuple(sorted(first))
    assert (set_label(first) == set_label(second)) == (first == second)


@settings(max_examples=400)
@given(st.text(st.sampled_from('ab(),"\\ '), max_size=9))
def test_what_was_not_written_so_is_refused(text):
    try:
        members = members_of(text)
    except ReleaseError:
        return
    assert set_label(members) == text


def test_plain_names_stay_plain():
    assert set_label(["flu"]) == "flu"
    assert set_label(["blood pressure", "icd"]) == "(blood pressure, icd)"
    assert set_label(["a)"]) == "a)"


# --- publishing -----------------------------------------------------------------------------------


@given(recoded())
def test_items_are_replaced_by_the_items_they_are_published_with(case):
    table, group_of = case
    release, key = publish_sets(table, group_of)
    assert isinstance(release, Release)
    there = {name for row in table for name in row}
    image = {}
    for name, number in zip(table.vocabulary.names, group_of.tolist(), strict=True):
        if number >= 0 and name in there:
            same = zip(table.vocabulary.names, group_of.tolist(), strict=True)
            image[name] = tuple(sorted(n for n, g in same if g == number and n in there))
    assert sorted(release.groups) == sorted(set(image.values()))
    assert [release.members(g) for g in range(len(release.groups))] == list(release.groups)
    assert release.is_trivial.tolist() == [len(group) == 1 for group in release.groups]
    offsets, items = release.records
    for j, record in enumerate(key.records.tolist()):
        shown = {release.groups[g] for g in items[offsets[j] : offsets[j + 1]].tolist()}
        assert shown == {image[name] for name in table[record] if name in image}
    assert sorted(key.records.tolist()) == list(range(len(table)))
    for name in table.vocabulary.names:
        number = release.group_of(name)
        assert (None if number is None else release.groups[number]) == image.get(name)


@given(recoded(), st.randoms(use_true_random=False))
def test_neither_the_order_of_records_nor_the_numbers_matter(case, random):
    table, group_of = case
    order = random.sample(range(len(table)), len(table))
    rename = dict(enumerate(random.sample(range(50, 60), 5))) | {-1: -1}
    other = [rename[g] for g in group_of.tolist()]
    first, second = publish_sets(table, group_of)[0], publish_sets(table.take(order), other)[0]
    assert first.to_rows() == second.to_rows()
    assert first.groups == second.groups


def test_nothing_published_and_nothing_there():
    release, key = publish_sets(VISITS, [-1] * 4)
    assert release.to_rows() == [[]] * 5
    assert release.support_bounds(["flu"]).high == 5
    assert release.is_consistent_with(VISITS, key)
    assert release.sample_world(np.random.default_rng(0)).to_rows() == [[]] * 5
    release, key = publish_sets(TransactionTable.from_rows([]), [])
    assert len(release) == 0
    assert release.is_consistent_with(TransactionTable.from_rows([]), key)


@pytest.mark.parametrize("group_of", [[0] * 3, [0.5] * 4, [[0] * 4], ["x"] * 4])
def test_groups_that_do_not_fit_are_refused(group_of):
    with pytest.raises(ParameterError, match="each of the 4 items"):
        publish_sets(VISITS, group_of)
    with pytest.raises(ParameterError, match="holds -2"):
        publish_sets(VISITS, [0, 0, -2, 0])


def test_broken_releases_are_refused():
    def made(*labels):
        return SetGeneralizedRelease(
            vocabulary=Vocabulary(names=labels), offsets=[0, len(labels)], items=range(len(labels))
        )

    with pytest.raises(ParameterError, match="'b' is a member of two"):
        made("(a, b)", "b")
    with pytest.raises(ReleaseError, match="no generalized item"):
        made("(b, a)")
    with pytest.raises(ParameterError, match="no record publishes"):
        SetGeneralizedRelease(vocabulary=Vocabulary(names=("a",)), offsets=[0], items=[])


# --- the verbs against all worlds -----------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(recoded(max_items=4, max_rows=4), st.data())
def test_bounds_and_matches_agree_with_all_worlds(case, data):
    table, group_of = case
    release, key = publish_sets(table, group_of)
    items = [*table.vocabulary.names, "elsewhere"]
    itemset = data.draw(st.sets(st.sampled_from(items), max_size=3))
    rows = [[members_of(label) for label in row] for row in release.to_rows()]
    possible = [reference.sets_worlds(release.groups, row, items) for row in rows]
    bounds = release.support_bounds(itemset)
    assert bounds.low == sum(all(itemset <= t for t in row) for row in possible)
    assert bounds.high == sum(any(itemset <= t for t in row) for row in possible)
    assert bounds.tight
    found = release.matches(itemset)
    assert found.records.tolist() == [
        j for j, row in enumerate(possible) if any(itemset <= t for t in row)
    ]
    assert np.all(found.weights > 0)
    world = release.sample_world(np.random.default_rng(0))
    assert all(frozenset(t) in row for t, row in zip(world, possible, strict=True))
    assert release.is_consistent_with(world, Key(records=np.arange(len(release))))
    assert release.is_consistent_with(table, key)


@settings(max_examples=150, deadline=None)
@given(recoded(max_items=4, max_rows=4), st.data())
def test_consistency_equals_the_definition(case, data):
    table, group_of = case
    release, key = publish_sets(table, group_of)
    rows = [set(row) for row in table]
    if rows:
        item = data.draw(st.sampled_from([*table.vocabulary.names, "elsewhere"]))
        rows[data.draw(st.integers(0, len(rows) - 1))] ^= {item}
    expected = all(
        reference.sets_allow(release.groups, [members_of(label) for label in row], rows[record])
        for row, record in zip(release.to_rows(), key.records.tolist(), strict=True)
    )
    assert release.is_consistent_with(TransactionTable.from_rows(rows), key) == expected


@settings(max_examples=60, deadline=None)
@given(recoded(max_items=5, max_rows=3), st.data())
def test_expected_supports_are_means_over_draws(case, data):
    """Every generalized item becomes one member: all choices, each equally likely."""
    table, group_of = case
    release, _ = publish_sets(table, group_of)
    items = [*table.vocabulary.names, "elsewhere"]
    itemset = data.draw(st.sets(st.sampled_from(items), max_size=3))
    mean = Fraction(0)
    for row in release.to_rows():
        worlds = [frozenset()]
        for group in map(members_of, row):
            worlds = [world | {member} for world in worlds for member in group]
        mean += Fraction(sum(itemset <= world for world in worlds), len(worlds))
    assert release.expected_support(itemset) == pytest.approx(float(mean))


def test_draws_are_uniform():
    release, _ = publish_sets(VISITS, [0, 0, 0, 1])
    rng = np.random.default_rng(1)
    drawn = Counter(tuple(release.sample_world(rng)[0]) for _ in range(3000))
    assert set(drawn) == {("fever", "hiv"), ("flu", "hiv"), ("gout", "hiv")}
    assert all(abs(count - 1000) < 110 for count in drawn.values())


def test_weights_are_chances():
    release, _ = publish_sets(VISITS, [0, 0, 1, 2])
    assert release.matches(["flu"]).weights.tolist() == [0.5] * 3
    assert release.matches(["flu", "fever"]).weights.tolist() == [0.25] * 3
    assert release.matches(["flu", "gout"]).weights.tolist() == [0.5]
    assert len(release.matches(["nothing"]).records) == 5


def test_keys_that_do_not_fit_are_inconsistent():
    release, key = publish_sets(VISITS, [0, 0, 1, 2])
    assert not release.is_consistent_with(VISITS, Key(records=[0]))
    assert not release.is_consistent_with(VISITS, Key(records=[0, 1, 2, 3, 5]))
    assert release.is_consistent_with(VISITS, key)


# --- other parts that see the form ----------------------------------------------------------------


@pytest.mark.parametrize("ending", FORMATS)
@settings(max_examples=40, deadline=None)
@given(case=recoded())
def test_save_and_load(tmp_path_factory, ending, case):
    release, key = publish_sets(*case)
    folder = tmp_path_factory.mktemp("release")
    promise = SupportConstraints(itemsets=(), k=1)
    save(release, folder, method="coat", params={}, promise=promise, format=ending)
    loaded = load_release(folder)
    assert (loaded.groups, loaded.to_rows()) == (release.groups, release.to_rows())
    assert loaded.is_consistent_with(case[0], key)


def test_published_rows_know_items_in_clear():
    table = TransactionTable.from_rows([["(odd)", "flu"], ["fever", "flu"]])
    release, _ = publish_sets(table, [0, 1, 1])
    rows = published_rows(release)
    assert rows.names == release.vocabulary.names
    assert rows.exact.tolist() == [True, False]
    assert rows.number("(odd)") == release.group_of("(odd)")
    assert rows.number("flu") is None
    assert KmAnonymity(k=1, m=2).check(release).holds


def test_frames():
    release, _ = publish_sets(VISITS, [0, 0, -1, -1])
    assert release.to_frame().rows() == [
        (0, "(fever, flu)"), (1, "(fever, flu)"), (2, "(fever, flu)"), (3, None), (4, None),
    ]  # fmt: skip


# --- measures -------------------------------------------------------------------------------------


def test_measures():
    """Seven occurrences: five of (fever, flu, gout), shown by four records; hiv is suppressed."""
    release, key = publish_sets(VISITS, [0, 0, 1, -1])  # (fever, flu), gout
    assert ncp(release, VISITS, key=key) == pytest.approx((4 * 2 / 4 + 1) / 7)
    assert average_loss(release, VISITS) == pytest.approx((4 * 2 / 4 + 1) / 7)
    assert items_exact(release, VISITS) == pytest.approx(2 / 7)
    # hiv, and one of fever and flu where a record held both.
    assert items_suppressed(release, VISITS) == pytest.approx(2 / 7)
    assert ggd(release, VISITS) == pytest.approx(3 * (2 - 1) / (4 - 1) + 2)
    error = average_relative_error(release, VISITS, queries=[["flu"], ["gout"]])
    assert error.value == pytest.approx((abs(1.5 - 2) / 2 + 0) / 2)
    # fever, flu and gout are the most frequent, two records each; only gout is still certain.
    assert top_k_itemset_loss(release, VISITS, k=3) == pytest.approx(2 / 3)
    assert rules_kept(release, VISITS).value > 0
    with pytest.raises(NotApplicable, match="no taxonomy nodes"):
        level_mean(release)
    figures = measure_all(release, VISITS, key=key)
    assert figures["ul"] == ul(release, VISITS)
    assert "ul" not in measure_all(publish_suppressed(VISITS, [True] * 4)[0], VISITS)


@settings(max_examples=80, deadline=None)
@given(recoded(max_items=6))
def test_utility_loss_equals_its_definition(case):
    table, group_of = case
    release, _ = publish_sets(table, group_of)
    rows = [set(row) for row in table]
    items = sorted(set().union(*rows))
    if not items:
        with pytest.raises(NotApplicable, match="no items"):
            ul(release, table)
        return
    expected = Fraction(0)
    for group in release.groups:
        share = Fraction(2 ** len(group) - 1, 2 ** len(items) - 1)
        expected += share * Fraction(sum(bool(row & set(group)) for row in rows), len(rows))
    gone = [i for i in items if not any(i in group for group in release.groups)]
    assert ul_exact(release, table) == expected + len(gone)
    assert ul_exact(release, table, per_suppressed=0.5) == expected + Fraction(len(gone), 2)
    assert 2 ** ul_log2(release, table) == pytest.approx(ul(release, table))


def test_utility_loss_is_only_for_sets():
    with pytest.raises(NotApplicable, match="no sets of items"):
        ul(publish_suppressed(VISITS, [True] * 4)[0], VISITS)
    with pytest.raises(ParameterError, match="costs -1"):
        ul_exact(publish_sets(VISITS, [0, 0, 1, 2])[0], VISITS, per_suppressed=-1)


@given(st.sets(st.sampled_from(range(12)), min_size=1), names(min_size=12, max_size=12))
def test_labels_of_awkward_names(chosen, all_names):
    members = {all_names[i] for i in chosen}
    assert members_of(set_label(members)) == tuple(sorted(members))
