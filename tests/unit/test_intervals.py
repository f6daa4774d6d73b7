"""Intervals hold the truth as often as they say, above all at the upper end.

The rule: of all samples at most 3.5% have an upper end below the truth, and at least 93% have an
interval that holds it. An interval may be wider than that needs (trials that are right or wrong
have few outcomes, and few units may hide what they do not show), but never narrower. Where a test
draws samples it allows three standard errors of its own. `python -m tests.interval_coverage` prints
what was found.
"""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest
from tests.interval_coverage import (
    ALL_RATES,
    NAMES,
    UNITS,
    auc,
    cases,
    enumerated,
    measured,
    simulated,
)

from setveil import TransactionTable
from setveil.attack import EliminationGuess, TableGuess
from setveil.attack.elimination.calibration import calibration_error
from setveil.core.errors import ParameterError
from setveil.core.interval import (
    LARGE,
    OWN_SIDE,
    TAIL,
    Rate,
    advantage,
    advantage_over,
    chance_above,
    clustered_share,
    difference,
    linearized,
    mean,
    mean_error,
    reduction,
)
from setveil.measure import score
from setveil.release.set_generalized import publish_sets

ABOVE, HOLDS = 0.035, 0.93


def ends(rate):
    return rate.low, rate.high


# --- trials ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("trials", [1, 2, 3, *UNITS, 400])
def test_every_rate_is_held_by_enough_outcomes(trials):
    for rate in ALL_RATES if trials < 400 else (0.001, 0.01, 0.3, 0.99):
        found = enumerated(trials, rate)
        assert found.above <= ABOVE + 1e-12
        assert found.holds >= HOLDS
        below = 1 - found.holds - found.above
        assert below <= ABOVE + 1e-12


def test_many_trials_are_held_as_often_as_is_said():
    held = [enumerated(100, rate).holds for rate in ALL_RATES]
    assert 0.95 <= np.mean(held) <= 0.965
    assert enumerated(2000, 0.3).holds == pytest.approx(0.95, abs=0.006)


@given(st.integers(1, 300), st.data())
def test_shares_lie_within_clopper_and_pearson(trials, data):
    successes = data.draw(st.integers(0, trials))
    rate = Rate.sampled(successes, trials)
    assert rate.value == successes / trials
    exact = binomtest(successes, trials).proportion_ci(method="exact")
    assert exact.low - 1e-9 <= rate.low <= rate.value <= rate.high <= exact.high + 1e-9
    mirrored = Rate.sampled(trials - successes, trials)
    assert ends(mirrored) == pytest.approx((1 - rate.high, 1 - rate.low))


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (3, 2), (-1, 2)])
def test_what_is_no_proportion_is_refused(successes, trials):
    with pytest.raises(ParameterError):
        Rate.sampled(successes, trials)


# --- the method, against draws --------------------------------------------------------------------


def drawn_ends(parts, wholes, *, bottom=0.0, top=1.0, draws=200_000):
    """Return the ends by drawing weights: the definition."""
    rng = np.random.default_rng(0)
    parts, wholes = np.asarray(parts, float), np.asarray(wholes, float)
    size = (wholes**2).sum() / wholes.sum()
    found = []
    for own, other, level in ((bottom, top, TAIL), (top, bottom, 1 - TAIL)):
        weights = rng.exponential(size=(draws, len(parts) + 1))
        further = np.where(rng.random(draws) < OWN_SIDE, own, other)
        above = weights[:, :-1] @ parts + weights[:, -1] * size * further
        below = weights[:, :-1] @ wholes + weights[:, -1] * size
        found.append(np.quantile(above / below, level))
    return tuple(found)


@pytest.mark.parametrize(
    ("parts", "wholes"),
    [
        ([3, 0, 1, 2], [4, 1, 3, 2]),
        ([0, 0, 0, 1], [5, 20, 3, 9]),
        ([0.5, 0.25, 0.1, 0.1, 1.0, 0.2, 0.3], [1] * 7),
        ([7], [10]),
        ([0, 0, 0], [1, 2, 30]),
        (list(range(40)), [40] * 40),
    ],
)
def test_ends_are_those_of_random_weights(parts, wholes):
    rate = clustered_share(parts, wholes)
    assert rate.value == pytest.approx(sum(parts) / sum(wholes))
    assert ends(rate) == pytest.approx(drawn_ends(parts, wholes), abs=0.006)


def test_chances_against_the_beta_distribution():
    for yes, no in product((1, 2, 5, 40), (1, 3, 60)):
        terms, copies = np.array([1.0, 0.0]), np.array([yes, no])
        for level in (0.01, 0.025, 0.3, 0.7, 0.975):
            place = beta.ppf(1 - level, yes, no)
            off = 0.11 if yes == no == 1 else 0.06  # relative, of the smaller tail
            assert chance_above(terms - place, copies) == pytest.approx(
                level, abs=off * min(level, 1 - level)
            )


def test_very_many_units_are_taken_together():
    rng = np.random.default_rng(1)
    values = rng.random(LARGE * 3)
    half = 1.96 * values.std() / math.sqrt(len(values))
    rate = mean(values)
    assert ends(rate) == pytest.approx((rate.value - half, rate.value + half), abs=half / 20)


