"""Names and numbers as a reader meets them.

Hidden characters of a name are written out. Numbers are never rounded in the release's favour: a
loss is rounded up, what was kept is rounded down, and an estimate says "about". Durations,
sizes and fractions are read as people write them: 30m, 2G, 2/3.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.interval import Rate

NOT_APPLICABLE = "n/a"
EVERY_DIGIT = Context(prec=400)
"""Rounds every float that there is; 28 digits, as usual, are too few for 1e300."""

UNUSUAL = re.compile("[^ -~]")
FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
"""Characters without a look of their own that Python calls printable."""


def visible(text: str) -> str:
    r"""Return a text with its hidden characters written out, as JSON writes them.

    Names come from strangers: one must not be able to redraw the terminal, to turn the direction
    of writing, or to look like another. Written out are control and format characters, every space
    but the plain one, fillers, and accents that stand on no letter.

    >>> print(visible("HIV\u200b\x1b[2K, caf\u00e9"))
    HIV\u200b\u001b[2K, café
    """
    return UNUSUAL.sub(_shown_or_written_out, text)


def is_hidden(sign: str) -> bool:
    r"""Tell whether a character is not seen, moves others, or is a space other than the plain one.

    >>> [is_hidden(sign) for sign in ("\u200b", "\u00a0", " ", "é")]
    [True, True, False, False]
    """
    return not sign.isprintable() or FILLERS.match(sign) is not None


def visible_lines(text: str) -> str:
    r"""Return a text of several lines of our own, each with its hidden characters written out.

    >>> print(visible_lines("first\nsecond\u202e"))
    first
    second\u202e
    """
    return "\n".join(map(visible, text.split("\n")))


def json_text(content: object, *, indent: int | None = None) -> str:
    r"""Return JSON in which letters are letters, and hidden characters are written out.

    >>> print(json_text({"né": "HIV\u200b"}))
    {"né": "HIV\u200b"}
    """
    return visible_lines(json.dumps(content, ensure_ascii=False, allow_nan=False, indent=indent))


def plain_json(value: Any) -> Any:  # noqa: ANN401  (JSON)
    """Return a value as JSON holds it: no NumPy, no infinite numbers, the rest as text.

    >>> plain_json({"a": float("inf"), "b": (1, {2})})
    {'a': None, 'b': [1, '{2}']}
    """
    if isinstance(value, Mapping):
        return {str(key): plain_json(inner) for key, inner in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain_json(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def _shown_or_written_out(found: re.Match[str]) -> str:
    sign = found[0]
    if not is_hidden(sign) and not _is_lone_accent(found):
        return sign
    return "\\u007f" if sign == "\x7f" else json.dumps(sign)[1:-1]  # JSON leaves DEL as it is


def _is_lone_accent(found: re.Match[str]) -> bool:
    """Tell whether a mark has no letter, digit or picture before it to stand on."""
    if not unicodedata.category(found[0]).startswith("M"):
        return False
    before = found.string[found.start() - 1] if found.start() else " "
    return unicodedata.category(before)[0] not in "LNM" or FILLERS.match(before) is not None


FORMULA = re.compile("[=@\t\r\uff1d\uff20]|[+\\-\uff0b\uff0d](?!\\d+([.,]\\d+)*%?$)")


def is_formula(text: str) -> bool:
    """Tell whether a spreadsheet may take a cell for a formula, and run it; a number is none.

    >>> [is_formula(text) for text in ("=1+1", "@flu", "-5.2", "flu")]
    [True, True, False, False]
    """
    return FORMULA.match(text) is not None


def _percent(share: float | None, rounding: str) -> str:
    if share is None or math.isnan(share):
        return NOT_APPLICABLE
    # Through the shortest decimal that names the float: 0.07 is 7%, not 7.000000000000001%.
    tenths = Decimal(repr(float(share))) * 100
    return f"{tenths.quantize(Decimal('0.1'), rounding, EVERY_DIGIT)}%"


def lost(share: float | None) -> str:
    """Return a loss in per cent, rounded up to a tenth.

    >>> lost(0.2231), lost(0.07), lost(0.00001), lost(None)
    ('22.4%', '7.0%', '0.1%', 'n/a')
    """
    return _percent(share, ROUND_CEILING)


def kept(share: float | None) -> str:
    """Return what was kept in per cent, rounded down to a tenth.

    >>> kept(0.9999), kept(1)
    ('99.9%', '100.0%')
    """
    return _percent(share, ROUND_FLOOR)


def about(share: float | None) -> str:
    """Return a share as so many in a hundred, said to be rounded unless it is none or all.

    >>> about(0.614), about(0), about(1), about(0.0004), about(0.9999)
    ('about 61 in 100', 'none', 'all', 'fewer than 1 in 100', 'more than 99 in 100')
    """
    if share is None or math.isnan(share):
        return NOT_APPLICABLE
    if share in {0, 1}:
        return "all" if share else "none"
    if share < 0.01:
        return "fewer than 1 in 100"
    if share > 0.99:
        return "more than 99 in 100"
    return f"about {round(share * 100)} in 100"


def won(rate: Rate | None) -> str:
    """Return what an adversary got in per cent, rounded up, with its interval where it has one.

    >>> from setveil.core.interval import Rate
    >>> won(Rate(value=0.0171, low=0.011, high=0.0263, exact=False)), won(Rate.counted(0.5))
    ('1.8% (1.1 to 2.7)', '50.0%')
    """
    if rate is None:
        return NOT_APPLICABLE
    if rate.low == rate.high:
        return lost(rate.value)
    return f"{lost(rate.value)} ({kept(rate.low)[:-1]} to {lost(rate.high)[:-1]})"


def of_thousand(share: float, *, rounding: str = ROUND_CEILING) -> int:
    """Return a share of 1,000, rounded up unless asked otherwise.

    >>> of_thousand(0.069), of_thousand(0.0171), of_thousand(0.0171, rounding=ROUND_FLOOR)
    (69, 18, 17)
    """
    # Twelve digits: 1/200 may be 0.004999999999999999, and is 5 of 1,000.
    exact = Decimal(repr(round(float(share), 12)))
    return int((exact * 1000).quantize(Decimal(1), rounding, EVERY_DIGIT))


def in_thousand(share: float, *, rounding: str = ROUND_CEILING) -> str:
    """Return a share as so many of 1,000; a few are never none.

    >>> in_thousand(0.0171), in_thousand(0), in_thousand(1), in_thousand(0.0002)
    ('18 of 1,000', '0 of 1,000', '1,000 of 1,000', 'fewer than 1 of 1,000')
    """
    if 0 < share < 0.001:
        return "fewer than 1 of 1,000"
    return f"{of_thousand(share, rounding=rounding):,} of 1,000"


def count_of_thousand(share: float, rounding: str = ROUND_CEILING) -> str:
    """Return the same without "of 1,000", for where that is said already.

    >>> count_of_thousand(0.0171), count_of_thousand(0.0002)
    ('18', 'fewer than 1')
    """
    return in_thousand(share, rounding=rounding).removesuffix(" of 1,000")


def people(rate: Rate | None, *, rounding: str = ROUND_CEILING) -> str:
    """Return a rate in people of 1,000, with its interval where it has one.

    An attacker's rate is rounded up; what stands beside it, such as guessing, is rounded down on
    request.

    >>> from setveil.core.interval import Rate
    >>> people(Rate(value=0.0171, low=0.011, high=0.0263, exact=False)), people(Rate.counted(0.5))
    ('18 of 1,000 (11 to 27)', '500 of 1,000')
    """
    if rate is None:
        return NOT_APPLICABLE
    said = in_thousand(rate.value, rounding=rounding)
    if rate.low == rate.high:
        return said
    low, high = of_thousand(rate.low, rounding=ROUND_FLOOR), of_thousand(rate.high)
    return f"{said} ({low:,} to {high:,})"


def number(value: float | None, digits: int = 0) -> str:
    """Return a count with thousands separators, or a figure with so many digits.

    >>> number(53058), number(20.94, 1), number(None)
    ('53,058', '20.9', 'n/a')
    """
    if value is None or math.isnan(value):
        return NOT_APPLICABLE
    return f"{value:,.{digits}f}"


def plural(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun.

    >>> plural(1, "release"), plural(2, "release"), plural(0, "entry", "entries")
    ('1 release', '2 releases', '0 entries')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def one_or_many(count: int, one: str, many: str) -> str:
    """Return the word that goes with a count.

    >>> one_or_many(1, "is", "are"), one_or_many(0, "is", "are")
    ('is', 'are')
    """
    return one if count == 1 else many


def join_parts(parts: Sequence[str]) -> str:
    """Return parts of a sentence with commas, and "and" before the last.

    >>> join_parts(["12 stay", "3 are removed", "1 is added"]), join_parts(["12 stay"])
    ('12 stay, 3 are removed and 1 is added', '12 stay')
    """
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def join_names(names: Sequence[str]) -> str:
    """Return names in quotes, as a sentence lists them.

    >>> join_names(["flu", "gout", "hiv"])
    "'flu', 'gout' and 'hiv'"
    """
    return join_parts([repr(name) for name in names])


def sentence(text: str) -> str:
    """Return a text as a sentence: a capital first, a full stop last.

    >>> sentence("every record occurs twice"), sentence("k is 5."), sentence("")
    ('Every record occurs twice.', 'K is 5.', '')
    """
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def some(names: Sequence[str], limit: int = 5) -> str:
    """Return the first names for a message, and how many more there are.

    >>> some(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


def counted(names: Sequence[str], noun: str) -> str:
    """Return how many names there are, and the first of them.

    >>> counted(["a", "b"], "top"), counted(["a"], "top")
    ("2 tops ('a', 'b')", "1 top ('a')")
    """
    return f"{len(names):,} {noun}{'' if len(names) == 1 else 's'} ({some(names)})"


def way(ids: Sequence[str], limit: int = 12) -> str:
    """Return a way through a tree for a message, without the middle of a long one.

    >>> way(["a", "b", "c", "d"], limit=3)
    'a → b → … → d'
    """
    shown = ids if len(ids) <= limit else [*ids[: limit - 1], "…", ids[-1]]
    return " → ".join(shown)


def fresh_id(wanted: str, taken: set[str], suffix: str) -> str:
    """Return `wanted`, with the suffix as often as it takes to be new, and take it.

    >>> fresh_id("dog", {"dog", "cat"}, "*")
    'dog*'
    """
    while wanted in taken:
        wanted += suffix
    taken.add(wanted)
    return wanted


# --- Durations, sizes and fractions as people write them ---


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
