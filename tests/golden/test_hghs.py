"""The worked example of HgHs: the cost of the root, the cut, what is suppressed, the cost."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from tests.reference.hghs import Problem
from tests.reference.lcg import Tree

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import HgHs
from setveil.anonymize.base import leaf_rows
from setveil.anonymize.km.hghs import CutSearch


@pytest.fixture(scope="module")
def example():
    return json.loads(Path(__file__).with_name("hghs.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def given(example):
    parents = {c: group for group, members in example["taxonomy"].items() for c in members}
    rows = [list(record) for record in example["transactions"]]
    return rows, {**parents, "T": None}


def test_the_root_costs_everything(given, example):
    rows, parents = given
    table, tree = TransactionTable.from_rows(rows), Taxonomy.from_parents(parents)
    search = CutSearch(leaf_rows(table, tree), k=example["k"], m=example["m"])
    assert Fraction(search.start().cost, search.unit) == Fraction(example["root_cost"])


def test_the_result(given, example):
    rows, parents = given
    made = HgHs(k=example["k"], m=example["m"]).anonymize(
        TransactionTable.from_rows(rows), taxonomy=Taxonomy.from_parents(parents)
    )
    (suppressed,) = (step.subject for step in made.log if step.action == "suppress")
    assert suppressed in {"e", "i"}
    assert made.figures["cost"] == float(Fraction(example["cost"]))
    published = dict(zip(made.key.records.tolist(), made.release.to_rows(), strict=True))
    for record, nodes in enumerate(example["published_but_for_e_and_i"]):
        assert set(published[record]) - {"e", "i"} == set(nodes)
    shown = {node for row in published.values() for node in row}
    assert shown == set(example["cut"]) - {suppressed}
    assert (made.release.hides, made.release.whole) == (True, True)
    assert made.promise.params() == {"k": 2, "m": 3}
    assert made.promise.check(made.release).holds


def test_no_cut_is_cheaper(given, example):
    rows, parents = given
    problem = Problem(rows, Tree(parents), example["k"], example["m"])
    assert Fraction(problem.optimum(), problem.unit) == Fraction(example["cost"])
    assert problem.cost(frozenset("T"), []) == problem.unit * Fraction(example["root_cost"])
