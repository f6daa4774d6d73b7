"""What all methods for ρ-uncertainty take."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from setveil.core.params import checked, duration, flag, share


@checked
@dataclass(frozen=True, kw_only=True)
class RhoMethod:
    """A method whose release lets no rule about a sensitive item reach ρ.

    >>> RhoMethod(rho=0.7).rho
    Fraction(7, 10)
    """

    rho: Fraction = share(
        Fraction(1, 2),
        above=0,
        doc="confidence that no rule may reach, in (0, 1]",
        symbol="ρ",
        ladder=(0.7, 0.5, 0.3, 0.1, 0.05),
        main=True,
        begin=0.3,
    )
    prior: bool = flag(True, doc="count the share of all records as a rule too")


@checked
@dataclass(frozen=True, kw_only=True)
class BudgetedRhoMethod(RhoMethod):
    """One that can be cut short, and then publishes less.

    >>> BudgetedRhoMethod(budget=60).budget
    60
    """

    budget: float | None = duration(doc="seconds the run may take; then it suppresses what is open")
