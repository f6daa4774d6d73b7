"""Attacks on some clusters: drawn by their chances, scored as an estimate of the whole release."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from setveil.anonymize import Disassociate
from setveil.attack import ABA, MRA, RGA, VPA, Prior, Random, SemanticPrior
from setveil.attack.reassociation.pieces import (
    BACKGROUND,
    cluster_chances,
    draw_clusters,
    pools,
    thin,
    with_background,
)
from setveil.attack.reassociation.reassociation_guess import ReassociationGuess
from setveil.core.errors import ParameterError
from setveil.measure import flat, score_reassociation
from setveil.relatedness import NGD, RecordCounts
from setveil.synthetic import clinic, lookalike

if TYPE_CHECKING:
    from setveil import TransactionTable
    from setveil.release.base import Anonymization

ATTACKS = (Random, Prior, ABA, RGA, MRA, VPA, SemanticPrior)
METHOD = Disassociate(k=3, m=2, max_cluster_size=12)


@cache
def table() -> TransactionTable:
    return clinic(n=700, seed=3).table


@cache
def made() -> Anonymization:
    return METHOD.anonymize(table())


@cache
def source() -> NGD:
    return NGD(RecordCounts.from_rows(clinic(n=700, seed=4).table.to_rows()))


def attacked(attack: type, sample: int | None, seed: int = 1) -> ReassociationGuess:
    known = {"relatedness": source(), "anonymizer": METHOD}
    told = {name: known[name] for name in attack.requires}
    return attack(sample=sample).run(made().release, rng=np.random.default_rng(seed), **told)


def scored(guess: ReassociationGuess) -> dict:
    return score_reassociation(guess, release=made().release, original=table(), key=made().key)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_sample_of_all_clusters_is_no_sample(attack: type) -> None:
    every = len(made().release.sizes)
    assert attacked(attack, every) == attacked(attack, None)
    assert not attacked(attack, every).draws
    assert attacked(attack, every).tested == every


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_sample_says_what_it_is(attack: type) -> None:
    guess = attacked(attack, 20)
    assert guess == attacked(attack, 20)
    assert sum(guess.draws) == 20
    assert len(guess.draws) == len(guess.clusters) < len(made().release.sizes)
    sizes = made().release.sizes[[each.cluster for each in guess.clusters]]
    assert [len(each.anchors) for each in guess.clusters] == sizes.tolist()
    assert guess.tested == 20
    assert "clusters were attacked" in guess.notes[0]
    assert ReassociationGuess.from_json(guess.to_json()) == guess
    assert scored(guess)["accuracy"] is not None
    assert scored(guess)["km_breakage"] is None


def test_the_order_of_the_records_changes_no_score() -> None:
    mixed = table().take(np.random.default_rng(0).permutation(len(table())))
    other = METHOD.anonymize(mixed)
    rates = []
    for original, result in ((table(), made()), (mixed, other)):
        guess = Prior(sample=25).run(result.release, rng=np.random.default_rng(4))
        rates.append(
            score_reassociation(guess, release=result.release, original=original, key=result.key)
        )
    flat_rates = [{n: x for n, x in flat(each).items() if x is not None} for each in rates]
    assert flat_rates[0] == pytest.approx(flat_rates[1])


@pytest.mark.parametrize("attack", [Prior, pytest.param(ABA, marks=pytest.mark.slow)])
def test_intervals_of_samples_hold_the_rate_of_the_whole_release(attack: type) -> None:
    whole = scored(attacked(attack, None))
    names = ("accuracy", "accuracy_random", "precision", "transaction_breakage")
    held: Counter[str] = Counter()
    values = []
    for seed in range(40):
        rates = scored(attacked(attack, 30, seed=seed))
        values.append([rates[name].value for name in names])
        held.update(
            name for name in names if rates[name].low <= whole[name].value <= rates[name].high
        )
    assert all(held[name] >= 34 for name in names), held  # of 40: 2 in 1,000 at 95% have fewer
    truth = np.array([whole[name].value for name in names])
    errors = np.std(values, axis=0) / np.sqrt(40)
    assert (np.abs(np.mean(values, axis=0) - truth) < 3 * errors + 0.005).all()


def test_the_interval_counts_draws() -> None:
    few, many = (scored(attacked(Prior, n))["accuracy"] for n in (10, 90))
    assert few.high - few.low > 1.5 * (many.high - many.low)


def test_a_cluster_is_drawn_as_often_as_its_chance_says() -> None:
    release = made().release
    chances = cluster_chances(release)
    assert chances.sum() == pytest.approx(1)
    rng = np.random.default_rng(0)
    found = np.zeros(len(chances))
    for _ in range(2000):
        sample = draw_clusters(release, 20, rng)
        assert sample is not None
        found[sample.clusters] += sample.draws
    assert np.abs(found / 40_000 - chances).max() < 5 * np.sqrt(chances.max() / 40_000)


@pytest.mark.parametrize(("rows", "places", "everywhere"), [(7, 10, 25), (25, 1, 25), (3, 24, 25)])
def test_what_falls_to_some_places_is_right_on_average(
    rows: int, places: int, everywhere: int
) -> None:
    rng = np.random.default_rng(2)
    found = [thin(rows, places, everywhere, rng) for _ in range(4000)]
    counts = Counter(np.concatenate(found).tolist())
    for row in range(rows):  # each sub-record is as likely as any other
        assert counts[row] / 4000 == pytest.approx(places / everywhere, abs=0.04)
    mean = rows * places / everywhere
    assert {len(each) for each in found} <= {int(mean), int(mean) + 1}


def test_of_shared_chunks_as_much_is_up_as_falls_to_the_rows() -> None:
    release = lookalike_release()
    first, last = max(release.blocks, key=lambda block: block[1] - block[0])
    assert last - first > 20
    rng = np.random.default_rng(0)
    members = with_background(release, (first, last), np.array([first + 3]), rng)
    assert first + 3 in members
    for q in release.shared_within(first, last).tolist():
        low, high = int(release.chunk_first[q]), int(release.chunk_last[q])
        if low <= first + 3 < high:
            rows = release.sizes[members[(members >= low) & (members < high)]].sum()
            assert rows >= min(BACKGROUND, release.sizes[low:high].sum())
    sample = draw_clusters(release, 40, rng)
    for pool in pools(release, sample, rng):
        for places in pool.chunks().values():
            piece = pool.pieces[places[0]]
            copies = sum(pool.pieces[place].copies for place in places)
            assert copies <= piece.high - piece.low  # so that each row takes one at most


@cache
def lookalike_release() -> object:
    return Disassociate(k=5, m=2).anonymize(lookalike("bms-webview-2", n=20_000).table).release


def test_wrong_samples_are_refused() -> None:
    with pytest.raises(ParameterError, match="sample is 0"):
        Prior(sample=0)
    guess = attacked(Prior, 20)
    for draws in (guess.draws[1:], (0, *guess.draws[1:]), (True, *guess.draws[1:])):
        with pytest.raises(ParameterError, match="how often it was drawn"):
            replace(guess, draws=draws)
