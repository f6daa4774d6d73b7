"""The thesis' example of Partition, with its sum corrected."""

from fractions import Fraction

import pytest
from tests.reference.lcg import Tree, ggd
from tests.reference.partition import partition_reference

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import Partition
from setveil.measure import ggd_exact


@pytest.fixture
def example(clump_facts):
    return clump_facts["partition"] | {"rows": clump_facts["clump"]["transactions"]}


def test_reference(clump_facts, example):
    found = partition_reference(example["rows"], Tree(clump_facts["parents"]), example["k"])
    groups = dict(zip(map(tuple, map(sorted, found.clusters)), found.published, strict=True))
    assert {group: sorted(nodes) for group, nodes in groups.items()} == {
        tuple(group): sorted(nodes)
        for group, nodes in zip(example["groups"], example["published"], strict=True)
    }
    assert found.ggd == Fraction(example["ggd"])


def test_groups_published_records_and_distortion(clump_facts, example):
    rows, tree = example["rows"], Tree(clump_facts["parents"])
    taxonomy = Taxonomy.from_parents(clump_facts["parents"])
    table = TransactionTable.from_rows(rows)
    result = Partition(k=example["k"]).anonymize(table, taxonomy=taxonomy)
    published = dict(zip(result.key.records.tolist(), result.release.to_rows(), strict=True))
    lost = Fraction(0)
    for members, nodes in zip(example["groups"], example["published"], strict=True):
        assert all(published[i] == nodes for i in members)
        lost += ggd([rows[i] for i in members], nodes, tree)
    assert lost == ggd_exact(result.release, table) == Fraction(example["ggd"])
    assert result.release.is_consistent_with(table, result.key, taxonomy)
    assert [step.subject for step in result.log if step.action == "split"] == ["Food"]
