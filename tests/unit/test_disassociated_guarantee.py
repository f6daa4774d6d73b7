"""The check of disassociated releases against all worlds of small ones."""

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference import disassociation_worlds as ref
from tests.unit.disassociated_instances import instances, publish, releases

from setveil import TransactionTable
from setveil.core.errors import NotApplicable, ParameterError
from setveil.guarantee import Disassociated, KAnonymity, from_manifest, parse
from setveil.release import Plan, publish_disassociated

FEW = 3_000
"""Most ways to place everything that a test goes through."""


def random_release(rng):
    """Return a small release of one cluster: few items, so that chunks are often k^m-anonymous."""
    items = "abcd"[: rng.randint(2, 4)]
    n = rng.randint(2, 5)
    rows = [[i for i in items if rng.random() < 0.6] or [rng.choice(items)] for _ in range(n)]
    table = TransactionTable.from_rows(rows)
    places = [rng.randrange(-1 if rng.random() < 0.4 else 0, 3) for _ in range(table.n_items)]
    chunks = [tuple(i for i, p in enumerate(places) if p == q) for q in range(3)]
    terms = tuple(i for i, p in enumerate(places) if p == -1)
    plan = Plan(records=range(n), domains=tuple(filter(None, chunks)), terms=terms)
    return publish_disassociated(table, [plan])[0]


def test_two_thousand_random_clusters_against_all_worlds():
    rng = random.Random(1)
    seen = {True: 0, False: 0}
    narrowed = done = 0
    while done < 2000:
        release = random_release(rng)
        if ref.count_ways(release) > FEW:
            continue
        k, m = rng.choice([1, 2, 2, 2, 3]), rng.choice([1, 2, 2, 3])
        verdict = Disassociated(k=k, m=m).check(release)
        found = ref.breaches(release, k, m)
        assert (verdict.holds, verdict.exact) == (not found, True)
        seen[verdict.holds] += 1
        done += 1
        for witness in verdict.witnesses:
            if "sub-records" in verdict.reason:
                narrowed += 1
                assert found[0, 1, frozenset(witness.items)] == witness.support
    assert min(seen.values()) > 200
    assert narrowed > 20


def random_joint(rng):
    """Return a small release with shared chunks, nested ones among them, that worlds can tell."""
    while True:
        items = "abc"[: rng.randint(2, 3)]
        density = rng.choice([0.4, 0.6, 0.9])
        clusters = [
            _random_rows(rng, rng.sample(items, rng.randint(1, len(items))), density)
            for _ in range(rng.choice([2, 2, 2, 3]))
        ]
        release = _publish_joint(rng, clusters)
        if release.shared and ref.count_ways(release) <= FEW:
            return release


def _random_rows(rng, items, density):
    rows = [[i for i in items if rng.random() < density] for _ in range(rng.randint(1, 4))]
    return [row or [rng.choice(items)] for row in rows]


def _publish_joint(rng, clusters):
    """Cut clusters of rows at random, with one or two ranges of shared chunks, the inner first."""
    table = TransactionTable.from_rows([row for rows in clusters for row in rows])
    whole = (0, len(clusters))
    ranges = [rng.choice([(0, 2), (1, 3)])] if len(clusters) == 3 and rng.random() < 0.5 else []
    ranges += [whole, whole] if not ranges and rng.random() < 0.3 else [whole]
    home = [rng.choice([-1, -1, *range(len(ranges))]) for _ in range(table.n_items)]
    joints = [
        (a, b, tuple(i for i, j in enumerate(home) if ranges[j] == (a, b) and j == number))
        for number, (a, b) in enumerate(ranges)
    ]
    plans, start = [], 0
    for c, rows in enumerate(clusters):
        held = sorted({table.vocabulary.number(item) for row in rows for item in row})
        left = [i for i in held if home[i] < 0 or not _covers(ranges[home[i]], c)]
        place = {i: rng.choice([-1, 0, 0, 1, 1, 2]) for i in left}
        chunks = [tuple(i for i in left if place[i] == q) for q in range(3)]
        terms = tuple(i for i in left if place[i] < 0)
        records = range(start, start := start + len(rows))
        plans.append(Plan(records=records, domains=tuple(filter(None, chunks)), terms=terms))
    present = [
        (a, b, tuple(i for i in domain if any(table.vocabulary[i] in row
                                              for rows in clusters[a:b] for row in rows)))
        for a, b, domain in joints
    ]  # fmt: skip
    return publish_disassociated(table, plans, [joint for joint in present if joint[2]])[0]


