"""Thresholds held exactly, and the names of items they speak of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from setveil.core.errors import ParameterError
from setveil.core.params import Share

if TYPE_CHECKING:
    from fractions import Fraction


def exact_share(name: str, value: object) -> Fraction:
    """Return a share between 0 and 1 as the fraction that is written, not the nearest binary one.

    >>> exact_share("h", 0.8), exact_share("h", "1/3"), exact_share("h", 1)
    (Fraction(4, 5), Fraction(1, 3), Fraction(1, 1))
    >>> exact_share("h", 1.5)
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: h is 1.5. To fix: use a number from 0 to 1, such as 0.8 \
or 4/5.
    """
    try:
        return Share().check(value)
    except ValueError:
        raise ParameterError(f"{name} is {value!r}", fix=f"use {Share().says}") from None


def distinct_names(given: object) -> tuple[str, ...]:
    """Return item names sorted and once each.

    >>> distinct_names(["hiv", "flu", "hiv"])
    ('flu', 'hiv')
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ParameterError(
            f"sensitive is {given!r}", fix="give a list of item names, also for a single one"
        )
    names = set(given)
    for name in names:
        if not isinstance(name, str):
            raise ParameterError(f"sensitive holds {name!r}", fix="give item names as texts")
    return tuple(sorted(names))
