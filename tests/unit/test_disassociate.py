"""Disassociation: against all worlds of small data, on real data, and on every engine."""

import numpy as np
import pytest
from tests.reference import disassociation_worlds as worlds
from tests.reference.disassociation import is_km

from setveil import TransactionTable, read
from setveil.anonymize import Disassociate
from setveil.core.errors import InfeasibleError, ParameterError
from setveil.engine import Local, Loopback

FEW_WAYS = 3_000
"""Placements up to which all worlds of a release are gone through."""


@pytest.fixture(scope="module")
def groceries(data_dir):
    return read(data_dir / "groceries.basket.csv", format="basket")


def small_table(rng, *, items=4, most=6, length=3):
    """Draw a few short records."""
    n = int(rng.integers(2, most))
    return TransactionTable.from_rows(
        [
            [f"i{i}" for i in rng.choice(items, int(rng.integers(1, length + 1)), replace=False)]
            for _ in range(n)
        ]
    )


def chunks_of(release):
    return [chunk for cluster in release.clusters for chunk in cluster.chunks] + list(
        release.shared
    )


def test_no_set_is_narrowed_down_in_two_thousand_small_tables():
    """Every set of m items that some world has is in k records of another one."""
    rng = np.random.default_rng(5)
    checked = joint = 0
    for _ in range(2_000):
        table = small_table(rng)
        k, m = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        if len(table) < k:
            continue
        method = Disassociate(k=k, m=m, max_cluster_size=k + int(rng.integers(0, 2)))
        made = method.anonymize(table)
        assert made.promise.check(made.release).holds
        assert made.release.is_consistent_with(table, made.key)
        if worlds.count_ways(made.release) <= FEW_WAYS:
            assert not worlds.breaches(made.release, k, m)
            checked += 1
            joint += bool(made.release.shared)
    assert checked > 1_000
    assert joint > 100


def test_records_are_never_published_whole_as_a_lone_term_chunk():
    """Unique records of unique items: one cluster of all, never one of each."""
    rows = [[f"i{3 * r + j}" for j in range(3)] for r in range(300)]
    made = Disassociate(k=5, max_cluster_size=25).anonymize(TransactionTable.from_rows(rows))
    (cluster,) = made.release.clusters
    assert (cluster.size, cluster.chunks, len(cluster.terms)) == (300, (), 900)
    assert [step.action for step in made.log] == ["cluster", "reunite"]


@pytest.mark.parametrize("refine", [True, False])
def test_clusters_have_k_records_and_chunks_are_anonymous(groceries, refine):
    made = Disassociate(k=5, max_cluster_size=25, refine=refine).anonymize(groceries)
    release = made.release
    assert release.sizes.min() >= 5
    assert all(is_km(chunk.subrecords, 5, 2) for chunk in chunks_of(release))
    verdict = made.promise.check(release)
    assert (verdict.holds, verdict.exact) == (True, True)
    assert release.is_consistent_with(groceries, made.key)
    assert bool(release.shared) == refine
    assert len(made.key.removed) == 0


def test_groceries_in_clusters_of_25(groceries):
    """The clusters, items of record chunks and covers that the specification counts."""
    release = Disassociate(k=5, m=2, max_cluster_size=25, refine=False).anonymize(groceries).release
    assert len(release.sizes) == 573
    chunk, _, counts = release.chunk_items
    assert len(counts) == 1_550
    cluster = release.chunk_first[chunk]
    others = (np.diff(release.chunk_starts) > 1) | (np.diff(release.term_offsets) > 0)
    covers = (counts == release.sizes[cluster]) & others[cluster]
    assert np.count_nonzero(covers) == 1_392
    assert len(np.unique(cluster[covers])) == 561


def test_sharing_tells_more(groceries):
    """Items in term chunks become fewer; all else stays as it was."""
    plain = Disassociate(refine=False).anonymize(groceries).release
    refined = Disassociate().anonymize(groceries).release
    assert len(refined.terms) < 0.6 * len(plain.terms)
    own = slice(refined.n_record_chunks)
    assert sorted(np.diff(refined.chunk_offsets)[own]) == sorted(np.diff(plain.chunk_offsets))


@pytest.mark.parametrize("engine", [Local(workers=1), Local(workers=3), Loopback(seed=4)])
def test_the_engine_makes_no_difference(groceries, engine, monkeypatch):
    monkeypatch.setattr("setveil.anonymize.disassociation.cluster_chunks.BATCH", 500)
    here = Disassociate().anonymize(groceries).release
    there = Disassociate().anonymize(groceries, engine=engine).release
    assert here.to_rows() == there.to_rows()
    assert here.sizes.tolist() == there.sizes.tolist()
    assert here.chunk_first.tolist() == there.chunk_first.tolist()


@pytest.mark.parametrize("most", [4, 0, -1, 7.5, "9", True])
def test_a_cluster_size_that_means_nothing(most):
    with pytest.raises(ParameterError, match="max_cluster_size is") as caught:
        Disassociate(k=5, max_cluster_size=most)
    at_least = "at least k, which is 5" if most == 4 else "at least 1"
    assert f"use a whole number of {at_least}" in caught.value.fix


def test_refine_is_yes_or_no():
    with pytest.raises(ParameterError, match="refine is 'no'"):
        Disassociate(refine="no")


def test_records_without_items_are_refused():
    table = TransactionTable.from_rows([["a"], [], ["a"]])
    with pytest.raises(InfeasibleError, match="1 of 3 records have no items") as caught:
        Disassociate(k=2).anonymize(table)
    assert "--empty drop" in caught.value.fix


def test_bags_are_refused():
    table = TransactionTable.from_rows([["a", "a"], ["a"]], bags=True)
    with pytest.raises(InfeasibleError, match="more than once"):
        Disassociate(k=2).anonymize(table)


def test_items_nobody_holds_are_not_published():
    table = TransactionTable.from_rows([["a"], ["a", "b"], ["c"]]).take([0, 1])
    assert Disassociate(k=2).anonymize(table).release.vocabulary.names == ("a", "b")
