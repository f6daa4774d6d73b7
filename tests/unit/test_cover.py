"""Covers, narrowing and chances of links, against all worlds of small releases."""

import random
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference import disassociation_worlds as ref
from tests.reference.certain_links import linked_records
from tests.unit.disassociated_instances import instances, publish, releases
from tests.unit.test_disassociated_guarantee import FEW, random_joint, random_release

from setveil import TransactionTable, read
from setveil.anonymize import Disassociate, SafeDisassociate
from setveil.core.errors import NotApplicable, ParameterError
from setveil.guarantee import (
    Disassociated,
    SafeDisassociated,
    certain_links,
    from_manifest,
    parse,
)
from setveil.guarantee.certain_links import Holdings
from setveil.guarantee.safe_disassociated import cover, greatest_chance
from setveil.measure import disassociation as measured_links
from setveil.measure import linked_share
from setveil.release import Plan, publish_disassociated, publish_suppressed

LONE = releases(clusters=1, max_size=4, items="abcd")
SEVERAL = st.integers(2, 3).flatmap(
    lambda c: releases(clusters=c, min_size=2, max_size=2, items="abcd")
)
JOINT = st.integers(2, 3).flatmap(
    lambda c: releases(clusters=c, max_size=2, items="abcd", joint=True)
)
COVERED = [["y", "a"], ["y", "a", "b"], ["y", "b"], ["y", "a"]]


def found_covers(release):
    """Return (cluster, item) of what is called a cover."""
    held = Holdings.of(release)
    return {
        (int(held.cluster[p]), release.vocabulary[int(held.item[p])])
        for p in held.universal().tolist()
    }


@settings(max_examples=120, deadline=None)
@given(release=st.one_of(LONE, SEVERAL, JOINT))
def test_covers_are_the_certain_links_of_all_worlds(release):
    assume(ref.count_ways(release) <= FEW)
    certain = {(c, y) for c, _, y in ref.certain_links(release)}
    assert found_covers(release) == certain


@settings(max_examples=120, deadline=None)
@given(release=st.one_of(SEVERAL, JOINT))
def test_links_that_are_certain_everywhere(release):
    """The sets come with the item in every record of every world that holds them."""
    assume(ref.count_ways(release) <= FEW)
    together = {}
    for world in ref.placements(release):
        for record in world:
            for size in (1, 2):
                for chosen in map(frozenset, combinations(sorted(record), size)):
                    for y in set(release.vocabulary.names) - chosen:
                        together[chosen, y] = together.get((chosen, y), True) and y in record
    found = cover(release, k=2)
    everywhere = {(frozenset(link.given), link.item) for link in found.links if link.everywhere}
    assert all(together[link] for link in everywhere)
    if found.certain_links > len(everywhere):
        return
    # Of what is certain, only what some chunk says of the items is not among the links.
    chunks = [chunk for c in release.clusters for chunk in c.chunks] + list(release.shared)
    domains = [set(release.domain(chunk)) for chunk in chunks]
    for (chosen, y), certain in together.items():
        inside = any(y in domain and domain & chosen for domain in domains)
        smaller = any((frozenset([a]), y) in everywhere for a in chosen)
        if certain and not inside:
            assert smaller or (chosen, y) in everywhere


def test_chances_without_a_term_chunk_are_those_of_all_placements():
    rng = random.Random(4)
    compared = 0
    while compared < 300:
        release = random_release(rng)
        cluster = release.clusters[0]
        if cluster.terms or len(cluster.chunks) < 2 or ref.count_ways(release) > FEW:
            continue
        rows = [len(chunk.subrecords) for chunk in cluster.chunks]
        for j, chunk in enumerate(cluster.chunks):
            others = [
                [{i for row in other.subrecords for i in row}, other]
                for other in cluster.chunks
                if other is not chunk
            ]
            given_items = [frozenset([min(domain)]) for domain, _ in others]
            given_items += [a | b for a in given_items for b in given_items if a < a | b]
            for y in release.domain(chunk):
                support = sum(y in row for row in chunk.subrecords)
                true = [
                    p
                    for a in given_items
                    if (p := ref.link_probability(release, 0, a, y)) is not None
                ]
                said = greatest_chance(cluster.size, rows, j, support, 2)
                assert said == max(true, default=Fraction(0))
                assert said <= Fraction(support, cluster.size)
                compared += 1


def test_the_example_and_its_repair():
    release, _ = publish(COVERED, ([0, 1, 2, 3], ["ya", "b"], ""))
    found = cover(release, k=2, m=2)
    assert (found.covered, found.local_links, found.certain_links) == (1, 1, 1)
    assert not found.narrowed
    plain = Disassociated(k=2, m=2).check(release)
    assert plain.holds
    assert "1 of them gives away what all their records hold (1 in all)" in plain.reason
    verdict = SafeDisassociated(k=2, m=2).check(release)
    assert (verdict.holds, verdict.exact) == (False, True)
    assert verdict.witnesses[0].confidence == 1
    repaired, _ = publish(COVERED, ([0, 1, 2, 3], ["ya", "b"], ""), removed=[(0, "y")])
    assert SafeDisassociated(k=2, m=2).check(repaired).holds
    assert SafeDisassociated(k=2, m=2, max_share=0.75).check(repaired).holds
    strict = SafeDisassociated(k=2, m=2, max_share="74/100").check(repaired)
    assert not strict.holds
    assert strict.witnesses[0].confidence == Fraction(3, 4)
    assert "chance above 37/50, 0 for certain" in strict.reason


