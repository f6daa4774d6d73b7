"""Checks of randomized mechanisms: ε-differential privacy of counts, (ρ1, ρ2)-privacy."""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from setveil.core.errors import InputError, ParameterError
from setveil.core.params import check_whole, checked, share, text
from setveil.core.words import plural, written_fraction
from setveil.guarantee.base import Verdict, Witness
from setveil.guarantee.rho1_rho2 import beliefs, check_randomizer, named_chances
from setveil.tabular.classes import SHOWN, Check

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST = 1000
"""Greatest ε that is taken: e^1000 bounds nothing."""


Mechanism: TypeAlias = "Sequence[Sequence[object]] | Mapping[str, Mapping[str, object]]"
"""The chance of each published value (column) for each true one (row)."""


@checked
@dataclass(frozen=True, kw_only=True)
class DifferentialPrivacy(Check):
    """A published count is at most e^ε times as likely with one person more or less.

    The mechanism is given by its chances: for each true count (row) that of each published value
    (column). Two tables that differ by one person have counts that differ by at most one, so
    rows next to each other are compared, both ways. What happens to the published value later
    (rounding, cutting off) cannot break the promise: of a mechanism with endlessly many values
    check the one that is cut off at both ends (:func:`geometric_mechanism`).

    Chances are fractions, and e^ε is compared with their ratios to as many digits as it takes:
    the answer is always exact. As e^ε is no fraction, there is no tie.

    It is about the mechanism, not about what it once published.

    Parameters
    ----------
    epsilon
        ε, at least 0, held as it is written.

    Examples
    --------
    >>> mechanism = geometric_mechanism("1/2", 10)  # each step half as likely: ε = log 2
    >>> DifferentialPrivacy(epsilon="0.7").check(mechanism).holds
    True
    >>> DifferentialPrivacy(epsilon="0.69").check(mechanism).reason[:51]
    'the counts 0 and 1 are told apart by 2 > e^(69/100)'

    References
    ----------
    C. Dwork, F. McSherry, K. Nissim, A. Smith: Calibrating noise to sensitivity in private data
    analysis, TCC 2006.
    """

    epsilon: Fraction = share(Fraction(1), most=MOST, doc="ε, at least 0")

    def check(self, mechanism: Mechanism) -> Verdict:
        """Compare the chances of neighbouring counts; witnesses are the most telling values."""
        rows = _by_count(named_chances(mechanism))
        outcomes = list(dict.fromkeys(y for row in rows.values() for y in row))
        counts = sorted(rows)
        bad: list[tuple[bool, Fraction, Witness]] = []
        most: Fraction | None = Fraction(1)
        for first, second in pairwise(counts):
            for y in outcomes:
                one, other = rows[first].get(y, Fraction(0)), rows[second].get(y, Fraction(0))
                high, low = max(one, other), min(one, other)
                ratio = None if high and not low else high / low if low else Fraction(1)
                most = None if most is None or ratio is None else max(most, ratio)
                if ratio is None or exceeds_exponential(ratio, self.epsilon):
                    bad.append(
                        (ratio is not None, -(ratio or high), self._witness(first, y, ratio))
                    )
        bad.sort(key=lambda each: (each[0], each[1], int(each[2].items[0][6:]), each[2].consequent))
        bound = f"e^({self.epsilon})"
        if bad:
            (left, right), given = bad[0][2].items, bad[0][2].consequent
            by = f"{-bad[0][1]} > {bound}" if bad[0][0] else "0 chance against some"
            counts_told = f"{left.replace('count=', '')} and {right.replace('count=', '')}"
            reason = f"the counts {counts_told} are told apart by {by}, where {given}"
        else:
            reason = (
                f"no value is more than {most} times as likely for one of "
                f"{plural(len(counts), 'count')} as for the next, and {bound} is more"
            )
            if len(counts) == 1:
                reason = "there is only one count"
            elif not self.epsilon:
                reason = "all counts are published alike"
        return Verdict(
            holds=not bad,
            exact=True,
            reason=reason,
            checked=max(len(counts) - 1, 0) * len(outcomes),
            witnesses=tuple(each for _, _, each in bad[:SHOWN]),
        )

    def _witness(self, first: int, y: str, ratio: Fraction | None) -> Witness:
        times = "infinitely often" if ratio is None else f"{ratio} times"
        return Witness(
            items=(f"count={first}", f"count={first + 1}"),
            support=0,
            required=f"at most e^({self.epsilon}) times as likely, not {times}",
            consequent=f"{y} is published",
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> DifferentialPrivacy(epsilon=0.5).describe()
        'one person more or less makes no published count more than e^(1/2) times as likely'
        """
        return (
            "one person more or less makes no published count more than "
            f"e^({self.epsilon}) times as likely"
        )


@checked
@dataclass(frozen=True, kw_only=True)
class Rho1Rho2(Check):
    """No published value turns a belief of ρ1 in a property into one of ρ2.

    See :func:`setveil.guarantee.rho1_rho2.check_randomizer`, which does the work.

    >>> Rho1Rho2(rho1=0.1, rho2=0.3).check([["3/4", "1/4"], ["1/4", "3/4"]]).holds
    True
    """

    rho1: Fraction = text(Fraction(1, 10), doc="belief before, at most")
    rho2: Fraction = text(Fraction(1, 2), doc="belief after, below")

    def __post_init__(self) -> None:
        low, high = beliefs(self.rho1, self.rho2)
        object.__setattr__(self, "rho1", low)
        object.__setattr__(self, "rho2", high)

    def check(self, mechanism: Mechanism) -> Verdict:
        """Find the published value that changes beliefs most."""
        return check_randomizer(mechanism, self.rho1, self.rho2)

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> Rho1Rho2(rho1=0.1, rho2=0.3).describe()
        'no published value turns a belief of 1/10 into one of 3/10'
        """
        return f"no published value turns a belief of {self.rho1} into one of {self.rho2}"


def geometric_mechanism(ratio: object, largest: int) -> dict[str, dict[str, Fraction]]:
    """Return the chances of the geometric mechanism for counts from 0 to `largest`.

    It adds to a count a whole number z with a chance in proportion to ratio^|z|, and cuts off
    what falls below 0 or above `largest`. Its ε is log(1 / ratio).

    >>> geometric_mechanism("1/2", 2)["0"]
    {'0': Fraction(2, 3), '1': Fraction(1, 6), '2': Fraction(1, 6)}

    References
    ----------
    A. Ghosh, T. Roughgarden, M. Sundararajan: Universally utility-maximizing privacy mechanisms,
    STOC 2009.
    """
    a = written_fraction(ratio)
    if a is None or not 0 < a < 1:
        raise ParameterError(f"ratio is {ratio!r}", fix="use a number above 0 and below 1")
    check_whole("largest", largest)
    chances: dict[str, dict[str, Fraction]] = {}
    for count in range(largest + 1):
        row = {y: (1 - a) / (1 + a) * a ** abs(y - count) for y in range(1, largest)}
        ends = {0: a**count / (1 + a), largest: a ** (largest - count) / (1 + a)}
        chances[str(count)] = {str(y): chance for y, chance in sorted({**row, **ends}.items())}
    return chances


def exceeds_exponential(ratio: Fraction, epsilon: Fraction) -> bool:
    """Tell whether a ratio is above e^ε, exactly.

    >>> exceeds_exponential(Fraction(2719, 1000), Fraction(1))
    True
    >>> exceeds_exponential(Fraction(2718, 1000), Fraction(1)), exceeds_exponential(
    ...     Fraction(1), Fraction(0))
    (False, False)
    """
    if not epsilon:
        return ratio > 1
    digits = 25
    while True:
        with decimal.localcontext() as context:
            context.prec = digits
            power = (decimal.Decimal(epsilon.numerator) / epsilon.denominator).exp()
            # Rounding ε changes e^ε by ε, rounding e^ε by one, in units of the last place.
            about, off = Fraction(power), (epsilon + 2) / 10 ** (digits - 2)
        if ratio > about * (1 + off):
            return True
        if ratio < about * (1 - off):
            return False
        digits *= 2  # e^ε is no fraction, so some number of digits suffices


def _by_count(rows: dict[str, dict[str, Fraction]]) -> dict[int, dict[str, Fraction]]:
    """Return the rows by their counts, which are whole numbers without gaps."""
    found: dict[int, dict[str, Fraction]] = {}
    for name, row in rows.items():
        text = name.strip()
        if not text.removeprefix("-").isdecimal():
            raise InputError(f"{name!r} is no count", fix="name each row with a whole number")
        found[int(text)] = row
    if len(found) < len(rows) or max(found) - min(found) != len(rows) - 1:
        raise InputError(
            "the counts of the mechanism have gaps or occur twice",
            fix="give one row for each count, without leaving one out",
        )
    return found
