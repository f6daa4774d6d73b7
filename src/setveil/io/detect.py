"""Finding out what a file is: ranked layouts with reasons, and a question where two are plausible.

A text is looked at line by line (JSON, SPMF, FIMI), as a table with each delimiter that fits, and
as baskets. Every reading gets a plausibility out of 100. The best one is taken if it is clearly
ahead of all others; otherwise nothing is read, and the user is shown what there is to choose from.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from setveil.core.errors import InputError, ParameterError, Problems, shortened
from setveil.core.spelling import nearest
from setveil.io.column_names import is_item_name, item_strength, record_kind
from setveil.io.delimited import NAMED, QUOTE, records
from setveil.io.json_lines import list_fields
from setveil.io.layout import TABLES, Column, Layout, ReadOptions, listed
from setveil.io.roles import ONES, UNSURE, Reading, SampledColumn, Table, header_strength
from setveil.io.sources import HEAD, LONG_HEAD, Source, plain_ending
from setveil.io.tables import split_cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.io.containers import Grid

DELIMITERS = (",", "\t", ";", "|", "::")
SAMPLE = 1000
MARGIN = 25
"""How far the best reading must be ahead of the next."""
PLAUSIBLE = 40
"""Below this a reading is shown, but never taken without being asked for."""
PERHAPS = 50
"""For baskets whose first line may name columns."""
SHOWN = 3
UNNAMED = 500
"""Columns that a table without a header may have, unless it is asked for; more are baskets."""
ALIKE = 64
"""Fields that show whether all hold the same kind of thing."""
_NUMBERS = re.compile(r"[ \t]*(?:(?:0|[1-9][0-9]*)(?:[ \t]+|$))*")
_SEQUENCE = re.compile(r"[ \t]*(?:(?:[0-9]+|-[12])(?:[ \t]+|$))+")
_UTILITIES = re.compile(r"[0-9 ]+:[0-9.]+:[0-9. ]+")
_SINGLE = re.compile(r"(?:^|[,;\t|])\s*'[^']*'\s*(?:$|[,;\t|])")
_ALIGNED = re.compile(r"[\s:|+-]*")  # of a line with "---": no pattern that is tried in many ways
_MARKUP = re.compile(r"\s*<(?:!doctype|html|head|body|table|\?xml)\b", re.IGNORECASE)

Rows = list[list[str]]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A layout that a file may have.

    Parameters
    ----------
    layout
        The layout.
    score
        How plausible it is, from 0 to 100.
    reasons
        What speaks for it.
    option
        What to write on the command line to choose it.
    records
        The first records, read in this way.
    samples
        For each column of the layout up to three different values.
    """

    layout: Layout
    score: int
    reasons: tuple[str, ...]
    option: str
    records: tuple[tuple[str, ...], ...] = ()
    samples: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(
        cls, layout: Layout, rows: Rows, width: int, *, score: int, why: str, option: str
    ) -> Candidate:
        """Return a candidate with what sampled rows show of it."""
        return cls(
            layout=layout,
            score=score,
            reasons=(why,),
            option=option,
            records=preview(layout, rows),
            samples=_samples(rows, width),
        )

    @classmethod
    def of_reading(
        cls, reading: Reading, names: Sequence[str], rows: Rows, *, score: int, **layout: Any
    ) -> Candidate:
        """Return the candidate that a reading of a table makes; `layout` says what else it is."""
        columns = tuple(
            Column(name=name, role=role, separator=separator)
            for name, role, separator in zip(names, reading.roles, reading.separators, strict=True)
        )
        whole = Layout(format=reading.format, columns=columns, **layout)
        made = cls.of(whole, rows, len(names), score=score, why="", option=reading.option)
        return replace(made, reasons=reading.reasons)

    def described(self) -> str:
        """Return in words how a record is found."""
        layout = self.layout
        if layout.format == "long":
            roles = {"record": layout.names("record id"), "item": layout.names("item", "items")}
            said = ", ".join(f"{names[0]} = {role}" for role, names in roles.items() if names)
            return f"one row per item: {said}"
        if layout.format == "one-hot":
            n = len(layout.names("one-hot"))
            return f"one row per record, a column of 0 and 1 for each of {n:,} items"
        if layout.format == "wide":
            names = layout.names("item", "items")
            shown = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
            record = layout.names("record id")
            return f"one row per record{f' ({record[0]})' if record else ''}, items in {shown}"
        if layout.format == "basket" and layout.names("record id"):
            return "one line per record, its number first, then its items"
        if layout.format == "basket":
            below = ", below a line of names" if layout.header else ""
            return f"one line per record{below}, every cell is an item"
        return {"fimi": "one line per record, every number is an item"}.get(
            layout.format, f"the format {layout.format}"
        )


