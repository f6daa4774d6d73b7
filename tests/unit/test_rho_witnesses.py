"""Rules of many items that come one by one: hit by the methods, met by a check that pauses."""

import random
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from tests.reference import rho as reference
from tests.unit.test_rho_uncertainty import assert_judged, random_instance

from setveil import TransactionTable
from setveil.anonymize import SuppressControl
from setveil.anonymize.rho import suppress_control
from setveil.guarantee import rho_rules
from setveil.guarantee.rho_rules import Oracle
from setveil.release.views import published_rows

HALF = Fraction(1, 2)


def three_triples(rng):
    """Draw records in which three disjoint triples each imply s, but no pair and no item does."""
    rows = []
    for triple in (["a", "b", "c"], ["d", "e", "f"], ["g", "h", "i"]):
        rows += [[*triple, "s"]] * rng.randint(1, 3)
        for pair in combinations(triple, 2):
            rows += [list(pair)] * rng.randint(4, 6)
    return rows + [["s"]] * rng.randint(0, 40) + [[]] * rng.randint(60, 100)


def test_the_oracle_is_asked_again_until_no_rule_is_left(monkeypatch):
    """It tells one rule at a time: after the first triple is broken, there are two more."""
    monkeypatch.setattr(suppress_control, "LEVEL_WORK", 0)
    most = 0
    for seed in range(12):
        rows = three_triples(random.Random(seed))
        broken = reference.violations(rows, HALF, ["s"])
        assert sorted(len(known) for known, _ in broken) == [3, 3, 3]
        table = TransactionTable.from_rows(rows)
        made = SuppressControl(rho=HALF).anonymize(table, sensitive=["s"])
        assert not reference.violations(made.release.to_rows(), HALF, ["s"])
        hits = sum("found by the oracle" in step.reason for step in made.log)
        most = max(most, hits)
    assert most == 3


# --- the check ------------------------------------------------------------------------------------


def test_a_check_that_pauses_all_the_time_says_the_same(monkeypatch):
    """After every item, row and node of the search the clock is looked at, and nothing is lost."""
    monkeypatch.setattr(rho_rules, "STEPS", 0)
    monkeypatch.setattr(rho_rules, "ROOM", 1)
    rng = np.random.default_rng(6)
    for _ in range(300):
        rows, sensitive = random_instance(rng)
        rho = Fraction(int(rng.integers(1, 21)), 20)
        assert_judged(TransactionTable.from_rows(rows), rows, sensitive, rho, prior=False)


def dense_instance(rng):
    """Draw records of which any part of the items may tell most about s."""
    held = rng.random((int(rng.integers(10, 60)), int(rng.integers(5, 9)))) < rng.uniform(0.3, 0.8)
    secret = rng.random(len(held)) < rng.uniform(0.1, 0.4)
    rows = [[f"i{x}" for x in np.flatnonzero(row)] for row in held]
    plain = [row for row, has in zip(rows, secret, strict=True) if not has]
    rows = [[*row, "s"] for row, has in zip(rows, secret, strict=True) if has]
    return rows + plain * int(rng.integers(1, 4)), ["s"]


@pytest.mark.parametrize("draw", [random_instance, dense_instance])
def test_each_rule_is_better_than_the_one_before(monkeypatch, draw):
    """Else a budget that ends in between would leave a worse rule than one already met."""
    monkeypatch.setattr(rho_rules, "STEPS", 0)
    rng, most = np.random.default_rng(7), 0
    for _ in range(200):
        rows, sensitive = draw(rng)
        shown = published_rows(TransactionTable.from_rows(rows))
        numbers = [n for name in sensitive if (n := shown.number(name)) is not None]
        if not numbers:
            continue
        found = list(Oracle.about(shown, numbers).strongest(prior=False))
        confidences = [rule.confidence for rule in found]
        assert all(before < after for before, after in pairwise(confidences))
        most = max(most, len(found))
    assert most > 2


def planted_sets(rng, others):
    """Draw sets of 2 or 3 of 250 items: one record with s, and `others` or more without.

    Some items are rare, and looked for in lists of rows, and some frequent, and looked for by
    bits. Each item is in two more records, so that it tells little alone.
    """
    rows = []
    for _ in range(100):
        pool = 250 if rng.random() < 0.8 else 12
        known = [f"i{x:03}" for x in rng.choice(pool, int(rng.integers(2, 4)), replace=False)]
        rows.append([*known, "s"])
        rows += [[*known, f"z{x}"] for x in rng.choice(10, int(rng.integers(others, 4)))]
    occurring = sorted({x for row in rows for x in row} - {"s"})
    return rows + [[x, f"z{z}"] for x in occurring for z in (10, 11)]


@pytest.mark.parametrize(("others", "holds"), [(1, False), (2, True)])
def test_more_items_and_rows_than_a_word_has_bits(others, holds):
    for seed in range(4):
        rows = planted_sets(np.random.default_rng(seed), others)
        table = TransactionTable.from_rows(rows)
        verdict = assert_judged(table, rows, ["s"], HALF, prior=False)
        assert verdict.holds is holds
        assert all(len(witness.items) > 1 for witness in verdict.witnesses)
