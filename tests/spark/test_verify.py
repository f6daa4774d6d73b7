"""Checks on Spark give the verdicts of the checks here."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from setveil import TransactionTable
from setveil.anonymize import Disassociate
from setveil.core.errors import NotApplicable
from setveil.guarantee import (
    Coherence,
    Disassociated,
    KAnonymity,
    KmAnonymity,
    RhoUncertainty,
    SafeDisassociated,
    SupportConstraints,
)
from setveil.spark import DistributedRelease, DistributedTable, check

pytestmark = pytest.mark.spark


def distributed(table, spark):
    """Distribute a table whose searches are cut into many groups."""
    return replace(DistributedTable.from_table(table, spark), room=300)


@pytest.fixture(scope="module")
def table():
    rng = random.Random(3)
    return TransactionTable.from_rows(
        [
            [f"i{min(int(rng.expovariate(0.3)), 9)}" for _ in range(rng.randrange(6))]
            for _ in range(300)
        ]
    )


@pytest.mark.parametrize(
    "guarantee",
    [
        KAnonymity(k=1),
        KAnonymity(k=2),
        KmAnonymity(k=3, m=1),
        KmAnonymity(k=2, m=2),
        KmAnonymity(k=1, m=3),
        Coherence(h=1, k=1, p=2, sensitive=("i9", "absent")),
        RhoUncertainty(rho="9/10", sensitive=("i9", "absent")),
        SupportConstraints(itemsets=[["i0", "i9"], ["i3"]], k=2),
    ],
    ids=str,
)
def test_the_same_verdict(spark, table, guarantee):
    there = check(guarantee, distributed(table, spark))
    assert there == guarantee.check(table)


def test_sets_of_three_in_many_parts(spark):
    rng = random.Random(5)
    rows = [[f"i{rng.randrange(6)}" for _ in range(3)] for _ in range(400)]
    table = TransactionTable.from_rows(rows)
    there = distributed(table, spark)
    for k in (8, 20):
        guarantee = KmAnonymity(k=k, m=3)
        assert check(guarantee, there) == guarantee.check(table)


@pytest.mark.parametrize(("h", "k", "p"), [(0.5, 1, 2), (1, 2, 3)])
def test_the_same_moles(spark, table, h, k, p):
    guarantee = Coherence(h=h, k=k, p=p, sensitive=("i0",))
    here, there = (
        guarantee.check(table),
        check(guarantee, distributed(table, spark)),
    )
    assert not here.holds
    # How many sets are looked at before a mole ends the search depends on the parts.
    assert replace(there, checked=here.checked) == here


def test_disassociated(spark, table):
    rows = [row for row in table.to_rows() if row]
    release = Disassociate(k=3, m=2).anonymize(TransactionTable.from_rows(rows)).release
    there = DistributedRelease.from_release(release, spark)
    assert there.collect().to_rows() == release.to_rows()
    assert check(Disassociated(k=3, m=2), there).reason == (
        Disassociated(k=3, m=2).check(release).reason
    )
    safe = SafeDisassociated(k=3, m=2)
    assert check(safe, there).holds == safe.check(release).holds
    broken = check(Disassociated(k=40, m=2), there)
    assert not broken.holds
    assert broken.witnesses


def test_what_cannot_be_checked_is_said(spark, table, monkeypatch):
    there = DistributedTable.from_table(table, spark)
    with pytest.raises(NotApplicable, match="records cut into chunks"):
        check(Disassociated(k=3, m=2), there)
    monkeypatch.setattr(KAnonymity, "in_parts", False)
    with pytest.raises(NotApplicable, match=r"k-anonymity needs all records .* --engine local"):
        check(KAnonymity(k=2), there)
