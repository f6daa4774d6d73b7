"""(ρ1, ρ2)-privacy of randomizers against beliefs that are gone through one by one."""

import random
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil.core.errors import ParameterError
from setveil.guarantee.rho1_rho2 import check_randomizer, item_randomizer
from setveil.release import ItemChannel


def matrices(values):
    row = st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any)
    return st.lists(row, min_size=values, max_size=values).map(
        lambda rows: [[Fraction(x, sum(row)) for x in row] for row in rows]
    )


def breached(matrix, prior, low, high):
    """Tell whether some property, believed at most `low`, is then believed `high` or more."""
    values = range(len(matrix))
    for size in range(1, len(matrix) + 1):
        for held in combinations(values, size):
            if sum(prior[v] for v in held) > low:
                continue
            for y in range(3):
                whole = sum(prior[v] * matrix[v][y] for v in values)
                if whole and sum(prior[v] * matrix[v][y] for v in held) >= high * whole:
                    return True
    return False


thresholds = st.tuples(st.integers(1, 8), st.integers(1, 8)).map(
    lambda t: (Fraction(t[0], 20), Fraction(t[0] + t[1], 20))
)


@settings(max_examples=200, deadline=None)
@given(matrix=matrices(3), beliefs=thresholds, prior=st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any))  # fmt: skip  # noqa: E501
def test_no_beliefs_break_what_holds(matrix, beliefs, prior):
    low, high = beliefs
    weights = [Fraction(p, sum(prior)) for p in prior]
    verdict = check_randomizer(matrix, low, high)
    assert verdict.exact
    if verdict.holds:
        assert not breached(matrix, weights, low, high)


@settings(max_examples=200, deadline=None)
@given(matrix=matrices(3), beliefs=thresholds)
def test_what_does_not_hold_is_broken_by_its_witness(matrix, beliefs):
    low, high = beliefs
    verdict = check_randomizer(matrix, low, high)
    two_points = []
    for a in range(3):
        for b in range(3):
            prior = [Fraction(0)] * 3
            prior[a] += low
            prior[b] += 1 - low
            two_points.append(breached(matrix, prior, low, high))
    assert verdict.holds == (not any(two_points))
    if not verdict.holds:
        [witness] = verdict.witnesses
        a, b = map(int, witness.items)
        y = int(witness.consequent)
        after = low * matrix[a][y] / (low * matrix[a][y] + (1 - low) * matrix[b][y])
        assert after == witness.confidence >= high


def test_two_thousand_random_instances():
    rng = random.Random(1)
    for _ in range(2000):
        rows = [[rng.randint(0, 4) for _ in range(3)] for _ in range(3)]
        matrix = [[Fraction(x, sum(row)) for x in row] for row in rows if any(row)]
        if not matrix:
            continue
        low, high = sorted(rng.sample(range(1, 20), 2))
        low, high = Fraction(low, 20), Fraction(high, 20)
        drawn = [rng.randint(0, 9) + (i == 0) for i in range(len(matrix))]
        prior = [Fraction(p, sum(drawn)) for p in drawn]
        assert not (
            check_randomizer(matrix, low, high).holds and breached(matrix, prior, low, high)
        )


def test_the_bound_itself_is_a_breach():
    matrix = [["3/4", "1/4"], ["1/4", "3/4"]]  # a tenth becomes a quarter
    assert not check_randomizer(matrix, "1/10", "1/4").holds
    assert check_randomizer(matrix, "1/10", "0.2501").holds


def test_a_value_that_gives_itself_away():
    verdict = check_randomizer({"a": {"x": 1}, "b": {"y": 1}}, 0.1, 0.9)
    assert not verdict.holds
    assert verdict.witnesses[0].confidence == 1


def test_one_value_has_no_secret():
    assert check_randomizer([[1]], 0.1, 0.5).holds


def test_pure_noise_tells_nothing():
    fair = item_randomizer(ItemChannel(beta="1/2", domain=3))
    assert check_randomizer(fair, "1/10", "11/100").holds


def test_sizes_are_not_about_single_items():
    with pytest.raises(ParameterError, match="sizes"):
        item_randomizer(ItemChannel(beta="1/4", domain=3, sizes=(0, 1)))


@pytest.mark.parametrize(("low", "high"), [(0, 0.5), (0.5, 0.5), (0.6, 0.5), (0.5, 1), ("x", 0.5)])
def test_beliefs_that_mean_nothing(low, high):
    with pytest.raises(ParameterError, match="rho1"):
        check_randomizer([[1]], low, high)


@pytest.mark.parametrize("matrix", [[], [[0.5, 0.4]], [["x"]], [[-1, 2]]])
def test_matrices_that_are_no_randomizers(matrix):
    with pytest.raises(ParameterError):
        check_randomizer(matrix, 0.1, 0.5)