def test_narrowing_is_found_and_refused():
    release, _ = publish([["a", "b"], ["b"], ["a"]], ([0, 1, 2], ["a", "b"], ""))
    found = cover(release, k=2, m=2)
    assert [(n.items, n.most, n.where) for n in found.narrowed] == [(("a", "b"), 1, "cluster 0")]
    assert not SafeDisassociated(k=2, m=2).check(release).holds


def test_a_cover_here_need_not_be_one_everywhere():
    rows = [["y", "a"], ["y", "a"], ["a", "z"], ["a", "z"], ["y", "q"]]
    release, _ = publish(rows, ([0, 1], ["y", "a"], ""), ([2, 3, 4], ["a", "y"], "zq"))
    found = cover(release, k=2, m=2)
    assert found.covered == 1
    assert found.certain_links == 0
    local = {(link.cluster, link.given, link.item, link.everywhere) for link in found.links}
    assert local == {(1, ("y",), "a", False), (1, ("a",), "y", False)}


def test_one_chunk_and_nothing_else_gives_nothing_away():
    release, _ = publish([["a", "b"]] * 3, ([0, 1, 2], ["ab"], ""))
    assert cover(release).local_links == 0
    assert SafeDisassociated(k=3, m=2).check(release).holds


@settings(max_examples=120, deadline=None)
@given(release=st.one_of(LONE, JOINT), k=st.integers(1, 3), m=st.integers(1, 3))
def test_what_is_called_safe_is_safe_in_all_worlds(release, k, m):
    assume(ref.count_ways(release) <= FEW)
    assert_safe_verdict(release, k, m)


def assert_safe_verdict(release, k, m):
    """Compare a verdict, and the links it shows, with all worlds; return whether it holds."""
    verdict = SafeDisassociated(k=k, m=m).check(release)
    narrowed, certain = ref.breaches(release, k, m), ref.certain_links(release)
    assert (verdict.holds, verdict.exact) == (not narrowed and not certain, True)
    for witness in verdict.witnesses if not narrowed else ():
        cluster = int(witness.required.rpartition(" ")[2])
        assert (cluster, frozenset(witness.items), witness.consequent) in certain
        assert witness.confidence == 1
    return verdict.holds


@pytest.mark.parametrize(
    ("number", "seed"), [(300, 6), pytest.param(5_000, 7, marks=pytest.mark.slow)]
)
def test_joint_clusters_that_are_safe_and_those_that_are_not(number, seed):
    rng = random.Random(seed)
    safe = sum(
        assert_safe_verdict(random_joint(rng), rng.choice([1, 2, 2, 3]), rng.choice([1, 2, 2, 3]))
        for _ in range(number)
    )
    assert number / 5 < safe < number / 2


def test_an_item_that_cannot_enter_a_cluster_gives_nothing_away_there():
    """All b are needed to fill the second cluster: no record holds a and b."""
    release, _ = publish(
        [["a"], ["a"], ["b"], ["b"]],
        ([0, 1], ["a"], ""),
        ([2, 3], [], ""),
        joints=[(0, 2, "b")],
    )
    assert not ref.certain_links(release)
    verdict = SafeDisassociated(k=2, m=2).check(release)
    assert (verdict.holds, verdict.exact) == (True, True)
    assert cover(release, k=2, m=2).local_links == 0


def test_a_chance_in_a_joint_cluster_without_terms_is_a_bound():
    """Half of the records hold b, but two of the four b are needed where no other item is."""
    rows = [["a"], ["a"], ["a", "b"], ["b"], ["c"], ["c"], ["c", "b"], ["b"]]
    release, _ = publish(
        rows, ([0, 1, 2, 3], ["a"], ""), ([4, 5, 6, 7], ["c"], ""), joints=[(0, 2, "b")]
    )
    verdict = SafeDisassociated(k=2, m=1, max_share="2/5").check(release)
    assert (verdict.holds, verdict.exact) == (False, False)
    assert "in joint clusters, the share of records stands for the chance" in verdict.reason
    for witness in verdict.witnesses:
        cluster = int(witness.required.rpartition(" ")[2])
        true = ref.link_probability(release, cluster, set(witness.items), witness.consequent)
        assert true < witness.confidence


@settings(max_examples=150, deadline=None)
@given(
    case=st.one_of(
        instances(clusters=1, max_size=4, items="abcd", removing=True),
        instances(clusters=2, max_size=3, items="abcd", removing=True),
        instances(clusters=2, max_size=3, items="abcd", joint=True),
    )
)
def test_the_share_of_linked_records(case):
    """Records that hold one or two items with which all worlds have another one."""
    release, key = publish_disassociated(*case)
    assume(ref.count_ways(release) <= FEW)
    table, removed = case[0], set(key.removed)
    certain = ref.certain_items(release)
    for m in (1, 2):
        linked = 0
        for number, record in enumerate(table):
            kept = sorted(item for item in record if (number, item) not in removed)
            known = [s for size in range(1, m + 1) for s in combinations(kept, size)]
            linked += any(certain[frozenset(s)] for s in known)
        assert linked_share(release, table, key=key, m=m) == pytest.approx(linked / len(table))


