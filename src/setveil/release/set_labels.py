"""How a generalized item is written: ``(fever, flu)``; and how that is read back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from setveil.core.errors import ReleaseError

if TYPE_CHECKING:
    from collections.abc import Iterable

OPEN, CLOSE, BETWEEN, QUOTE = "(", ")", ", ", '"'
MARKS = frozenset('(),"')
"""Characters that a member is quoted for."""


def written(members: Iterable[str]) -> str:
    """Write a generalized item; different sets are always written differently.

    A single member is written as itself, several in brackets, sorted. A name that could be
    misread (with brackets, commas or quotes, or with blanks at its ends) is written in quotes, as
    JSON has them.

    >>> written(["flu"]), written(["flu", "fever"]), written(["B12, oral", "flu"])
    ('flu', '(fever, flu)', '("B12, oral", flu)')
    >>> written(["(flu)"])
    '"(flu)"'
    """
    names = sorted(set(members))
    if len(names) == 1:
        (name,) = names
        return _quoted(name) if name.startswith((OPEN, QUOTE)) else name
    return f"{OPEN}{BETWEEN.join(_member(name) for name in names)}{CLOSE}"


def _member(name: str) -> str:
    plain = name and name == name.strip() and MARKS.isdisjoint(name)
    return name if plain else _quoted(name)


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def members_of(label: str) -> tuple[str, ...]:
    """Return the members of a generalized item as :func:`written` wrote it, sorted.

    >>> members_of("flu"), members_of('("B12, oral", flu)'), members_of('"(flu)"')
    (('flu',), ('B12, oral', 'flu'), ('(flu)',))
    >>> members_of("(flu, fever)")
    Traceback (most recent call last):
    setveil.core.errors.ReleaseError: '(flu, fever)' is no generalized item as setveil writes them
    """
    if not label.startswith((OPEN, QUOTE)):
        return (label,)
    names = _parsed(label)
    if not names or written(names) != label:
        raise ReleaseError(f"{label!r} is no generalized item as setveil writes them")
    return tuple(names)


def _parsed(label: str) -> list[str]:
    """Return the names in a label, or as many as can be read: the caller compares."""
    if label.startswith(QUOTE):
        return [name for name, _ in [_read_quoted(label, 0)] if name is not None]
    names: list[str] = []
    place = len(OPEN)
    while place < len(label) - len(CLOSE):
        if label.startswith(QUOTE, place):
            name, place = _read_quoted(label, place)
            if name is None:
                return []
            names.append(name)
        else:
            stop = label.find(BETWEEN, place)
            stop = len(label) - len(CLOSE) if stop < 0 else stop
            names.append(label[place:stop])
            place = stop
        place += len(BETWEEN)
    return names


def _read_quoted(label: str, place: int) -> tuple[str | None, int]:
    """Return the name in quotes that starts at a place, or None, and where it ends."""
    try:
        name, end = json.JSONDecoder().raw_decode(label, place)
    except ValueError:
        return None, place
    return (name, end) if isinstance(name, str) else (None, place)
