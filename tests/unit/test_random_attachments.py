"""The exact mean of random attachment against draws of it, and what an attack has above it."""

import os
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setveil import TransactionTable
from setveil.anonymize import Disassociate
from setveil.attack import Prior, Random
from setveil.attack.reassociation.reassociation_score import expected_hits
from setveil.attack.reassociation.rebuilt_records import PARTS
from setveil.measure import score_reassociation


def some_release(n=60):
    rng = np.random.default_rng(4)
    chances = np.array([0.6, 0.5, 0.4, 0.3, 0.3, 0.2, 0.1, 0.08, 0.05, 0.04])
    rows = [
        [f"i{j}" for j in np.flatnonzero(row)] or ["i0"] for row in rng.random((n, 10)) < chances
    ]
    table = TransactionTable.from_rows(rows)
    return table, Disassociate(k=3, m=2, max_cluster_size=12).anonymize(table)


@given(st.integers(1, 7), st.data())
def test_the_mean_over_all_draws(rows, data):
    copies, own = (data.draw(st.integers(0, rows)) for _ in range(2))
    most = data.draw(st.integers(0, own))
    hits = [
        min(sum(row < own for row in drawn), most) for drawn in combinations(range(rows), copies)
    ]
    assert expected_hits([rows], [copies], [own], [most])[0] == pytest.approx(np.mean(hits))


def test_the_baseline_is_the_mean_of_random_attachment():
    table, made = some_release()
    assert made.release.joint_blocks  # shared pieces are attached in all their clusters
    given_to = {"release": made.release, "original": table, "key": made.key}
    exact = score_reassociation(Prior().run(made.release), **given_to)
    drawn = [
        score_reassociation(Random().run(made.release, rng=np.random.default_rng(n)), **given_to)
        for n in range(150)
    ]
    for part in PARTS:
        name = f"accuracy_{part}" if part else "accuracy"
        values = np.array([rates[name].value for rates in drawn])
        error = values.std(ddof=1) / len(values) ** 0.5
        assert abs(values.mean() - exact[f"{name}_random"].value) < 4 * error
    # Random attachment has no advantage above itself, and its intervals say so.
    missed = [rates["advantage"].low > 0 for rates in drawn]
    assert np.mean(missed) <= 0.08
    # A value below 0 is said as 0, so that their mean is a little above it.
    assert np.mean([rates["advantage"].value for rates in drawn]) < 0.1


def test_advantage_is_the_share_of_what_chance_misses():
    table, made = some_release()
    given_to = {"release": made.release, "original": table, "key": made.key}
    rates = score_reassociation(Prior().run(made.release), **given_to)
    own, blind = rates["accuracy"].value, rates["accuracy_random"].value
    assert rates["advantage"].value == pytest.approx(max((own - blind) / (1 - blind), 0))
    assert rates["advantage"].low <= rates["advantage"].value <= rates["advantage"].high < 1


SCRIPT = """
import numpy as np
from setveil.anonymize import Disassociate
from setveil.attack import Prior
from setveil.synthetic import clinic
from setveil.measure import score_reassociation

table = clinic(n=300, seed=4).table
made = Disassociate(k=3).anonymize(table)
guess = Prior().run(made.release, rng=np.random.default_rng(1))
print(score_reassociation(guess, release=made.release, original=table, key=made.key))
"""


def test_scores_are_the_same_in_every_process():
    said = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
