"""How a table was read: its layout, what was set aside, merged, left out and cleaned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setveil.io.detect import Detection
    from setveil.io.identifiers import ColumnSummary
    from setveil.io.layout import Layout

SHOWN = 10
NEAR = 3
"""How many groups of like spellings are named."""


@dataclass(frozen=True, kw_only=True)
class ReadReport:
    """How a table was read; `table.reading` of every table that `setveil.read` returns.

    Parameters
    ----------
    name
        What was read.
    layout
        What the file is and what its columns mean.
    guessed
        Whether the layout was found out rather than given.
    why
        What it rests on.
    records, occurrences, items
        Size of the table: rows, items over all rows, different items.
    empty_records
        Records without any item in the table.
    duplicates_merged
        Repetitions of an item within a record; each record keeps one.
    columns
        The columns that items come from, for the search for identities.
    cleaned
        What was changed because it was asked for, as sentences.
    near_duplicates
        Groups of items that differ in case, spaces or punctuation only.
    skipped
        Where, text and problem of what was left out (at most 1,000 entries).
    skipped_count
        How many places were left out in all.
    notes
        Other things a reader should know, as sentences.
    detection
        All layouts that were considered, where it was found out.

    Examples
    --------
    >>> from setveil.io.layout import Layout
    >>> report = ReadReport(name="a.dat", layout=Layout(format="fimi"), guessed=True,
    ...                     why="lines hold only whole numbers", records=2, occurrences=3,
    ...                     items=2, empty_records=0, duplicates_merged=1)
    >>> for sentence in report.sentences():
    ...     print(sentence)
    a.dat: read as fimi (guessed: lines hold only whole numbers).
    2 records, 3 occurrences of 2 items.
    1 repeated item within a record was merged.
    """

    name: str
    layout: Layout
    guessed: bool
    why: str
    records: int
    occurrences: int
    items: int
    empty_records: int
    duplicates_merged: int
    columns: tuple[ColumnSummary, ...] = ()
    cleaned: tuple[str, ...] = ()
    near_duplicates: tuple[tuple[str, ...], ...] = ()
    skipped: list[tuple[str, str, str]] = field(default_factory=list)
    skipped_count: int = 0
    notes: tuple[str, ...] = ()
    detection: Detection | None = field(default=None, repr=False)

    @property
    def format(self) -> str:
        """The format of the layout."""
        return self.layout.format

    def sentences(self) -> list[str]:
        """Return the report as sentences for a person."""
        how = f"guessed: {self.why}" if self.guessed else self.why
        sizes = [_count(self.records, "record"), _count(self.occurrences, "occurrence")]
        said = [f"{self.name}: read as {self.format} ({how})."]
        if self.layout.encoding not in {"utf-8", "utf-8-sig"}:
            said.append(f"The text is {self.layout.encoding}; --encoding names another.")
        for role, words in (
            ("identifier", "Set aside, because it looks like an identity"),
            ("ignore", "Set aside"),
        ):
            if names := self.layout.names(role):
                said.append(f"{words}: {_names(names)}.")
        said.append(f"{', '.join(sizes)} of {_count(self.items, 'item')}.")
        if self.empty_records:
            verb = "holds" if self.empty_records == 1 else "hold"
            said.append(f"{_count(self.empty_records, 'record')} {verb} no item; kept.")
        if self.duplicates_merged == 1:
            said.append("1 repeated item within a record was merged.")
        elif self.duplicates_merged:
            said.append(f"{self.duplicates_merged:,} repeated items within records were merged.")
        said += [*self.notes, *self.cleaned]
        if self.near_duplicates:
            groups = [", ".join(map(repr, group[:4])) for group in self.near_duplicates[:NEAR]]
            more = len(self.near_duplicates) - NEAR
            rest = f"; and {more:,} more groups" if more > 0 else ""
            said.append(
                "These items differ only in case, spaces or punctuation: "
                f"{'; '.join(groups)}{rest}. --normalize joins them."
            )
        if self.skipped_count:
            said.append(f"{_count(self.skipped_count, 'malformed place')} skipped:")
            said += [f"  {where}: {text} {what}" for where, text, what in self.skipped[:SHOWN]]
            more = self.skipped_count - min(len(self.skipped), SHOWN)
            if more:
                said.append(f"  and {more:,} more")
        return said

    def as_dict(self) -> dict[str, Any]:
        """Return what a run record keeps: the layout, and all that was left out or changed."""
        return {
            "layout": self.layout.as_dict(),
            "guessed": self.guessed,
            "why": self.why,
            "records": self.records,
            "occurrences": self.occurrences,
            "items": self.items,
            "empty_records": self.empty_records,
            "duplicates_merged": self.duplicates_merged,
            "set_aside": self.layout.names("identifier", "ignore"),
            "cleaned": list(self.cleaned),
            "near_duplicates": [list(group) for group in self.near_duplicates],
            "skipped": self.skipped_count,
            "notes": list(self.notes),
        }


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _names(names: list[str]) -> str:
    shown = ", ".join(name or "(no name)" for name in names[:8])
    return shown + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")
