"""Record linkage and uniqueness over distributed data are those of the same data here."""

from __future__ import annotations

import numpy as np
import pytest

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import Clump, Disassociate, HgHs, Partition
from setveil.attack import Linkage, Targets
from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.measure import draw_targets, score, uniqueness
from setveil.release import publish_sets, publish_suppressed
from setveil.spark import DistributedRelease, DistributedTable

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    names = [f"i{n:02}" for n in range(16)]
    rows = (rng.choice(16, size=rng.integers(1, 5), replace=False) for _ in range(60))
    return TransactionTable.from_rows([[names[j] for j in row] for row in rows])


@pytest.fixture(scope="module")
def there(spark, table):
    return DistributedTable.from_table(table, spark).persist()


@pytest.mark.parametrize(("m", "knowledge"), [(2, "random"), (1, "rarest")])
def test_the_same_people(table, there, m, knowledge):
    known = {"m": m, "knowledge": knowledge, "sample": 20}
    found = draw_targets(there, **known, rng=np.random.default_rng(3))
    assert found == draw_targets(table, **known, rng=np.random.default_rng(3))


def test_made_up_people_are_strangers(table, there):
    found = draw_targets(there, m=3, sample=30, rng=np.random.default_rng(3))
    rows = [set(row) for row in table.to_rows()]
    assert not any(row.issuperset(known) for known in found.strangers for row in rows)


def releases(table):
    tree = Taxonomy.balanced(table.vocabulary.names, fanout=2)
    for method in (Clump(k=3, r=3), Partition(k=3), HgHs(k=4, m=2)):
        made = method.anonymize(table, taxonomy=tree)
        yield made.release, made.key, tree
    yield *publish_suppressed(table, [i not in {1, 5} for i in range(table.n_items)]), None
    yield *publish_sets(table, [-1 if i == 3 else max(i // 2, i - 9) for i in range(16)]), None


def test_the_same_links(spark, table, there):
    targets = draw_targets(table, sample=40)
    for release, key, tree in releases(table):  # noqa: B007  (the last is scored)
        distributed = DistributedRelease.from_release(release, spark)
        found = Linkage(k=4).run(distributed, targets=targets, taxonomy=tree)
        expected = Linkage(k=4).run(release, targets=targets, taxonomy=tree)
        assert found.targets == expected.targets
        for one, other in zip(
            found.links + found.strangers, expected.links + expected.strangers, strict=True
        ):
            assert one._replace(chance=0) == other._replace(chance=0)
            assert one.chance == pytest.approx(other.chance, rel=1e-12)
    rates = score(found, release=release, original=there, key=key)
    expected = score(expected, release=release, original=table, key=key)
    assert targets.strangers
    assert rates.keys() == expected.keys()
    for name, rate in rates.items():
        assert rate.value == pytest.approx(expected[name].value), name


def test_clusters(spark, table):
    release = Disassociate(k=3, m=2).anonymize(table).release
    targets = draw_targets(table, sample=20)
    found = Linkage().run(DistributedRelease.from_release(release, spark), targets=targets)
    expected = Linkage().run(release, targets=targets)
    for one, other in zip(found.links, expected.links, strict=True):
        assert one.candidates == other.candidates
        assert one.chance == pytest.approx(other.chance)
        assert not one.named
    assert "records that are distributed without numbers are not named" in found.notes


def test_wrong_use(spark, table, there):
    tree = Taxonomy.balanced(table.vocabulary.names, fanout=2)
    made = Clump(k=3, r=3).anonymize(table, taxonomy=tree)
    release = DistributedRelease.from_release(made.release, spark)
    targets = draw_targets(table, sample=5)
    with pytest.raises(NotApplicable, match="taxonomy"):
        Linkage().run(release, targets=Targets(records=(0,), known=(("absent",),)))
    guess = Linkage().run(release, targets=targets, taxonomy=tree)
    with pytest.raises(InputError, match="other people"):
        score(guess, release=made.release, original=there.where("record < 2"), key=made.key)
    with pytest.raises(ParameterError, match="m is 0"):
        uniqueness(there, 0)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_exact_uniqueness(table, there, m):
    found, expected = uniqueness(there, m), uniqueness(table, m)
    assert found.exact
    assert found.value == pytest.approx(expected.value, rel=1e-12)


def test_sampled_uniqueness(table, there):
    draws = {"samples": 50, "countable": 0}
    found = uniqueness(there, 2, **draws, rng=np.random.default_rng(1))
    assert found == uniqueness(table, 2, **draws, rng=np.random.default_rng(1))
