"""SuppressControl and TDControl make the choices of their plain twins, which recompute all."""

import numpy as np
import pytest
from tests.reference.rho_instances import rho_instance
from tests.reference.td_control import TopDown, suppress_control

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import SuppressControl, TDControl

SEEDS = range(12)


def instances(seed, number=40, **sizes):
    rng = np.random.default_rng(seed)
    return (rho_instance(rng, **sizes) for _ in range(number))


@pytest.mark.parametrize("seed", SEEDS)
def test_suppress_control_chooses_as_its_twin(seed):
    for table, sensitive, _, rho, prior in instances(seed):
        result = SuppressControl(rho=rho, prior=prior).anonymize(table, sensitive=sensitive)
        rows = [set(row) for row in table.to_rows()]
        expected = suppress_control(rows, rho, set(sensitive), prior=prior)
        assert [step.subject for step in result.log if step.action == "suppress"] == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_td_control_chooses_as_its_twin(seed):
    for table, sensitive, taxonomy, rho, prior in instances(seed, n_inner=5):
        result = TDControl(rho=rho, prior=prior).anonymize(
            table, taxonomy=taxonomy, sensitive=sensitive
        )
        others = sorted({x for row in table for x in row} - set(sensitive))
        tree = taxonomy.for_items(others)
        leaf = dict(zip(others, tree.leaf_of(others).tolist(), strict=True))
        rows = [{leaf.get(x, x) for x in row} for row in table]
        twin = TopDown(rows, rho, set(sensitive), tree)
        expected = [
            sorted(v if isinstance(v, str) else tree.ids[v] for v in row)
            for row in twin.recoded(twin.run(prior=prior))
        ]
        published = result.release.to_rows(ids=True)
        assert sorted(map(sorted, published)) == sorted(expected)
        if "all other nodes, down to the items" not in [step.subject for step in result.log]:
            gains = {tree.ids[v]: float(gain) for v, gain in twin.log}
            assert result.figures["net_gains"] == pytest.approx(gains)


def test_a_node_with_one_inner_child_does_not_end_the_search():
    """Splitting A gains nothing, since A and B stand for the same items; print would stop there."""
    table = TransactionTable.from_rows([["a", "s"], ["b"], ["a"], ["b"], ["a"]])
    chain = {"a": "C", "b": "C", "C": "B", "B": "A"}
    result = TDControl(rho=0.5).anonymize(
        table, taxonomy=Taxonomy.from_parents(chain), sensitive=["s"]
    )
    assert sorted(result.release.to_rows()) == [["a"], ["a"], ["a", "s"], ["b"], ["b"]]
    assert list(result.figures["net_gains"]) == ["C"]


def test_a_tree_of_one_node():
    """There is nothing to split, so only the check of the root sees the rule a → s."""
    table = TransactionTable.from_rows([["a", "s"], ["a"], [], [], []])
    tree = Taxonomy.from_parents({"a": None})
    for rho, kept in (("1/2", False), ("2/3", True)):
        rows = TDControl(rho=rho).anonymize(table, taxonomy=tree, sensitive=["s"]).release.to_rows()
        assert (["a", "s"] in rows) == kept
