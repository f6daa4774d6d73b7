"""The worked examples of ρ-uncertainty under the methods: Table 1 twice, the leak of the root."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.reference import rho as reference

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import RhoFamily, SimpleSuppression, SuppressControl, TDControl
from setveil.anonymize.rho.td_control import Domain
from setveil.measure import average_loss


@pytest.fixture(scope="module")
def facts():
    return json.loads(Path(__file__).with_name("rho_uncertainty.json").read_text(encoding="utf-8"))


def table_1(facts, *, copies=1):
    tree = Taxonomy.from_parents(facts["td_control"]["parents"])
    return TransactionTable.from_rows(facts["transactions"] * copies), tree


def published_of(made):
    """Return the published records in the order of the originals."""
    rows = dict(zip(made.key.records.tolist(), made.release.to_rows(), strict=True))
    return [sorted(rows[record]) for record in range(len(rows))]


def suppressed_by(made):
    return [step.subject for step in made.log if step.action == "suppress"]


@pytest.mark.parametrize("prior", [True, False])
def test_suppress_control(facts, prior):
    table, _ = table_1(facts)
    expected = facts["suppress_control"]
    made = SuppressControl(rho=facts["rho"], prior=prior).anonymize(
        table, sensitive=facts["sensitive"]
    )
    assert suppressed_by(made) == expected["suppressed_in_order"]
    assert sum(step.cost for step in made.log) == expected["loss"]
    assert made.figures["average_loss"] == expected["loss"] / len(table.items)
    assert average_loss(made.release, table) == made.figures["average_loss"]
    assert published_of(made) == [sorted(row) for row in expected["published"]]
    best = reference.max_confidence(made.release.to_rows(), facts["sensitive"])
    assert best == Fraction(expected["max_confidence_after"])
    assert made.promise.sensitive == ("γ",)
    assert made.promise.check(made.release).holds


@pytest.mark.parametrize("prior", [True, False])
def test_td_control(facts, prior):
    table, tree = table_1(facts)
    expected = facts["td_control"]
    made = TDControl(rho=facts["rho"], prior=prior).anonymize(
        table, taxonomy=tree, sensitive=facts["sensitive"]
    )
    splits = [(step.subject, -step.cost) for step in made.log if step.action == "split"]
    assert splits == list(expected["pnig"].items())
    assert made.figures["net_gains"] == expected["pnig"]
    assert suppressed_by(made) == expected["suppressed"]
    shown = {name for row in made.release.to_rows() for name in row}
    assert shown - set(facts["sensitive"]) == set(expected["cut"])
    assert published_of(made) == [sorted(row) for row in expected["published"]]
    assert made.figures["average_loss"] == 3 / len(table.items)
    assert made.promise.check(made.release).holds


def test_the_others_on_table_1(facts):
    """Simple loses α and γ, five occurrences; the family starts from TDControl's cut as well."""
    table, tree = table_1(facts)
    simple = SimpleSuppression(rho=facts["rho"]).anonymize(table, sensitive=facts["sensitive"])
    assert simple.figures["average_loss"] == 5 / len(table.items)
    assert suppressed_by(simple) == facts["sensitive"]
    family = RhoFamily(rho=facts["rho"]).anonymize(
        table, taxonomy=tree, sensitive=facts["sensitive"]
    )
    assert family.figures["average_loss"] <= 3 / len(table.items)
    assert not reference.violations(
        family.release.to_rows(), Fraction("0.7"), facts["sensitive"], prior=True
    )


def test_more_than_65536_records(facts):
    """Confidences do not change when each record comes 14,000 times, so neither do choices."""
    copies = 14_000
    table, tree = table_1(facts, copies=copies)
    by_suppression = SuppressControl(rho=facts["rho"]).anonymize(
        table, sensitive=facts["sensitive"]
    )
    assert suppressed_by(by_suppression) == facts["suppress_control"]["suppressed_in_order"]
    loss = sum(step.cost for step in by_suppression.log)
    assert loss == facts["suppress_control"]["loss"] * copies
    top_down = TDControl(rho=facts["rho"]).anonymize(
        table, taxonomy=tree, sensitive=facts["sensitive"]
    )
    gains = {node: gain * copies for node, gain in facts["td_control"]["pnig"].items()}
    assert top_down.figures["net_gains"] == gains
    for made in (by_suppression, top_down):
        assert made.figures["average_loss"] == 3 / (len(table.items) / copies)
        assert made.promise.check(made.release).holds


@pytest.mark.parametrize(
    ("prior", "suppressed", "published"),
    [(True, "γ", [["a1"], ["b2"]]), (False, "ALL", [["γ"], ["γ"]])],
)
def test_the_root_does_not_leak(facts, prior, suppressed, published):
    """With the empty antecedent checked γ goes; without it, the root, which implies γ."""
    example = facts["root_leak"]
    made = TDControl(rho=example["rho"], prior=prior).anonymize(
        TransactionTable.from_rows(example["transactions"]),
        taxonomy=Taxonomy.from_parents(example["parents"]),
        sensitive=example["sensitive"],
    )
    assert suppressed_by(made) == [suppressed]
    assert made.release.to_rows() == published
    rho = Fraction(str(example["rho"]))
    rows, sensitive = made.release.to_rows(), example["sensitive"]
    assert not reference.violations(rows, rho, sensitive, prior=prior)


@pytest.mark.parametrize("method", [SuppressControl, TDControl, RhoFamily, SimpleSuppression])
@pytest.mark.parametrize("prior", [True, False])
def test_no_method_leaks_through_the_root(facts, method, prior):
    example = facts["root_leak"]
    given = {"sensitive": example["sensitive"]}
    if "taxonomy" in method.requires:
        given["taxonomy"] = Taxonomy.from_parents(example["parents"])
    table = TransactionTable.from_rows(example["transactions"])
    rows = method(rho=example["rho"], prior=prior).anonymize(table, **given).release.to_rows()
    assert not reference.violations(rows, Fraction(1, 2), example["sensitive"], prior=prior)


def test_average_loss(facts):
    """What the methods count is the paper's measure: fish and beef are meat, viagra is left out."""
    example = facts["avg_loss"]
    parents = {"fish": "meat", "beef": "meat", "wine": "alcohol", "beer": "alcohol"}
    tree = Taxonomy.from_parents(parents | {"meat": "all", "alcohol": "all"})
    table = TransactionTable.from_rows(example["transactions"])
    domain = Domain.of(table, tree, ["pregnancy test", "viagra"])
    assert domain.unit == example["leaves"]
    token = {domain.name(t): t for t in range(domain.n_tokens)}
    names = [table.vocabulary[i] for i in domain.vocabulary.tolist()]
    published = [example["generalized"].get(name, name) for name in names]
    left_out = set(example["suppressed"])
    image = np.array([-1 if n in left_out else token[n] for n in published], dtype=np.int32)
    assert domain.share(domain.loss(image)) == float(Fraction(example["value"]))
    release, _, left = domain.publish(image)
    loss = average_loss(release, table, taxonomy=tree, sensitive=["pregnancy test", "viagra"])
    assert (loss, left) == (float(Fraction(example["value"])), ("pregnancy test",))
