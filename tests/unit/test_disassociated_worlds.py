"""The four verbs of disassociated releases against all worlds of small ones."""

import time
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference import disassociation_worlds as ref
from tests.unit.disassociated_instances import FEW, publish, releases

from setveil.release import chunk_worlds

LONE = st.integers(1, 2).flatmap(
    lambda c: releases(clusters=c, max_size=4 if c == 1 else 2, items="abcd")
)
JOINT = st.integers(2, 3).flatmap(
    lambda c: releases(clusters=c, max_size=2, items="abcd", joint=True)
)


@settings(max_examples=120, deadline=None)
@given(release=LONE)
def test_bounds_of_lone_clusters_are_those_of_all_worlds(release):
    assume(ref.count_ways(release) <= FEW)
    for itemset, seen in ref.supports(release, ref.itemsets_of(release, 4)).items():
        bounds = release.support_bounds(itemset)
        assert (bounds.low, bounds.high, bounds.tight) == (min(seen), max(seen), True)
    assert release.support_bounds([]).low == release.support_bounds([]).high == len(release)
    assert release.support_bounds(["a", "nowhere"]).high == 0


@settings(max_examples=120, deadline=None)
@given(release=JOINT)
def test_bounds_of_joint_clusters_hold_in_all_worlds(release):
    assume(ref.count_ways(release) <= FEW)
    for itemset, seen in ref.supports(release, ref.itemsets_of(release, 3)).items():
        bounds = release.support_bounds(itemset)
        assert bounds.low <= min(seen) <= max(seen) <= bounds.high
        if bounds.tight:
            assert (bounds.low, bounds.high) == (min(seen), max(seen))


@settings(max_examples=120, deadline=None)
@given(release=st.one_of(LONE, JOINT))
def test_matches_are_the_slots_that_some_world_fills_so(release):
    assume(ref.count_ways(release) <= FEW)
    itemsets = ref.itemsets_of(release, 3)
    possible = {itemset: set() for itemset in itemsets}
    supports = ref.supports(release, itemsets)
    for world in ref.placements(release):
        for itemset in itemsets:
            possible[itemset].update(s for s, record in enumerate(world) if itemset <= record)
    for itemset in itemsets:
        found = release.matches(itemset)
        assert set(found.records.tolist()) == possible[itemset]
        assert np.all(found.weights > 0)
        assert np.all(found.weights <= 1)
        assert np.all(found.counts <= 1)
        assert found.candidates == pytest.approx(found.counts.sum())
        # As many candidates as records that hold the items in the world with the most of them.
        assert found.candidates >= max(supports[itemset])
        if release.support_bounds(itemset).tight:
            assert found.candidates == max(supports[itemset])


def test_weights_are_shares():
    release, _ = publish([["a", "b"], ["a"], ["c"], ["b"]], ([0, 1, 2, 3], ["a", "b"], "c"))
    assert release.matches(["a"]).weights.tolist() == [0.5] * 4
    assert release.matches(["a", "b"]).weights.tolist() == [0.25] * 4
    assert release.matches(["a", "c"]).weights.tolist() == [0.125] * 4
    assert release.expected_support(["a", "b"]) == 1.0
    assert len(release.matches([]).records) == 4


@settings(max_examples=150, deadline=None)
@given(release=st.one_of(LONE, JOINT), seed=st.integers(0, 2**32 - 1))
def test_samples_are_worlds(release, seed):
    assume(ref.count_ways(release) <= FEW)
    world = release.sample_world(np.random.default_rng(seed))
    assert tuple(map(frozenset, world)) in set(ref.placements(release))


def frequencies(release, draws, rng):
    return Counter(tuple(map(frozenset, release.sample_world(rng))) for _ in range(draws))


