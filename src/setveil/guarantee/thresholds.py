"""Thresholds held exactly, and the names of items they speak of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from setveil.errors import ParameterError

LONGEST = 100
"""Characters of a number; a longer one means nothing and may take forever to read."""

_EXPONENT = re.compile(r"[eE][+-]?0*(\d+)")


def written_fraction(value: object) -> Fraction | None:
    """Return a number as the fraction that is written, or None where it is no sensible one.

    >>> written_fraction(0.7), written_fraction("2/3"), written_fraction("1e-5000")
    (Fraction(7, 10), Fraction(2, 3), None)
    """
    text = str(value)
    exponent = _EXPONENT.search(text)
    if isinstance(value, bool) or len(text) > LONGEST:
        return None
    if exponent is not None and (len(exponent[1]) > 3 or int(exponent[1]) > 400):
        return None
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def exact_share(name: str, value: object) -> Fraction:
    """Return a share between 0 and 1 as the fraction that is written, not the nearest binary one.

    >>> exact_share("h", 0.8), exact_share("h", "1/3"), exact_share("h", 1)
    (Fraction(4, 5), Fraction(1, 3), Fraction(1, 1))
    >>> exact_share("h", 1.5)
    Traceback (most recent call last):
    setveil.errors.ParameterError: h is 1.5. To fix: use a number from 0 to 1, such as 0.8 or 4/5.
    """
    share = written_fraction(value)
    if share is None or not 0 <= share <= 1:
        raise ParameterError(
            f"{name} is {value!r}", fix="use a number from 0 to 1, such as 0.8 or 4/5"
        )
    return share


def share_as_json(share: Fraction) -> float | str:
    """Return a number if reading it gives the same fraction again, else the fraction as text.

    >>> share_as_json(Fraction(4, 5)), share_as_json(Fraction(1, 3))
    (0.8, '1/3')
    """
    number = float(share)
    return number if Fraction(str(number)) == share else str(share)


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
