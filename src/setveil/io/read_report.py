"""What a reader has to say besides the table: what it guessed, merged and left out."""

from __future__ import annotations

from dataclasses import dataclass, field

SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class ReadReport:
    """What `read_reported` found in an input.

    Parameters
    ----------
    name
        What was read.
    format
        The format it was read as.
    guessed
        Whether the format was guessed rather than given.
    why
        What the guess rests on, or that the format was given.
    records, occurrences, items
        Size of the table: rows, items over all rows, different items.
    empty_records
        Records without any item; they are kept.
    duplicates_merged
        Repetitions of an item within a record; each record keeps one.
    skipped
        Where, text and problem of what was left out (at most 1,000 entries).
    skipped_count
        How many places were left out in all.
    notes
        Other things a reader should know, as sentences.

    Examples
    --------
    >>> report = ReadReport(name="a.dat", format="fimi", guessed=True, why="the name ends in .dat",
    ...                     records=2, occurrences=3, items=2, empty_records=0,
    ...                     duplicates_merged=1)
    >>> for sentence in report.sentences():
    ...     print(sentence)
    a.dat: read as fimi (guessed: the name ends in .dat).
    2 records, 3 occurrences of 2 items.
    1 repeated item within a record was merged.
    """

    name: str
    format: str
    guessed: bool
    why: str
    records: int
    occurrences: int
    items: int
    empty_records: int
    duplicates_merged: int
    skipped: list[tuple[str, str, str]] = field(default_factory=list)
    skipped_count: int = 0
    notes: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Return the report as sentences for a person."""
        how = f"guessed: {self.why}" if self.guessed else self.why
        sizes = [_count(self.records, "record"), _count(self.occurrences, "occurrence")]
        said = [
            f"{self.name}: read as {self.format} ({how}).",
            f"{', '.join(sizes)} of {_count(self.items, 'item')}.",
        ]
        if self.empty_records:
            verb = "holds" if self.empty_records == 1 else "hold"
            said.append(f"{_count(self.empty_records, 'record')} {verb} no item; kept.")
        if self.duplicates_merged == 1:
            said.append("1 repeated item within a record was merged.")
        elif self.duplicates_merged:
            said.append(f"{self.duplicates_merged:,} repeated items within records were merged.")
        said.extend(self.notes)
        if self.skipped_count:
            said.append(f"{_count(self.skipped_count, 'malformed place')} skipped:")
            said += [f"  {where}: {text} {what}" for where, text, what in self.skipped[:SHOWN]]
            more = self.skipped_count - min(len(self.skipped), SHOWN)
            if more:
                said.append(f"  and {more:,} more")
        return said


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
