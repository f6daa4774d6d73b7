from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import grouped as reference
from tests.strategies import names, rows_over

from setveil import TransactionTable
from setveil.core.errors import NotApplicable, ParameterError, ReleaseError
from setveil.core.table import Vocabulary
from setveil.guarantee import PrivacyDegree
from setveil.measure import items_kept, length_mean, measure_all
from setveil.release import (
    GroupedRelease,
    Key,
    Release,
    deal,
    publish_grouped,
    published_rows,
)
from setveil.release.base import rebuild
from setveil.release.data_file import LabelledRows
from setveil.release.store import load_release, save

FORMATS = ["parquet", "jsonl", "csv"]
FEW = TransactionTable.from_rows(
    [["wine", "flu", "hiv"], ["cream"], ["meat", "flu"], [], ["wine", "meat"]]
)


@st.composite
def grouped(draw, *, max_rows=6, max_items=6):
    """Draw a table, groups, sensitive items, and whether parts stay whole."""
    items = draw(names(min_size=2, max_size=max_items))
    rows = draw(rows_over(items, max_rows=max_rows, max_length=4))
    group_of = [draw(st.integers(0, 2)) for _ in rows]
    sensitive = draw(st.sets(st.sampled_from(items), max_size=3))
    return TransactionTable.from_rows(rows), group_of, sorted(sensitive), draw(st.booleans())


def published(case):
    table, group_of, sensitive, whole = case
    return publish_grouped(table, np.array(group_of, dtype=np.int64), sensitive, whole=whole)


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def put(release, folder, **options):
    promise = PrivacyDegree(p=1, sensitive=())
    return save(release, folder, method="cahd", params={"p": 1}, promise=promise, **options)


# --- publishing -----------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(grouped(max_rows=12))
def test_rows_and_parts_are_those_of_the_records(case):
    table, group_of, sensitive, whole = case
    release, key = published(case)
    assert isinstance(release, Release)
    assert sorted(key.records.tolist()) == list(range(len(table)))
    starts = release.starts.tolist()
    seen = set()
    for group in release.groups:
        records = key.records[starts[group.number] : starts[group.number + 1]].tolist()
        (number,) = {group_of[record] for record in records}
        seen.add(number)
        assert len(records) == group_of.count(number)
        for row, record in zip(group.rows, records, strict=True):
            assert row == tuple(i for i in table[record] if i not in sensitive)
        parts = [tuple(i for i in table[r] if i in sensitive) for r in records]
        for item in sensitive:
            assert group.histogram.get(item, 0) == sum(item in part for part in parts)
        if whole:
            bag = [part for part, count in group.parts for _ in range(count)]
            assert sorted(bag) == sorted(filter(None, parts))
        else:
            assert all(len(part) == 1 for part, _ in group.parts)
    assert seen == set(group_of)
    assert release.occurrences == len(table.items)
    assert sum(map(len, release.to_rows())) == len(table.items)


@settings(max_examples=40, deadline=None)
@given(grouped(max_rows=12), st.randoms(use_true_random=False))
def test_order_and_numbers_leave_no_trace(tmp_path_factory, case, random):
    table, group_of, sensitive, whole = case
    release, _ = published(case)
    order = random.sample(range(len(table)), len(table))
    other = random.sample(range(10), 3)
    again, key = published(
        (table.take(order), [other[group_of[i]] for i in order], sensitive[::-1], whole)
    )
    folders = [tmp_path_factory.mktemp("release") for _ in range(2)]
    put(release, folders[0])
    put(again, folders[1])
    assert content(folders[0]) == content(folders[1])
    assert again.is_consistent_with(table.take(order), key)


def test_bags_become_sets():
    table = TransactionTable.from_rows([["a", "a", "S", "S"], ["b"]], bags=True)
    release, key = publish_grouped(table, [0, 0], ["S"])
    assert (release.group(0).rows, release.group(0).histogram) == ((("a",), ("b",)), {"S": 1})
    assert release.is_consistent_with(table, key)


def test_no_records_at_all():
    none = TransactionTable.from_rows([])
    release, key = publish_grouped(none, [], ["flu"])
    assert len(release) == 0
    assert release.support_bounds([]).high == 0
    assert release.to_frame().rows() == []
    assert len(release.sample_world(np.random.default_rng(0))) == 0
    assert release.is_consistent_with(none, key)
    assert release.sensitive == ()