@dataclass(frozen=True, kw_only=True)
class Detection:
    r"""What a file may be: candidates, the most plausible one first.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "visits.csv")
    ...     _ = path.write_text("MRN,ICD,Admitted\n7,J45,2026-01-02\n7,E11,2026-01-02\n")
    ...     found = detect_layout(path)
    >>> found.layout.format, [column.role for column in found.layout.columns]
    ('long', ['record id', 'item', 'ignore'])

    `private` names columns, with samples, that the given options publish and that would be
    private if nothing were said.
    """

    name: str
    candidates: tuple[Candidate, ...]
    guessed: bool = True
    why_not: str = ""
    identities: tuple[str, ...] = ()
    private: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def best(self) -> Candidate:
        """The most plausible candidate; an error where nothing decides."""
        first = self.candidates[0] if self.candidates else None
        rivals = [c for c in self.candidates[1:] if first and first.score - c.score < MARGIN]
        if first is not None and rivals:
            raise self._question([first, *rivals])
        if first is None or first.score < PLAUSIBLE:
            last = ""
            if first is not None:
                said = first.described().removeprefix("one line per record, ")
                last = f"; if {said}, add {first.option}"
            raise InputError(
                self.why_not or "it is not clear how this file is laid out",
                where=self.name,
                fix="name the columns that hold the items with --items, and the one that tells "
                f"records apart with --id{last}",
            )
        return first

    @property
    def layout(self) -> Layout:
        """The layout of the best candidate."""
        return self.best.layout

    def _question(self, choices: list[Candidate]) -> InputError:
        """Return the choices with previews, and what to write for each."""
        ways = {2: "two ways", 3: "three ways"}
        lines = []
        for letter, choice in zip("ABCDEF", choices, strict=False):
            shown = ", ".join("{" + ", ".join(map(_shorten, r[:5])) + "}" for r in choice.records)
            lines.append(f"  {letter}  {choice.described()}")
            lines.append(f"     → {shown or 'no records'}, …")
            lines.append(f"     {choice.option}")
        if self.identities:
            lines.append(f"Columns that look like identities: {', '.join(self.identities)}.")
        if self.why_not:
            lines.append(f"{self.why_not[0].upper()}{self.why_not[1:]}.")
        return InputError(
            f"{self.name} can be read in {ways.get(len(choices), 'several ways')}:",
            lines=lines,
            fix="choose one by adding the options below it",
        )


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 24 else f"{flat[:23]}…"


def detect_layout(path: str | os.PathLike[str], **options: Any) -> Detection:
    r"""Find out how a file is laid out, without reading more than its beginning.

    Parameters
    ----------
    path
        The file; ``-`` reads standard input.
    **options
        What is known already, as for `setveil.read`: `format`, `encoding`, `delimiter`, `header`,
        `id`, `item`, `items`, `separator`, `ignore`, `table`, `query`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "baskets.csv")
    ...     _ = path.write_text("milk,bread\nbeer\nmilk,beer,chips\n")
    ...     found = detect_layout(path)
    >>> found.layout.format, found.best.reasons
    ('basket', ('lines have 1 to 3 fields',))
    """
    from setveil.io.containers import load_grid, sniff_container

    asked = ReadOptions(**options)
    with Source(path, encoding=asked.encoding) as source:
        if sniff_container(source.head):
            grid = load_grid(source, table=asked.table, query=asked.query, rows=SAMPLE)
            return detect_grid(grid, asked, source.name)
        source.refuse_foreign()
        return detect_text(source, asked)


# --- text ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The first lines of a text, and how its name ends."""

    name: str
    ending: str
    lines: tuple[str, ...]
    quote: str = QUOTE

    @property
    def filled(self) -> list[str]:
        """The lines that are not blank, without what may be left of their ends."""
        return [line.removesuffix("\r") for line in self.lines if line.strip()]

    @cached_property
    def _split(self) -> dict[str, Rows]:
        return {}

    def all_rows(self, delimiter: str) -> Rows:
        """Split the lines up to the first malformed one; blank ones have one empty cell."""
        if delimiter in self._split:
            return self._split[delimiter]
        problems = Problems(name="", on_error="skip")
        found: Rows = []
        numbered = iter(enumerate(self.lines, 1))
        for _, text, cells in records(numbered, delimiter, problems, self.quote):
            # Perhaps only a quoted field that the sample cuts off; a first record is passed over.
            if problems.count and len(found) > 1:
                break
            found.append(cells if text.strip() else [""])
        self._split[delimiter] = found
        return found

    def rows(self, delimiter: str) -> Rows:
        """Return the rows that are not blank."""
        return [row for row in self.all_rows(delimiter) if row != [""]]

    def rows_above(self, delimiter: str, place: int) -> int:
        """Return how many rows, blank ones among them, stand above one of `rows`."""
        filled = [i for i, row in enumerate(self.all_rows(delimiter)) if row != [""]]
        return filled[place] if place < len(filled) else 0


def sample_of(source: Source) -> Sample:
    """Return what a detection may rest on: the ending of the name and up to 1,000 lines."""
    ending = "" if source.is_stdin else plain_ending(os.fspath(source.path))
    text = source.head.decode(errors="replace").removeprefix("\ufeff")
    lines = text.split("\n", SAMPLE)
    # The last may be all that is left, cut off in the middle, or nothing after the last newline.
    if len(lines) > SAMPLE or (len(lines) > 1 and (len(source.head) >= HEAD or not lines[-1])):
        lines.pop()
    single = sum(_SINGLE.search(line) is not None for line in lines)
    quote = "'" if 2 * single > len(lines) and QUOTE not in text else QUOTE
    return Sample(name=source.name, ending=ending, lines=tuple(lines), quote=quote)


