"""Examples of what attacks say are true to the guess, and of the records given away most."""

import json

import pytest

from setveil import TransactionTable
from setveil.attack import MDA, Linkage
from setveil.attack.guess import Guess
from setveil.attack.reassociation.reassociation_guess import ClusterGuess, ReassociationGuess
from setveil.measure import draw_targets
from setveil.relatedness import NGD, RecordCounts
from setveil.release import publish_suppressed
from setveil.release.chunk_plan import Plan, publish_disassociated
from setveil.release.set_generalized import publish_sets


def test_linkage_shows_the_person_that_was_surest():
    table = TransactionTable.from_rows([["flu", "gout"], ["flu", "gout"], ["flu", "hiv"], ["rash"]])
    release, key = publish_suppressed(table, [True] * 4)
    guess = Linkage().run(release, targets=draw_targets(table, m=1, knowledge="rarest"))
    found = guess.examples(release=release, original=table, key=key, count=2)
    assert found == [
        {"known": ["hiv"], "published": ["flu", "hiv"], "original": ["flu", "hiv"]},
        {"known": ["rash"], "published": ["rash"], "original": ["rash"]},
    ]


def test_linkage_of_pieces_shows_no_published_record():
    table = TransactionTable.from_rows([["flu", "gout"], ["flu"], ["rash"]])
    plan = Plan(records=[0, 1, 2], domains=((0,),), terms=(1, 2))
    release, key = publish_disassociated(table, [plan])
    guess = Linkage().run(release, targets=draw_targets(table, m=1))
    for example in guess.examples(release=release, original=table, key=key):
        assert set(example) == {"known", "original"}


def test_elimination_shows_what_was_dropped_and_why():
    table = TransactionTable.from_rows([["fever", "flu"], ["toe", "gout"]])
    release, key = publish_sets(table, [0, 1, 1, 2])
    corpus = [["fever", "flu"], ["flu"], ["toe", "gout"], ["gout"], ["fever", "toe"]]
    ngd = NGD(RecordCounts.from_rows(corpus))
    guess = MDA().run(release, relatedness=ngd)
    found = guess.examples(release=release, original=table, key=key, relatedness=ngd)
    assert found
    for example in found:
        assert set(example["guessed"]) == set(example["original"])  # the attack was right
        ((member, context, distance, others),) = example["why"]
        assert member not in example["original"]
        assert context in example["original"]
        assert distance > others
    plain = guess.examples(release=release, original=table, key=key)
    assert all("why" not in example for example in plain)
    json.dumps(found, allow_nan=False)


def test_elimination_that_was_wrong_is_no_example():
    table = TransactionTable.from_rows([["fever", "gout"], ["toe", "flu"]])
    release, key = publish_sets(table, [0, 1, 1, 2])
    corpus = [["fever", "flu"], ["flu"], ["toe", "gout"], ["gout"], ["fever", "toe"]]
    guess = MDA().run(release, relatedness=NGD(RecordCounts.from_rows(corpus)))
    assert list(guess.eliminations())
    assert guess.examples(release=release, original=table, key=key) == []


def test_reassociation_shows_the_record_that_is_most_right():
    table = TransactionTable.from_rows([["flu", "gout"], ["flu"], ["rash"]])
    plan = Plan(records=[0, 1, 2], domains=((0,),), terms=(1, 2))
    release, key = publish_disassociated(table, [plan])
    said = ClusterGuess(
        cluster=0,
        anchors=[["flu"], ["flu"], []],
        attached=[[["term", "gout"], ["term", "rash"]], [["term", "gout"]], []],
    )
    guess = ReassociationGuess(attack="aba", clusters=(said,))
    found = guess.examples(release=release, original=table, key=key)
    assert found == [
        {"published": ["flu"], "guessed": ["flu", "gout"], "original": ["flu", "gout"]},
        {"published": ["flu"], "guessed": ["flu", "gout", "rash"], "original": ["flu", "gout"]},
    ]


def test_long_records_are_cut():
    row = [f"item {n:03}" for n in range(100)]
    table = TransactionTable.from_rows([row, ["x"]])
    release, key = publish_suppressed(table, [True] * 101)
    guess = Linkage().run(release, targets=draw_targets(table, m=1))
    found = guess.examples(release=release, original=table, key=key)
    longest = max(found, key=lambda example: len(example["original"]))
    assert longest["original"][-1] == "… and 60 more"
    assert len(longest["original"]) == 40 + 1


@pytest.mark.parametrize("count", [0, 1])
def test_attacks_that_say_nothing_of_records_have_no_examples(count):
    assert Guess(attack="x").examples(release=None, original=None, key=None, count=count) == []