@settings(max_examples=100, deadline=None)
@given(case=instances(clusters=3, min_size=2, max_size=4))
def test_the_share_of_linked_records_of_larger_releases(case):
    table = case[0]
    release, key = publish_disassociated(*case)
    truth = linked_records(release, table, key, 2)
    assert linked_share(release, table, key=key) == pytest.approx(truth / len(release))


@pytest.mark.parametrize("batch", [1, 1_000_000])
def test_links_within_a_chunk_count(batch, monkeypatch):
    monkeypatch.setattr(measured_links, "BATCH", batch)
    for rows, linked in ((["ab", "ab", "c"], 2), (["abc", "ab", "ac", "bc"], 0), (["abc"] * 2, 2)):
        table = TransactionTable.from_rows(map(list, rows))
        release, key = publish(map(list, rows), (range(len(rows)), ["abc"], ""))
        assert linked_share(release, table, key=key) == pytest.approx(linked / len(rows))


def test_the_share_of_linked_records_needs_chunks_and_a_key():
    release, key = publish(COVERED, ([0, 1, 2, 3], ["ya", "b"], ""), removed=[(2, "b")])
    table = TransactionTable.from_rows(COVERED)
    assert linked_share(release, table, key=key) == 0.75
    with pytest.raises(NotApplicable, match="cluster"):
        linked_share(release, table)
    with pytest.raises(NotApplicable, match="chunks"):
        linked_share(publish_suppressed(table, [True] * 3)[0], table, key=key)
    with pytest.raises(ParameterError, match="m is 3"):
        linked_share(release, table, key=key, m=3)


def test_groceries(data_dir):
    """What disassociation gives away on real data, by the release alone and with the key."""
    table = read(data_dir / "groceries.basket.csv")
    made = Disassociate(k=5, m=2, max_cluster_size=25, refine=False).anonymize(table)
    found = cover(made.release)
    assert (found.clusters, found.covered, found.local_links) == (573, 561, 1392)
    assert round(linked_share(made.release, table, key=made.key) * len(table)) == 122


def test_too_many_pairs_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(certain_links, "PAIRS", 0)
    release, _ = publish(COVERED, ([0, 1, 2, 3], ["ya", "b"], ""))
    assert cover(release, k=2, m=2).largest == 1
    assert "1 set of at most 1 item gives" in SafeDisassociated(k=2, m=2).check(release).reason


def test_names_and_parameters():
    promise = parse("safe-disassociated:k=3,m=2,max_share=1/3")
    assert promise.max_share == Fraction(1, 3)
    assert from_manifest("safe-disassociated", promise.params()) == promise
    assert "1/3" in promise.describe()
    for share in (0, 1.5, "much", -1, True):
        with pytest.raises(ParameterError, match="max_share is"):
            SafeDisassociated(max_share=share)
    with pytest.raises(ParameterError, match="k is 0"):
        SafeDisassociated(k=0)


def test_a_cluster_that_is_one_chunk_makes_links_no_less_certain():
    rows = ["abd", "d", "bcd", "cd", "cd", "cd", "abd", "ac", "a"]
    table = TransactionTable.from_rows(map(list, rows))
    made = Disassociate(k=2, m=1, max_cluster_size=3, refine=False).anonymize(table)
    # The clusters are {cd ×4 | b}, {abd, abd, d} and {a, a | c}: whoever holds b holds d.
    found = cover(made.release, k=2, m=1)
    assert {(link.given, link.item) for link in found.links if link.everywhere} == {(("b",), "d")}
    assert linked_share(made.release, table, key=made.key, m=1) == pytest.approx(3 / 9)


@pytest.mark.parametrize("share", ["0.3333333333333333", "0.3333333333333333333333333", "1/3"])
def test_a_share_of_many_digits_is_compared_exactly(share):
    rows = [["y", "b"][: 1 + (i < 500)] for i in range(1900)] + [["z"]] * 100
    table = TransactionTable.from_rows(rows)
    numbers = [table.vocabulary.number(item) for item in "ybz"]
    plan = Plan(records=range(2000), domains=((numbers[0],), (numbers[1],)), terms=(numbers[2],))
    release, _ = publish_disassociated(table, [plan])
    assert not SafeDisassociated(k=5, m=2, max_share=share).check(release).holds
    made = SafeDisassociate(k=5, m=2, max_share=share).anonymize(table)
    assert made.promise.check(made.release).holds


def test_monstrous_parameters():
    table = TransactionTable.from_rows([["a", "b"]] * 4)
    made = Disassociate(k=2, m=2**31 - 1, max_cluster_size=2**31 - 1).anonymize(table)
    assert made.promise.check(made.release).holds
