"""Checks of tables beside pycanon's and OpenDP's, in an environment of their own.

`make peers` installs it; SETVEIL_PEERS names its interpreter.
"""

import json
import math
import os
import random
import subprocess
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from setveil.tabular import (
    AlphaKAnonymity,
    DifferentialPrivacy,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    TCloseness,
    geometric_mechanism,
)

PEERS = os.environ.get("SETVEIL_PEERS")
SCRIPT = Path(__file__).parents[1] / "reference" / "peers.py"
QUASI = ["a", "b"]
SCALES, LARGEST, COUNT, DRAWS = [0.5, 1.0, 2.0], 6, 2, 4000

if not PEERS:
    pytest.skip("pycanon and OpenDP are not installed: `make peers`", allow_module_level=True)


@pytest.fixture(scope="module")
def tables():
    draw = random.Random(12)
    return [
        [
            [draw.randint(1, 2), draw.choice("xy"), draw.choice("tuv"), draw.randint(1, 5)]
            for _ in range(draw.randint(6, 30))
        ]
        for _ in range(100)
    ]


@pytest.fixture(scope="module")
def said(tables):
    asked = {
        "tables": tables,
        "opendp": {"scales": SCALES, "largest": LARGEST, "count": COUNT, "draws": DRAWS},
    }
    done = subprocess.run(
        [PEERS, str(SCRIPT)], input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_pycanon_finds_the_same_thresholds(tables, said):
    for rows, theirs in zip(tables, said["pycanon"], strict=True):
        frame = pl.DataFrame(rows, schema=["a", "b", "s", "n"], orient="row")
        s = {"quasi": QUASI, "sensitive": "s"}
        for k in range(1, 9):
            assert KAnonymity(quasi=QUASI, k=k).check(frame).holds is (k <= theirs["k"])
        for least in range(1, 5):
            ours = DistinctDiversity(**s, l=least).check(frame).holds
            assert ours is (least <= theirs["l"])
        alpha = Fraction(theirs["alpha"]).limit_denominator(1000)
        assert AlphaKAnonymity(**s, alpha=alpha, k=theirs["alpha_k"]).check(frame).holds
        less = alpha - Fraction(1, 10**6)
        assert not AlphaKAnonymity(**s, alpha=less, k=1).check(frame).holds


def test_pycanon_finds_the_same_distances(tables, said):
    for rows, theirs in zip(tables, said["pycanon"], strict=True):
        frame = pl.DataFrame(rows, schema=["a", "b", "s", "n"], orient="row")
        for column, t in (("s", theirs["t_equal"]), ("n", theirs["t_ordered"])):
            ask = {"quasi": QUASI, "sensitive": column}
            assert TCloseness(**ask, t=round(t + 1e-9, 12)).check(frame).holds
            if t > 1e-6:
                assert not TCloseness(**ask, t=round(t - 1e-9, 12)).check(frame).holds


def test_pycanon_finds_the_same_entropies_but_for_rounding(tables, said):
    """It rounds e^H down in floating point: where H = log 2 or log 3, it may be one too low."""
    for rows, theirs in zip(tables, said["pycanon"], strict=True):
        frame = pl.DataFrame(rows, schema=["a", "b", "s", "n"], orient="row")
        held = [
            EntropyDiversity(quasi=QUASI, sensitive="s", l=least).check(frame).holds
            for least in (1, 2, 3)
        ]
        ours = sum(held)
        assert theirs["entropy_l"] in {ours, ours - 1}
        if theirs["entropy_l"] == ours - 1:
            above = ours + Fraction(1, 10**9)
            assert not EntropyDiversity(quasi=QUASI, sensitive="s", l=above).check(frame).holds


def test_the_geometric_mechanism_of_opendp(said):
    for scale, theirs in zip(SCALES, said["opendp"], strict=True):
        assert theirs["epsilon"] == pytest.approx(1 / scale)
        mechanism = geometric_mechanism(math.exp(-1 / scale), LARGEST)
        assert DifferentialPrivacy(epsilon=theirs["epsilon"] + 1e-9).check(mechanism).holds
        assert not DifferentialPrivacy(epsilon=theirs["epsilon"] - 1e-9).check(mechanism).holds
        for y, drawn in enumerate(theirs["drawn"]):
            chance = float(mechanism[str(COUNT)][str(y)])
            spread = math.sqrt(DRAWS * chance * (1 - chance))
            assert abs(drawn - DRAWS * chance) < 5 * spread + 1
