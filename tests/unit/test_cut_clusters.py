"""Large clusters cut to fewer people: what is left is published as it was, and rates hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.disassociated_instances import instances

from setveil.anonymize import Disassociate
from setveil.attack import Prior
from setveil.audit import run_method
from setveil.audit.adversaries import attack_release, attackers
from setveil.audit.results import Criteria
from setveil.core.errors import ParameterError
from setveil.measure import score_reassociation
from setveil.release import publish_disassociated
from setveil.release.base import Key
from setveil.release.chunk_plan import cut_clusters, largest_clusters
from setveil.synthetic import clinic


def chunks_of(release, cluster: int) -> set[frozenset[str]]:
    """Return the domains of a cluster's own and shared chunks, and its term chunk."""
    own = {frozenset(release.domain(chunk)) for chunk in release.cluster(cluster).chunks}
    shared = release.shared_by([cluster])[cluster]
    own |= {frozenset(release.domain(release.chunk(chunk))) for chunk in shared}
    return own | {frozenset(release.cluster(cluster).terms)}


@given(instances(clusters=3, max_size=5, joint=True, removing=True), st.integers(1, 4), st.data())
def test_a_cut_release_is_one_of_fewer_people_published_alike(instance, most, data):
    table, plans, joints, removed = instance
    release, key = publish_disassociated(table, plans, joints, removed)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    cut = cut_clusters(release, table, key, most=most, rng=rng)
    if cut is None:
        assert release.sizes.max() <= most
        return
    assert cut.release.is_consistent_with(cut.original, cut.key)
    assert cut.release.sizes.max() == most
    assert len(cut.weights) == len(release.sizes)
    assert np.isclose(cut.weights @ cut.release.sizes, len(table))
    # Every cluster comes from one of as many people as its weight says, chunk by chunk.
    left = list(range(len(release.sizes)))
    for number, weight in enumerate(cut.weights.tolist()):
        size = round(weight * int(cut.release.sizes[number]))
        parts = chunks_of(cut.release, number)
        rows = {frozenset(row) for row in _rows(cut.original, cut.key, cut.release, number)}
        source = [
            old
            for old in left
            if release.sizes[old] == size
            and all(any(part <= other for other in chunks_of(release, old)) for part in parts)
            and rows <= {frozenset(row) for row in _rows(table, key, release, old)}
        ]
        assert source


def _rows(table, key, release, cluster):
    start, end = release.cluster_starts[cluster : cluster + 2].tolist()
    return [table[r] for r in key.records[start:end].tolist()]


def test_rates_of_cut_clusters_are_those_of_whole_ones():
    table = clinic(n=1500, seed=5).table
    method = Disassociate(k=10, m=2, max_cluster_size=150)
    made = method.anonymize(table)
    assert made.release.sizes.max() > 100
    whole = score_reassociation(
        Prior().run(made.release), release=made.release, original=table, key=made.key
    )
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        cut = cut_clusters(made.release, table, made.key, most=50, rng=rng)
        guess = Prior().run(cut.release, rng=rng)
        rates = score_reassociation(
            guess, release=cut.release, original=cut.original, key=cut.key, weights=cut.weights
        )
        assert rates["advantage"].low <= rates["advantage"].value <= rates["advantage"].high
        found.append([rates[name].value for name in ("accuracy", "accuracy_random", "advantage")])
    means = np.mean(found, axis=0)
    expected = [whole[name].value for name in ("accuracy", "accuracy_random", "advantage")]
    assert means == pytest.approx(expected, abs=0.04)


def test_weights_count_people():
    """A cluster of twice as many people counts twice, whatever is left of it."""
    table = clinic(n=300, seed=5).table
    made = Disassociate(k=5, m=2, max_cluster_size=40).anonymize(table)
    guess = Prior().run(made.release)
    given_to = {"release": made.release, "original": table, "key": made.key}
    plain = score_reassociation(guess, **given_to)
    same = score_reassociation(guess, **given_to, weights=np.full(len(made.release.sizes), 3.0))
    for name in ("accuracy", "accuracy_prior", "advantage"):
        assert same[name].value == pytest.approx(plain[name].value)
        assert same[name].high == pytest.approx(plain[name].high)
    only = np.zeros(len(made.release.sizes))
    only[0] = 1.0
    first = score_reassociation(guess, **given_to, weights=only)
    assert first["accuracy"].value != pytest.approx(plain["accuracy"].value)


def test_an_audit_cuts_large_clusters_and_says_so(monkeypatch):
    monkeypatch.setattr(
        "setveil.attack.reassociation.prior.Prior.role", replace(Prior.role, people=500)
    )
    table = clinic(n=900, seed=6).table
    run = run_method("disassociate", {"k": 5, "m": 2, "max_cluster_size": 300}, table)
    assert run.release.sizes.max() > 100
    who = next(each for each in attackers("disassociated") if each.attack == "prior")
    (found,) = attack_release(who, run, table, seed=1, number=1, criteria=Criteria())
    most = largest_clusters(run.release.sizes, 500)
    assert 100 <= most < run.release.sizes.max()
    assert f"cut to {most} people drawn at random" in found.note
    assert 0 <= found.rate.low <= found.rate.value <= found.rate.high <= 1
    few = clinic(n=90, seed=6).table
    small = run_method("disassociate", {"k": 5, "m": 2}, few)
    (found,) = attack_release(who, small, few, seed=1, number=1, criteria=Criteria())
    assert "cut to" not in found.note


def test_what_does_not_belong_together_is_refused():
    table = clinic(n=60, seed=6).table
    made = Disassociate(k=3, m=2, max_cluster_size=30).anonymize(table)
    wrong = Key(records=made.key.records[:-1])
    with pytest.raises(ParameterError, match="cannot come from this original"):
        cut_clusters(made.release, table, wrong, most=2, rng=np.random.default_rng(0))
