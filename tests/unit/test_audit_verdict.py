"""The verdict: one of four answers, positive only on the whole evidence, and why."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil.audit import Adversary, Criteria, RunRecord
from setveil.audit.results import (
    ANSWERS,
    DO_NOT,
    NOT_DECIDED,
    PUBLISH,
    RISKS,
    WITH_CARE,
)
from setveil.audit.verdict import POSITIVE, closest, conclude, foresee, judge_run, risk_sentence
from setveil.measure import Rate

PROMISE = {
    "name": "k-anonymity",
    "params": {"k": 5},
    "says": "five are alike",
    "group_size": 5,
}


def linkage(high, *, low=None, risk="linkage", **rest):
    """Return an attack whose gain lies between two ends; without `low` it is exact."""
    low = high if low is None else low
    gain = Rate(value=low, low=low, high=high, exact=low == high)
    said = {
        "attack": "linkage",
        "params": {"m": 2, "knowledge": "random"},
        "knows": "two items of a person",
        "figure": "named",
        "rate": gain,
        "baseline": Rate.counted(0.001),
        "advantage": gain,
        "says": "An attacker who knows {knows} names {count} of 1,000 people.",
    }
    return Adversary(**{**said, "risk": risk, **rest})


def record(name, *, loss=0.2, risk=0.05, **rest):
    said = {
        "id": name,
        "name": name,
        "title": name,
        "method": "gather",
        "params": {},
        "form": "generalized",
        "promise": PROMISE,
        "holds": True,
        "exact": True,
        "consistent": True,
        "loss": loss,
        "adversaries": (linkage(risk),),
    }
    return RunRecord(**{**said, **rest})


def test_the_least_loss_at_or_below_the_target_wins():
    runs = [
        record("a", loss=0.24, risk=0.01),
        record("b", loss=0.2, risk=0.08),
        record("c", loss=0.1, risk=0.3),
    ]
    assert conclude(runs, Criteria(target=0.1)).recommended == "b"
    assert conclude(runs, Criteria(target=0.02)).recommended == "a"
    assert conclude(runs, Criteria(target=0.5)).recommended == "c"
    assert conclude(runs, Criteria(target=0.001)).recommended is None


def test_each_risk_has_its_own_target():
    run = record("a", adversaries=(linkage(0.08), linkage(0.08, risk="inference")))
    assert judge_run(run, Criteria()).answer == PUBLISH
    assert judge_run(run, Criteria(targets={"inference": 0.05})).answer == DO_NOT
    assert judge_run(run, Criteria(target=0.05, targets={"inference": 0.5})).answer == DO_NOT
    assert judge_run(run, Criteria(target=0.01, targets=dict.fromkeys(RISKS, 0.1))).answer == (
        PUBLISH
    )


def test_too_few_to_tell_is_not_decided():
    run = record("a", adversaries=(linkage(0.2, low=0.05),))
    judged = judge_run(run, Criteria(target=0.1))
    assert judged.answer == NOT_DECIDED
    assert "too few cases could be tested to tell" in judged.reasons[0]
    assert "between 5.0% and 20.0%" in judged.reasons[0]
    assert judged.stronger
    found = conclude([run, record("b", risk=0.9)], Criteria(target=0.1))
    assert (found.answer, found.recommended) == (NOT_DECIDED, None)
    assert judge_run(run, Criteria(target=0.2)).answer == PUBLISH


def test_what_is_certainly_above_decides_beside_what_is_unclear():
    wide, sure = linkage(0.9, low=0.0), linkage(0.5, low=0.3)
    for tried in ((wide, sure), (sure, wide)):
        judged = judge_run(record("a", adversaries=tried), Criteria(target=0.1))
        assert judged.answer == DO_NOT
        assert judged.reasons == ("linkage is above the target of 10%",)


def test_attackers_who_know_more_stand_beside():
    more = linkage(1.0, decides=False)
    run = record("a", adversaries=(linkage(0.01), more))
    assert judge_run(run, Criteria()).answer == PUBLISH
    only = record("a", adversaries=(more,))
    assert judge_run(only, Criteria()).answer == NOT_DECIDED


def test_of_equal_risks_the_smaller_loss_comes_closest():
    dear = record("dear", risk=0.1800, loss=0.9)
    cheap = record("cheap", risk=0.1801, loss=0.2)
    assert closest([dear, cheap], Criteria()) == cheap


def test_trials_that_pass_with_care_pass_as_well():
    runs = [record("best"), record("careful", loss=0.6)]
    assert conclude(runs, Criteria()).reasons[0] == (
        "2 of 2 trials pass. This is the only one that needs no care."
    )


def test_a_search_with_all_freedom_is_not_advised_again():
    runs = [record("open", risk=0.5)]
    assert any("harden" in step for step in conclude(runs, Criteria()).next_steps)
    assert not any("harden" in step for step in conclude(runs, Criteria(), free=True).next_steps)


@pytest.mark.parametrize("number", [1, 17, 29, 35, 36, 300])
def test_too_few_people_are_foreseen_by_the_interval_of_nothing_found(number):
    said = foresee(Criteria(), people=1000, holders=number)
    least = Rate.sampled(0, number).high
    assert bool(said) == (least > 0.1)
    assert all("inference" in each for each in said)
    assert len(foresee(Criteria(), people=number, holders=None)) == (least > 0.1)
    runs = [record("unclear", adversaries=(linkage(0.18, low=0, risk="inference"),))]
    steps = conclude(runs, Criteria(), foreseen=said).next_steps
    assert (steps == said) if said else steps[0].startswith("Add records")
    late = conclude([], Criteria(), foreseen=said, unfinished="Go on.")
    assert late.next_steps == ("Go on.",)


def test_ties_go_to_the_smaller_risk():
    runs = [record("a", loss=0.2001, risk=0.05), record("b", loss=0.2002, risk=0.01)]
    assert conclude(runs, Criteria()).recommended == "b"


@pytest.mark.parametrize(
    ("change", "answer", "reason"),
    [
        ({"holds": False}, DO_NOT, "its promise is broken"),
        ({"consistent": False}, DO_NOT, "it says things that are false"),
        ({"promise": None, "holds": None}, DO_NOT, "it promises nothing"),
        ({"state": "inapplicable"}, DO_NOT, "the data does not allow this setting"),
        ({"figures": {"content": {"bare": True}}}, DO_NOT, "nothing about which items"),
        ({"exact": False}, NOT_DECIDED, "nobody could check its promise for certain"),
        ({"holds": None}, NOT_DECIDED, "nobody could check its promise for certain"),
        ({"state": "failed"}, NOT_DECIDED, "its trial did not finish"),
        ({"state": "skipped"}, NOT_DECIDED, "its trial did not finish"),
        ({"loss": None}, NOT_DECIDED, "what it loses could not be measured"),
        ({"loss": float("nan")}, NOT_DECIDED, "what it loses could not be measured"),
        ({"adversaries": ()}, NOT_DECIDED, "no attack on it could be measured"),
        ({"missing": ("inference",)}, NOT_DECIDED, "attacks on it were not run: inference"),
        (
            {"adversaries": (linkage(0.01), Adversary(attack="prior", note="failed: oh"))},
            NOT_DECIDED,
            "an attack on it failed: prior",
        ),
    ],
)
def test_what_is_never_recommended(change, answer, reason):
    run = record("a", **change)
    judged = judge_run(run, Criteria(target=1.0, max_loss=9, min_k=1))
    assert judged.answer == answer
    assert reason in judged.reasons[0]
    found = conclude([run], Criteria(target=1.0))
    assert (found.answer, found.recommended) == (answer, None)


@pytest.mark.parametrize(
    ("change", "care"),
    [
        ({"loss": 0.251}, "are off by 25.1% on average, and you allow 25.0%"),
        ({"promise": {**PROMISE, "group_size": 4}}, "among 4 people, and you ask for at least 5"),
        ({"promise": {**PROMISE, "group_size": None}}, "does not say among how many people"),
    ],
)
def test_with_care_says_why_and_comes_after_what_needs_none(change, care):
    run = record("a", **{"loss": 0.1, **change})
    found = conclude([run], Criteria())
    assert (found.answer, found.recommended) == (WITH_CARE, "a")
    assert len(found.cares) == 1
    assert care in found.cares[0]
    better = conclude([run, record("b", loss=0.25)], Criteria())
    assert (better.answer, better.recommended, better.cares) == (PUBLISH, "b", ())


def test_reasons_name_the_promise_and_what_would_lose_less():
    runs = [record("a", loss=0.2, risk=0.017), record("c", loss=0.1, risk=0.3)]
    said = conclude(runs, Criteria()).reasons
    assert said == (
        "Of 2 trials, this is the only one that passes.",
        "Promise, checked in its files: five are alike.",
        "C would lose less (10.0%), but linkage is above the target of 10%.",
    )


def test_without_a_recommendation_the_closest_is_named_with_its_people():
    found = conclude([record("a", risk=0.4), record("b", risk=0.3)], Criteria())
    said = " ".join(found.reasons)
    assert found.answer == DO_NOT
    assert "None of 2 trials stays at or below the target" in said
    assert "The closest is b: linkage is above the target of 10%." in said
    assert "An attacker who knows two items of a person names 300 of 1,000 people." in said
    assert "linkage is above the target of 10% (2 trials)" in said


def test_an_attack_that_was_not_measured_says_so():
    said = risk_sentence(Adversary(attack="aba", note="does not apply: x"))
    assert said == "aba: does not apply: x."


# --- over all that can happen ---------------------------------------------------------------------

shares = st.sampled_from([0.0, 0.05, 0.1, 0.11, 0.5, 1.0])


@st.composite
def adversaries(draw):
    low, high = sorted((draw(shares), draw(shares)))
    note = draw(st.sampled_from(["", "", "", "failed: oh", "does not apply: x"]))
    rest = {"rate": None, "advantage": None, "note": note} if note else {}
    return linkage(
        high,
        low=low,
        risk=draw(st.sampled_from(RISKS)),
        decides=draw(st.sampled_from([True, True, False])),
        **rest,
    )


@st.composite
def records(draw, name):
    often = st.sampled_from([True, True, True, False])
    promised = draw(often)
    return record(
        name,
        state=draw(st.sampled_from(["done"] * 5 + ["failed", "skipped", "inapplicable"])),
        promise={**PROMISE, "group_size": draw(st.sampled_from([None, 2, 5, 10]))}
        if promised
        else None,
        holds=draw(st.sampled_from([True, True, True, False, None])) if promised else None,
        exact=draw(often),
        consistent=draw(often),
        loss=draw(st.sampled_from([0.0, 0.1, 0.1001, 0.25, 0.26, 0.9, None, float("nan")])),
        adversaries=tuple(draw(st.lists(adversaries(), max_size=4))),
        missing=draw(st.sampled_from([(), (), (), ("inference",)])),
        figures=draw(st.sampled_from([{}, {}, {"content": {"bare": True}}])),
    )


@st.composite
def cases(draw):
    runs = [draw(records(str(number))) for number in range(draw(st.integers(0, 5)))]
    criteria = Criteria(
        target=draw(st.sampled_from([0.0, 0.1, 0.5])),
        targets=draw(st.sampled_from([{}, {"inference": 0.05}, {"linkage": 1.0}])),
        max_loss=draw(st.sampled_from([0.0, 0.25, 1.0])),
        min_k=draw(st.sampled_from([1, 5, 10])),
    )
    return runs, criteria


def passes(run, criteria):
    """Tell whether a run may be published, in one expression."""
    gains = [(each.risk, each.gain) for each in run.adversaries if each.decides and each.gain]
    return (
        run.state == "done"
        and run.promise is not None
        and run.holds is True
        and run.exact
        and run.consistent
        and not run.missing
        and not run.figures
        and not any("failed" in each.note for each in run.adversaries)
        and bool(gains)
        and all(gain.high <= criteria.targets.get(risk, criteria.target) for risk, gain in gains)
        and run.loss is not None
        and run.loss >= 0
    )


def without_reserve(run, criteria):
    size = run.promise["group_size"]
    return run.loss <= criteria.max_loss and size is not None and size >= criteria.min_k


@given(cases())
@settings(max_examples=400)
def test_a_run_is_positive_exactly_where_all_conditions_hold(case):
    runs, criteria = case
    for run in runs:
        judged = judge_run(run, criteria)
        assert judged.answer in ANSWERS
        assert (judged.answer in POSITIVE) == passes(run, criteria)
        assert (judged.answer == PUBLISH) == (not judged.reasons)
        if judged.answer in POSITIVE:
            assert (judged.answer == PUBLISH) == without_reserve(run, criteria)


@given(cases(), st.sampled_from(["", "The time ended. Allow more, as in --budget 40s."]))
@settings(max_examples=400)
def test_one_answer_follows_from_all_runs(case, unfinished):
    runs, criteria = case
    found = conclude(runs, criteria, unfinished=unfinished)
    fit = [run for run in runs if passes(run, criteria)]
    best = [run for run in fit if without_reserve(run, criteria)] or fit
    assert (found.recommended is not None) == (found.answer in POSITIVE) == bool(fit)
    assert found.reasons
    if fit:
        assert found.recommended in {run.id for run in best}
        chosen = next(run for run in runs if run.id == found.recommended)
        assert round(chosen.loss, 3) == min(round(run.loss, 3) for run in best)
        assert (found.answer == PUBLISH) == (not found.cares) == without_reserve(chosen, criteria)
    else:
        unsure = any(judge_run(run, criteria).answer == NOT_DECIDED for run in runs)
        decided = bool(runs) and not unsure and not unfinished
        assert found.answer == (DO_NOT if decided else NOT_DECIDED)
        assert found.next_steps
    if unfinished:
        assert unfinished in found.next_steps
        assert found.answer != DO_NOT


@given(cases())
@settings(max_examples=200)
def test_no_answer_advises_a_higher_target(case):
    runs, criteria = case
    for unfinished in ("", "The time ended."):
        said = " ".join(conclude(runs, criteria, unfinished=unfinished).next_steps)
        assert "--target" not in said
        assert "higher risk" not in said


@given(cases())
@settings(max_examples=200)
def test_what_was_skipped_never_leads_to_a_refusal(case):
    runs, criteria = case
    found = conclude([*runs, record("late", state="skipped", error="late")], criteria)
    assert found.answer != DO_NOT
    before = conclude(runs, criteria)
    if before.answer in POSITIVE:
        assert (found.answer, found.recommended) == (before.answer, before.recommended)