@pytest.mark.parametrize("group_of", [[0] * 4, [0.5] * 5, [[0] * 5], ["x"] * 5])
def test_groups_that_do_not_fit_are_refused(group_of):
    with pytest.raises(ParameterError, match="each of the 5 records"):
        publish_grouped(FEW, group_of, ["flu"])


GOOD = {
    "vocabulary": Vocabulary(names=("a", "b", "s", "t")),
    "starts": [0, 2, 3],
    "offsets": [0, 1, 2, 3],
    "items": [0, 1, 0],
    "part_starts": [0, 2, 2],
    "part_offsets": [0, 1, 2],
    "part_items": [2, 3],
    "counts": [1, 2],
    "whole": False,
}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"starts": [0, 2]}, "offsets of groups do not fit"),
        ({"starts": []}, "offsets of groups do not fit"),
        ({"starts": [0, 3, 2, 3], "part_starts": [0, 2, 2, 2]}, "groups decrease"),
        ({"starts": [0, 2, 2, 3], "part_starts": [0, 2, 2, 2]}, "group has no records"),
        ({"offsets": [0, 1, 2, 4]}, "offsets of records do not fit"),
        ({"part_starts": [0, 2]}, "differ in number"),
        ({"part_offsets": [0, 1, 1], "part_items": [2]}, "sensitive part is empty"),
        ({"counts": [1]}, "has a count"),
        ({"counts": [1, 0]}, "less than once"),
        ({"counts": [1, 3]}, "more often than it has records"),
        ({"whole": True}, "more sensitive parts than records"),
        ({"part_offsets": [0, 2], "part_starts": [0, 1, 1], "counts": [1]}, "single items"),
        ({"items": [0, 1, 4]}, "not in the vocabulary"),
        ({"offsets": [0, 2, 3, 3], "items": [1, 0, 0]}, "not sorted"),
        ({"items": [0, 1, 2]}, "stands in a record and among"),
        ({"items": [0, 0, 0]}, "nothing publishes the item 'b'"),
        ({"items": [1, 0, 0]}, "records of a group are not in canonical"),
        ({"part_items": [3, 2]}, "parts of a group are not distinct"),
        ({"part_items": [2, 2], "vocabulary": Vocabulary(names=("a", "b", "s"))}, "not distinct"),
        (
            {"starts": [0, 1, 3], "counts": [1, 1], "items": [0, 0, 1]},
            "groups are not in canonical",
        ),
        ({"dealt": [0, 1, -1]}, "not every record was dealt"),
    ],
)
def test_broken_releases_are_refused(wrong, message):
    GroupedRelease(**GOOD)
    with pytest.raises(ParameterError, match=message):
        GroupedRelease(**{**GOOD, **wrong})


@pytest.mark.parametrize(
    ("dealt", "message"),
    [
        ([0, 1], "not every record"),
        ([0, 2, -1], "not there"),
        ([0, -1, 1], "another group"),
        ([0, -1, -1], "as often as it occurs"),
    ],
)
def test_broken_deals_are_refused(dealt, message):
    whole = {**GOOD, "whole": True, "counts": [1, 1]}
    assert GroupedRelease(**whole, dealt=[1, 0, -1]).to_rows() == [["a", "t"], ["b", "s"], ["a"]]
    with pytest.raises(ParameterError, match=message):
        GroupedRelease(**whole, dealt=dealt)


# --- the four verbs against all worlds ------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(grouped(), st.data())
def test_bounds_matches_and_means_are_those_of_all_worlds(case, data):
    table = case[0]
    release, _ = published(case)
    every = reference.worlds(release)
    domain = [*table.vocabulary.names, "nobody's"]
    itemset = data.draw(st.sets(st.sampled_from(domain), max_size=3))
    supports = [sum(itemset <= row for row in world) for world in every]
    bounds = release.support_bounds(itemset)
    assert (bounds.low, bounds.high, bounds.tight) == (min(supports), max(supports), True)
    found = release.matches(itemset)
    shares = {
        slot: sum(itemset <= world[slot] for world in every) / len(every)
        for slot in range(len(release))
    }
    assert found.records.tolist() == [slot for slot, share in shares.items() if share]
    assert found.weights.tolist() == pytest.approx([s for s in shares.values() if s])
    assert release.expected_support(itemset) == pytest.approx(sum(supports) / len(every))


@settings(max_examples=40, deadline=None)
@given(grouped(max_rows=5), st.integers(0, 2**32))
def test_a_drawn_world_is_one_of_them(case, seed):
    release, _ = published(case)
    world = release.sample_world(np.random.default_rng(seed))
    assert tuple(map(frozenset, world)) in reference.worlds(release)


