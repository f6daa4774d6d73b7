"""What all methods for ρ-uncertainty take."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from setveil.anonymize.time_budget import check_budget
from setveil.core.errors import ParameterError
from setveil.guarantee.thresholds import written_fraction


@dataclass(frozen=True, kw_only=True)
class RhoMethod:
    """A method whose release lets no rule about a sensitive item reach ρ.

    >>> RhoMethod(rho=0.7).rho
    Fraction(7, 10)
    """

    rho: Fraction = field(
        default=Fraction(1, 2), metadata={"doc": "confidence that no rule may reach, in (0, 1]"}
    )
    prior: bool = field(
        default=True, metadata={"doc": "count the share of all records as a rule too"}
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", check_rho(self.rho))


@dataclass(frozen=True, kw_only=True)
class BudgetedRhoMethod(RhoMethod):
    """One that can be cut short, and then publishes less.

    >>> BudgetedRhoMethod(budget=60).budget
    60
    """

    budget: float | None = field(
        default=None, metadata={"doc": "seconds the run may take; then it suppresses what is open"}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_budget(self.budget)


def check_rho(rho: Fraction | float | str) -> Fraction:
    """Return ρ as the fraction that was written down, or refuse it.

    >>> check_rho(0.7)
    Fraction(7, 10)
    """
    exact = written_fraction(rho)
    if exact is None or not 0 < exact <= 1:
        raise ParameterError(f"rho is {rho!r}", fix="use a number above 0 and at most 1")
    return exact