def detect_text(source: Source, options: ReadOptions) -> Detection:
    """Find out how a text is laid out."""
    for name in ("table", "query"):
        if getattr(options, name) is not None:
            raise ParameterError(
                f"--{name} is for workbooks and databases, and {source.name} is a text",
                fix=f"leave out --{name}",
            )
    sample = sample_of(source)
    if options.quote is not None:
        sample = replace(sample, quote=options.quote)
    if not sample.filled and options.format is None:
        raise InputError(
            "there are only blank lines in it", where=source.name, fix="give a file with data"
        )
    if sample.filled and _MARKUP.match(sample.filled[0]):
        raise InputError(
            "this is a web page or XML, not a table",
            where=source.name,
            fix="open it in a spreadsheet program and save it as CSV or Excel",
        )
    _refuse_documents(sample)
    found = _TextDetection(sample, options).detection()
    marked = tuple(
        replace(c, layout=replace(c.layout, encoding=source.encoding, quote=sample.quote))
        for c in found.candidates
    )
    return replace(found, candidates=marked, guessed=options.format is None)


def _refuse_documents(sample: Sample) -> None:
    """Refuse texts that are neither tables nor records, though they look like lines of them."""
    first = sample.filled[0].lower() if sample.filled else ""
    if first.startswith("@relation"):
        what, fix = "this is an ARFF file", "save it as CSV"
    elif any("---" in line and _ALIGNED.fullmatch(line) for line in sample.filled[:5]) and any(
        line.count("|") > 1 for line in sample.filled[:5]
    ):
        what, fix = "this is a table drawn with lines", "save it as CSV"
    else:
        return
    raise InputError(what, where=sample.name, fix=fix)