@pytest.mark.parametrize("whole", [False, True])
def test_all_worlds_are_drawn_equally_often(whole):
    release, _ = publish_grouped(FEW, [0, 0, 0, 0, 1], ["flu", "hiv"], whole=whole)
    every = reference.worlds(release)
    rng = np.random.default_rng(1)
    drawn = [tuple(map(frozenset, release.sample_world(rng))) for _ in range(50 * len(every))]
    counts = np.array([drawn.count(world) for world in every])
    assert counts.sum() == len(drawn)
    assert ((counts - 50) ** 2 / 50).sum() < len(every) + 4 * (2 * len(every)) ** 0.5


@settings(max_examples=40, deadline=None)
@given(grouped(), st.integers(0, 2**32))
def test_consistent_is_who_is_a_world(case, seed):
    release, _ = published(case)
    rng = np.random.default_rng(seed)
    in_order = Key(records=np.arange(len(release)))
    world = release.sample_world(rng)
    assert release.is_consistent_with(world, in_order)
    if len(world.items):
        rows = world.to_rows()
        place = next(i for i, row in enumerate(rows) if row)
        rows[place].pop()
        less = TransactionTable.from_rows(rows)
        assert not release.is_consistent_with(less, in_order)


def test_what_is_not_consistent():
    release, key = publish_grouped(FEW, [0, 0, 0, 1, 1], ["flu", "hiv"])
    assert release.is_consistent_with(FEW, key)
    assert not release.is_consistent_with(FEW, Key(records=key.records[:-1]))
    assert not release.is_consistent_with(FEW, Key(records=key.records + 1))
    more = TransactionTable.from_rows([*FEW.to_rows()[:-1], ["wine", "meat", "new"]])
    assert not release.is_consistent_with(more, key)
    moved = TransactionTable.from_rows(
        [["wine", "hiv"], ["cream", "flu"], ["meat", "flu"], [], ["wine", "meat"]]
    )
    assert release.is_consistent_with(moved, key)
    whole, key = publish_grouped(FEW, [0, 0, 0, 1, 1], ["flu", "hiv"], whole=True)
    assert not whole.is_consistent_with(moved, key)


# --- deals ----------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(grouped(max_rows=10), st.sampled_from(FORMATS))
def test_a_deal_keeps_the_bags_and_is_stored(tmp_path_factory, case, ending):
    table, group_of, sensitive, _ = case
    release, key = published((table, group_of, sensitive, True))
    dealt = deal(release)
    rows = dealt.to_rows()
    assert len(rows) == len(table)
    for group in release.groups:
        slots = range(*release.starts[group.number : group.number + 2].tolist())
        bag = [part for part, count in group.parts for _ in range(count)]
        shown = [tuple(sorted(set(rows[s]) & set(sensitive))) for s in slots]
        assert sorted(filter(None, shown)) == sorted(bag)
        assert [tuple(i for i in rows[s] if i not in sensitive) for s in slots] == list(group.rows)
    assert dealt.support_bounds(sensitive) == release.support_bounds(sensitive)
    assert dealt.is_consistent_with(table, key)
    folder = tmp_path_factory.mktemp("release")
    put(dealt, folder, format=ending)
    loaded = load_release(folder)
    assert loaded.to_rows() == rows
    assert loaded.dealt is not None
    assert loaded.dealt.tolist() == dealt.dealt.tolist()


def test_every_deal_is_equally_likely():
    kinds = []
    for number in range(1_800):
        few = [[f"o{number}", "flu"], [f"p{number}", "hiv"], [f"q{number}"]]
        table = TransactionTable.from_rows(few)
        release, _ = publish_grouped(table, [0, 0, 0], ["flu", "hiv"], whole=True)
        kinds.append(tuple(deal(release).dealt.tolist()))
    counts = [kinds.count(kind) for kind in set(kinds)]
    assert len(counts) == 6  # two parts to three records
    assert max(abs(count - 300) for count in counts) < 80


def test_a_deal_follows_from_what_the_groups_list():
    """Whose part it is does not matter: all originals with the same groups get the same deal."""
    secrets = [["flu"], ["hiv"], [], []]
    shown = set()
    for order in permutations(range(4)):
        rows = [[f"o{i}", *secrets[j]] for i, j in enumerate(order)]
        table = TransactionTable.from_rows(rows)
        release, _ = publish_grouped(table, [0] * 4, ["flu", "hiv"], whole=True)
        shown.add(str(deal(release).to_rows()))
    assert len(shown) == 1


