"""Measures of distributed releases are those of the same releases here."""

from __future__ import annotations

import numpy as np
import pytest

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import (
    AprioriKm,
    Clump,
    Disassociate,
    HgHs,
    Partition,
    SimpleSuppression,
)
from setveil.core.errors import NotApplicable
from setveil.measure import average_relative_error, measure_all, terms_lost
from setveil.release import publish_sets
from setveil.release.store import save
from setveil.spark import DistributedRelease, DistributedTable, anonymize

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    names = [f"i{n}" for n in range(9)]
    rows = (rng.choice(9, size=rng.integers(0, 5), replace=False) for _ in range(80))
    return TransactionTable.from_rows([[names[j] for j in row] for row in rows])


@pytest.fixture(scope="module")
def there(spark, table):
    return DistributedTable.from_table(table, spark).persist()


DRAWN_IN_WORLDS = {"re", "tkd_ml2", "certain_links"}
"""What is counted in a random original, or over all clusters at once: only where all is here."""


def same(found, expected, besides=()):
    assert found.keys() == expected.keys()
    for name in found.keys() - set(besides):
        if name in {"are", "are_low", "are_high"} and expected[name] is not None:
            assert found[name] == pytest.approx(expected[name], rel=1e-12), name
        else:
            assert found[name] == expected[name], name
    assert all(found[name] is None for name in besides)


def methods(table, tree):
    sensitive = ("i0", "i4")
    yield table, Clump(k=3, r=3).anonymize(table, taxonomy=tree), ()
    yield table, Partition(k=3).anonymize(table, taxonomy=tree), ()
    yield table, AprioriKm(k=3, m=2).anonymize(table, taxonomy=tree), ()
    yield table, HgHs(k=3, m=2).anonymize(table, taxonomy=tree), ()
    yield table, SimpleSuppression(rho=0.6).anonymize(table, sensitive=sensitive), sensitive


def test_the_same_figures(spark, table):
    tree = Taxonomy.balanced(table.vocabulary.names, fanout=2)
    for original, made, sensitive in methods(table, tree):
        known = {"key": made.key, "taxonomy": tree, "sensitive": sensitive}
        expected = measure_all(made.release, original, **known, rng=np.random.default_rng(5))
        found = measure_all(
            DistributedRelease.from_release(made.release, spark),
            DistributedTable.from_table(original, spark),
            **known,
            rng=np.random.default_rng(5),
        )
        same(found, expected)


def test_sets(spark, table, there):
    release, _ = publish_sets(table, [0, 0, 1, -1, 2, 2, 2, 3, 4])
    found = measure_all(DistributedRelease.from_release(release, spark), there)
    same(found, measure_all(release, table))


def test_disassociated(spark, table):
    rows = TransactionTable.from_rows([row for row in table.to_rows() if row])
    made = Disassociate(k=3, m=2).anonymize(rows)
    there = DistributedTable.from_table(rows, spark)
    release = DistributedRelease.from_release(made.release, spark)
    found = measure_all(release, there, k=3)
    same(found, measure_all(made.release, rows, k=3), {*DRAWN_IN_WORLDS, "tkd"})
    assert found["tlost"] == terms_lost(made.release, rows, k=3)


def test_what_cannot_be_said(spark, table, there):
    tree = Taxonomy.balanced(table.vocabulary.names, fanout=2)
    made = Partition(k=3).anonymize(table, taxonomy=tree)
    release = DistributedRelease.from_release(made.release, spark)
    found = measure_all(release, there)
    same(found, measure_all(made.release, table))
    assert found["ncp"] is found["are"] is None
    with pytest.raises(NotApplicable):
        average_relative_error(release, there, queries=[])


def test_given_queries_and_stored_releases(spark, table, there, tmp_path):
    tree = Taxonomy.balanced(table.vocabulary.names, fanout=2)
    made = Clump(k=3, r=3).anonymize(table, taxonomy=tree)
    save(made.release, tmp_path / "release", method="clump", params={}, promise=None)
    release = DistributedRelease.open(tmp_path / "release", spark)
    queries = [["i1"], ["i1", "i2"], ["i3", "i8"], []]
    found = average_relative_error(release, there, taxonomy=tree, queries=queries)
    expected = average_relative_error(made.release, table, taxonomy=tree, queries=queries)
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert found.low == found.high == found.value


@pytest.mark.parametrize("method", [Partition(k=3), AprioriKm(k=3, m=2)])
def test_what_was_made_on_spark(spark, table, method):
    tree = Taxonomy.balanced(table.vocabulary.names, fanout=2)
    there = DistributedTable.from_table(table, spark)
    made = anonymize(method, there, taxonomy=tree)
    found = measure_all(made.release, there, key=made.key, taxonomy=tree)
    here = method.anonymize(table, taxonomy=tree)
    same(found, measure_all(here.release, table, key=here.key, taxonomy=tree))


def test_records_without_numbers(spark, table, there):
    unnumbered = DistributedTable(
        frame=there.frame.select("items").repartition(3),
        vocabulary=there.vocabulary,
        item_supports=there.item_supports,
    )
    release, _ = publish_sets(table, [0, 0, 1, -1, 2, 2, 2, 3, 4])
    found = measure_all(DistributedRelease.from_release(release, spark), unnumbered)
    expected = measure_all(release, table)
    assert found["ggd"] == expected["ggd"]  # other queries are drawn
    assert found["are"] == pytest.approx(expected["are"], abs=0.1)