class _TextDetection:
    """All ways to read a text, gathered for one detection."""

    def __init__(self, sample: Sample, options: ReadOptions) -> None:
        self.sample = sample
        self.options = options
        self.candidates: list[Candidate] = []
        self.why_not = ""
        self.identities: list[str] = []
        self.skip = 0
        first = sample.lines[0] if sample.lines else ""
        declared = re.fullmatch(r'"?sep=(.)"?', first.strip("\r"))
        if declared:  # Excel's own way to name the delimiter
            self.sample = replace(sample, lines=sample.lines[1:])
            self.skip = 1
            if options.delimiter is None:
                self.options = replace(options, delimiter=declared[1])

    def _error(self, what: str, fix: str) -> InputError:
        return InputError(what, where=self.sample.name, fix=fix)

    def detection(self) -> Detection:
        form = self.options.format
        if form in {"fimi", "spmf", "jsonl"}:
            self._lines_as(form, "as asked", 100)
        elif form is None and self.options.delimiter is None:
            self._json() or self._spmf() or self._fimi()
        if not self.candidates or self.candidates[0].score < PLAUSIBLE:
            self._detect_delimited()
        ranked = sorted(self.candidates, key=lambda c: -c.score)
        return Detection(
            name=self.sample.name,
            candidates=tuple(ranked),
            why_not=self.why_not,
            identities=tuple(self.identities),
        )

    # --- lines of a format of their own ---------------------------------------------------------

    def _lines_as(self, form: str, why: str, score: int) -> bool:
        given = self.options.given()
        allowed = {"format", "encoding"} | ({"item"} if form == "jsonl" else set())
        for name in given:
            if name not in allowed:
                raise ParameterError(
                    f"--{name} is not for {form} files ({why})",
                    where=self.sample.name,
                    fix=f"leave out --{name}, or name another --format",
                )
        field = self._json_field() if form == "jsonl" else ""
        layout = Layout(format=form, field=field)
        self.candidates.append(
            Candidate(
                layout=layout,
                score=score,
                reasons=(why,),
                option=f"--format {form}",
                records=self._first_records(form, field),
            )
        )
        return True

    def _json_field(self) -> str:
        """Return the field that holds the items; empty where lines are arrays."""
        found = list_fields(_document_lines(self.sample) or self.sample.filled)
        wanted = self.options.item
        if wanted is not None:
            if found and wanted not in found:
                raise self._error(
                    f"no field {wanted!r} holds lists; there is {listed(found)}",
                    fix=f"correct --item{nearest(wanted, found)}",
                )
            return wanted
        if not found or "items" in found:
            return "items"
        return _list_name(found, "field", self.sample.name, "name the field that holds the items")

    def _first_records(self, form: str, field: str) -> tuple[tuple[str, ...], ...]:
        shown: list[tuple[str, ...]] = []
        for line in self.sample.filled[:SHOWN]:
            if form == "jsonl":
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError):
                    break
                value = value.get(field, []) if isinstance(value, dict) else value
                shown.append(tuple(map(str, value)) if isinstance(value, list) else ())
            elif not line.startswith(("#", "%", "@")):
                shown.append(tuple(n for n in line.split() if n not in {"-1", "-2"}))
        return tuple(shown)

    def _json(self) -> bool:
        first = self.sample.filled[0].lstrip()
        ending = self.sample.ending
        if ending in {".jsonl", ".ndjson", ".json"}:
            return self._lines_as("jsonl", f"the name ends in {ending}", 100)
        if first[:1] in {"[", "{"} and _is_json(first):
            return self._lines_as("jsonl", "the first line is a JSON array or object", 100)
        return False

    def _spmf(self) -> bool:
        filled = self.sample.filled
        if self.sample.ending == ".spmf":
            return self._lines_as("spmf", "the name ends in .spmf", 100)
        if any(line.startswith(("@ITEM=", "@CONVERTED_FROM_")) for line in filled):
            return self._lines_as("spmf", "it has @ITEM= or @CONVERTED_FROM_ lines", 100)
        if all(map(_UTILITIES.fullmatch, filled)):
            return self._lines_as("spmf", "lines are items, a utility and utilities", 100)
        if all(map(_SEQUENCE.fullmatch, filled)) and any("-1" in line.split() for line in filled):
            return self._lines_as("spmf", "lines are numbers with -1 between itemsets", 100)
        if all(map(_SEQUENCE.fullmatch, filled)) and any("-2" in line.split() for line in filled):
            return self._lines_as("spmf", "lines are numbers that end in -2", 100)
        return False

    def _fimi(self) -> bool:
        if self.options.names_columns or self.options.header:
            return False
        filled = self.sample.filled
        share = sum(_NUMBERS.fullmatch(line) is not None for line in filled) / len(filled)
        named = self.sample.ending in {".dat", ".fimi"}
        # A stray word among numbers is an error to report, not a reason to read names.
        if share < (0.5 if named else 0.9):
            return False
        why = f"lines hold {'only' if share == 1 else 'mostly'} whole numbers"
        rows = [line.split() for line in filled]
        numbered = _numbers_records(rows)
        paired = not named and _looks_paired(rows)
        score = 60 if numbered or paired else 100
        if all(line.count("\t") == filled[0].count("\t") >= 2 for line in filled):
            self.why_not = "all lines have the same number of columns with tabs between them"
            score = UNSURE
        self._lines_as("fimi", why, score)
        if numbered:
            self._add_basket(
                rows, " ", 60, "the first number of each line counts the lines", lead=True
            )
        if paired:
            self._add_pairs(rows)
        return True

    def _add_pairs(self, rows: Rows) -> None:
        """Add the reading of lines with two numbers as pairs of record and item."""
        columns = (Column(name="1", role="record id"), Column(name="2", role="item"))
        layout = Layout(format="long", delimiter=" ", header=False, columns=columns)
        option = "--format long --delimiter space --no-header --id 1 --item 2"
        why = "every line holds two numbers"
        self.candidates.append(Candidate.of(layout, rows, 2, score=60, why=why, option=option))

    # --- delimited text -------------------------------------------------------------------------

    def _detect_delimited(self) -> None:
        form = self.options.format
        given = self.options.delimiter
        if form not in {"basket", *TABLES, None}:
            return
        best: list[Candidate] = []
        if form != "basket":
            wide = self._delimiters()
            for delimiter in wide:
                found = self._tables(delimiter)
                if found and (not best or max(c.score for c in found) > max(c.score for c in best)):
                    best = found
            if not best and (self.options.names_columns or form is not None):
                self._refuse_table(wide[0] if wide else (given or ","))
        self.candidates += best
        columns = self.options.names_columns and not self._numbered_id()
        if form in {"basket", None} and not columns and self.options.separator is None:
            self._basket()

    def _numbered_id(self) -> bool:
        """Whether only the number of a field is named, as baskets allow."""
        options = self.options
        only = options.item is None and not options.items and not options.ignore
        return bool(only and options.id and options.id.isdecimal())

    def _delimiters(self) -> list[str]:
        """Return the delimiters that may part columns, the most regular first."""
        if self.options.delimiter is not None:
            return [self.options.delimiter]
        ranked = []
        for delimiter in DELIMITERS:
            widths = Counter(len(row) for row in self.sample.rows(delimiter))
            if widths and max(widths) > 1:
                width, times = widths.most_common(1)[0]
                regular = times / widths.total() if width > 1 else 0.0
                ranked.append((regular, width, delimiter))
        ranked.sort(key=lambda each: (-each[0], -each[1]))
        if not ranked:
            rows = self.sample.rows(" ")
            regular = len({len(row) for row in rows}) == 1 and all(map(all, rows))
            if regular and len(rows[0]) > 1 and header_strength(rows[0], rows[1:]) == 2:
                return [" "]
            return ["\t" if self.sample.ending == ".tsv" else ","]
        return [delimiter for _, _, delimiter in ranked]

    def _tables(self, delimiter: str) -> list[Candidate]:
        """Return the readings as a table with this delimiter."""
        rows = self.sample.rows(delimiter)
        skip, rows = _without_titles(rows)
        if not rows:
            return []
        body = rows[1:]
        options = self.options
        strength = header_strength(rows[0], body)
        if strength == 2 and not body and options.header is not False:
            if len(self.sample.lines[0]) >= LONG_HEAD // 4:  # bytes, and characters have up to 4
                raise self._error(
                    f"the first line is longer than the {LONG_HEAD:,} bytes that are looked at to "
                    "find out what the columns mean",
                    fix="write one row per record and item (--format long), or Parquet",
                )
            raise self._error(
                "there is a header and no record in it",
                fix="give a file with data, or add --no-header if this line is a record",
            )
        if options.format in TABLES:
            strength = 2
        if options.header is None and strength < 2 and options.names_columns:
            said = {options.id, options.item, *options.items, *options.ignore} - {None}
            strength = 2 if said & set(rows[0]) else strength
        header = bool(strength) if options.header is None else options.header
        asked = options.format is not None or options.names_columns
        cells = body if header else rows
        fitted = _fit_rows(_names(rows, header=header), cells, pad=header, asked=asked)
        if fitted is None or (len(rows[0]) > UNNAMED and not header and not asked):
            return []
        names, cells = fitted
        table = Table(names, cells, named=header, where=self.sample.name)
        called = item_strength(names[0]) == 2 and " " not in names[0].strip()
        tells = header and (table.columns[0].separator or called)
        if len(names) < 2 and not asked and not tells:
            return []
        self._note_identities(table)
        readings = table.readings(options)
        if not readings and header and strength == 2:
            self.why_not = _unclear_columns(names)
        unsure = header and strength == 1 and options.header is None and not asked
        above = self.sample.rows_above(delimiter, skip) if header or skip else 0
        return [
            Candidate.of_reading(
                reading,
                names,
                cells,
                score=_asked_score(reading, options, named=header) or reading.score - 20 * unsure,
                delimiter=delimiter,
                header=header,
                skip=self.skip + above,
            )
            for reading in readings
        ]

    def _note_identities(self, table: Table) -> None:
        for column in table.columns[:UNNAMED]:
            if column.finding is not None and column.name not in " ".join(self.identities):
                self.identities.append(f"{column.name} ({column.finding.reason})")

    def _refuse_table(self, delimiter: str) -> None:
        """Say why a table that was asked for cannot be."""
        options = self.options
        _, rows = _without_titles(self.sample.rows(delimiter))
        first = rows[0] if rows else []
        if not rows:
            raise self._error("there is no header", fix="write the names of the columns first")
        if options.format == "one-hot":
            what = f"no column holds 0 and 1 among {listed(first)}"
        elif options.header is False or not header_strength(first, rows[1:]):
            named = options.given().keys() & {"id", "item", "items", "ignore"}
            if named and options.header is not False:
                raise self._error(
                    f"--{min(named)} names a column, and the first row does not name columns: "
                    f"{listed(first)}",
                    fix="correct it, add --header if the first row does name them, or leave it out",
                )
            what = f"no column is known to hold the record or the items among {listed(first)}"
        else:
            missing = "id" if any(map(is_item_name, first)) else "items"
            what = f"there is no column for the {missing} among {listed(first)}"
        raise self._error(what, fix="name the columns with --id and --item, or --items")

    # --- baskets --------------------------------------------------------------------------------

    def _basket(self) -> None:
        options = self.options
        delimiter = options.delimiter or self._basket_delimiter()
        given = self.sample.rows(delimiter)
        rows = [_trim_row(row) for row in given]
        if not any(rows):
            if options.format == "basket" or not self.candidates:
                self._add_basket([], delimiter, 90, "as asked")
            return
        header = options.header
        table = bool(self.candidates)
        if header is None:
            header = options.format is None and _heads_baskets(rows)
        body = rows[1:] if header else rows
        lengths = sorted({len(row) for row in body if row}) or [0]
        self._refuse_misread(given)
        if options.format == "basket" or options.id is not None:
            lead = options.id is not None
            self._add_basket(rows, delimiter, 100, "as asked", lead=lead, header=bool(header))
            return
        if header:
            lead = bool(rows[0]) and bool(record_kind(rows[0][0]))
            why = f"a first line of names, then lines with {lengths[0]} to {lengths[-1]} fields"
            self._add_basket(rows, delimiter, 40 if table else 90, why, lead=lead, header=True)
        elif _own_numbers(rows) and header_strength(rows[0], rows[1:]) < 2:
            why = "the first field of each line is a number of its own"
            self._add_basket(rows, delimiter, 90, why, lead=True)
        else:
            # Rows that are filled up with empty cells are rows of a table.
            ragged = len({len(row) for row in given}) > 1
            score, why = self._basket_score(rows, lengths, ragged=ragged, table=table)
            if delimiter == " " and not options.delimiter and _fixed_width(self.sample.filled):
                score, why = 5, "words with spaces between them"
                self.why_not = "columns seem to be aligned with spaces; save the table as CSV"
            self._add_basket(rows, delimiter, score, why)
            if score == PERHAPS:  # the first line may name columns as well as be a record
                self._add_basket(rows, delimiter, PERHAPS, why, header=True)

    def _refuse_misread(self, rows: Rows) -> None:
        """Refuse a delimiter that stands in no line, and a header that is read as a record."""
        options, lines = self.options, self.sample.filled
        if options.format == "basket" and options.header is None:
            if len({len(row) for row in rows}) == 1 and len(rows) > 1:
                self._refuse_header(rows)
            return
        delimiter = options.delimiter
        if options.format is not None or delimiter is None or any(delimiter in x for x in lines):
            return
        others = [d for d in DELIMITERS if sum(d in line for line in lines) >= 0.9 * len(lines)]
        if others:
            raise self._error(
                f"no line holds the delimiter {delimiter!r}, and nearly all hold {others[0]!r}",
                fix=f"correct --delimiter{nearest(delimiter, NAMED)}",
            )

    def _refuse_header(self, rows: Rows) -> None:
        """Refuse to read a table's header as a record without being told."""
        if header_strength(rows[0], rows[1:]) == 2:
            raise self._error(
                f"the first line seems to name columns: {listed(rows[0])}",
                fix="leave out --format basket to read a table; or add --header if every cell "
                "below this line is an item, --no-header if the line is a record, too",
            )

    def _basket_score(
        self, rows: Rows, lengths: list[int], *, ragged: bool, table: bool
    ) -> tuple[int, str]:
        """Return how plausible it is that every cell is an item, and why."""
        strength = header_strength(rows[0], rows[1:])
        why = f"lines have {lengths[0]} to {lengths[-1]} fields"
        if len(lengths) == 1:
            many = "s" * (lengths[0] != 1)
            why = f"all lines have {lengths[0]} field{many} of the same kind"
        if strength == 2 and (table or not ragged):
            return 5, why
        if _leads_apart(rows):
            self.why_not = "what comes first in a line never comes later in one"
            return 20, why
        if ragged:
            return 40 if table else 90, why
        if len(rows) == 1 and not strength and not table:
            return 90, "there is one line, and it names no columns"
        if _alike(rows):
            return {0: 85, 1: PERHAPS}.get(strength, 5), why
        return 20, "every cell is an item"

    def _add_basket(
        self,
        rows: Rows,
        delimiter: str,
        score: int,
        why: str,
        *,
        lead: bool = False,
        header: bool = False,
    ) -> None:
        option = "--format basket"
        columns: tuple[Column, ...] = ()
        if lead:
            place = self._lead_place(rows, header=header)
            name = rows[0][place] if header and place < len(rows[0]) else str(place + 1)
            before = (Column(name=str(i + 1), role="item") for i in range(place))
            columns = (*before, Column(name=name, role="record id"))
            option += f" --id {place + 1}"
        if delimiter == " ":
            option += " --delimiter space"
        if header:
            option += " --header"
        layout = Layout(
            format="basket", delimiter=delimiter, columns=columns, header=header, skip=self.skip
        )
        body = rows[1:] if header else rows
        self.candidates.append(
            Candidate.of(layout, body, len(columns), score=score, why=why, option=option)
        )

    def _lead_place(self, rows: Rows, *, header: bool) -> int:
        wanted = self.options.id
        if wanted is None:
            return 0
        if header and rows and wanted in rows[0]:
            return rows[0].index(wanted)
        longest = max(map(len, rows), default=1)
        if wanted.isdecimal() and 1 <= int(wanted[:18]) <= longest:
            return int(wanted) - 1
        what = f"--id is {wanted!r}, and a basket's fields have no names"
        if wanted.isdecimal():
            what = f"--id is {shortened(wanted)}, and lines have up to {longest:,} fields"
        raise self._error(what, "give the number of the field, such as --id 1")

    def _basket_delimiter(self) -> str:
        """Choose what occurs in most lines, outside quotes."""
        held = Counter(
            delimiter
            for line in self.sample.lines
            for delimiter in DELIMITERS
            if delimiter in (re.sub(r'"[^"]*"', "", line) if QUOTE in line else line)
        )
        if held:
            return max(DELIMITERS, key=lambda delimiter: held[delimiter])
        if self.sample.ending == ".tsv":
            return "\t"
        # Without any of these, words stand apart by spaces, but a .csv holds one item per line.
        return "," if self.sample.ending in {".csv", ".basket"} else " "


