"""The worked example of ρ-uncertainty under the check: Table 1, what is published, the leak."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from tests.reference import rho as reference

from setveil import Taxonomy, TransactionTable
from setveil.guarantee import RhoUncertainty, max_confidence
from setveil.release import publish_recoded


@pytest.fixture(scope="module")
def facts():
    return json.loads(Path(__file__).with_name("rho_uncertainty.json").read_text(encoding="utf-8"))


def test_rules_with_one_item(facts):
    table = TransactionTable.from_rows(facts["transactions"])
    verdict = RhoUncertainty(rho=facts["rho"], sensitive=facts["sensitive"]).check(table)
    assert (verdict.holds, verdict.exact) == (False, True)
    found = sorted([*w.items, w.consequent] for w in verdict.witnesses)
    assert found == sorted(facts["violating_size_1"])


@pytest.mark.parametrize("method", ["suppress_control", "td_control"])
def test_what_is_published(facts, method):
    table = TransactionTable.from_rows(facts[method]["published"])
    assert RhoUncertainty(rho=facts["rho"], sensitive=facts["sensitive"]).check(table).holds
    greatest = Fraction(facts["suppress_control"]["max_confidence_after"])
    best = max_confidence(table, facts["sensitive"])
    assert (best.value, best.exact) == (greatest, True)
    # ρ itself may not be reached: at the greatest confidence the promise is broken.
    assert not RhoUncertainty(rho=greatest, sensitive=facts["sensitive"]).check(table).holds


def test_confidence_may_grow_by_generalization(facts):
    example = facts["non_monotone"]
    table = TransactionTable.from_rows(example["transactions"])
    before = max_confidence(table, example["sensitive"], prior=False)
    tree = Taxonomy.from_parents({"a1": "A", "a2": "A"}).beside(example["sensitive"])
    image = [tree.node("A"), tree.node("A"), tree.node("α")]
    release, _ = publish_recoded(tree, table, image)
    after = max_confidence(release, example["sensitive"], prior=False)
    assert (before.value, after.value) == (Fraction(2, 3), Fraction(3, 4))
    assert example["max_confidence"].startswith("3/4")
    assert after.witness.items == ("A",)


@pytest.mark.parametrize("prior", [False, True])
def test_the_root_leaks(facts, prior):
    example = facts["root_leak"]
    tree = Taxonomy.from_parents(example["parents"]).beside(example["sensitive"])
    table = TransactionTable.from_rows(example["transactions"])
    everything = [tree.node("ALL"), tree.node("ALL"), tree.node("γ")]
    release, _ = publish_recoded(tree, table, everything)
    promise = RhoUncertainty(rho=example["rho"], sensitive=example["sensitive"], prior=prior)
    verdict = promise.check(release)
    assert not verdict.holds
    assert {w.items for w in verdict.witnesses} == ({("ALL",), ()} if prior else {("ALL",)})
    assert verdict.witnesses[0].confidence == 1


def test_reference(facts):
    rows, sensitive = facts["transactions"], facts["sensitive"]
    found = reference.violations(rows, Fraction("0.7"), sensitive)
    singles = sorted([*known, a] for known, a in found if len(known) == 1)
    assert singles == sorted(facts["violating_size_1"])
    published = facts["suppress_control"]["published"]
    assert reference.max_confidence(published, sensitive) == Fraction(2, 3)
