"""Releases of tags: what they say is what every naming of the tags says."""

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference import encoded as reference
from tests.strategies import tables

from setveil import TransactionTable
from setveil.core.errors import ParameterError, ReleaseError
from setveil.core.table import Vocabulary
from setveil.release import EncodedRelease, Key, Release, publish_encoded, published_rows
from setveil.release.base import rebuild
from setveil.release.data_file import LabelledRows
from setveil.release.encoded import greatest_support
from setveil.release.store import load_key, load_release, save, save_key

VISITS = TransactionTable.from_rows([["flu", "hiv"], ["flu"], [], ["gout", "flu"], ["hiv"]])
CODES = {"flu": "flu", "gout": "9", "hiv": "7"}


@st.composite
def encoded(draw, **sizes):
    """Draw a table, codes for its items, and which of them are readable."""
    table = draw(tables(**sizes))
    items = sorted({item for row in table for item in row})
    clear = set(draw(st.lists(st.sampled_from(items), unique=True))) if items else set()
    tags = draw(st.permutations([f"#{i:02}" for i in range(len(items))]))
    codes = {i: i if i in clear else tag for i, tag in zip(items, tags, strict=True)}
    return table, codes, clear


@given(encoded())
def test_every_item_is_published_as_its_code(case):
    table, codes, clear = case
    release, key = publish_encoded(table, codes, readable=clear)
    assert isinstance(release, Release)
    assert sorted(key.records.tolist()) == list(range(len(table)))
    for row, record in zip(release.to_rows(), key.records.tolist(), strict=True):
        assert row == sorted({codes[item] for item in table[record]})
    assert [codes[name] for name in key.names] == list(release.vocabulary.names)
    assert release.is_consistent_with(table, key)
    assert release.is_consistent_with(table, Key(records=key.records))


@settings(max_examples=150)
@given(encoded(max_rows=4, max_items=4, max_length=3), st.data())
def test_bounds_and_matches_agree_with_every_naming(case, data):
    table, codes, clear = case
    release, _ = publish_encoded(table, codes, readable=clear)
    # Enough other names that no tag must stand for an item that is asked for.
    names = [*sorted(codes), *(f"other {i}" for i in range(len(codes) + 2))]
    itemset = data.draw(st.sets(st.sampled_from(names), max_size=3))
    rows = release.to_rows()
    worlds = reference.encoded_worlds(rows, clear, names)
    supports = [sum(itemset <= record for record in world) for world in worlds]
    bounds = release.support_bounds(itemset)
    assert (bounds.low, bounds.high, bounds.tight) == (min(supports), max(supports), True)
    possible = {j for world in worlds for j, record in enumerate(world) if itemset <= record}
    assert set(release.matches(itemset).records.tolist()) == possible
    assert release.expected_support(itemset) == bounds.low


@given(encoded(max_rows=4), st.data())
def test_a_wrong_original_is_noticed(case, data):
    table, codes, clear = case
    assume(len(table.items))
    release, key = publish_encoded(table, codes, readable=clear)
    rows = table.to_rows()
    place = data.draw(st.sampled_from([i for i, row in enumerate(rows) if row]))
    rows[place] = rows[place][1:]
    assert not release.is_consistent_with(TransactionTable.from_rows(rows), key)
    swapped = Key(records=key.records, names=(*key.names[:-1], "somebody else's"))
    assert not release.is_consistent_with(table, swapped)


def test_a_swapped_naming_is_consistent_only_without_names():
    table = TransactionTable.from_rows([["a", "b"], ["a"], ["b"]])
    release, key = publish_encoded(table, {"a": "1", "b": "2"})
    turned = TransactionTable.from_rows([["a", "b"], ["b"], ["a"]])
    assert release.is_consistent_with(turned, Key(records=key.records))
    assert not release.is_consistent_with(turned, key)


@settings(max_examples=200)
@given(st.lists(st.integers(0, 255), max_size=6), st.integers(1, 4))
def test_greatest_support_is_the_greatest(covers, size):
    from itertools import combinations

    best = max(
        (
            int(np.bitwise_and.reduce(np.array(chosen))).bit_count()
            for chosen in combinations(covers, size)
        ),
        default=0,
    )
    assert greatest_support(covers, size) == (best, True)
    for steps in range(4):
        bound, exact = greatest_support(covers, size, steps=steps)
        assert bound >= best
        assert not exact or bound == best


def test_tags_are_not_taken_for_items():
    release, _ = publish_encoded(VISITS, CODES, readable=["flu"])
    rows = published_rows(release)
    assert rows.number("flu") == release.vocabulary.number("flu")
    assert rows.number("9") is None
    assert release.legible.to_rows() == [["flu"], ["flu"], ["flu"], [], []]


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_saved_and_loaded(tmp_path, ending):
    release, key = publish_encoded(VISITS, CODES, readable=["flu"])
    save(release, tmp_path / "r", method="x", params={}, promise=None, format=ending)
    loaded = load_release(tmp_path / "r")
    assert loaded.to_rows() == release.to_rows()
    assert loaded.readable.tolist() == release.readable.tolist()
    save_key(key, tmp_path / "key")
    again = load_key(tmp_path / "key")
    assert (again.names, again.parts) == (key.names, False)
    assert loaded.is_consistent_with(VISITS, again)
    text = b"".join(path.read_bytes() for path in (tmp_path / "r").iterdir())
    assert b"gout" not in text


def test_a_manifest_that_does_not_say_what_can_be_read(tmp_path):
    release, _ = publish_encoded(VISITS, {"flu": "1", "gout": "9", "hiv": "7"})
    save(release, tmp_path, method="x", params={}, promise=None)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    for structure in ({}, {"readable": ["nobody"]}):
        with pytest.raises(ReleaseError, match="what can be read"):
            rebuild("encoded", LabelledRows.of(release.to_rows()), structure)
    assert manifest["structure"] == {"readable": []}


@pytest.mark.parametrize(
    "codes", [{"flu": "1", "gout": "1", "hiv": "7"}, {"flu": "1", "gout": "2", "hiv": "3"}]
)
def test_codes_that_cannot_be(codes):
    with pytest.raises(ParameterError, match="code"):
        publish_encoded(VISITS, codes, readable=["flu"] if codes["gout"] == "2" else [])


def test_flags_that_do_not_fit():
    with pytest.raises(ParameterError, match="can be read"):
        EncodedRelease(
            vocabulary=Vocabulary(names=("a",)), offsets=[0, 1], items=[0], readable=[True, False]
        )