def _covers(clusters, c):
    return clusters[0] <= c < clusters[1]


def assert_joint_verdicts(number, seed):
    """Compare verdicts on joint clusters with all worlds: none may differ, all are exact."""
    rng = random.Random(seed)
    seen = {True: 0, False: 0}
    for _ in range(number):
        release = random_joint(rng)
        k, m = rng.choice([1, 2, 2, 3]), rng.choice([1, 2, 2, 3])
        verdict = Disassociated(k=k, m=m).check(release)
        found = ref.breaches(release, k, m)
        assert (verdict.holds, verdict.exact) == (not found, True)
        seen[verdict.holds] += 1
        for witness in verdict.witnesses:
            if "original" in witness.required:
                supports = [s for (_, _, items), s in found.items() if items == set(witness.items)]
                assert witness.support in supports
    assert min(seen.values()) > number / 5


def test_joint_clusters_against_all_worlds():
    assert_joint_verdicts(300, seed=2)


@pytest.mark.slow
def test_thousands_of_joint_clusters_against_all_worlds():
    assert_joint_verdicts(5_000, seed=3)


@settings(max_examples=100, deadline=None)
@given(
    release=st.integers(2, 3).flatmap(
        lambda c: releases(clusters=c, max_size=3, items="abc", joint=True)
    ),
    k=st.integers(1, 3),
    m=st.integers(1, 3),
)
def test_drawn_joint_clusters_against_all_worlds(release, k, m):
    assume(ref.count_ways(release) <= FEW)
    verdict = Disassociated(k=k, m=m).check(release)
    assert (verdict.holds, verdict.exact) == (not ref.breaches(release, k, m), True)


def test_members_make_up_k_records_together():
    """A chunk with one a beside one with three: a is in four records of the joint cluster."""
    rows = [["a"], ["a"], ["a"], ["b"], ["a"], ["b"], ["b"]]
    release, _ = publish(rows, ([0, 1, 2, 3], ["a"], ""), ([4, 5, 6], ["a"], ""),
                         joints=[(0, 2, "b")])  # fmt: skip
    assert not ref.breaches(release, 3, 1)
    verdict = Disassociated(k=3, m=1).check(release)
    assert (verdict.holds, verdict.exact) == (True, True)
    # Where the sets are too many to look at, the cautious answer is not called exact.
    bounded = Disassociated(k=3, m=1, work=1).check(release)
    assert (bounded.holds, bounded.exact) == (False, False)
    assert "Raise work (disassociated:k=3,m=1,work=...)" in bounded.reason
    assert not bounded.witnesses
    verdict = Disassociated(k=5, m=1).check(release)
    assert (verdict.holds, verdict.exact) == (False, True)
    assert verdict.witnesses[0].support < 5


# --- examples of the specification ----------------------------------------------------------------


def test_the_unsafe_cluster_is_refused():
    release, _ = publish([["a", "b"], ["b"], ["a"]], ([0, 1, 2], ["a", "b"], ""))
    verdict = Disassociated(k=2, m=2).check(release)
    assert not verdict.holds
    assert verdict.exact
    assert verdict.witnesses[0].items == ("a", "b")
    assert verdict.witnesses[0].support == 1
    assert "cluster 0" in verdict.witnesses[0].required
    assert Disassociated(k=2, m=1).check(release).holds


def test_nothing_to_spare_is_safe():
    release, _ = publish([["a"], ["a"], ["b"], ["b"]], ([0, 1, 2, 3], ["a", "b"], ""))
    assert Disassociated(k=2, m=2).check(release).holds


def test_a_cluster_below_k_is_refused():
    release, _ = publish([["a", "b", "c"], ["a"], ["a"]], ([0], [], "abc"), ([1, 2], ["a"], ""))
    verdict = Disassociated(k=2, m=2).check(release)
    assert not verdict.holds
    assert "1 of 2 clusters has fewer than 2 records, the smallest 1" in verdict.reason
    assert verdict.witnesses[0].items == ("a", "b")
    assert verdict.witnesses[0].support == 1


def test_records_verbatim_as_lone_term_chunks_are_refused():
    rows = [[f"i{i}", f"j{i}", "x"] for i in range(6)]
    release, _ = publish(rows, *(([r], [], rows[r]) for r in range(6)))
    assert not Disassociated(k=2, m=1).check(release).holds
    assert Disassociated(k=1, m=1).check(release).holds


