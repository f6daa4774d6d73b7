"""ρ-uncertainty methods on thousands of random instances: 0 violations under brute force."""

import random

import pytest
from tests.reference import rho as reference
from tests.unit.rho_instances import METHODS, assert_published, random_instance, run

from setveil.anonymize import RhoFamily

every_method = pytest.mark.parametrize("method", METHODS)


def assert_safe(method, seeds, *, closely=7):
    """Check brute force on all seeds, and every `closely`-th against the original as well."""
    for seed in seeds:
        rows, tree, sensitive, rho = random_instance(random.Random(seed))
        prior = bool(seed % 2)
        made = run(method, rows, tree, sensitive, rho, prior=prior)
        shown = made.release.to_rows()
        assert not reference.violations(shown, rho, sensitive, prior=prior), seed
        if method is RhoFamily:
            secret = sum(item in sensitive for row in rows for item in row)
            simple = secret / sum(map(len, rows))
            assert made.figures["average_loss"] <= simple, seed
        if seed % closely == 0:
            assert_published(made, rows, tree, sensitive)


@every_method
def test_no_violation_in_2000_instances(method):
    assert_safe(method, range(2_000))


@pytest.mark.slow
@every_method
def test_no_violation_in_50000_instances(method):
    assert_safe(method, range(2_000, 52_000))
