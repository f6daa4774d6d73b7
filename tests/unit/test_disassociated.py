"""Disassociated releases: what they are, and their four verbs against all worlds."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference import disassociation_worlds as ref
from tests.unit.disassociated_instances import ARRAYS, FEW, instances, publish, same

from setveil import TransactionTable
from setveil.core.errors import NotApplicable, ParameterError, ReleaseError, SetveilError
from setveil.release import (
    DisassociatedRelease,
    Key,
    Plan,
    publish_disassociated,
    published_rows,
)
from setveil.release.base import rebuild
from setveil.release.data_file import LabelledRows
from setveil.release.store import load_key, load_release, save, save_key

# --- publishing -----------------------------------------------------------------------------------


def test_views():
    rows = [["a", "b"], ["a", "c"], ["a", "c", "d"], ["c"], ["d"]]
    release, key = publish(
        rows, ([3, 4], [["c"]], []), ([2, 0, 1], [["a"], ["c"]], ["b"]), joints=[(0, 2, "d")]
    )
    assert len(release) == 5
    assert [c.size for c in release.clusters] == [3, 2]
    assert release.cluster_starts.tolist() == [0, 3, 5]
    assert key.records.tolist() == [0, 1, 2, 3, 4]
    assert [chunk.subrecords for chunk in release.clusters[0].chunks] == [
        (("a",), ("a",), ("a",)),
        (("c",), ("c",)),
    ]
    assert release.clusters[-1].terms == ()
    assert [(s.subrecords, s.first, s.last) for s in release.shared] == [((("d",), ("d",)), 0, 2)]
    assert release.domain(release.shared[0]) == ("d",)
    assert release.to_rows() == [["a"], ["a"], ["a"], ["c"], ["c"], ["c"], ["d"], ["d"], ["b"]]
    frame = release.to_frame()
    assert frame.columns == ["cluster", "chunk", "row", "item"]
    assert frame.rows()[-3:] == [
        (0, "shared 0-1", 0, "d"),
        (0, "shared 0-1", 1, "d"),
        (0, "term", 0, "b"),
    ]
    assert "5 records in 2 clusters, 4 chunks (1 shared)" in repr(release)
    with pytest.raises(NotApplicable, match="chunks"):
        published_rows(release)


@settings(max_examples=150, deadline=None)
@given(
    case=st.integers(1, 3).flatmap(lambda c: instances(clusters=c, joint=c > 1, removing=True)),
    random=st.randoms(use_true_random=False),
)
def test_nothing_depends_on_the_order_of_anything(case, random):
    table, plans, joints, removed = case
    release, key = publish_disassociated(table, plans, joints, removed)
    order = random.sample(range(len(table)), len(table))
    place = {old: new for new, old in enumerate(order)}
    shuffled = table.take(order)
    turned = len(plans) > 1 and random.random() < 0.5
    moved = [
        Plan(
            records=random.sample([place[r] for r in plan.records], len(plan.records)),
            domains=tuple(random.sample(plan.domains, len(plan.domains))),
            terms=tuple(random.sample(plan.terms, len(plan.terms))),
        )
        for plan in (reversed(plans) if turned else plans)
    ]
    c = len(plans)
    spans = [(c - b, c - a, d) if turned else (a, b, d) for a, b, d in joints]
    again, _ = publish_disassociated(
        shuffled, moved, random.sample(spans, len(spans)), [(place[r], i) for r, i in removed]
    )
    assert same(release, again)
    assert release.is_consistent_with(table, key)


@settings(max_examples=150, deadline=None)
@given(case=instances(clusters=2, joint=True, removing=True))
def test_the_key_leads_to_true_sub_records(case):
    table, plans, joints, removed = case
    release, key = publish_disassociated(table, plans, joints, removed)
    starts = release.cluster_starts.tolist()
    gone = {(r, table.vocabulary[i]) for r, i in removed}
    assert set(key.removed) == gone
    for chunk in [q for c in release.clusters for q in c.chunks] + list(release.shared):
        domain = set(release.domain(chunk))
        true = Counter()
        for r in key.records[starts[chunk.first] : starts[chunk.last]].tolist():
            part = tuple(i for i in table[r] if i in domain and (r, i) not in gone)
            true.update([part] if part else [])
        assert true == Counter(chunk.subrecords)
    for cluster in release.clusters:
        slots = key.records[starts[cluster.number] : starts[cluster.number + 1]]
        assert slots.tolist() == sorted(slots.tolist())


@settings(max_examples=100, deadline=None)
@given(case=instances(clusters=2, max_size=2, items="abcd", joint=True), data=st.data())
def test_other_originals_are_not_consistent(case, data):
    table, plans, joints, removed = case
    release, key = publish_disassociated(table, plans, joints, removed)
    assume(ref.count_ways(release) <= FEW)
    rows = [list(row) for row in table]
    which = data.draw(st.integers(0, len(rows) - 1))
    rows[which] = sorted({*rows[which]} ^ {data.draw(st.sampled_from("abcdef"))})
    other = TransactionTable.from_rows(rows)
    world = other.take(key.records).to_rows()
    possible = tuple(map(frozenset, world)) in set(ref.placements(release))
    assert release.is_consistent_with(other, key) == possible
    assert not release.is_consistent_with(table, Key(records=key.records[1:]))


@pytest.mark.parametrize(
    ("plans", "joints", "removed", "said"),
    [
        ([([0], ["ab"], "")], [], [], "2 records, or not the same|table 2"),
        ([([0, 1], ["a"], "")], [], [], "no place for the item 'b'"),
        ([([0, 1], ["a"], "ab")], [], [], "two places for the item 'a'"),
        ([([0, 1], ["a"], "b")], [], [(0, "b")], "no record of cluster 0 holds its term 'b'"),
        ([([0, 1], ["ab"], "")], [], [(1, "a")], "record 1 has no item left"),
        ([([0, 1], ["ab"], "")], [], [(1, "b")], "not there"),
        ([([0, 1], ["a"], "b")], [(0, 1, "c")], [], "a shared chunk belongs"),
    ],
)
def test_plans_that_do_not_fit(plans, joints, removed, said):
    rows = [["a", "b"], ["a"]]
    joints = [(a, b, "a") for a, b, _ in joints]
    with pytest.raises(ParameterError, match=said):
        publish(rows, *plans, joints=joints, removed=removed)


def test_empty_records_and_bags_have_no_place():
    with pytest.raises(ParameterError, match="record 1 has no item"):
        publish([["a"], []], ([0, 1], ["a"], ""))
    table = TransactionTable.from_rows([["a", "a"]], bags=True)
    with pytest.raises(ParameterError, match="twice"):
        publish_disassociated(table, [Plan(records=[0], domains=((0,),), terms=())])


def test_no_records_at_all():
    release, key = publish_disassociated(TransactionTable.from_rows([]), [])
    assert (len(release), len(key), release.to_rows()) == (0, 0, [])
    assert len(release.sample_world(np.random.default_rng(0))) == 0
    assert release.support_bounds([]).high == 0


# --- damaged releases -----------------------------------------------------------------------------

GOOD, _ = publish(
    [["a", "b"], ["a", "c"], ["a", "c", "d"], ["c"], ["d"]],
    ([3, 4], [["c"]], []),
    ([2, 0, 1], [["a"], ["c"]], ["b"]),
    joints=[(0, 2, "d")],
)


def fields(release):
    return {name: getattr(release, name).tolist() for name in ARRAYS}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sizes": [3, 0]}, "no records"),
        ({"sizes": [2, 3]}, "3 sub-records for 2 records"),
        ({"sizes": [3, 9]}, "records would be empty"),
        ({"chunk_last": [1, 1, 2, 3]}, "clusters that there are not"),
        ({"chunk_last": [1, 1, 2]}, "not equally long"),
        ({"chunk_offsets": [0, 3, 5, 6]}, "do not fit"),
        ({"chunk_offsets": [0, 3, 3, 6, 8]}, "no sub-records"),
        ({"items": [0, 0, 0, 2, 2, 2, 3, 0]}, "in two ways|canonical"),
        ({"items": [0, 0, 0, 2, 2, 2, 3, 9]}, "not in the vocabulary"),
        ({"items": [0, 0, 0, 2, 2, 2, 2, 2]}, "nothing publishes the item 'd'"),
        ({"terms": [3]}, "nothing publishes the item 'b'"),
        ({"terms": [0]}, "nothing publishes|two ways"),
        ({"row_offsets": [0, 1, 2, 3, 4, 5, 6, 8, 8]}, "a sub-record is empty"),
        ({"row_offsets": [0, 1, 2, 3, 4, 6, 5, 7, 8]}, "decrease"),
        ({"term_offsets": [0, 0, 0]}, "do not fit"),
        ({"chunk_first": [0, 1, 0, 0], "chunk_last": [1, 2, 1, 2]}, "cluster by cluster"),
        ({"chunk_offsets": [0, 2, 5, 6, 8]}, "canonical|two ways"),
    ],
)
def test_damage_is_named(change, said):
    with pytest.raises(ParameterError, match=said):
        DisassociatedRelease(vocabulary=GOOD.vocabulary, **{**fields(GOOD), **change})


def test_order_carries_nothing():
    release, _ = publish([["a"], ["a"], ["b"]], ([0, 1], ["a"], ""), ([2], ["b"], ""))
    content = fields(release)
    turned = {
        "sizes": [1, 2],
        "chunk_offsets": [0, 1, 3],
        "items": [1, 0, 0],
    }
    with pytest.raises(ParameterError, match="clusters are not in canonical order"):
        DisassociatedRelease(vocabulary=release.vocabulary, **{**content, **turned})
    two, _ = publish([["a", "b"], ["a"]], ([0, 1], ["ab"], ""))
    with pytest.raises(ParameterError, match="sub-records of a chunk are not in canonical order"):
        DisassociatedRelease(
            vocabulary=two.vocabulary,
            **{**fields(two), "row_offsets": [0, 1, 3], "items": [0, 0, 1]},
        )


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
@settings(max_examples=25, deadline=None)
@given(case=instances(clusters=3, joint=True, removing=True))
def test_save_and_load(tmp_path_factory, ending, case):
    table, plans, joints, removed = case
    release, key = publish_disassociated(table, plans, joints, removed)
    folder = tmp_path_factory.mktemp("release")
    save(release, folder, method="disassociate", params={}, promise=None, format=ending)
    loaded = load_release(folder)
    assert same(loaded, release)
    private = tmp_path_factory.mktemp("private") / "key"
    save_key(key, private)
    again = load_key(private)
    assert again.removed == key.removed
    assert loaded.is_consistent_with(table, again)


RECORDS = LabelledRows.of(GOOD.to_rows())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sizes": None}, "'sizes' is no list of counts"),
        ({"sizes": [3, -2]}, "'sizes' is no list of counts"),
        ({"sizes": [3, True]}, "'sizes' is no list of counts"),
        ({"rows": [3, 2, 1, 2**40]}, "'rows' is no list of counts"),
        ({"more": []}, "no list of counts"),
        ({"sizes": [5]}, "do not fit"),
        ({"chunks": [2**31 - 1, 1]}, "do not fit"),
        ({"shared": [0]}, "do not fit"),
        ({"with_terms": [7]}, "do not fit"),
        ({"with_terms": [0, 0]}, "do not fit"),
        ({"with_terms": []}, "the data holds 9 rows, the manifest says 8 sub-records and 0"),
        ({"rows": [3, 2, 2, 1]}, "two ways|canonical"),
        ({"sizes": [2, 3]}, "3 sub-records for 2 records"),
        ({"shared": [0, 9]}, "clusters that there are not"),
    ],
)
def test_damaged_structures_are_refused_in_words(change, said):
    with pytest.raises(SetveilError, match=said):
        rebuild("disassociated", RECORDS, {**GOOD.structure(), **change})
    assert same(rebuild("disassociated", RECORDS, GOOD.structure()), GOOD)


def test_a_damaged_key_is_refused(tmp_path):
    for removed in ([["x", 1]], [[-1, "a"]], [[1.5, "a"]], "a", [[0, "a", 1]]):
        content = np.frombuffer(json.dumps(removed).encode(), dtype=np.uint8)
        np.savez(tmp_path / "key.npz", records=np.arange(3), removed=content)
        with pytest.raises(ReleaseError, match="damaged"):
            load_key(tmp_path / "key.npz")