def _document_lines(sample: Sample) -> list[str]:
    """Return the elements of a JSON document, a line each; nothing for other texts."""
    text = "\n".join(sample.lines)
    if not text.lstrip().startswith("["):
        return []
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [json.dumps(each) for each in found] if isinstance(found, list) else []


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _fixed_width(lines: list[str]) -> bool:
    """Whether lines are columns that are aligned with runs of spaces, below a header."""
    rows = [re.split(r"\s{2,}|\t", line.strip()) for line in lines]
    regular = len(rows) > 1 and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
    return regular and header_strength(rows[0], rows[1:]) == 2


def _trim_row(row: list[str]) -> list[str]:
    """Return a row without the empty cells at its end."""
    end = len(row)
    while end and not row[end - 1]:
        end -= 1
    return row[:end]


def _without_titles(rows: Rows) -> tuple[int, Rows]:
    """Return how many rows at the top hold a title only, and the rows below them."""
    comments = 0
    while comments < len(rows) - 2 and rows[comments][0].startswith(("#", "//")):
        comments += 1
    if comments and header_strength(rows[comments], rows[comments + 1 :]) == 2:
        return comments, rows[comments:]
    widths = Counter(len(_trim_row(row)) for row in rows)
    if not rows or max(widths) < 3:
        return 0, rows
    # Names of groups of columns above the columns' own names.
    if (
        len(rows) > 2
        and 2 * sum(map(bool, rows[0])) <= sum(map(bool, rows[1])) + 1
        and len(set(rows[1])) == len(rows[1])
        and all(rows[1])
        and header_strength(rows[1], rows[2:]) == 2
    ):
        return 1, rows[1:]
    usual = max(widths, key=lambda width: (widths[width], width))
    skip = 0
    while skip < min(5, len(rows) - 2) and len([c for c in rows[skip] if c]) <= 1 < usual - 1:
        skip += 1
    # Below a title a header must come; otherwise these are short records.
    if skip and (
        len(_trim_row(rows[skip])) < usual or header_strength(rows[skip], rows[skip + 1 :]) < 2
    ):
        return 0, rows
    return skip, rows[skip:]


