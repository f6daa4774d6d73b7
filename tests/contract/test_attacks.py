"""What every registered attack owes, whatever it does inside; a new one is tested at once."""

import inspect
import math

import numpy as np
import pytest
from tests.contract.releases import ORDER, SENSITIVE, TABLE, TREE, one_of_each_form

from setveil.attack.base import RISKS
from setveil.attack.guess import load_guess, save_guess
from setveil.attack.linkage.linkage import Targets
from setveil.audit.run import build
from setveil.core import registry
from setveil.core.errors import NotApplicable
from setveil.measure import draw_questions, draw_targets, score
from setveil.relatedness import NGD, RecordCounts
from setveil.release.base import FORMS

KNOWABLE = {
    "targets", "relatedness", "reference", "candidates", "second", "anonymizer", "taxonomy", "rng",
    "progress", "engine", "studied",
}  # fmt: skip
"""What an attacker may be given: nothing of it is the original or the key."""
CHEAP = {"shadow": {"tables": 10}, "linkage": {"sample": 10}, "inference": {"sample": 10}}
NOTES = [
    ["asthma", "bronchitis"], ["asthma", "flu"], ["asthma", "bronchitis", "flu"], ["gout", "rash"],
    ["flu", "hiv"], ["gout"], ["rash", "hiv"], ["bronchitis", "flu"], ["gout", "asthma"],
]  # fmt: skip
"""What the attacker has read about other people."""
NET = "noise_removed"
"""What was put right less what was made wrong: below 0 where the attack does harm."""
ENTRIES = registry.entries("attack")
PAIRS = [
    pytest.param(entry, form, id=f"{entry.name} {form}")
    for entry in ENTRIES
    for form in sorted(FORMS)
]
CLAIMED = [pair for pair in PAIRS if pair.values[1] in pair.values[0].target.applies_to]
REFUSED = [pair for pair in PAIRS if pair.values[1] not in pair.values[0].target.applies_to]


def attack_of(entry):
    return entry.target(**CHEAP.get(entry.name, {}))


def people(attack, *, permuted):
    """Return whom the attacker looks for; the same people, wherever their records stand."""
    drawing = {"m": attack.m, "knowledge": attack.knowledge, "sample": 10}
    drawing["rng"] = np.random.default_rng(3)
    if "sensitive" in attack.requires:
        found = draw_questions(TABLE, sensitive=SENSITIVE, **drawing)
    else:
        found = draw_targets(TABLE, strangers=3, **drawing)
    if not permuted:
        return found
    place = np.argsort(ORDER)
    records = [int(place[record]) for record in found.records]
    return Targets(records=records, known=found.known, strangers=found.strangers, asked=found.asked)


def knowledge(attack, case, *, permuted=False):
    """Return what the attacker knows."""
    run = case.permuted if permuted else case.run
    given = {}
    if "targets" in attack.requires:
        given |= {"targets": people(attack, permuted=permuted), "taxonomy": run.taxonomy}
    if "relatedness" in attack.requires:
        given["relatedness"] = NGD(counts=RecordCounts.from_rows(NOTES))
    if "anonymizer" in attack.requires:
        given["anonymizer"] = build(run.method, run.params)
    for name in {"candidates", "reference"} & attack.requires:
        given[name] = TABLE
    if "second" in attack.requires:
        given["second"] = run.release
    return given


def guess_of(attack, case, *, permuted=False, seed=5):
    run = case.permuted if permuted else case.run
    given = knowledge(attack, case, permuted=permuted)
    try:
        return attack.run(run.release, **given, rng=np.random.default_rng(seed))
    except NotApplicable as reason:
        if "anonymizer" in attack.requires and case.form in attack.applies_to:
            pytest.skip(f"so few records are too few to rehearse with: {reason}")
        raise


def scored(guess, case, *, permuted=False):
    run = case.permuted if permuted else case.run
    table = TABLE.take(ORDER) if permuted else TABLE
    return score(guess, release=run.release, original=table, key=run.key)


@pytest.fixture(scope="module")
def forms():
    found = one_of_each_form()
    assert set(found) == set(FORMS)
    assert TREE.height > 1
    return found


def test_an_attack_is_about_forms_that_there_are():
    for entry in ENTRIES:
        assert entry.target.applies_to
        assert entry.target.applies_to <= set(FORMS)


def parameters_of(attack):
    """Return what `run` takes, and what the run of a family passes on to the attack itself."""
    found = dict(inspect.signature(attack.run).parameters)
    if found.pop("known", None) is not None:
        own = attack.place if hasattr(attack, "place") else attack.prepare
        passed = inspect.signature(own).parameters.values()
        assert all(each.kind is not each.VAR_KEYWORD for each in passed)
        found |= {each.name: each for each in passed if each.kind is each.KEYWORD_ONLY}
    return set(found)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_attack_has_no_sight_of_the_original(entry):
    accepts = getattr(entry.target, "accepts", frozenset())
    assert entry.target.requires | accepts <= KNOWABLE | {"sensitive"}
    assert parameters_of(entry.target) - {"self", "release"} <= KNOWABLE


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_audit_knows_which_risk_it_shows_beside_which_baseline(entry):
    role = getattr(entry.target, "role", None)
    if role is None:
        return
    assert role.findings
    for finding in role.findings:
        assert finding.risk in RISKS
        assert finding.baseline
        assert "{count}" in finding.says


@pytest.mark.parametrize(("entry", "form"), REFUSED)
def test_other_forms_are_refused_clearly(entry, form, forms):
    attack = attack_of(entry)
    with pytest.raises(NotApplicable) as refused:
        guess_of(attack, forms[form])
    assert str(refused.value)


@pytest.mark.parametrize(("entry", "form"), CLAIMED)
def test_same_seed_same_guess_and_scores_beside_baselines(entry, form, forms, tmp_path):
    attack, case = attack_of(entry), forms[form]
    guess = guess_of(attack, case)
    save_guess(guess, tmp_path / "guess.json")
    save_guess(guess_of(attack, case), tmp_path / "again.json")
    kept = (tmp_path / "guess.json").read_bytes()
    assert (tmp_path / "again.json").read_bytes() == kept
    rates = scored(load_guess(tmp_path / "guess.json"), case)
    for name, rate in rates.items():
        if rate is not None:
            assert rate.low <= rate.value <= rate.high, name
    role = getattr(entry.target, "role", None)
    for finding in () if role is None else role.findings:
        for name in filter(None, [finding.figure, finding.baseline, finding.control]):
            assert name in rates, f"{entry.name} is judged by {name}, which is no score of it"
            least = -math.inf if name.startswith(NET) else 0
            assert rates[name] is None or least <= rates[name].value <= 1, name
        if finding.advantage:
            gain = rates[finding.advantage]
            assert gain is None or 0 <= gain.value <= 1


@pytest.mark.parametrize(("entry", "form"), CLAIMED)
def test_the_order_of_the_records_changes_no_score(entry, form, forms):
    attack, case = attack_of(entry), forms[form]
    first = scored(guess_of(attack, case), case)
    second = scored(guess_of(attack, case, permuted=True), case, permuted=True)
    assert set(first) == set(second)
    for name, rate in first.items():
        other = second[name]
        assert (rate is None) == (other is None), name
        assert rate is None or math.isclose(rate.value, other.value, abs_tol=1e-9), name
