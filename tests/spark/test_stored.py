"""Releases on disk are checked on Spark as they are here."""

from __future__ import annotations

import numpy as np
import pytest

from setveil.anonymize import Clump, Disassociate, SimpleSuppression
from setveil.data import Taxonomy, TransactionTable
from setveil.errors import ReleaseError
from setveil.guarantee import Coherence, KAnonymity, KmAnonymity
from setveil.release.store import load_release, save
from setveil.spark.stored import open_release

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
    here, there = load_release(folder), open_release(folder, spark)
    for guarantee in (KAnonymity(k=3), KAnonymity(k=9), KmAnonymity(k=3, m=2)):
        expected, found = guarantee.check(here), there.check(guarantee)
        assert (found.holds, found.reason) == (expected.holds, expected.reason)
        assert {(frozenset(w.items), w.support) for w in found.witnesses} == {
            (frozenset(w.items), w.support) for w in expected.witnesses
        }


def test_suppressed(spark, table, tmp_path):
    made = SimpleSuppression(rho=0.9).anonymize(table, sensitive=("i0",))
    folder = saved(made, tmp_path / "my release")
    guarantee = Coherence(h=1, k=1, p=2, sensitive=("i0", "i1"))
    assert open_release(folder, spark).check(guarantee) == guarantee.check(load_release(folder))


def test_disassociated(spark, table, tmp_path):
    made = Disassociate(k=3, m=2).anonymize(table)
    folder = saved(made, tmp_path / "my release")
    verdict = open_release(folder, spark).check(made.promise)
    assert verdict.reason == made.promise.check(made.release).reason


def test_damage_is_told(spark, table, tmp_path):
    made = SimpleSuppression(rho=0.9).anonymize(table, sensitive=("i0",))
    folder = saved(made, tmp_path / "my release")
    file = next(folder.glob("release-*"))
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(ReleaseError, match="does not match its hash"):
        open_release(folder, spark)
    with pytest.raises(ReleaseError, match="Spark reads releases in Parquet"):
        open_release(saved(made, tmp_path / "lines", "jsonl"), spark)