def _fit_rows(
    names: list[str], rows: Rows, *, pad: bool, asked: bool
) -> tuple[list[str], Rows] | None:
    """Bring sampled rows to the header's width; None if they are not rows of a table."""
    width = len(names)
    while width > 1 and not names[width - 1] and all(len(_trim_row(row)) < width for row in rows):
        width -= 1
    names = names[:width]
    longer = sum(len(_trim_row(row)) > width for row in rows)
    # A few rows that are too long are malformed; many show that this is no table.
    if (longer > len(rows) / 3 and not asked) or (
        not pad and any(len(row) != len(names) for row in rows)
    ):
        return None
    cells = [(row + [""] * width)[:width] for row in rows if len(_trim_row(row)) <= width]
    return names, cells


def _heads_baskets(rows: Rows) -> bool:
    """Whether the first line names what the lines below hold, though these have more fields."""
    names = rows[0]
    if not names or not any(len(row) > len(names) for row in rows[1:]):
        return False
    below = {cell for row in rows[1:] for cell in row}
    return not below & set(names) and all(record_kind(name) or is_item_name(name) for name in names)


def _own_numbers(rows: Rows) -> bool:
    """Whether each line begins with a number of its own, unlike what follows."""
    if len(rows) < 3 or any(len(row) < 1 for row in rows) or max(map(len, rows)) < 2:
        return False
    lead = SampledColumn("", [row[0] for row in rows])
    rest = [cell for row in rows for cell in row[1:] if cell]
    others = SampledColumn("", rest)
    if not lead.distinct or not rest or set(rest) & set(lead.counts):
        return False
    if lead.kind in {"integer", "code"} and others.kind in {"integer", "code"}:
        return lead.kind == "code" and _unlike(lead, others)
    return lead.kind in {"integer", "code", "word"} and lead.kind != others.kind


