"""The thesis' complete example of Clump."""

from fractions import Fraction
from itertools import permutations

import pytest
from tests.reference.clump import clump_reference
from tests.reference.lcg import Tree, ggd

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import Clump
from setveil.guarantee import KAnonymity
from setveil.measure import ggd_exact


@pytest.fixture
def example(clump_facts):
    return clump_facts["clump"]


def test_reference(clump_facts, example):
    found = clump_reference(example["transactions"], Tree(clump_facts["parents"]), example["k"])
    assert [sorted(members) for members in found.clusters] == example["clusters"]
    assert [list(bag) for bag in found.published] == example["published"]
    assert found.ggd == Fraction(example["ggd"])


def test_clusters_published_records_and_distortion(clump_facts, example):
    rows, tree = example["transactions"], Tree(clump_facts["parents"])
    taxonomy = Taxonomy.from_parents(clump_facts["parents"])
    table = TransactionTable.from_rows(rows)
    result = Clump(k=example["k"]).anonymize(table, taxonomy=taxonomy)
    published = dict(zip(result.key.records.tolist(), result.release.to_rows(), strict=True))
    lost = Fraction(0)
    for members, bag in zip(example["clusters"], example["published"], strict=True):
        assert len({int(result.figures["clusters"][i]) for i in members}) == 1
        assert all(sorted(published[i]) == bag for i in members)
        lost += ggd([rows[i] for i in members], bag, tree)
    assert lost == ggd_exact(result.release, table) == Fraction(example["ggd"])
    assert result.promise == KAnonymity(k=2)
    assert result.promise.check(result.release).holds


def test_the_order_of_the_input_changes_nothing(clump_facts, example):
    taxonomy = Taxonomy.from_parents(clump_facts["parents"])
    releases = {
        str(
            Clump(k=example["k"])
            .anonymize(TransactionTable.from_rows(rows), taxonomy=taxonomy)
            .release.to_rows()
        )
        for rows in permutations(example["transactions"])
    }
    assert len(releases) == 1
