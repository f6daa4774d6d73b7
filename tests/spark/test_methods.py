"""Methods on distributed records keep their promise; those without buckets decide as here."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import setveil
from setveil import Taxonomy, TransactionTable
from setveil.anonymize import (
    LRA,
    PCTA,
    AprioriKm,
    Clump,
    Coat,
    Coherence,
    Disassociate,
    Gather,
    Partition,
    SafeDisassociate,
    SimpleSuppression,
    VPAKm,
)
from setveil.core.errors import (
    InfeasibleError,
    InputError,
    NotApplicable,
    ParameterError,
    ReleaseError,
)
from setveil.measure import ggd
from setveil.release.public_folder import fitness_of
from setveil.release.store import load_release
from setveil.spark import DistributedRelease, DistributedTable, anonymize, apriori, splitting
from setveil.spark.publish import save_distributed

pytestmark = pytest.mark.spark


def drawn(n, n_items=24, *, seed=1, least=1):
    rng = np.random.default_rng(seed)
    names = [f"i{number:02}" for number in range(n_items)]
    weights = 1 / np.arange(1, n_items + 1)
    weights /= weights.sum()
    rows = [
        sorted(set(rng.choice(names, int(rng.integers(least, 7)), p=weights).tolist()))
        for _ in range(n)
    ]
    return TransactionTable.from_rows(rows), Taxonomy.balanced(names, fanout=3)


def rows_of(release):
    return release.to_rows(ids=True)


@pytest.mark.parametrize("method", [Gather(k=4), Clump(k=4), Partition(k=4)], ids=repr)
def test_buckets(spark, method, tmp_path):
    table, tree = drawn(500)
    there = DistributedTable.from_table(table, spark)
    local = method.anonymize(table, taxonomy=tree).release
    made = anonymize(method, there, taxonomy=tree, most=100)
    assert made.figures["buckets"] > 3
    verdict = made.check()
    assert verdict.holds
    assert verdict.exact
    release = made.release.collect()
    assert len(release) == len(made.release) == len(table)
    assert made.promise.check(release).holds
    assert release.hides == local.hides
    assert ggd(release, table) < 1.3 * ggd(local, table)
    published = sorted(rows_of(release))
    key = made.key.orderBy("record").collect()
    assert [row["record"] for row in key] == list(range(len(table)))
    assert sorted([tree.ids[v] for v in row["items"]] for row in key) == published
    save_distributed(made, tmp_path / "there", method="x", params={"k": 4})
    assert rows_of(load_release(tmp_path / "there")) == rows_of(release)
    assert made.promise.check(DistributedRelease.open(tmp_path / "there", spark)).holds


def test_one_bucket_is_solved_as_here(spark):
    table, tree = drawn(300)
    there = DistributedTable.from_table(table, spark)
    made = anonymize(Gather(k=4), there, taxonomy=tree)
    local = Gather(k=4).anonymize(table, taxonomy=tree)
    assert rows_of(made.release.collect()) == rows_of(local.release)


def test_no_trace_of_the_order_of_records(spark, tmp_path):
    table, tree = drawn(300)
    shuffled = table.take(np.random.default_rng(5).permutation(len(table)))
    for name, given in (("one", table), ("other", shuffled)):
        there = DistributedTable.from_table(given, spark)
        made = anonymize(Clump(k=3), there, taxonomy=tree, most=60)
        save_distributed(made, tmp_path / name, method="clump", params={})
    one, other = (sorted((tmp_path / name).rglob("*")) for name in ("one", "other"))
    assert [path.name for path in one] == [path.name for path in other]
    for path, same in zip(one, other, strict=True):
        assert path.is_dir() or path.read_bytes() == same.read_bytes()


def test_records_that_no_question_tells_apart(spark):
    rows = [["a"], ["b"]] * 40 + [["a", "b"]] * 3
    there = DistributedTable.from_table(TransactionTable.from_rows(rows), spark)
    made = anonymize(Clump(k=3), there, taxonomy=Taxonomy.balanced(["a", "b"]), most=20)
    assert made.check().holds
    assert len(made.release) == len(rows)


def test_records_without_items(spark):
    table, tree = drawn(200)
    rows = table.to_rows()
    few = TransactionTable.from_rows([*rows, [], []])
    with pytest.raises(InfeasibleError, match="2 records have no items"):
        anonymize(Partition(k=3), DistributedTable.from_table(few, spark), taxonomy=tree)
    there = DistributedTable.from_table(TransactionTable.from_rows([*rows, *[[]] * 5]), spark)
    made = anonymize(Partition(k=3), there, taxonomy=tree, most=50)
    assert made.check().holds
    assert [] in rows_of(made.release.collect())
    with pytest.raises(InfeasibleError, match="have no items"):
        anonymize(Disassociate(k=3), there)


def test_apriori_decides_as_here(spark, monkeypatch):
    monkeypatch.setattr(apriori, "CELLS", 200)
    table, tree = drawn(150, 14, seed=4)
    method = AprioriKm(k=4, m=3)
    local = method.anonymize(table, taxonomy=tree)
    there = replace(DistributedTable.from_table(table, spark), room=300)
    made = anonymize(method, there, taxonomy=tree)
    assert rows_of(made.release.collect()) == rows_of(local.release)
    assert made.log == local.log


def test_apriori_on_groceries(spark, data_dir):
    table = setveil.read(data_dir / "groceries.basket.csv", format="basket")
    tree = Taxonomy.read(data_dir / "groceries_taxonomy.csv")
    method = AprioriKm(k=20, m=2)
    local = method.anonymize(table, taxonomy=tree)
    made = anonymize(method, DistributedTable.from_table(table, spark), taxonomy=tree)
    assert rows_of(made.release.collect()) == rows_of(local.release)
    assert made.log == local.log


@pytest.mark.parametrize("method", [LRA(k=4, m=2), LRA(k=4, m=2, parts=8), VPAKm(k=4)], ids=repr)
def test_km_in_buckets(spark, method):
    table, tree = drawn(400, seed=7)
    with_empty = TransactionTable.from_rows([*table.to_rows(), [], []])
    there = DistributedTable.from_table(with_empty, spark)
    local = method.anonymize(with_empty, taxonomy=tree).release
    whole = anonymize(replace(method, k=4), there, taxonomy=tree)
    assert rows_of(whole.release.collect()) == rows_of(local)
    made = anonymize(method, there, taxonomy=tree, most=100)
    assert made.figures["buckets"] > 3
    assert made.check() == made.promise.check(made.release.collect())
    assert made.check().holds
    assert len(made.release) == len(with_empty)


def test_simple_suppression(spark, tmp_path):
    table, _ = drawn(200, seed=3)
    method = SimpleSuppression(rho=0.5)
    local = method.anonymize(table, sensitive=["i01", "i05"])
    there = DistributedTable.from_table(table, spark)
    made = anonymize(method, there, sensitive=["i05", "i01"])
    assert made.release.collect().to_rows() == local.release.to_rows()
    assert (made.log, made.figures, made.promise) == (local.log, local.figures, local.promise)
    save_distributed(made, tmp_path / "there", method="simple-suppression", params={})
    assert load_release(tmp_path / "there").to_rows() == local.release.to_rows()
    assert fitness_of(tmp_path / "there").fit
    with pytest.raises(InputError, match="do not occur in the data: 'nowhere'"):
        anonymize(method, there, sensitive=["nowhere"])
    with pytest.raises(ParameterError, match="needs sensitive items"):
        anonymize(method, there)


@pytest.mark.parametrize("method", [Coat(k=30, s=1, constrained=1), PCTA(k=30)], ids=repr)
def test_sets(spark, tmp_path, method):
    table, _ = drawn(300, 40, seed=6)
    privacy = [[name] for name in table.vocabulary.names[10:]]
    inputs = {"privacy": privacy, "utility": [table.vocabulary.names[5:]]}
    local = method.anonymize(table, **inputs)
    there = DistributedTable.from_table(table, spark)
    made = anonymize(method, there, **inputs)
    assert made.release.collect().to_rows() == local.release.to_rows()
    assert (made.log, made.figures, made.promise) == (local.log, local.figures, local.promise)
    save_distributed(made, tmp_path / "there", method="coat", params={})
    loaded = load_release(tmp_path / "there")
    assert loaded.to_rows() == local.release.to_rows()
    assert made.promise.check(loaded).holds
    with pytest.raises(NotApplicable, match="sets of several items"):
        anonymize(method, there, privacy=[["i01", "i02"]])


@pytest.mark.parametrize("share", [1, 0.5])
def test_safe_disassociate(spark, share):
    table, _ = drawn(600, 30, seed=2)
    method = SafeDisassociate(k=3, m=2, max_cluster_size=12, refine=False, max_share=share)
    local = method.anonymize(table)
    made = anonymize(method, DistributedTable.from_table(table, spark), most=50)
    assert made.figures["parts"] > 5
    release = made.release.collect()
    assert release.to_rows() == local.release.to_rows()
    assert made.promise.check(release).holds


@pytest.mark.parametrize("refine", [False, True])
def test_disassociate(spark, monkeypatch, tmp_path, refine):
    monkeypatch.setattr(splitting, "TOPS", 8)
    table, _ = drawn(600, 30, seed=2)
    method = Disassociate(k=3, m=2, max_cluster_size=12, refine=refine)
    local = method.anonymize(table).release
    made = anonymize(method, DistributedTable.from_table(table, spark), most=50)
    assert made.figures["parts"] > 5
    release = made.release.collect()
    assert sorted(release.sizes.tolist()) == sorted(local.sizes.tolist())
    if not refine:
        assert release.to_rows() == local.to_rows()
        return
    assert made.check().holds
    assert made.promise.check(release).holds
    save_distributed(made, tmp_path / "there", method="x", params={})
    opened = DistributedRelease.open(tmp_path / "there", spark)
    assert opened.collect().to_rows() == release.to_rows()
    assert load_release(tmp_path / "there").to_rows() == release.to_rows()


def test_parts_are_checked_and_replaced(spark, tmp_path):
    table, tree = drawn(60)
    made = anonymize(Clump(k=3), DistributedTable.from_table(table, spark), taxonomy=tree)
    manifest = save_distributed(made, tmp_path, method="clump", params={})
    with pytest.raises(ReleaseError, match="there is a release already"):
        save_distributed(made, tmp_path, method="clump", params={})
    other = anonymize(Clump(k=5), DistributedTable.from_table(table, spark), taxonomy=tree)
    again = save_distributed(other, tmp_path, method="clump", params={}, force=True)
    assert {path.name for path in tmp_path.iterdir()} == {"manifest.json", again.file}
    assert manifest.file != again.file
    part = tmp_path / again.file / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    for load in (load_release, partial(DistributedRelease.open, engine=spark)):
        with pytest.raises(ReleaseError, match="does not match its hash"):
            load(tmp_path)


def test_what_is_refused(spark):
    table, tree = drawn(30)
    there = DistributedTable.from_table(table, spark)
    with pytest.raises(NotApplicable, match="needs all records in one place"):
        anonymize(Coherence(h=0.5, k=2, p=2), there)
    with pytest.raises(ParameterError, match="taxonomy is None"):
        anonymize(Clump(k=2), there)
    with pytest.raises(ParameterError, match="uses no tree"):
        anonymize(Disassociate(k=2), there, taxonomy=tree)
    with pytest.raises(InfeasibleError, match="only 30 records"):
        anonymize(Gather(k=31), there, taxonomy=tree)
    with pytest.raises(ParameterError, match="most is 0"):
        anonymize(Clump(k=2), there, taxonomy=tree, most=0)