def _unlike(lead: SampledColumn, others: SampledColumn) -> bool:
    """Whether numbers or codes are written in one way, and all others in other ways."""
    shapes = [{re.sub(r"[0-9]", "0", v) for v in c.counts} for c in (lead, others)]
    return len(shapes[0]) == 1 and not shapes[0] & shapes[1]


def _numbers_records(rows: Rows) -> bool:
    """Whether the first number of each line counts the lines."""
    if len(rows) < 5 or any(len(row) < 2 for row in rows):
        return False
    try:
        lead = [int(row[0]) for row in rows]
        others = {int(cell) for row in rows for cell in row[1:]}
    except ValueError:
        return False
    # Counting the lines, or larger than all else: a number of a person or an event.
    return all(b - a == 1 for a, b in pairwise(lead)) or min(lead) > max(others)


def _looks_paired(rows: Rows) -> bool:
    """Whether lines of two numbers look like pairs of a record and an item."""
    if len(rows) < 5 or any(len(row) != 2 for row in rows):
        return False
    try:
        lead = [int(row[0]) for row in rows]
    except ValueError:
        return False
    return len(lead) > len(set(lead)) >= 3 and all(a <= b for a, b in pairwise(lead))


def _leads_apart(rows: Rows) -> bool:
    """Whether what comes first in lines never comes later, though the rest changes places."""
    if len(rows) < 20 or max(map(len, rows)) < 3:
        return False
    lead = {row[0] for row in rows if row}
    later = [{row[place] for row in rows if len(row) > place} for place in (1, 2)]
    return bool(later[0] & later[1]) and not any(cell in lead for row in rows for cell in row[1:])


def _alike(rows: Rows) -> bool:
    """Whether all columns of a block of cells hold the same kind of thing, and no identities."""
    columns = [
        SampledColumn("", [row[place] if place < len(row) else "" for row in rows], named=False)
        for place in range(min(max(map(len, rows)), ALIKE))
    ]
    kinds = {column.kind for column in columns if column.filled}
    if any(column.finding is not None for column in columns):
        return False
    first, rest = columns[0], [cell for row in rows for cell in row[1:] if cell]
    if first.kind in {"integer", "code"} and rest and not set(rest) & set(first.counts):
        others = SampledColumn("", rest)
        if others.kind in {"integer", "code"} and _unlike(first, others):
            return False
    return len(kinds) <= 1 or kinds <= {"word", "code"}


def _names(rows: Rows, *, header: bool) -> list[str]:
    """Return the names in the first row, or numbers where it names no columns."""
    return [*rows[0]] if header else [str(i + 1) for i in range(len(rows[0]))]


def _unclear_columns(names: Sequence[str]) -> str:
    return f"the columns are {listed(names)}, and it is not clear which of them hold items"


def _asked_score(reading: Reading, options: ReadOptions, *, named: bool) -> int:
    """Return the score of a reading that was asked for and may be, 0 for others."""
    asked = options.format is not None or (named and (options.items or options.item))
    return max(reading.score, PLAUSIBLE + MARGIN) if asked and reading.score > 50 else 0


def _list_name(found: Sequence[str], what: str, where: str, fix: str) -> str:
    """Return the field or column that is called after items, or ask which one holds them."""
    named = [name for name in found if is_item_name(name)]
    if len(named) == 1:
        return named[0]
    many = "s" * (len(found) != 1)
    raise InputError(
        f"the {what}{many} {listed(found)} hold{'' if many else 's'} lists, and no name says which "
        "are the items",
        where=where,
        fix=f"{fix}: --item {found[0]}",
    )


