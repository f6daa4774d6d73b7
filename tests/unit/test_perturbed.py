"""Randomized records: every answer against everything that may have happened."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.select_a_size import published, subsets

from setveil import TransactionTable
from setveil.core.errors import NotApplicable, ParameterError, ReleaseError
from setveil.guarantee import KAnonymity
from setveil.release import ItemChannel, Key, PerturbedRelease, publish_perturbed
from setveil.release.base import FORMS
from setveil.release.data_file import LabelledRows
from setveil.release.store import load_release, save

DOMAIN = frozenset("abcd")
BETAS = [Fraction(1, 10), Fraction(1, 3), Fraction(4, 5)]
SIZES = [None, (Fraction(1, 8), Fraction(1, 8), Fraction(1, 4), Fraction(1, 4), Fraction(1, 4))]


def channels(domain=4):
    return st.builds(
        lambda beta, sizes: ItemChannel(beta=beta, sizes=sizes, domain=domain),
        st.sampled_from(BETAS),
        st.sampled_from(SIZES),
    )


records = st.sets(st.sampled_from(sorted(DOMAIN))).map(frozenset)


def release_of(rows, channel):
    return publish_perturbed(TransactionTable.from_rows(rows), channel)


@settings(max_examples=60, deadline=None)
@given(channel=channels(), record=records)
def test_likelihoods_are_those_of_all_outcomes(channel, record):
    expected = published(record, DOMAIN, channel.beta, channel.sizes)
    for outcome in subsets(DOMAIN):
        log = channel.log_likelihood([len(record)], [len(outcome)], [len(record & outcome)])[0]
        assert math.exp(log) == pytest.approx(float(expected.get(outcome, 0)))


def test_the_default_sizes_are_keeping_each_item_by_itself():
    beta = Fraction(1, 5)
    channel = ItemChannel(beta=beta, domain=4)
    for outcome, chance in published(frozenset("ab"), DOMAIN, beta).items():
        alone = Fraction(1)
        for item in DOMAIN:
            shows = 1 - beta if item in "ab" else beta
            alone *= shows if item in outcome else 1 - shows
        assert alone == chance
    assert channel.size_chances(2).tolist() == pytest.approx([1 / 25, 8 / 25, 16 / 25])


@settings(max_examples=60, deadline=None)
@given(channel=channels(), record=records, itemset=records)
def test_estimates_are_unbiased(channel, record, itemset):
    mean = 0.0
    for outcome, chance in published(record, DOMAIN, channel.beta, channel.sizes).items():
        release, _ = release_of([outcome], channel)
        mean += float(chance) * release.expected_support(itemset)
    assert mean == pytest.approx(float(itemset <= record), abs=1e-5)


def test_the_formula_of_a_single_item():
    release, _ = release_of([["a"]] * 6 + [["b"]] * 4, ItemChannel(beta="1/5", domain=3))
    assert release.expected_support(["a"]) == pytest.approx((6 - 10 / 5) / (1 - 2 / 5))
    assert release.estimated_shares().tolist() == pytest.approx([4 / 6, 2 / 6])
    assert release.expected_support(["c"]) == pytest.approx(-10 / 3)  # there, but never shown
    assert release.expected_support(["c", "d"]) == 0  # one of them cannot be there
    assert release.expected_support([]) == 10


def test_nothing_can_be_estimated_from_pure_noise():
    release, _ = release_of([["a"], ["b"]], ItemChannel(beta="1/2", domain=2))
    for ask in (
        lambda: release.expected_support(["a"]),
        release.estimated_shares,
        lambda: release.sample_world(np.random.default_rng(1)),
    ):
        with pytest.raises(NotApplicable, match="pure noise"):
            ask()


def test_sizes_that_tell_nothing_are_refused_too():
    # Of two items each is shown with chance ½, held or not.
    channel = ItemChannel(beta="1/2", domain=2, sizes=("1/4", "1/2", "1/4"))
    with pytest.raises(NotApplicable):
        channel.estimator(2)


def test_a_matrix_that_is_too_large_is_refused():
    sizes = (Fraction(1, 50),) * 50
    with pytest.raises(NotApplicable, match="too large"):
        ItemChannel(beta="1/10", domain=9000, sizes=sizes).estimator(3)


@settings(max_examples=60, deadline=None)
@given(
    beta=st.sampled_from(BETAS),
    sizes=st.sampled_from([None, (0, Fraction(1, 2), Fraction(1, 2)), (0, 0, 1)]),
    rows=st.lists(records, min_size=1, max_size=4),
    itemset=records,
)
def test_bounds_are_those_of_all_worlds(beta, sizes, rows, itemset):
    channel = ItemChannel(beta=beta, sizes=sizes, domain=4)
    release, _ = release_of(rows, channel)
    longest = 4 if sizes is None else 2
    worlds = [
        [x for x in subsets(DOMAIN) if len(x) <= longest
         and frozenset(row) in published(x, DOMAIN, beta, sizes)]
        for row in release.to_rows()
    ]  # fmt: skip
    bounds = release.support_bounds(itemset)
    assert bounds.tight
    assert bounds.low == sum(all(itemset <= x for x in row) for row in worlds)
    assert bounds.high == sum(any(itemset <= x for x in row) for row in worlds)
    found = set(release.matches(itemset).records.tolist())
    assert found == {r for r, row in enumerate(worlds) if any(itemset <= x for x in row)}


@settings(max_examples=60, deadline=None)
@given(
    beta=st.sampled_from(BETAS),
    rows=st.lists(records, min_size=1, max_size=8),
    known=records,
)
def test_records_that_show_the_same_share_the_chance_of_showing_it(beta, rows, known):
    release, _ = release_of(rows, ItemChannel(beta=beta, domain=4))
    matches = release.matches(known)
    mass = {}
    for record, weight in zip(matches.records.tolist(), matches.weights.tolist(), strict=True):
        pattern = known & frozenset(release.to_rows()[record])
        mass.setdefault(pattern, []).append(weight)
    for pattern, weights in mass.items():
        chance = (1 - beta) ** len(pattern) * beta ** (len(known) - len(pattern))
        assert weights == pytest.approx([float(chance) / len(weights)] * len(weights))


def test_who_is_known_by_an_item_that_cannot_be_there_is_nobody():
    release, _ = release_of([["a"], ["b"]], ItemChannel(beta="1/5", domain=2))
    assert release.matches(["z"]).records.tolist() == []
    assert release.support_bounds(["z"]).high == 0


# --- worlds ---------------------------------------------------------------------------------------


def test_worlds_have_the_estimated_supports_on_average():
    rows = [["a", "b"]] * 30 + [["b"]] * 50 + [["c"]] * 20
    release, _ = release_of(rows, ItemChannel(beta="1/5", domain=3))
    rng = np.random.default_rng(1)
    drawn = np.mean([release.sample_world(rng).supports() for _ in range(400)], axis=0)
    expected = [max(0.0, release.expected_support([item])) for item in "abc"]
    assert drawn.tolist() == pytest.approx(expected, abs=1.5)


def test_worlds_with_sizes_follow_bayes():
    sizes = (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    beta = Fraction(1, 5)
    release, _ = release_of([["a", "b"], ["c"]], ItemChannel(beta=beta, domain=3, sizes=sizes))
    rng = np.random.default_rng(1)
    counts = {}
    draws = 4000
    for _ in range(draws):
        world = release.sample_world(rng)
        counts[frozenset(world[0])] = counts.get(frozenset(world[0]), 0) + 1
    domain = frozenset("abc")
    weights = {}
    for x in subsets(domain):
        if len(x) <= 2:
            among = math.comb(3, len(x))
            weights[x] = published(x, domain, beta, sizes).get(frozenset("ab"), 0) / among
    total = sum(weights.values())
    for x, weight in weights.items():
        assert counts.get(x, 0) / draws == pytest.approx(float(weight / total), abs=0.03)


def test_which_originals_fit():
    release, key = release_of([["a"], ["b", "c"]], ItemChannel(beta="1/5", domain=4))
    assert release.is_consistent_with(TransactionTable.from_rows([["a"], ["d"]]), key)
    too_many = TransactionTable.from_rows([["a", "x"], ["d"]])
    assert not release.is_consistent_with(too_many, key)
    assert not release.is_consistent_with(TransactionTable.from_rows([["a"]]), key)
    assert not release.is_consistent_with(too_many, Key(records=[0, 5]))
    kept = ItemChannel(beta="1/5", domain=4, sizes=(0, 0, 1))  # all items are kept
    release, key = release_of([["a", "b"], ["c"]], kept)
    assert release.is_consistent_with(TransactionTable.from_rows([["a"], ["c"]]), key)
    assert not release.is_consistent_with(TransactionTable.from_rows([["d"], ["c"]]), key)
    longer = TransactionTable.from_rows([["a", "b", "c"], ["c"]])
    assert not release.is_consistent_with(longer, key)


# --- kept on disk ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [None, ("1/3", "2/3")])
def test_saved_and_loaded(tmp_path, sizes):
    channel = ItemChannel(beta="1/3", domain=5, sizes=sizes)
    release, _ = release_of([["a"], ["b"], []], channel)
    save(release, tmp_path / "r", method="select-a-size", params={}, promise=None)
    loaded = load_release(tmp_path / "r")
    assert isinstance(loaded, PerturbedRelease)
    assert loaded.channel == channel
    assert loaded.to_rows() == [["a"], ["b"], []]


@pytest.mark.parametrize(
    "damage",
    [
        {"beta": 2},
        {"beta": "x"},
        {"beta": None},
        {"domain": 1},
        {"domain": "many"},
        {"domain": True},
        {"sizes": 7},
        {"sizes": [0.5]},
        {"sizes": [None]},
        {"more": 1},
    ],
)
def test_damaged_structures_are_refused_in_words(damage):
    structure = {"beta": 0.1, "domain": 2, "sizes": None, **damage}
    with pytest.raises(ReleaseError, match="damaged"):
        FORMS["perturbed"].rebuild(LabelledRows.of([["a"], ["b"]]), structure)


@pytest.mark.parametrize("beta", [0, 1, -1, 2, "x", None, True])
def test_chances_that_mean_nothing(beta):
    with pytest.raises(ParameterError, match="beta is"):
        ItemChannel(beta=beta, domain=3)


def test_guarantees_about_counted_records_do_not_apply():
    release, _ = release_of([["a"], ["a"]], ItemChannel(beta="1/5", domain=2))
    with pytest.raises(NotApplicable, match="only by chance"):
        KAnonymity(k=2).check(release)


def test_more_items_than_there_can_be():
    with pytest.raises(ParameterError, match="domain is too large"):
        ItemChannel(beta="1/10", domain=2**31)
