"""What a release shows: what became general or was left out most, and what can still be counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from setveil.core.errors import SetveilError
from setveil.core.words import number
from setveil.release.store import load_release

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from setveil.release.base import Release

SHOWN = 8
"""Rows of a small table: enough to get the idea, few enough to read."""

PEOPLE = 5
"""Published records that are shown."""

READ = 20_000_000
"""Bytes of a release up to which it is read again for the report."""


class Small(NamedTuple):
    """A small table with its title, and the words that explain it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    how: str


class Shown(NamedTuple):
    """What the report says of a release's content: small tables, or why there are none."""

    tables: tuple[Small, ...]
    records: tuple[str, ...] = ()
    problem: str = ""


def look_into(folder: Path, figures: Mapping[str, Any], *, show_records: bool = False) -> Shown:
    """Tell what became of the items: by what the audit noted, and by the release itself.

    A release that cannot be read is no error, but said; one that is large is left unread.

    Parameters
    ----------
    folder
        The release's directory.
    figures
        What the audit noted (:attr:`setveil.audit.RunRecord.figures`): ``items``, ``terms`` and
        ``steps``, as far as they are there.
    show_records
        Whether to show some of the published records.

    Examples
    --------
    >>> from pathlib import Path
    >>> look_into(Path("nowhere"), {}).problem
    'Its files cannot be read: no release is here: there is no manifest.json.'
    """
    noted = [*terms(figures), *counts(figures), *steps(figures)]
    try:
        if not show_records and _size(folder) > READ:
            return Shown(tuple(noted))
        release = load_release(folder)
        changed = [Small(*each) for each in release.changed_terms(SHOWN)]
        records = _some_records(release) if show_records else ()
    except (SetveilError, OSError) as error:
        reason = error.what if isinstance(error, SetveilError) else error.strerror
        return Shown(tuple(noted), problem=f"Its files cannot be read: {reason}.")
    rest = noted[len(terms(figures)) :] if changed else noted
    return Shown((*changed, *rest), records)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir()) if folder.is_dir() else 0


def terms(figures: Mapping[str, Any]) -> list[Small]:
    """Return the general terms that the audit noted.

    >>> terms({"terms": [["airways", 12]]})[0].rows
    [['airways', '12']]
    """
    rows = [[str(name), number(times)] for name, times in figures.get("terms", ())]
    how = "Each stands for any of several items."
    return [Small("Generalized most", ["term", "times"], rows[:SHOWN], how)] if rows else []


def counts(figures: Mapping[str, Any]) -> list[Small]:
    """Return for common items how many records held them, and what the release says of that.

    >>> counts({"items": [["flu", 3, 0, 4]]})[0].rows
    [['flu', '3', '0', '4']]
    """
    rows = [
        [str(item), number(records), number(low), number(high)]
        for item, records, low, high in figures.get("items", ())
    ]
    how = (
        "The number of original records with a common item, and the smallest and largest number "
        "that a recipient can conclude. From 0 upwards: the item was left out, or stands under a "
        "general term."
    )
    head = ["item", "records", "at least", "at most"]
    return [Small("What can still be counted", head, rows, how)] if rows else []


def steps(figures: Mapping[str, Any]) -> list[Small]:
    """Return what the method said that it did: first what a reader must know, then the costliest.

    >>> steps({"steps": [["suppress", "hiv", "too rare", 3.0]]})[0].rows
    [['suppress', 'hiv', 'too rare', '3']]
    """
    rows = [
        [str(action), str(subject), str(reason), f"{cost:,.4g}" if cost else ""]
        for action, subject, reason, cost in figures.get("steps", ())
    ]
    head = ["what", "on", "why", "cost"]
    how = "Its own notes: remarks first, then the costliest steps."
    return [Small("What the method did", head, rows, how)] if rows else []


def _some_records(release: Release) -> tuple[str, ...]:
    """Return some published records, spread over the release."""
    rows = release.to_rows()
    step = max(len(rows) // PEOPLE, 1)
    return tuple("; ".join(row) or "(no items)" for row in rows[::step][:PEOPLE])