def _samples(rows: Sequence[Sequence[str]], width: int) -> tuple[tuple[str, ...], ...]:
    """Return up to three different values of each column."""
    found = []
    for place in range(width):
        cells = (row[place] for row in rows if place < len(row) and row[place])
        found.append(tuple(dict.fromkeys(cells))[:SHOWN])
    return tuple(found)


def preview(layout: Layout, rows: Rows) -> tuple[tuple[str, ...], ...]:
    """Return the first records of sampled rows, read as a layout says."""
    record = layout.places("record id")
    grouped: dict[str, list[str]] = {}
    for number, row in enumerate(rows):
        if layout.format == "basket":
            items = [cell for i, cell in enumerate(row) if cell and i not in record]
        else:
            items = []
            for place, column in enumerate(layout.columns):
                cell = row[place] if place < len(row) else ""
                if column.role == "item" and cell:
                    items.append(cell)
                elif column.role == "items":
                    items += split_cell(cell, column.separator)
                elif column.role == "one-hot" and cell in ONES:
                    items.append(column.name)
        key = row[record[0]] if record and record[0] < len(row) else str(number)
        if key not in grouped and len(grouped) == SHOWN:
            break
        grouped.setdefault(key, []).extend(items)
    return tuple(tuple(dict.fromkeys(items)) for items in grouped.values())


# --- workbooks, databases, Parquet --------------------------------------------------------------


def detect_grid(grid: Grid, options: ReadOptions, name: str) -> Detection:
    """Find out how a table that is not text is laid out."""
    import polars as pl

    foreign = ["delimiter", "encoding", "quote"] + (["header"] if grid.header is not None else [])
    for given in foreign:
        if getattr(options, given) is not None:
            raise ParameterError(
                f"--{given} is for text, and {name} is not",
                fix=f"leave out --{given}",
            )
    if options.format in {"fimi", "spmf", "jsonl"}:
        raise InputError(
            f"this file cannot hold the format {options.format!r}",
            where=name,
            fix="use long, wide, one-hot or basket (a column of lists)",
        )
    frame = grid.frame.head(SAMPLE)
    lists = [c for c, kind in frame.schema.items() if isinstance(kind, (pl.List, pl.Array))]
    if grid.header is not None and lists and _wants_lists(lists, options):
        return Detection(name=name, candidates=(_list_candidate(grid, lists, options, name),))
    if options.format == "basket":
        raise InputError(
            "no column holds lists", where=name, fix="use --format long, wide or one-hot"
        )
    kept = [c for c in frame.columns if c not in lists]
    rows = [[cell or "" for cell in row] for row in frame.select(kept).rows()]
    header = grid.header is not None
    if header:
        names, body = kept, rows
    else:
        header = options.header if options.header is not None else bool(
            rows and header_strength(rows[0], rows[1:])
        )  # fmt: skip
        names = _names(rows, header=header) if rows else []
        body = rows[1:] if header else rows
    if not body:
        raise InputError("no record in it", where=name, fix="give a file with data")
    table = Table(names, body, named=header, where=name)
    found = [
        Candidate.of_reading(
            reading,
            names,
            body,
            score=_asked_score(reading, options, named=True) or reading.score,
            header=header,
            table=grid.chosen if options.query is None else "",
            query=options.query or "",
        )
        for reading in table.readings(options)
    ]
    return Detection(
        name=name,
        candidates=tuple(found),
        guessed=options.format is None,
        why_not="" if found else _unclear_columns(names),
        identities=tuple(
            f"{c.name} ({c.finding.reason})" for c in table.columns if c.finding is not None
        ),
    )


def _wants_lists(lists: list[str], options: ReadOptions) -> bool:
    named = {options.item, *options.items} - {None}
    return options.format in {None, "basket"} and (not named or bool(named & set(lists)))


def _list_candidate(grid: Grid, lists: list[str], options: ReadOptions, name: str) -> Candidate:
    """Return the reading of a column of lists."""
    wanted = options.item or (options.items[0] if options.items else None)
    if wanted is None:
        wanted = _list_name(lists, "column", name, "name the one that holds the items")
    names = list(grid.header or ())
    if options.id is not None and options.id not in names:
        raise InputError(
            f"there is no column {options.id!r} among {listed(names)}",
            where=name,
            fix=f"correct --id{nearest(options.id, names)}",
        )
    record = options.id or next((c for c in names if c not in lists and record_kind(c)), None)
    roles: dict[str | None, str] = {wanted: "items"}
    for column in names:
        if column not in lists:
            cells = [cell or "" for cell in grid.frame.get_column(column).head(SAMPLE).to_list()]
            roles[column] = "identifier" if SampledColumn(column, cells).finding else "ignore"
    roles[record] = "record id"
    columns = tuple(Column(name=c, role=roles.get(c, "ignore")) for c in names)
    first = grid.frame.get_column(wanted).head(SHOWN).to_list()
    return Candidate(
        layout=Layout(format="basket", header=True, columns=columns),
        score=100,
        reasons=(f"the column {wanted!r} holds lists",),
        option=f"--item {shortened(wanted)}",
        records=tuple(tuple(map(str, row or ())) for row in first),
        samples=tuple(() for _ in columns),
    )
