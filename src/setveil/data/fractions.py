"""Numbers as they were written: exact fractions, and how a file holds them."""

from __future__ import annotations

import re
from fractions import Fraction

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


def share_as_json(share: Fraction) -> float | str:
    """Return a number if reading it gives the same fraction again, else the fraction as text.

    >>> share_as_json(Fraction(4, 5)), share_as_json(Fraction(1, 3))
    (0.8, '1/3')
    """
    number = float(share)
    return number if Fraction(str(number)) == share else str(share)