def test_rare_sets_within_a_chunk_are_refused():
    release, _ = publish([["a", "b"], ["a"], ["b"], ["c"]], ([0, 1, 2, 3], ["ab"], "c"))
    verdict = Disassociated(k=2, m=2).check(release)
    assert not verdict.holds
    assert verdict.reason.startswith("within their chunks 1 pair of items occurs in fewer than 2")
    assert verdict.witnesses[0].items == ("a", "b")


def test_sharing_the_last_term_of_a_cluster_breaks_it():
    release, _ = publish(
        [["a"], ["a"], ["c"], ["b", "c"], ["a"]],
        ([0, 1, 2], ["a"], ""),
        ([3, 4], [], "ab"),
        joints=[(0, 2, "c")],
    )
    verdict = Disassociated(k=2, m=2).check(release)
    assert not verdict.holds
    assert verdict.witnesses[0].items in {("a", "c"), ("b", "c")}
    assert verdict.witnesses[0].support == 1
    assert (0, 2, frozenset("bc")) in ref.breaches(release, 2, 2)
    assert "clusters 0 to 1" in verdict.witnesses[0].required


def test_a_member_with_nothing_of_its_own_needs_what_is_shared():
    """Two of three a fill the first cluster, so that a comes to b once: the rule as printed,
    Σ|C_i| ≥ n + k(h − 1), would pass it with h = 0."""
    release, _ = publish(
        [["a"], ["a"], ["a", "b"], ["b"]],
        ([0, 1], [], ""),
        ([2, 3], [], "b"),
        joints=[(0, 2, "a")],
    )
    assert ref.breaches(release, 2, 2) == {(0, 2, frozenset("ab")): 1}
    verdict = Disassociated(k=2, m=2).check(release)
    assert not verdict.holds
    assert (verdict.witnesses[0].items, verdict.witnesses[0].support) == (("a", "b"), 1)


def test_joint_clusters_that_keep_themselves_are_safe():
    release, _ = publish(
        [["a", "d"], ["a"], ["c"], ["b", "c"], ["a"]],
        ([0, 1, 2], ["a"], "d"),
        ([3, 4], [], "ab"),
        joints=[(0, 2, "c")],
    )
    assert Disassociated(k=2, m=2).check(release).holds


def test_a_bound_on_work_is_said():
    """Each member needs one shared c to fill its records, and c is in two records all the same."""
    release, _ = publish(
        [["a"], ["a"], ["c"], ["b"], ["b"], ["c"]],
        ([0, 1, 2], ["a"], ""),
        ([3, 4, 5], ["b"], ""),
        joints=[(0, 2, "c")],
    )
    exact = Disassociated(k=2, m=2).check(release)
    assert (exact.holds, exact.exact) == (True, True)
    assert not ref.breaches(release, 2, 2)
    bounded = Disassociated(k=2, m=2, work=1).check(release)
    assert (bounded.holds, bounded.exact) == (True, False)
    assert "Raise work (disassociated:k=2,m=2,work=...)" in bounded.reason


# --- its place among the guarantees ---------------------------------------------------------------


def test_names_and_parameters():
    promise = parse("disassociated:k=3,m=2")
    assert promise == Disassociated(k=3, m=2)
    assert from_manifest("disassociated", promise.params()) == promise
    for name in ("k", "m", "work"):
        with pytest.raises(ParameterError, match=f"{name} is 0"):
            Disassociated(**{name: 0})


def test_other_forms_and_other_promises():
    table = TransactionTable.from_rows([["a"]])
    with pytest.raises(NotApplicable, match="chunks"):
        Disassociated().check(table)
    release, _ = publish([["a"], ["a"]], ([0, 1], ["a"], ""))
    with pytest.raises(NotApplicable, match="disassociated"):
        KAnonymity(k=2).check(release)


@settings(max_examples=30, deadline=None)
@given(case=instances(clusters=2, joint=True))
def test_the_check_depends_on_content_alone(case):
    table, plans, joints, removed = case
    release, _ = publish_disassociated(table, plans, joints, removed)
    again, _ = publish_disassociated(table, plans, joints, removed)
    assert Disassociated(k=2).check(release) == Disassociated(k=2).check(again)