# --- on disk, and elsewhere -----------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(grouped(max_rows=10), st.sampled_from(FORMATS))
def test_saved_and_loaded(tmp_path_factory, case, ending):
    release, key = published(case)
    folder = tmp_path_factory.mktemp("release")
    put(release, folder, format=ending)
    loaded = load_release(folder)
    assert list(loaded.groups) == list(release.groups)
    assert loaded.whole == release.whole
    assert loaded.is_consistent_with(case[0], key)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": [5]}, "lists of groups do not fit"),
        ({"sizes": [4, 2]}, "says 6 records and 2 sensitive parts"),
        ({"sizes": [3, 2.0]}, "'sizes' is no list of counts"),
        ({"counts": [2, -1]}, "'counts' is no list of counts"),
        ({"counts": [2]}, "do not fit"),
        ({"whole": 1}, "do not fit"),
        ({"more": 1}, "does not say how records are grouped"),
        ({"sizes": [2, 3]}, "canonical"),
    ],
)
def test_damaged_structures_are_refused(change, message):
    release, _ = publish_grouped(FEW, [0, 0, 0, 1, 1], ["flu", "hiv"])
    rows = release.to_rows()
    rows.remove(["flu"])  # distinct parts are stored, with their counts
    structure = release.structure()
    assert rebuild("grouped", LabelledRows.of(rows), structure).to_rows() == release.to_rows()
    with pytest.raises((ReleaseError, ParameterError), match=message):
        rebuild("grouped", LabelledRows.of(rows), {**structure, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": [3, 1]}, "says 4 in 2 groups"),
        ({"sizes": [3, 2, 0]}, "in 3 groups"),
        ({"sensitive": ["gold"]}, "do not occur"),
        ({"sensitive": "flu"}, "do not occur"),
        ({"sensitive": [["flu"]]}, "do not occur"),
    ],
)
def test_damaged_deals_are_refused(change, message):
    release, _ = publish_grouped(FEW, [0, 0, 0, 1, 1], ["flu", "hiv"], whole=True)
    dealt = deal(release)
    with pytest.raises(ReleaseError, match=message):
        rebuild("grouped", LabelledRows.of(dealt.to_rows()), {**dealt.structure(), **change})


def test_measures():
    release, key = publish_grouped(FEW, [0, 0, 0, 1, 1], ["flu", "hiv"])
    assert items_kept(release, FEW) == 1
    assert length_mean(release) == len(FEW.items) / 5
    figures = measure_all(release, FEW, key=key, sensitive=["flu", "hiv"])
    assert (figures["ggd"], figures["ncp"], figures["average_loss"]) == (0, 0, 0)
    assert figures["kl_low"] <= figures["kl"] <= figures["kl_high"]
    assert figures["are"] > 0


def test_other_guarantees_are_refused():
    release, _ = publish_grouped(FEW, [0, 0, 0, 1, 1], ["flu"])
    with pytest.raises(NotApplicable, match="does not show whole records"):
        published_rows(release)


def test_frames():
    release, _ = publish_grouped(FEW, [0, 0, 0, 1, 1], ["flu", "hiv"])
    frame = release.to_frame()
    assert frame.columns == ["group", "kind", "row", "item", "count"]
    assert (0, "sensitive", 0, "flu", 2) in frame.rows()
    assert (1, "record", 1, None, 1) in frame.rows()
    whole, _ = publish_grouped(FEW, [0, 0, 0, 1, 1], ["flu", "hiv"], whole=True)
    dealt = deal(whole).to_frame()
    assert set(dealt["kind"]) == {"record"}
    assert sorted(filter(None, dealt["item"])) == sorted(i for row in FEW for i in row)
    assert "3 records" not in repr(release)
    assert "5 records in 2 groups, 5 items, 2 sensitive" in repr(release)


def test_slots_that_show_the_same_stand_for_as_many_candidates_as_can_hold_the_items():
    table = TransactionTable.from_rows([["a"], ["a", "b"], ["a"], ["c"]])
    release, _ = publish_grouped(table, [0, 0, 0, 0], ["b"])
    found = release.matches(["b"])
    assert len(found.records) == 4
    assert sorted(found.counts.tolist()) == pytest.approx([1 / 3] * 3 + [1])
    assert found.candidates == 2  # one of three alike, or the other one
    assert release.matches(["a", "b"]).candidates == 1
