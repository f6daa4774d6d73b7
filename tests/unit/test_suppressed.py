import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import worlds as reference
from tests.strategies import tables

from setveil import TransactionTable
from setveil.core.errors import NotApplicable, ParameterError, ReleaseError
from setveil.core.table import Vocabulary
from setveil.guarantee import KAnonymity
from setveil.measure import (
    ggd,
    ggd_share,
    items_exact,
    items_kept,
    items_suppressed,
    length_mean,
    level_mean,
    ncp,
    records_kept,
)
from setveil.release import (
    Key,
    Release,
    SuppressedRelease,
    publish_suppressed,
    published_rows,
)
from setveil.release.store import load_manifest, load_release, save

FORMATS = ["parquet", "jsonl", "csv"]
VISITS = TransactionTable.from_rows(
    [["flu"], ["flu", "hiv", "gout"], [], ["hiv"], ["gout", "flu"]]
)  # flu, gout, hiv


@st.composite
def suppressed(draw, **sizes):
    """Draw a table and which of its items are kept."""
    table = draw(tables(**sizes))
    keep = draw(st.lists(st.booleans(), min_size=table.n_items, max_size=table.n_items))
    return table, np.array(keep, dtype=bool)


def put(release, folder, **options):
    return save(
        release, folder, method="simple", params={"k": 1}, promise=KAnonymity(k=1), **options
    )


def same(a, b):
    return (
        a.vocabulary == b.vocabulary
        and a.offsets.tolist() == b.offsets.tolist()
        and a.items.tolist() == b.items.tolist()
    )


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# --- publishing -----------------------------------------------------------------------------------


@given(suppressed())
def test_records_lose_the_items_that_are_not_kept_and_nothing_else(case):
    table, keep = case
    release, key = publish_suppressed(table, keep)
    assert isinstance(release, Release)
    kept = {name for name, stays in zip(table.vocabulary.names, keep, strict=True) if stays}
    assert sorted(key.records.tolist()) == list(range(len(table)))
    for row, record in zip(release.to_rows(), key.records.tolist(), strict=True):
        assert row == sorted(set(table[record]) & kept)
    assert release.vocabulary.names == tuple(sorted({i for row in release.to_rows() for i in row}))
    lengths = np.diff(release.offsets).tolist()
    assert lengths == sorted(lengths, reverse=True)


@given(suppressed(), st.randoms(use_true_random=False))
def test_the_order_of_records_changes_nothing(case, random):
    table, keep = case
    order = random.sample(range(len(table)), len(table))
    assert same(publish_suppressed(table, keep)[0], publish_suppressed(table.take(order), keep)[0])


def test_bags_become_sets():
    table = TransactionTable.from_rows([["a", "a", "b"], ["b", "b"]], bags=True)
    assert publish_suppressed(table, [True, True])[0].to_rows() == [["a", "b"], ["b"]]


def test_nothing_kept_and_nothing_there():
    release, key = publish_suppressed(VISITS, [False] * 3)
    assert release.to_rows() == [[]] * 5
    assert release.support_bounds(["flu"]).high == 5
    assert release.is_consistent_with(VISITS, key)
    release, key = publish_suppressed(TransactionTable.from_rows([]), [])
    assert len(release) == 0
    assert len(release.matches(["flu"]).records) == 0
    assert release.support_bounds([]).high == 0
    assert release.to_frame().rows() == []
    assert release.is_consistent_with(TransactionTable.from_rows([]), key)


@pytest.mark.parametrize("keep", [[True] * 2, [1, 0, 1], [[True] * 3], ["x", "y", "z"]])
def test_masks_that_do_not_fit_are_refused(keep):
    with pytest.raises(ParameterError, match="each of the 3 items"):
        publish_suppressed(VISITS, keep)