@pytest.mark.parametrize("rounds", [100, 0], ids=["drawn again", "counted"])
@pytest.mark.parametrize(
    "rows_and_plan",
    [
        ([["y", "a"], ["y", "a", "b"], ["y", "b"]], ([0, 1, 2], ["ya", "b"], "")),
        ([["a"], ["a", "b"], ["b", "c"], ["c", "d"]], ([0, 1, 2, 3], ["a", "b"], "cd")),
        ([["a"], ["b"], ["a", "c"], ["c"]], ([0, 1, 2, 3], ["a", "b", "c"], "")),
    ],
)
def test_all_placements_are_alike_likely(monkeypatch, rounds, rows_and_plan):
    monkeypatch.setattr(chunk_worlds, "ROUNDS", rounds)
    rows, plan = rows_and_plan
    release, _ = publish(rows, plan)
    expected = Counter(ref.placements(release, once=True))
    total = sum(expected.values())
    draws = 1500
    if rounds == 0:  # nothing is drawn first, so every cluster is filled by counting
        monkeypatch.setattr(chunk_worlds.Bags, "draw", lambda *_: None)
        monkeypatch.setattr(chunk_worlds, "ROUNDS", 1)
    seen = frequencies(release, draws, np.random.default_rng(7))
    assert set(seen) <= set(expected)
    chi2 = sum(
        (seen[w] - draws * count / total) ** 2 / (draws * count / total)
        for w, count in expected.items()
    )
    degrees = len(expected) - 1
    assert chi2 < degrees + 5 * (2 * degrees) ** 0.5


def test_the_walk_through_joint_clusters_is_about_uniform(monkeypatch):
    monkeypatch.setattr(chunk_worlds.Bags, "draw", lambda *_: None)
    release, _ = publish(
        [["a", "s"], ["s"], ["b"], ["b", "s"]],
        ([0, 1], ["a"], ""),
        ([2, 3], ["b"], ""),
        joints=[(0, 2, "s")],
    )
    expected = Counter(ref.placements(release, once=True))
    total = sum(expected.values())
    seen = frequencies(release, 400, np.random.default_rng(3))
    assert set(seen) == set(expected)
    for world, count in expected.items():
        assert seen[world] / 400 == pytest.approx(count / total, abs=0.1)


def test_a_term_fills_what_nothing_else_can():
    release, _ = publish([["a"], ["x"], ["x"], ["x"]], ([0, 1, 2, 3], ["a"], "x"))
    world = release.sample_world(np.random.default_rng(0))
    assert sorted(world.to_rows()) == [["a"], ["x"], ["x"], ["x"]]
    assert release.support_bounds(["x"]).low == 3


def test_large_clusters_are_drawn_soon():
    rng = np.random.default_rng(5)
    rows = [sorted({f"i{i}" for i in rng.integers(0, 12, 3)}) for _ in range(60)]
    names = sorted({i for row in rows for i in row})
    domains = [names[i : i + 4] for i in range(0, len(names), 4)]
    release, _ = publish(rows, (list(range(60)), domains, []))
    world = release.sample_world(rng)
    assert min(world.lengths) > 0
    for domain in domains:
        parts = Counter(tuple(i for i in row if i in domain) for row in world)
        truth = Counter(tuple(i for i in row if i in domain) for row in rows)
        del parts[()], truth[()]
        assert parts == truth


def test_pairs_inside_a_chunk_are_exact():
    release, _ = publish([["a", "b"], ["a", "b"], ["a", "c"]], ([0, 1, 2], ["ab"], "c"))
    for items in combinations("ab", 2):
        assert (release.support_bounds(items).low, release.support_bounds(items).high) == (2, 2)


@pytest.mark.parametrize("large", [chunk_worlds.LARGE, 0], ids=["counted", "walked"])
def test_a_large_cluster_with_barely_enough_items_is_drawn_in_seconds(monkeypatch, large):
    monkeypatch.setattr(chunk_worlds, "LARGE", large)
    rows = [[f"item{place % 40:02}", f"item{(7 * place) % 40:02}"] for place in range(1000)]
    domains = [[f"item{place:02}"] for place in range(39)]
    release, _ = publish(rows, (list(range(1000)), domains, ["item39"]))
    begun = time.process_time()
    world = release.sample_world(np.random.default_rng(0))
    assert time.process_time() - begun < 10
    assert min(world.lengths) >= 1
    shown = Counter(item for row in rows for item in set(row) if item != "item39")
    found = Counter(item for row in world for item in row if item != "item39")
    assert found == shown
