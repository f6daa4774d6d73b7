"""What follows from known items in chunks, against all worlds of small releases."""

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference import disassociation_worlds as ref
from tests.unit.disassociated_instances import publish, releases

from setveil import read
from setveil.anonymize import Disassociate
from setveil.measure.targets import draw_targets
from setveil.release.chunk_worlds import ChunkCertainty, Question

FEW = 3_000
"""Most ways to place everything that a test goes through."""

LONE = releases(clusters=1, max_size=4, items="abcd")
SEVERAL = st.integers(2, 3).flatmap(lambda c: releases(clusters=c, max_size=2, items="abcd"))
JOINT = st.integers(2, 3).flatmap(
    lambda c: releases(clusters=c, max_size=3, items="abcd", joint=True)
)


def assert_exact(release):
    """Compare the answers for all sets of items with those of all worlds."""
    certainty = ChunkCertainty(release)
    truth = ref.certain_items(release)
    names = [*release.vocabulary.names, "unpublished"]
    sizes = range(len(names) + 1)
    for known in (frozenset(s) for size in sizes for s in combinations(names, size)):
        found = certainty.certain(known)
        assert found.possible == (known in truth)
        assert found.items == truth.get(known, frozenset())
    possible = ref.possible_clusters(release)
    for known in (frozenset(s) for size in (1, 2, 3) for s in combinations(names, size)):
        chances = Question.of(release, known).chances()
        assert set(np.flatnonzero(chances).tolist()) == possible.get(known, set())


@settings(max_examples=200, deadline=None)
@given(release=st.one_of(LONE, SEVERAL, JOINT))
def test_what_is_certain_is_what_all_worlds_say(release):
    assume(ref.count_ways(release) <= FEW)
    assert_exact(release)


@pytest.mark.slow
@settings(max_examples=5_000, deadline=None)
@given(release=st.one_of(LONE, SEVERAL, JOINT, JOINT))
def test_what_is_certain_in_thousands_of_releases(release):
    assume(ref.count_ways(release) <= FEW)
    assert_exact(release)


def test_within_a_chunk_and_across_chunks():
    release, _ = publish([["a", "b"]] * 2, ([0, 1], ["ab"], ""))
    assert ChunkCertainty(release).certain("a").items == {"b"}
    release, _ = publish(map(list, ["ya", "yab", "yb", "ya"]), (range(4), ["ya", "b"], ""))
    certainty = ChunkCertainty(release)
    assert certainty.certain("b") == (frozenset("y"), True)
    assert certainty.certain(()) == (frozenset("y"), True)
    assert certainty.certain(["b", "b", "a"]).items == {"y"}


def test_pieces_that_cannot_meet_leave_their_cluster_out():
    """In the second cluster no record holds a and b: there are no sub-records to spare."""
    rows = ["aby", "aby", "a", "a", "b", "b"]
    release, _ = publish(map(list, rows), ([0, 1], ["aby"], ""), ([2, 3, 4, 5], ["a", "b"], ""))
    certainty = ChunkCertainty(release)
    assert certainty.certain("ab") == (frozenset("y"), True)
    assert certainty.certain("a") == (frozenset(), True)


def test_sets_of_many_sizes_at_once():
    rng = random.Random(3)
    rows = ["".join(rng.sample("abcdef", 3)) for _ in range(8)]
    release, _ = publish(
        map(list, rows), (range(4), ["ab", "cde"], "f"), (range(4, 8), ["abcdef"], "")
    )
    certainty, names = ChunkCertainty(release), release.vocabulary.names
    sets = [s for size in (1, 2, 3) for s in combinations(range(6), size)] + [(-1, 2)]
    offsets = np.cumsum([0, *map(len, sets)])
    found = certainty.certain_sets(offsets, np.concatenate(sets))
    for s, known in enumerate(sets):
        one = certainty.certain([names[i] if i >= 0 else "unpublished" for i in known])
        items = found.items[found.offsets[s] : found.offsets[s + 1]].tolist()
        assert ({names[i] for i in items}, found.possible[s]) == one
        assert items == sorted(items)


@pytest.mark.parametrize(("k", "share"), [(2, 0.1205), (5, 0.0135)])
def test_groceries(data_dir, k, share):
    """Whose further items follow from the three rarest, and all of these are true."""
    table = read(data_dir / "groceries.basket.csv")
    made = Disassociate(k=k, m=2, refine=False).anonymize(table)
    targets = draw_targets(table, m=3, knowledge="rarest", sample=2000)
    certainty = ChunkCertainty(made.release)
    learned = 0
    for record, known in zip(targets.records, targets.known, strict=True):
        found = certainty.certain(known)
        assert found.possible
        assert found.items <= set(table[record]) - set(known)
        learned += bool(found.items)
    assert learned / len(targets.records) == pytest.approx(share, abs=0.00005)
