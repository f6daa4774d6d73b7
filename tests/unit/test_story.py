"""An attack as a story, against a plain search through the records."""

import json
import re

import numpy as np
import pytest
from tests.unit.test_contents import METHODS, random_table, run_on

from setveil import Taxonomy, TransactionTable
from setveil.audit import run_method
from setveil.audit.contents import tell_example, tell_story

ORIGINAL = (
    "In the original data, one record holds it. It is the person's, and it also shows 'flu' and "
    "'gout'."
)
RELEASE = (
    "In the release, 10 records may be the person's. It is certain that the person also has 'flu'."
)
TREE = Taxonomy.from_parents({"flu": "all"})


@pytest.mark.parametrize("method", METHODS)
def test_what_a_story_says_is_true(method):
    table = random_table(11)
    run = run_on(method, table)
    rows = [set(row) for row in table.to_rows()]
    for m, knowledge in ((1, "rarest"), (3, "random")):
        story = tell_story(run, table, {"m": m, "knowledge": knowledge}, np.random.default_rng(m))
        assert json.loads(json.dumps(story)) == story
        known = set(story["known"])
        holders = [row for row in rows if known <= row]
        assert 1 <= len(known) <= m
        assert story["before"] == len(holders) >= 1
        assert story["after"] == run.release.matches(story["known"], run.taxonomy).candidates
        assert any(set(story["learned"]) <= row for row in holders)
        assert not set(story["learned"]) & known
        assert len(story["sentences"]) == 4
        for text in story["sentences"]:
            assert re.fullmatch(r"(?!.*(  |\.\.)).*\.", text), text


def test_the_same_person_before_and_after():
    rows = [["flu", "gout", "hiv"]] + [["flu", "gout"]] * 3 + [["flu"]] * 6
    table = TransactionTable.from_rows(rows)
    run = run_method("coat", {"k": 3, "s": 1, "constrained": 1, "utility": "alone"}, table)
    assert tell_story(run, table, {"m": 1, "knowledge": "rarest"}) == {
        "known": ["hiv"],
        "before": 1,
        "after": 10,
        "learned": ["flu"],
        "sentences": [
            "An attacker knows one item of a person: 'hiv'.",
            ORIGINAL,
            RELEASE,
            "The attacker can only pick one of these 10.",
        ],
    }  # fmt: skip
    untouched = run_method("simple-suppression", {}, table, sensitive=["gout"])
    story = tell_story(untouched, table, {"m": 1, "knowledge": "rarest"})
    assert story["sentences"][-1] == "The attacker names the right record."


def test_no_story_without_items():
    empty = TransactionTable.from_rows([["flu"], []]).take([1])
    run = run_method("gather", {"k": 1}, TransactionTable.from_rows([["flu"]] * 2), TREE)
    assert tell_story(run, empty, {"m": 2})["sentences"] == []


def test_an_example_says_what_was_seen_concluded_and_true():
    said = tell_example({"known": ["flu"], "published": ["flu", "gout"], "original": ["flu"]})
    assert said == [
        "The attacker knows that a person has 'flu'.",
        "The attacker finds the record 'flu' and 'gout'.",
        "The person's record holds 'flu'.",
    ]
    many = [f"item {n}" for n in range(9)]
    assert "'item 5' and 3 more" in tell_example({"published": many})[0]
    assert tell_example({}) == []
