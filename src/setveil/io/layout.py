"""How an input is laid out: its format, and what the format leaves open."""

from __future__ import annotations

from dataclasses import dataclass

from setveil.errors import ParameterError

FORMATS = {
    "fimi": "one record per line, non-negative whole numbers separated by spaces",
    "basket": "one record per line, item names separated by a delimiter",
    "long": "a header, then one line per record and item",
    "one-hot": "a header of item names, then one line of 0 and 1 per record",
    "jsonl": "one JSON array per line, or one object with an array",
    "spmf": "SPMF's transactions: numbers, with @ITEM= lines for their names",
}


def checked_format(name: str) -> str:
    """Return the format's name, or say which there are.

    >>> checked_format("one_hot")
    'one-hot'
    """
    known = name.lower().replace("_", "-")
    if known not in FORMATS:
        raise ParameterError(
            f"there is no format called {name!r}", fix=f"use one of {', '.join(FORMATS)}"
        )
    return known


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What a reader needs to know of an input.

    Parameters
    ----------
    format
        One of `FORMATS`; empty as long as it is not known.
    why
        What the choice rests on.
    guessed
        Whether the format was guessed.
    delimiter
        What separates fields, in the delimited formats.
    id_column, item_column
        Names of columns or fields, where the format has them.

    Examples
    --------
    >>> Layout(format="basket", delimiter=";").delimiter
    ';'
    """

    format: str = ""
    why: str = ""
    guessed: bool = False
    delimiter: str = ""
    id_column: str | None = None
    item_column: str | None = None
