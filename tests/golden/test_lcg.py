"""Loss metric and least common generalizations of the thesis' examples."""

from fractions import Fraction

import pytest
from tests.reference.lcg import Tree, ggd, incremental, lcg, lcg_bottom_up_printed, loss_metric

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import Clump

CASES = range(4)


def published_by_clump(rows, parents):
    """One cluster of all records: what it publishes is their least common generalization."""
    table = TransactionTable.from_rows(rows, bags=True)
    result = Clump(k=len(rows)).anonymize(table, taxonomy=Taxonomy.from_parents(parents))
    first, *others = result.release.to_rows()
    assert others == [first] * (len(rows) - 1)
    return sorted(first)


def test_loss_metric(clump_facts):
    taxonomy = Taxonomy.from_parents(clump_facts["parents"])
    tree = Tree(clump_facts["parents"])
    for node, value in clump_facts["loss_metric"].items():
        assert loss_metric(node, tree) == Fraction(value)
        measured = taxonomy.loss_metric()[taxonomy.node(node)]
        assert measured == pytest.approx(float(Fraction(value)), abs=1e-15)


@pytest.mark.parametrize("case", CASES)
def test_least_common_generalization(clump_facts, case):
    facts = clump_facts["lcg"][case]
    tree = Tree(clump_facts["parents"])
    rows = facts["rows"]
    assert sorted(facts["lcg"]) == list(lcg(rows, tree))
    assert sorted(facts["lcg"]) == list(lcg_bottom_up_printed(rows, tree))
    assert ggd(rows, facts["lcg"], tree) == Fraction(facts["ggd"])
    assert published_by_clump(rows, clump_facts["parents"]) == sorted(facts["lcg"])


def test_every_case_is_tested(clump_facts):
    assert len(clump_facts["lcg"]) == len(CASES)


def test_surplus_is_passed_up(clump_facts):
    facts = clump_facts["surplus"]
    tree = Tree(facts["parents"])
    rows = facts["rows"]
    assert list(lcg(rows, tree)) == facts["lcg"]
    assert ggd(rows, facts["lcg"], tree) == Fraction(facts["ggd"])
    assert published_by_clump(rows, facts["parents"]) == facts["lcg"]
    assert list(lcg_bottom_up_printed(rows, tree)) == facts["printed"]
    assert ggd(rows, facts["printed"], tree) == Fraction(facts["printed_ggd"])


def test_printed_procedure_depends_on_the_order_of_records(clump_facts):
    parents = clump_facts["surplus"]["parents"]
    tree = Tree(parents)
    one, other = ["cd", "bc", "bd"], ["cd", "bd", "bc"]
    assert lcg_bottom_up_printed(one, tree) == ("F", "R")
    assert incremental(one, tree, lcg_bottom_up_printed) == ("E", "F")
    assert incremental(other, tree, lcg_bottom_up_printed) == ("F", "R")
    for rows in (one, other):
        assert lcg(rows, tree) == incremental(rows, tree, lcg) == ("E", "F")
        assert published_by_clump([list(row) for row in rows], parents) == ["E", "F"]


def test_printed_procedure_errs_on_bags():
    parents = {"R": None, "F": "R", "z": "R", "b": "F", "c": "F"}
    tree = Tree(parents)
    assert lcg_bottom_up_printed(["cc", "bc"], tree) == ("R", "c")
    assert lcg(["cc", "bc"], tree) == ("F", "c")
    assert published_by_clump([["c", "c"], ["b", "c"]], parents) == ["F", "c"]

    rows = ["cc", "bc", "bb"]
    assert lcg_bottom_up_printed(rows, tree) == ("F", "F")
    assert incremental(rows, tree, lcg_bottom_up_printed) == ("F", "R")
    assert lcg(rows, tree) == incremental(rows, tree, lcg) == ("F", "F")


def test_printed_initialisation_errs_on_sets():
    tree = Tree({"R": None, "F": "R", "z": "R", "a": "F", "b": "F", "c": "F", "e": "F"})
    rows = ["ce", "ab", "ce"]
    printed = {"multiplicity": False}
    assert lcg_bottom_up_printed(rows, tree, **printed) == ("F", "F")
    assert incremental(rows, tree, lcg_bottom_up_printed, **printed) == ("F", "R")
    assert incremental(rows, tree, lcg_bottom_up_printed) == ("F", "F")
    assert lcg(rows, tree) == incremental(rows, tree, lcg) == ("F", "F")
