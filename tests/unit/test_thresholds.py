"""Thresholds and budgets at the ends of what can be written."""

import threading
from fractions import Fraction

import pytest

from setveil.anonymize import SuppressControl
from setveil.anonymize.rho.suppress_control import TimeBudget
from setveil.core.errors import ParameterError
from setveil.core.words import written_fraction
from setveil.guarantee import RhoUncertainty, from_manifest, parse

MONSTERS = ["1e-5000", "1e-30000000", "1e-9999999999999", "0." + "3" * 5000, "1/" + "9" * 5000]


@pytest.mark.parametrize("text", MONSTERS)
def test_a_monstrous_number_is_refused_at_once(text):
    assert written_fraction(text) is None
    with pytest.raises(ParameterError, match="rho is"):
        SuppressControl(rho=text)
    with pytest.raises(ParameterError, match="rho is"):
        RhoUncertainty(rho=text, sensitive=["s"])
    with pytest.raises(ParameterError, match="rho is"):
        from_manifest("rho-uncertainty", {"rho": text, "sensitive": ["s"], "prior": True})
    with pytest.raises(ParameterError, match="rho"):
        parse(f"rho-uncertainty:rho={text},sensitive=s")


def test_what_is_small_but_sensible_is_taken():
    assert written_fraction("1e-300") == Fraction(1, 10**300)
    assert written_fraction(5e-324) == Fraction("5e-324")
    assert written_fraction("1e-00002") == Fraction(1, 100)
    assert written_fraction(Fraction(1, 3)) == Fraction(1, 3)


@pytest.mark.parametrize("seconds", [1e20, float("inf"), 10**400], ids=["far", "never", "huge"])
def test_a_budget_beyond_all_clocks_is_no_limit(seconds, monkeypatch):
    died = []
    monkeypatch.setattr(threading, "excepthook", died.append)
    with TimeBudget(seconds) as budget:
        budget.allow()
        assert not budget.expired
    assert not died
