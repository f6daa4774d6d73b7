"""What a reader has to say besides the table: what it guessed, merged and left out."""

from __future__ import annotations

from dataclasses import dataclass, field

from setveil.errors import InputError, ParameterError

LISTED = 1000  # skipped places kept with their text; beyond that they are only counted
SHOWN = 10
LONGEST = 60


def shortened(text: str, longest: int = LONGEST) -> str:
    r"""Return the text quoted for a message, cut in the middle where it is long.

    >>> shortened("whole\tmilk")
    "'whole\\tmilk'"
    >>> shortened("x" * 100, longest=9)
    "'xxxx … xxxx'"
    """
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]} … {text[-half:]}"
    return repr(text)


@dataclass(kw_only=True)
class Problems:
    """What is wrong with an input: the first problem is raised, or all are collected.

    Parameters
    ----------
    name
        What the input is called in messages.
    on_error
        ``"raise"`` stops at the first problem; ``"skip"`` notes it and lets the reader go on.

    Examples
    --------
    >>> problems = Problems(name="a.dat", on_error="skip")
    >>> problems.add("is no number", line=3, column=1, text="milk", fix="write a number")
    >>> problems.skipped
    [('a.dat, line 3, column 1', "'milk'", 'is no number')]
    """

    name: str
    on_error: str = "raise"
    count: int = 0
    skipped: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.on_error not in {"raise", "skip"}:
            raise ParameterError(
                f"on_error={self.on_error!r} is not known", fix='use "raise" or "skip"'
            )

    def place(self, *, line: int = 0, column: int = 0, row: int = 0) -> str:
        """Return where something stands, in words; places count from 1, 0 means unknown."""
        parts = [self.name]
        parts += [f"row {row}"] if row else []
        parts += [f"line {line}"] if line else []
        parts += [f"column {column}"] if column else []
        return ", ".join(parts)

    def add(
        self,
        problem: str,
        *,
        text: str,
        fix: str,
        line: int = 0,
        column: int = 0,
        row: int = 0,
    ) -> None:
        """Raise the problem as an error, or note that its line was skipped."""
        where = self.place(line=line, column=column, row=row)
        if self.on_error == "raise":
            raise InputError(f"{shortened(text)} {problem}", where=where, fix=fix)
        self.count += 1
        if len(self.skipped) < LISTED:
            self.skipped.append((where, shortened(text), problem))


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
