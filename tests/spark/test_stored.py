"""Releases on disk are checked on Spark as they are here."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.adversarial.crafted.writing import generalized, node, write_crafted

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import Clump, Disassociate, SimpleSuppression
from setveil.attack import Linkage, Targets
from setveil.core.errors import NotApplicable, ParameterError, ReleaseError
from setveil.guarantee import (
    Coherence,
    KAnonymity,
    KmAnonymity,
    PrivacyDegree,
    RhoUncertainty,
    SupportConstraints,
)
from setveil.release import publish_grouped, publish_sets
from setveil.release.account import Content
from setveil.release.data_file import file_content
from setveil.release.store import load_manifest, load_release, save, write_parts
from setveil.spark import DistributedRelease, DistributedTable, anonymize
from setveil.spark.publish import save_distributed

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    names = [f"i{n}" for n in range(8)]
    rows = (rng.choice(8, size=rng.integers(1, 4), replace=False) for _ in range(60))
    return TransactionTable.from_rows([[names[j] for j in row] for row in rows])


def saved(made, folder, format_="parquet"):
    save(made.release, folder, method="x", params={}, promise=made.promise, format=format_)
    return folder


def test_generalized(spark, table, tmp_path):
    tree = Taxonomy.balanced(table.vocabulary.names, fanout=2)
    folder = saved(Clump(k=3).anonymize(table, taxonomy=tree), tmp_path / "my release")
    here, there = load_release(folder), DistributedRelease.open(folder, spark)
    for guarantee in (KAnonymity(k=3), KAnonymity(k=9), KmAnonymity(k=3, m=2)):
        expected, found = guarantee.check(here), guarantee.check(there)
        assert (found.holds, found.reason) == (expected.holds, expected.reason)
        assert {(frozenset(w.items), w.support) for w in found.witnesses} == {
            (frozenset(w.items), w.support) for w in expected.witnesses
        }


def test_suppressed(spark, table, tmp_path):
    made = SimpleSuppression(rho=0.9).anonymize(table, sensitive=("i0",))
    folder = saved(made, tmp_path / "my release")
    guarantee = Coherence(h=1, k=1, p=2, sensitive=("i0", "i1"))
    assert guarantee.check(DistributedRelease.open(folder, spark)) == guarantee.check(
        load_release(folder)
    )


def crafted(spark, folder, form, rows, structure):
    """Write a release of a stranger, and open it."""
    write_crafted(folder, form, rows, structure, ending="parquet")
    return DistributedRelease.open(folder, spark)


def test_crafted_releases_do_not_look_safer_than_here(spark, tmp_path):
    guarantee = Coherence(h=0.5, k=1, p=1, sensitive=("HIV",))
    nodes = [node("*", leaves=9), node("flu", "*"), node("venereal", "*", 2)]
    nodes.append(node("HIV", "venereal"))
    rows = [["flu", "venereal"], ["HIV"]]
    opened = crafted(spark, tmp_path / "tree", "generalized", rows, generalized(*nodes))
    assert KAnonymity(k=1).check(opened).holds
    found = guarantee.check(opened)
    assert not found.exact
    assert found == guarantee.check(load_release(tmp_path / "tree"))
    for form, structure in (("split", {}), ("encoded", {"readable": ["flu"]})):
        opened = crafted(spark, tmp_path / form, form, [["HIV", "flu"]], structure)
        with pytest.raises(NotApplicable, match=r"profiles|tags"):
            guarantee.check(opened)
        with pytest.raises(NotApplicable, match="not cut into parts"):
            Linkage().run(opened, targets=Targets(records=[0], known=[["flu"]]))
        with pytest.raises(NotApplicable, match="not cut into parts"):
            opened.label_counts()
        assert opened.content() == Content()
        assert opened.collect().to_rows() == load_release(tmp_path / form).to_rows()
    nodes[1:] = [node("7", "*", name="HIV"), node("HIV", "*", name="flu")]
    with pytest.raises(ParameterError, match="ambiguous"):
        crafted(spark, tmp_path / "two", "generalized", [["7"], ["HIV"]], generalized(*nodes))


def test_sets_and_categories(spark, table, tmp_path):
    tree = Taxonomy.balanced(table.vocabulary.names, fanout=2)
    sets = publish_sets(table, [0, 0, 1, 1, 2, 3, 4, 5])[0]
    nodes = Clump(k=2).anonymize(table, taxonomy=tree).release
    for name, release in (("sets", sets), ("nodes", nodes)):
        save(release, tmp_path / name, method="x", params={}, promise=None)
        there = DistributedRelease.open(tmp_path / name, spark)
        for guarantee in (
            Coherence(h=0.5, k=2, p=2, sensitive=("i0", "i4")),
            RhoUncertainty(rho=0.9, sensitive=("i1", "i5")),
            SupportConstraints(itemsets=[["i5"], ["i6"]], k=3),
        ):
            try:
                here = guarantee.check(release)
            except NotApplicable:
                with pytest.raises(NotApplicable):
                    guarantee.check(there)
            else:
                found = guarantee.check(there)
                assert (found.holds, found.exact) == (here.holds, here.exact)


def test_groups_are_read_here(spark, table, tmp_path):
    release, _ = publish_grouped(table, [n // 6 for n in range(60)], ["i0"])
    save(release, tmp_path / "groups", method="x", params={}, promise=None)
    opened = DistributedRelease.open(tmp_path / "groups", spark)
    for p in (1, 2, 6):
        guarantee = PrivacyDegree(p=p, sensitive=("i0",))
        assert guarantee.check(opened) == guarantee.check(release)
    assert (len(opened), opened.collect().to_rows()) == (60, release.to_rows())
    with pytest.raises(NotApplicable, match="not cut into parts"):
        opened.people()


def test_disassociated(spark, table, tmp_path):
    made = Disassociate(k=3, m=2).anonymize(table)
    folder = saved(made, tmp_path / "my release")
    verdict = made.promise.check(DistributedRelease.open(folder, spark))
    assert verdict.reason == made.promise.check(made.release).reason


def test_damage_is_told(spark, table, tmp_path):
    made = SimpleSuppression(rho=0.9).anonymize(table, sensitive=("i0",))
    folder = saved(made, tmp_path / "my release")
    file = next(folder.glob("release-*"))
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(ReleaseError, match="does not match its hash"):
        DistributedRelease.open(folder, spark)
    with pytest.raises(ReleaseError, match="Spark reads releases in Parquet"):
        DistributedRelease.open(saved(made, tmp_path / "lines", "jsonl"), spark)


def parts_changed(folder, change):
    """Change the only part of a release and let the manifest say so."""
    manifest = load_manifest(folder)
    staged = folder.with_suffix(".staged")
    (folder / manifest.file).rename(staged)
    part = next(staged.iterdir())
    change(pl.read_parquet(part, glob=False)).write_parquet(part)
    digest = hashlib.sha256(file_content(staged)).hexdigest()
    said = replace(manifest, file=f"release-{digest[:16]}.parquet", sha256=digest)
    with write_parts(folder, force=True) as commit:
        commit(said, staged)


@pytest.mark.parametrize(
    "case",
    [
        ("clump", lambda f: f.with_columns(pl.col("items").list.concat(pl.lit(None))), "missing"),
        ("clump", lambda f: f[1:], "the manifest says 60"),
        ("disassociate", lambda f: f[1:], "the manifest says 60"),
        ("disassociate", lambda f: f.drop("terms"), "must have the columns sizes"),
        (
            "disassociate",
            lambda f: f.with_columns(pl.col("items").list.concat(pl.lit(None, pl.String))),
            "is missing",
        ),
        (
            "disassociate",
            lambda f: f.with_columns(pl.col("rows").list.eval(pl.element() - 1)),
            "do not fit each other",
        ),
        (
            "disassociate",
            lambda f: f.with_columns(pl.col("items").list.reverse()),
            "sub-record are not sorted",
        ),
    ],
)
def test_damaged_parts_are_told_by_both(spark, table, tmp_path, case):
    method, change, said = case
    folder = tmp_path / "my [release]"
    there = DistributedTable.from_table(table, spark)
    if method == "clump":
        tree = Taxonomy.balanced(table.vocabulary.names, fanout=2)
        made = anonymize(Clump(k=3), there, taxonomy=tree)
    else:
        made = anonymize(Disassociate(k=3, m=2), there)
    save_distributed(made, folder, method=method, params={})
    assert made.promise.check(DistributedRelease.open(folder, spark)).holds
    parts_changed(folder, change)
    with pytest.raises(ReleaseError, match=said):
        load_release(folder)
    with pytest.raises(ReleaseError, match=said):
        DistributedRelease.open(folder, spark)
