"""The recommendation: least loss among what is safe enough, with reasons that say so."""

import pytest

from setveil.audit import Adversary, RunRecord
from setveil.audit.advice import advise, fault, in_words
from setveil.measure import Rate


def linkage(high, *, value=None, base=0.001):
    value = high if value is None else value
    return Adversary(
        attack="linkage",
        params={"m": 2, "knowledge": "random"},
        knows="two items of a person",
        figure="named",
        rate=Rate(value=value, low=0.0, high=high, exact=False),
        baseline=Rate.counted(base),
        baseline_name="naming any record",
    )


def record(name, *, loss=0.2, risk=0.05, **rest):
    said = {
        "id": name,
        "name": name,
        "title": name,
        "method": "gather",
        "params": {},
        "form": "generalized",
        "promise": {"name": "k-anonymity", "params": {"k": 5}, "says": "five are alike"},
        "holds": True,
        "exact": True,
        "consistent": True,
        "loss": loss,
        "adversaries": (linkage(risk),),
    }
    return RunRecord(**{**said, **rest})


def test_the_least_loss_at_or_below_the_target_wins():
    runs = [
        record("a", loss=0.5, risk=0.01),
        record("b", loss=0.2, risk=0.08),
        record("c", loss=0.1, risk=0.3),
    ]
    assert advise(runs, target=0.1).recommended == "b"
    assert advise(runs, target=0.02).recommended == "a"
    assert advise(runs, target=0.5).recommended == "c"
    assert advise(runs, target=0.001).recommended is None


def test_the_upper_end_of_the_interval_counts():
    run = record("a", adversaries=(linkage(0.2, value=0.05),))
    assert advise([run], target=0.1).recommended is None
    assert advise([run], target=0.2).recommended == "a"


def test_ties_go_to_the_smaller_risk_of_linkage():
    other = Adversary(attack="prior", figure="accuracy", rate=Rate.counted(0.09))
    runs = [
        record("a", loss=0.2001, adversaries=(linkage(0.05), other)),
        record("b", loss=0.2002, adversaries=(linkage(0.01), other)),
    ]
    assert advise(runs, target=0.1).recommended == "b"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"holds": False}, "not certain to hold"),
        ({"exact": False}, "not certain to hold"),
        ({"consistent": False}, "not certain to hold"),
        ({"promise": None, "holds": None}, "promises nothing"),
        ({"state": "failed"}, "not finished"),
        ({"state": "skipped"}, "not finished"),
        ({"loss": None}, "cannot be compared"),
        ({"adversaries": ()}, "no attack"),
        ({"form": "set-generalized"}, "no source of relatedness"),
        ({"adversaries": (linkage(0.01), Adversary(attack="prior", note="failed: oh"))}, "failed"),
    ],
)
def test_what_is_never_recommended(change, reason):
    run = record("a", **change)
    assert reason in fault(run, target=1.0)
    advice = advise([run], target=1.0)
    assert advice.recommended is None
    assert reason in " ".join(advice.reasons)


def test_a_release_of_sets_that_was_attacked_by_meaning_may_be_recommended():
    tried = Adversary(
        attack="rba", figure="auc", rate=Rate.counted(0.52), baseline=Rate.counted(0.5)
    )
    run = record("a", form="set-generalized", adversaries=(linkage(0.01), tried))
    assert fault(run, target=0.1) == ""
    bare = record("b", form="set-generalized")
    assert fault(bare, target=0.1, attacks=["linkage"]) == ""


def test_the_reasons_say_what_an_adversary_gets_and_what_was_left_aside():
    runs = [record("a", loss=0.5, risk=0.017), record("c", loss=0.1, risk=0.3)]
    said = " ".join(advise(runs, target=0.1).reasons)
    assert "Of 1,000 adversaries who know two items of a person, 17 would name" in said
    assert "c would lose less (10%), but its worst attack may reach 30%" in said
    assert "five are alike" in said
    assert "off by 50%" in said


def test_without_a_recommendation_the_closest_is_named():
    said = " ".join(advise([record("a", risk=0.4), record("b", risk=0.3)], target=0.1).reasons)
    assert "None of the 2 releases meets the target of 10%" in said
    assert "The closest is b" in said
    assert "2: its worst attack is above the target" in said


def test_an_attack_that_was_not_measured_says_so():
    assert in_words(Adversary(attack="aba", note="does not apply: x")) == "aba: does not apply: x."


ROOTS = {"content": {"sentence": "This release shows only the root.", "bare": True}}
MOSTLY = {"content": {"sentence": "Most items are the root.", "bare": False}}


def test_a_release_without_content_is_never_recommended_and_told():
    bare = record("bare", loss=0.1, risk=0.01, figures=ROOTS)
    said = advise([bare, record("other", loss=0.4)], target=0.1)
    assert said.recommended == "other"
    assert said.reasons[0] == (
        "other is the only one of 2 releases whose promise was checked and whose worst attack "
        "stays at or below 10%, leaving aside 1 that shows no items."
    )
    assert said.reasons[-1] == "bare: This release shows only the root."
    assert any(
        "bare would lose less" in text and "says nothing about which items" in text
        for text in said.reasons
    )
    alone = advise([bare, record("open", risk=0.9)], target=0.1)
    assert alone.recommended is None
    assert alone.reasons[0] == (
        "None of the 2 releases meets the target of 10% and says which items a record has."
    )
    assert "1: it says nothing about which items a record has" in " ".join(alone.reasons)


def test_releases_of_mostly_roots_are_told_together():
    runs = [record(name, figures=MOSTLY) for name in ("a", "b")]
    said = advise(runs, target=0.1)
    assert said.recommended == "a"
    assert said.reasons[-1] == "a; b: Most items are the root."
