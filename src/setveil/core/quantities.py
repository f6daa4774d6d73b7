"""Durations, sizes and fractions as people write them: 30m, 2G, 2/3; and as they read them."""

from __future__ import annotations

import math
import re
from fractions import Fraction

SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
LONGEST = 366 * 86400
"""Seconds that a duration may have; no timer has to wait for longer."""
LARGEST = 10**15
"""Bytes that a size may have."""
MOST_CHARACTERS = 100
"""Characters of a number; a longer one means nothing and may take forever to read."""
NUMBER = r"([0-9]{1,18}(?:\.[0-9]{1,18})?)"
EXPONENT = re.compile(r"[eE][+-]?0*(\d+)")
DURATION = re.compile(NUMBER + r"\s*([smhd]?)", re.IGNORECASE)
SIZE = re.compile(NUMBER + r"\s*([kmgt]?)b?", re.IGNORECASE)
DURATION_FORMS = "a number of seconds, or as in 90s, 30m or 2h, above 0 and at most 366d"
SIZE_FORMS = "a number of bytes, or as in 500M or 2G, above 0 and at most 1000T"


def parse_duration(text: str) -> float | None:
    """Return a duration in seconds; None for what is none, is no time at all, or too long.

    >>> parse_duration("90s"), parse_duration("1.5m"), parse_duration("45"), parse_duration("2 h")
    (90.0, 90.0, 45.0, 7200.0)
    >>> parse_duration("soon"), parse_duration("0"), parse_duration("9" * 400)
    (None, None, None)
    """
    return _parse(text, DURATION, SECONDS, LONGEST)


def parse_size(text: str) -> int | None:
    """Return a size in bytes; None for what is none, is nothing, or too large.

    >>> parse_size("2G"), parse_size("500 MB"), parse_size("1.5k")
    (2000000000, 500000000, 1500)
    >>> parse_size("much"), parse_size("0"), parse_size("9" * 400)
    (None, None, None)
    """
    size = _parse(text, SIZE, BYTES, LARGEST)
    return None if size is None else int(size) or None


def _parse(text: str, pattern: re.Pattern[str], units: dict[str, int], most: float) -> float | None:
    parts = pattern.fullmatch(text.strip())
    value = 0.0 if parts is None else float(parts[1]) * units[parts[2].lower()]
    return value if 0 < value <= most else None


def format_duration(seconds: float) -> str:
    """Return a duration as people say it.

    >>> format_duration(90), format_duration(1800), format_duration(7200), format_duration(0.5)
    ('90 s', '30 min', '2 h', '0.5 s')
    """
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.4g} h"


def spell_duration(seconds: float) -> str:
    """Return a duration as :func:`parse_duration` reads it, rounded up.

    >>> spell_duration(40), spell_duration(1800), spell_duration(0.3)
    ('40s', '30m', '1s')
    """
    return f"{math.ceil(seconds)}s" if seconds < 120 else f"{math.ceil(seconds / 60)}m"


def format_size(size: float) -> str:
    """Return a size as people say it.

    >>> format_size(2_000_000_000), format_size(5_000), format_size(12)
    ('2 GB', '5 kB', '12 bytes')
    """
    value, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit}"


def spell_size(size: float) -> str:
    """Return a size as :func:`parse_size` reads it, rounded up to ten million bytes.

    >>> spell_size(441_000_001), spell_size(2_000_000_000)
    ('450M', '2000M')
    """
    return f"{math.ceil(size / 10**7) * 10}M"


def written_fraction(value: object) -> Fraction | None:
    """Return a number as the fraction that is written, or None where it is no sensible one.

    >>> written_fraction(0.7), written_fraction("2/3"), written_fraction("1e-5000")
    (Fraction(7, 10), Fraction(2, 3), None)
    """
    text = str(value)
    exponent = EXPONENT.search(text)
    if isinstance(value, bool) or len(text) > MOST_CHARACTERS:
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
