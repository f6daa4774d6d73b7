"""An adversary's gain: never smaller than the figures allow, and the same after a file."""

import json
from dataclasses import replace

import pytest

from setveil.audit import Adversary, AuditResult, Criteria, RunRecord
from setveil.core.errors import InputError, ParameterError
from setveil.measure import Rate


def rate(low, value, high):
    return Rate(value=value, low=low, high=high, exact=False)


def adversary(found, base):
    return Adversary(attack="aba", figure="accuracy", rate=found, baseline=base)


def test_the_ends_of_a_gain_take_the_other_ends_of_the_baseline():
    gain = adversary(rate(0.5, 0.6, 0.7), rate(0.1, 0.2, 0.3)).gain
    assert gain.high == pytest.approx((0.7 - 0.1) / (1 - 0.1))
    assert gain.low == pytest.approx((0.5 - 0.3) / (1 - 0.3))
    assert gain.value == pytest.approx((0.6 - 0.2) / (1 - 0.2))
    assert not gain.exact


def test_below_guessing_nothing_is_gained_and_without_a_baseline_all_counts():
    assert adversary(Rate.counted(0.1), Rate.counted(0.2)).gain == Rate.counted(0.0)
    assert adversary(Rate.counted(0.3), None).gain == Rate.counted(0.3)
    assert adversary(Rate.counted(1.0), Rate.counted(1.0)).gain == Rate.counted(0.0)
    assert adversary(None, Rate.counted(0.2)).gain is None


def test_the_worst_attack_is_the_one_that_may_gain_most():
    sure, wide = (adversary(each, None) for each in (rate(0.4, 0.5, 0.6), rate(0.0, 0.3, 0.9)))
    run = RunRecord(id="1", name="x", title="x", method="x", params={}, adversaries=(sure, wide))
    assert run.worst is wide
    assert run.risk == 0.9
    result = AuditResult(
        title="some",
        criteria=Criteria(target=0.2, targets={"inference": 0.05}, max_loss=0.5, min_k=2),
        runs=(run,),
        original=replace(run, method="original"),
        answer="publish-with-care",
        recommended="1",
        cares=("It loses much.",),
        notes=("so",),
    )
    again = AuditResult.from_json(json.loads(json.dumps(result.to_json())))
    assert again == result
    assert again.chosen == run


def test_of_equal_attackers_the_first_who_knows_most_speaks():
    many, few = (
        Adversary(attack="linkage", knows=knows, rate=Rate.counted(0.5)) for knows in ("3", "1")
    )
    run = RunRecord(id="1", name="x", title="x", method="x", params={}, adversaries=(many, few))
    assert run.worst is many
    assert run.risks == {"linkage": many}
    assert run.furthest == [many]


def test_a_wide_interval_decides_and_the_attack_that_got_furthest_is_shown():
    wide, far, pieces = (
        Adversary(attack=attack, label=label, rate=Rate(value=value, low=0, high=high, exact=False))
        for attack, label, value, high in (
            ("linkage", "Link", 0.0, 0.3),
            ("linkage", "Link", 0.1, 0.2),
            ("prior", "Pieces", 0.05, 0.06),
        )
    )
    run = RunRecord(
        id="1", name="x", title="x", method="x", params={}, adversaries=(wide, far, pieces)
    )
    assert (run.worst, run.risk) == (wide, 0.3)
    assert run.furthest == [far, pieces]
    shown = run.to_json()["risk"]["furthest"]
    assert [each["rate"]["value"] for each in shown] == [0.1, 0.05]


def test_each_risk_has_its_worst_deciding_attack_in_json():
    low, high, more, other = (
        Adversary(attack="linkage", risk=risk, rate=Rate.counted(share), decides=decides)
        for risk, share, decides in (
            ("linkage", 0.1, True),
            ("linkage", 0.2, True),
            ("linkage", 0.9, False),
            ("inference", 0.4, True),
        )
    )
    run = RunRecord(
        id="1", name="x", title="x", method="x", params={}, adversaries=(low, high, more, other)
    )
    assert run.risks == {"linkage": high, "inference": other}
    assert run.risk == 0.4
    said = run.to_json()["risk"]
    assert set(said) == {"worst", "linkage", "inference", "furthest"}
    assert (said["worst"], said["linkage"]["rate"]["value"]) == (0.4, 0.2)
    assert RunRecord.from_json(run.to_json()) == run
    row = AuditResult(title="", runs=(run,)).to_frame().row(0, named=True)
    assert (row["singling_out"], row["linkage"], row["inference"]) == (None, 0.2, 0.4)


@pytest.mark.parametrize("answer", ["perhaps", None, 3])
def test_an_answer_that_is_none_of_the_four_is_refused(answer):
    said = {**AuditResult(title="", runs=()).to_json(), "answer": answer}
    with pytest.raises(InputError, match="damaged at 'answer'"):
        AuditResult.from_json(said)


@pytest.mark.parametrize(
    "wrong",
    [
        {"target": -0.1},
        {"target": True},
        {"targets": {"gossip": 0.1}},
        {"targets": {"linkage": 2}},
        {"max_loss": -1},
        {"max_loss": float("nan")},
        {"min_k": 0},
    ],
)
def test_criteria_that_cannot_be_are_refused(wrong):
    with pytest.raises(ParameterError):
        Criteria(**wrong)
