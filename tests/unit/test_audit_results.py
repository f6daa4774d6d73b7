"""An adversary's gain: never smaller than the figures allow, and the same after a file."""

import json

import pytest

from setveil.audit import Adversary, AuditResult, RunRecord
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
    result = AuditResult(title="some", target=0.1, runs=(run,), recommended="1", notes=("so",))
    again = AuditResult.from_json(json.loads(json.dumps(result.to_json())))
    assert again == result
    assert again.chosen == run
