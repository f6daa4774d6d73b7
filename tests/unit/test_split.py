"""Profiles: what they say is what every way to join them says; topics; how well they still link."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.encoded import split_worlds
from tests.strategies import tables

from setveil import TransactionTable
from setveil.anonymize import SplitPersonality
from setveil.anonymize.query_logs.split_personality import item_topics
from setveil.core.errors import NotApplicable, ParameterError
from setveil.measure import profile_link
from setveil.release import Key, Release
from setveil.release.store import load_key, load_release, save, save_key


@settings(max_examples=150)
@given(tables(min_rows=1, max_rows=3, max_items=5, max_length=4), st.integers(1, 3), st.data())
def test_bounds_agree_with_every_way_to_join_profiles(table, topics, data):
    made = SplitPersonality(topics=topics).anonymize(table)
    release = made.release
    profiles = release.to_rows()
    if len(profiles) > 6:
        return
    names = [*release.vocabulary.names, "never published"]
    itemset = data.draw(st.sets(st.sampled_from(names), min_size=1, max_size=3))
    bounds = release.support_bounds(itemset)
    worlds = split_worlds(profiles)
    if "never published" in itemset:
        # Anybody may have held it, or nobody.
        rest = itemset - {"never published"}
        low, high = 0, max(sum(rest <= record for record in world) for world in worlds)
    else:
        supports = [sum(itemset <= record for record in world) for world in worlds]
        low, high = min(supports), max(supports)
    assert bounds.low == low
    assert bounds.high >= high
    assert not bounds.tight or bounds.high == high
    assert sum(itemset <= set(row) for row in table) <= bounds.high


@settings(max_examples=80)
@given(tables(min_rows=1), st.integers(1, 4), st.integers(1, 3))
def test_profiles_are_a_partition_of_each_record(table, topics, k):
    if k > len(table):
        return
    made = SplitPersonality(topics=topics, k=k).anonymize(table)
    assert isinstance(made.release, Release)
    supports = dict(zip(table.vocabulary.names, table.supports().tolist(), strict=True))
    together = [[] for _ in range(len(table))]
    for row, record in zip(made.release.to_rows(), made.key.records.tolist(), strict=True):
        together[record] += row
    for items, row in zip(together, table, strict=True):
        assert sorted(items) == [i for i in sorted(set(row)) if supports[i] >= k]
    assert made.release.is_consistent_with(table, made.key)
    assert set(made.key.records.tolist()) == set(range(len(table)))


def test_topics_are_what_is_held_together():
    sports, arts = ["golf", "tennis", "polo"], ["opera", "ballet", "jazz"]
    rng = np.random.default_rng(1)
    rows = [rng.choice(part, 2, replace=False) for part in [sports, arts] * 50]
    rows += [[*rng.choice(sports, 2, replace=False), *rng.choice(arts, 2, replace=False)]] * 20
    table = TransactionTable.from_rows([map(str, row) for row in rows])
    topic = dict(zip(table.vocabulary.names, item_topics(table, 2).tolist(), strict=True))
    assert len({topic[word] for word in sports}) == 1
    assert len({topic[word] for word in arts}) == 1
    assert topic["golf"] != topic["opera"]


def test_matches_weigh_what_is_shown():
    table = TransactionTable.from_rows([["a", "b"], ["a"], ["c"]])
    release = SplitPersonality(topics=1).anonymize(table).release
    found = release.matches(["a", "b"])
    shown = dict(zip(found.records.tolist(), found.weights.tolist(), strict=True))
    rows = release.to_rows()
    assert {tuple(rows[i]): weight for i, weight in shown.items()} == {("a", "b"): 2.0, ("a",): 1.0}
    assert len(release.matches(["z"]).records) == len(release)
    assert release.support_bounds([]).high == len(release)
    assert not release.support_bounds([]).tight


def test_inconsistent_originals_are_noticed():
    table = TransactionTable.from_rows([["a", "b"], ["c", "d"], ["a", "c"]])
    made = SplitPersonality(topics=2).anonymize(table)
    other = TransactionTable.from_rows([["a", "b"], ["c", "d"], ["a", "d"]])
    assert made.release.is_consistent_with(table, made.key)
    assert not made.release.is_consistent_with(other, made.key)
    assert not made.release.is_consistent_with(table, Key(records=[0], parts=True))
    nobody = np.zeros(len(made.release), dtype=np.int64)
    assert not made.release.is_consistent_with(table, Key(records=nobody, parts=True))


def test_saved_and_loaded_with_a_key_that_repeats(tmp_path):
    table = TransactionTable.from_rows([["a", "b", "c"], ["a"], ["c"], ["b"], ["a"]])
    made = SplitPersonality(topics=3).anonymize(table)
    assert len(made.release) > len(table)
    save(made.release, tmp_path / "r", method="split-personality", params={}, promise=None)
    save_key(made.key, tmp_path / "key")
    key = load_key(tmp_path / "key")
    assert key.parts
    assert load_release(tmp_path / "r").is_consistent_with(table, key)


@pytest.mark.parametrize("topics", [0, -1, 1.5, True, None])
def test_topics_that_mean_nothing(topics):
    with pytest.raises(ParameterError, match="topics is"):
        SplitPersonality(topics=topics)


def test_links_are_found_where_interests_go_together_and_not_where_they_do_not():
    rng = np.random.default_rng(3)

    def world(tied):
        rows = []
        for _ in range(400):
            left = int(rng.integers(5))
            right = left if tied else int(rng.integers(5))
            # Within a field the words are held by many, so that the fields are topics.
            rows.append([f"l{left}", "left", f"r{right}", "right"])
        rows += [["left", f"l{i % 5}"] for i in range(300)]
        rows += [["right", f"r{i % 5}"] for i in range(300)]
        return TransactionTable.from_rows(rows)

    values = []
    for tied in (True, False):
        table = world(tied)
        made = SplitPersonality(topics=2).anonymize(table)
        assert made.figures["topics"] == 2
        values.append(profile_link(made.release, table, made.key, pairs=400).value)
    assert values[0] > 0.7
    assert abs(values[1] - 0.5) < 0.12


def test_without_two_profiles_there_is_nothing_to_link():
    table = TransactionTable.from_rows([["a"], ["b"]])
    made = SplitPersonality().anonymize(table)
    with pytest.raises(NotApplicable, match="two profiles"):
        profile_link(made.release, table, made.key)