# --- properties -----------------------------------------------------------------------------------

UNIT = st.integers(0, 12).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole)))


@given(st.lists(UNIT, max_size=12), st.integers(0, 5))
def test_units_that_contribute_nothing_are_not_counted(units, idle):
    part, whole = (np.array([each[i] for each in units], dtype=float) for i in (0, 1))
    rate = clustered_share(part, whole)
    if not whole.sum():
        assert rate is None
        return
    assert 0 <= rate.low <= rate.value <= rate.high <= 1
    assert rate.low < rate.high
    assert not rate.exact
    assert clustered_share(np.pad(part, (0, idle)), np.pad(whole, (0, idle))) == rate
    order = np.random.default_rng(idle).permutation(len(part))
    assert ends(clustered_share(part[order], whole[order])) == pytest.approx(ends(rate), abs=1e-3)
    wrong = clustered_share(whole - part, whole)
    assert ends(wrong) == pytest.approx((1 - rate.high, 1 - rate.low), abs=1e-3)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_what_is_no_number_is_refused(wrong):
    values, whole = [0.5, wrong], [1.0, 1.0]
    for made in (
        lambda: mean(values),
        lambda: clustered_share(values, whole),
        lambda: advantage(values, [0, 0], whole),
        lambda: difference(values, [0, 0], whole),
        lambda: reduction(values, whole),
        lambda: mean_error(values),
        lambda: linearized(0.5, values, whole),
    ):
        with pytest.raises(ParameterError, match="finite"):
            made()
    with pytest.raises(ParameterError, match="do not fit"):
        clustered_share([1, 2], [1, 2, 3])


def test_tiny_and_huge_values_have_intervals():
    assert 0 <= mean([1e-162] * 3).value < mean([1e-162] * 3).high < 1
    assert mean_error([1e300, 0.0]).high > 5e299
    assert mean_error([0.0] * 3) == Rate(value=0.0, low=0.0, high=0.0, exact=False)


@given(st.lists(UNIT, min_size=1, max_size=12), st.data())
def test_an_advantage_is_what_it_says(units, data):
    whole = np.array([each[1] for each in units], dtype=float)
    found = np.array([each[0] for each in units], dtype=float)
    guessed = np.array([data.draw(st.integers(0, int(each))) for each in whole], dtype=float)
    rate, less = advantage(found, guessed, whole), difference(found, guessed, whole)
    missed = (whole - guessed).sum()
    assert (rate is None) == (missed == 0)
    assert (less is None) == (whole.sum() == 0)
    if rate is not None:
        value = 1 - (whole - found).sum() / missed
        assert rate.value == pytest.approx(max(value, 0.0))
        assert 0 <= rate.low <= rate.value <= rate.high <= 1
        assert rate.high > 0 or value < 0
    if less is not None:
        assert less.value == pytest.approx((found - guessed).sum() / whole.sum())
        assert -1 <= less.low <= less.value <= less.high <= 1


def test_pairing_beats_two_intervals():
    """Clusters differ far more from each other than the attack from the baseline."""
    rng = np.random.default_rng(2)
    whole = np.full(60, 50.0)
    guessed = rng.binomial(50, rng.beta(2, 2, 60))
    found = np.minimum(guessed + rng.binomial(3, 0.4, 60), 50)
    paired = advantage(found, guessed, whole)
    attack, blind = clustered_share(found, whole), clustered_share(guessed, whole)
    unpaired = advantage_over(attack, blind.low)
    assert paired.high < unpaired.high - 0.1
    assert 0.04 < paired.value < 0.06


def test_a_known_baseline_is_a_constant_share():
    values = np.array([0.1, 0.5, 1.0, 0.2, 0.0, 0.9])
    rate = advantage(values, np.full(6, 0.25), np.ones(6))
    assert ends(rate) == pytest.approx(ends(advantage_over(mean(values), 0.25)), abs=2e-3)
    assert advantage_over(Rate.counted(0.3), 0.5) == Rate.counted(0.0)
    assert advantage_over(Rate.counted(1.0), 1.0) == Rate.counted(0.0)


def test_a_linear_statistic_is_a_mean():
    values = np.array([0.1, 0.5, 1.0, 0.2])
    rate = linearized(values.mean(), (values - values.mean()) / 4, np.ones(4))
    assert ends(rate) == pytest.approx(ends(mean(values)))
    assert ends(linearized(0.5, [0.0], [0.0])) == (0.0, 1.0)  # nothing contributes


def test_errors_have_no_upper_bound():
    assert mean_error([]) is None
    assert ends(mean_error([0.0] * 9)) == (0.0, 0.0)
    none = mean_error([0.0] * 100, usual=1.0)
    assert none.value == none.low == 0
    assert 0.06 < none.high < 0.08
    rate = mean_error([1.0, 2.0, 30.0])
    assert rate.low < rate.value == 11
    assert rate.high > 30
    assert ends(mean_error([10.0, 20.0, 300.0])) == pytest.approx((10 * rate.low, 10 * rate.high))


