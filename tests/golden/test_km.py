"""The worked example of k^m-anonymity: which sets are rare, the cut, and what it costs."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from tests.reference.km import (
    apriori_reference,
    direct_reference,
    optimal_reference,
    published_ncp,
    violations,
)
from tests.reference.lcg import Tree

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import AprioriKm, DirectKm, OptimalKm, VPAKm
from setveil.guarantee import KmAnonymity
from setveil.measure import ncp


@pytest.fixture(scope="module")
def facts():
    return json.loads((Path(__file__).parent / "km_anonymity.json").read_text(encoding="utf-8"))


def test_reference_violators(facts):
    rare = violations(facts["transactions"], facts["k"], facts["m"])
    assert sorted(rare) == sorted(tuple(sorted(items)) for items in facts["violating"])


def test_the_check_names_the_violators(facts):
    table = TransactionTable.from_rows(facts["transactions"])
    verdict = KmAnonymity(k=facts["k"], m=facts["m"]).check(table)
    assert (verdict.holds, verdict.exact) == (False, True)
    found = {frozenset(witness.items) for witness in verdict.witnesses}
    assert found == {frozenset(items) for items in facts["violating"]}
    assert all(witness.support == 1 for witness in verdict.witnesses)


@pytest.mark.parametrize("reference", [optimal_reference, direct_reference, apriori_reference])
def test_reference_cut(facts, reference):
    tree = Tree(facts["parents"])
    found = reference(facts["transactions"], tree, facts["k"], facts["m"])
    assert found.cut == set(facts["cut"])
    assert found.ncp == Fraction(facts["ncp"])


@pytest.mark.parametrize("method", [OptimalKm, DirectKm, AprioriKm, VPAKm])
def test_cut_and_loss(facts, method):
    table = TransactionTable.from_rows(facts["transactions"])
    taxonomy = Taxonomy.from_parents(facts["parents"])
    result = method(k=facts["k"], m=facts["m"]).anonymize(table, taxonomy=taxonomy)
    published = dict(zip(result.key.records.tolist(), result.release.to_rows(), strict=True))
    rows = [published[i] for i in range(len(table))]
    assert rows == [["A", "b1", "b2"], ["A", "b1"], ["A", "b1", "b2"], ["A", "b2"]]
    assert {node for row in rows for node in row} == set(facts["cut"])
    exact = published_ncp(facts["transactions"], rows, Tree(facts["parents"]))
    assert exact == Fraction(facts["ncp"])
    measured = ncp(result.release, table, key=result.key, taxonomy=taxonomy)
    assert measured == pytest.approx(float(exact))
    assert result.promise.check(result.release).holds
    assert sum(step.cost for step in result.log) == pytest.approx(float(exact))