@pytest.mark.parametrize(
    ("offsets", "items", "message"),
    [
        ([0, 2], [0], "do not fit"),
        ([], [], "do not fit"),
        ([0, 2, 1, 2], [0, 1], "decrease"),
        ([0, 1], [2], "not in the vocabulary"),
        ([0, 1], [-1], "not in the vocabulary"),
        ([0, 2], [1, 0], "not sorted"),
        ([0, 2], [1, 1], "not sorted and distinct"),
        ([0, 1], [1], "no record publishes the item 'a'"),
        ([0, 1, 3], [1, 0, 1], "canonical"),
        ([0, 1, 2], [1, 0], "canonical"),
    ],
)
def test_broken_releases_are_refused(offsets, items, message):
    with pytest.raises(ParameterError, match=message):
        SuppressedRelease(vocabulary=Vocabulary(names=("a", "b")), offsets=offsets, items=items)


# --- the verbs against all worlds -----------------------------------------------------------------


@settings(max_examples=150)
@given(suppressed(max_items=4, max_rows=4), st.data())
def test_bounds_and_matches_agree_with_all_worlds(case, data):
    table, keep = case
    release, key = publish_suppressed(table, keep)
    items = [*table.vocabulary.names, "elsewhere"]
    known = release.vocabulary.names
    itemset = data.draw(st.sets(st.sampled_from(items), max_size=3))
    possible = [reference.suppressed_worlds(known, row, items) for row in release.to_rows()]
    bounds = release.support_bounds(itemset)
    assert bounds.low == sum(all(itemset <= t for t in row) for row in possible)
    assert bounds.high == sum(any(itemset <= t for t in row) for row in possible)
    assert bounds.tight
    found = release.matches(itemset)
    assert found.records.tolist() == [
        j for j, row in enumerate(possible) if any(itemset <= t for t in row)
    ]
    assert found.weights.tolist() == [1.0] * len(found.records)
    world = release.sample_world(np.random.default_rng(0))
    assert all(frozenset(t) in row for t, row in zip(world, possible, strict=True))
    assert release.is_consistent_with(world, Key(records=np.arange(len(release))))
    assert release.expected_support(itemset) == sum(itemset <= set(row) for row in world)
    assert release.is_consistent_with(table, key)


@settings(max_examples=150)
@given(suppressed(max_items=4, max_rows=4), st.data())
def test_consistency_equals_the_definition(case, data):
    table, keep = case
    release, key = publish_suppressed(table, keep)
    items = [*table.vocabulary.names, "elsewhere"]
    rows = [set(row) for row in table]
    # Change one record, so that about half of the originals fit.
    if rows:
        rows[data.draw(st.integers(0, len(rows) - 1))] ^= {data.draw(st.sampled_from(items))}
    other = TransactionTable.from_rows(rows)
    expected = all(
        reference.suppressed_allows(release.vocabulary, row, rows[record])
        for row, record in zip(release.to_rows(), key.records.tolist(), strict=True)
    )
    assert release.is_consistent_with(other, key) == expected


def test_keys_that_do_not_fit_are_inconsistent():
    release, key = publish_suppressed(VISITS, [True] * 3)
    assert not release.is_consistent_with(VISITS, Key(records=[0]))
    assert not release.is_consistent_with(VISITS, Key(records=[0, 1, 2, 3, 5]))
    assert not release.is_consistent_with(VISITS, Key(records=[0, 1, 2, 3, 4]))
    assert release.is_consistent_with(VISITS, key)


def test_frames_keep_empty_records():
    release, _ = publish_suppressed(VISITS, [False, False, True])
    assert release.to_frame().rows() == [(0, "hiv"), (1, "hiv"), (2, None), (3, None), (4, None)]
    assert "5 records" in repr(release)


# --- the uniform view -----------------------------------------------------------------------------