# --- what was wrong -------------------------------------------------------------------------------


def test_one_sure_cell_of_a_hundred_items_is_one_trial():
    rows = [[f"a{i}"] for i in range(100)] + [[f"b{i}"] for i in range(100)]
    table = TransactionTable.from_rows(rows)
    place = {name: n for n, name in enumerate(table.vocabulary.names)}
    groups = [0] * len(place)
    for name, number in place.items():
        groups[number] = int(name[1:])
    release, key = publish_sets(table, groups)
    tables = []
    for group in range(len(release.groups)):
        members = release.members(group)
        records = [r for r in range(len(release)) if group in row_of(release, r)]
        sure = group == 0
        chances = np.full((len(records), len(members)), 0.5)
        if sure:  # the one cell that was added for certain
            original = rows[int(key.records[records[0]])][0]
            chances[0, 1 - members.index(original)] = 0.99
        tables.append(
            TableGuess(
                group=group,
                members=members,
                records=records,
                scores=chances,
                probabilities=chances,
                eliminated=[],
                decided=[],
            )
        )
    guess = EliminationGuess(attack="shadow", tables=tuple(tables))
    rate = score(guess, release=release, original=table, key=key)["sure_precision"]
    assert (rate.value, rate.high) == (1.0, 1.0)
    assert rate.low == pytest.approx(0.035)  # 0.963 when items without sure cells counted


def row_of(release, record):
    return release.items[release.offsets[record] : release.offsets[record + 1]].tolist()


def test_ratios_of_few_records_have_a_width_and_stay_below_one():
    assert 0.45 < clustered_share([1] * 5, [1] * 5).low < 0.55
    assert 0.4 < reduction([0] * 5, [1] * 5).low < 0.55
    three = clustered_share([1, 1, 1, 0], [1] * 4)
    assert 0.15 < three.low < 0.3
    assert 0.97 < three.high < 1
    more_noise = reduction([3, 2, 4], [1, 1, 2])
    assert more_noise.value == pytest.approx(-1.25)
    assert more_noise.low < -1.25 < more_noise.high


def test_an_attack_that_gets_everything_has_room_below():
    scores, added = np.array([0.9, 0.1, 0.8, 0.2] * 3), np.array([True, False] * 6)
    rate = auc(scores, added, np.repeat(np.arange(3), 4))
    assert rate.value == rate.high == 1
    assert 0.2 < rate.low < 0.4


def test_right_chances_have_no_calibration_error():
    """The plain distances exclude 0 in nearly all runs, and 0.02 could never be shown."""
    rng = np.random.default_rng(5)
    excluded, shown = 0, 0
    for _ in range(40):
        unit = np.repeat(np.arange(200), 100)
        said = rng.beta(0.6, 0.6, len(unit))
        rate = calibration_error(said, rng.random(len(unit)) < said, unit=unit)
        excluded += rate.low > 0
        shown += rate.high <= 0.02
        assert rate.low <= rate.value <= rate.high
    assert excluded <= 4
    assert shown >= 36


def test_cells_of_one_item_are_not_independent_chances():
    said = np.full(400, 0.5)
    happened = np.repeat(np.arange(4) % 2 == 0, 100)  # each item all or none
    alone = calibration_error(said, happened)
    together = calibration_error(said, happened, unit=np.repeat(np.arange(4), 100))
    assert together.high > 3 * alone.high
    one = calibration_error([0.9] * 50, [False] * 50, unit=[3] * 50)
    assert (one.value, one.low) == (pytest.approx(0.9), 0.0)


# --- coverage -------------------------------------------------------------------------------------


def slack(share, intervals):
    return 3 * math.sqrt(share * (1 - share) / intervals)


QUICK = [
    case
    for case in cases((5, 10))
    if case.setting
    in {
        "rare ones 0.1",
        "rate 0.1, correlation 0.2, even sizes",
        "rate 0.5, correlation 0.5, uneven sizes",
        "gain 0.3, guessing 0.5, correlation 0.05",
        "removed 0.8, correlation 0.5",
        "lognormal",
        "shift 1.0, units differ 0.5, even sizes",
        "too sure, correlation 0.3",
    }
]


@pytest.mark.parametrize("case", QUICK, ids=lambda case: f"{case.kind}-{case.units}")
def test_few_units_hold_the_truth(case):
    found = simulated(case, 200)
    assert found.intervals > 190
    assert found.above <= ABOVE + slack(ABOVE, 200)
    assert found.holds >= HOLDS - slack(HOLDS, 200)


@pytest.mark.slow
@pytest.mark.parametrize("kind", NAMES[1:])
def test_all_kinds_hold_the_truth(kind):
    found = measured(kind)
    assert sum(each.intervals for each in found) >= 9_990  # a few samples have nothing to count
    for each in found:
        assert each.above <= ABOVE + slack(ABOVE, each.intervals), each
        assert each.holds >= HOLDS - slack(HOLDS, each.intervals), each
    for units in UNITS:
        own = [each for each in found if each.units == units]
        assert np.mean([each.above for each in own]) <= ABOVE
        assert np.mean([each.holds for each in own]) >= 0.95
