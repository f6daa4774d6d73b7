"""What an audit decides by: risks that are those of the release, whatever its form and size."""

from itertools import pairwise

import numpy as np
import pytest

from setveil import TransactionTable
from setveil.audit import Criteria, audit, run_method
from setveil.audit.adversaries import Attacker, attack_release
from setveil.synthetic import clinic


def test_a_release_of_the_original_is_not_recommended(tmp_path):
    # Forty records, each five times: disassociation publishes them as they are.
    rng = np.random.default_rng(1)
    rows = [sorted(rng.choice(30, 4, replace=False).astype(str)) for _ in range(40)] * 5
    table = TransactionTable.from_rows(rows)
    methods = ["disassociate:k=2,m=2", "disassociate:k=5,m=2"]
    found = audit(
        table, out=tmp_path, methods=methods, attacks=["linkage"], target=0.1, workers=0, seed=1
    )
    whole = found.runs
    assert len(whole) == 2
    for run in whole:
        assert run.loss == 0
        assert 0.19 <= run.risk <= 0.25
        assert run.id != found.recommended


def test_risk_falls_as_the_attack_weakens():
    table = clinic(n=1500, seed=1).table
    gains = []
    for k in (5, 10, 25):
        run = run_method("disassociate", {"k": k, "m": 2}, table)
        (found,) = attack_release(
            Attacker(attack="prior"), run, table, seed=1, number=k, criteria=Criteria()
        )
        assert found.gain.value == pytest.approx(
            (found.rate.value - found.baseline.value) / (1 - found.baseline.value)
        )
        gains.append(found.gain)
    assert len(run.release.sizes) == 2  # few clusters, and yet many people
    for weaker, stronger in pairwise(gains):
        assert stronger.value < weaker.value
        assert stronger.high < weaker.high
    assert all(gain.high - gain.value < 0.05 for gain in gains)
