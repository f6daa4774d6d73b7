"""The nearest right spelling of a name that is wrong."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint such as ``; did you mean 'MRN'?``, or nothing where no name is near.

    >>> nearest("mrn", ["MRN", "ICD"])
    "; did you mean 'MRN'?"
    >>> nearest("weather", ["MRN", "ICD"])
    ''
    """
    folded = {each.casefold().strip(): each for each in known}
    found = difflib.get_close_matches(name.casefold().strip(), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[found[0]]!r}?" if found else ""