def test_published_rows_of_every_form():
    release, _ = publish_suppressed(VISITS, [True, False, True])
    rows = published_rows(release)
    assert rows.names == ("flu", "hiv")
    assert rows.offsets.tolist() == [0, 2, 3, 4, 5, 5]
    assert rows.items.tolist() == [0, 1, 0, 0, 1]
    assert rows.supports().tolist() == [3, 2]
    assert rows.lengths.tolist() == [2, 1, 1, 1, 0]
    assert (rows.number("hiv"), rows.number("gout")) == (1, None)
    bags = TransactionTable.from_rows([["a", "a"], ["a", "b", "b"], [], ["b"]], bags=True)
    rows = published_rows(bags)
    assert rows.offsets.tolist() == [0, 1, 3, 3, 4]
    assert rows.items.tolist() == [0, 0, 1, 1]

    class Unknown(Release):
        form = "unknown"

        def to_rows(self):
            return [["b", "a", "b"], []]

    rows = published_rows(Unknown())
    assert [rows.names[i] for i in rows.items.tolist()] == ["a", "b"]
    assert rows.offsets.tolist() == [0, 2, 2]


# --- on disk --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", FORMATS)
@settings(max_examples=40)
@given(case=suppressed(), random=st.randoms(use_true_random=False))
def test_round_trip_and_the_same_bytes(tmp_path_factory, ending, case, random):
    table, keep = case
    release, _ = publish_suppressed(table, keep)
    folder = tmp_path_factory.mktemp("release")
    manifest = put(release, folder, format=ending)
    assert manifest.form == "suppressed"
    assert manifest.structure == {}
    loaded = load_release(folder)
    assert isinstance(loaded, SuppressedRelease)
    assert same(loaded, release)
    order = random.sample(range(len(table)), len(table))
    other = tmp_path_factory.mktemp("release")
    put(publish_suppressed(table.take(order), keep)[0], other, format=ending)
    assert content(other) == content(folder)


def test_suppressed_items_are_nowhere_on_disk(tmp_path):
    release, _ = publish_suppressed(VISITS, [True, True, False])
    put(release, tmp_path, format="csv")
    assert b"hiv" not in b"".join(content(tmp_path).values())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'"gout","flu"\n', "not sorted and distinct"),
        (b'"flu","flu"\n', "not sorted and distinct"),
        (b'"flu"\n"flu","gout"\n', "canonical order"),
        (b'"flu"\n', "the manifest says"),
        (b'"flu\n', "not CSV"),
    ],
)
def test_damaged_data_is_refused(tmp_path, data, message):
    from tests.unit.test_store import replace_data

    put(publish_suppressed(VISITS, [True] * 3)[0], tmp_path, format="csv")
    replace_data(tmp_path, data)
    with pytest.raises(ReleaseError, match=message):
        load_release(tmp_path)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_flipped_bit_is_noticed(tmp_path, ending):
    put(publish_suppressed(VISITS, [True] * 3)[0], tmp_path, format=ending)
    path = tmp_path / load_manifest(tmp_path).file
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(ReleaseError, match="does not match its hash"):
        load_release(tmp_path)


def test_a_structure_that_does_not_belong_is_refused(tmp_path):
    from tests.unit.test_store import rewrite

    put(publish_suppressed(VISITS, [True] * 3)[0], tmp_path)
    rewrite(tmp_path, lambda raw: raw["structure"].update(hides=True))
    with pytest.raises(ReleaseError, match="has no structure"):
        load_release(tmp_path)
    assert json.loads((tmp_path / "manifest.json").read_text())["form"] == "suppressed"


# --- measures -------------------------------------------------------------------------------------


def test_measures():
    release, key = publish_suppressed(VISITS, [True, True, False])  # 2 of 7 items removed
    assert ggd(release, VISITS) == 2.0
    assert ggd_share(release, VISITS) == 2 / 7
    assert ncp(release, VISITS, key=key) == 2 / 7
    assert length_mean(release) == 1.0
    assert items_kept(release, VISITS) == items_exact(release, VISITS) == 5 / 7
    assert items_suppressed(release, VISITS) == 2 / 7
    assert records_kept(release, VISITS) == 1.0
    with pytest.raises(NotApplicable, match="no taxonomy nodes"):
        level_mean(release)
