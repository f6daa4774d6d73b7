"""Guessing how a text is laid out, from its name and its first lines."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from setveil.data.problems import Problems
from setveil.data.sources import BOM, HEAD, Source
from setveil.io.delimited import QUOTE, records
from setveil.io.formats_delimited import (
    CELLS,
    ID_NAMES,
    ITEM_NAMES,
    find_column,
    one_hot_id,
)

if TYPE_CHECKING:
    from setveil.io.layout import Layout

DELIMITERS = (",", "\t", ";", "|")
SAMPLE = 1000
# A single letter may as well be the name of an item: it is a mark only where one-hot is asked for.
MARKS = frozenset(cell for cell in CELLS if not (len(cell) == 1 and cell.isalpha()))
_NUMBERS = re.compile(r"[ \t]*(?:(?:0|[1-9][0-9]*)(?:[ \t]+|$))*")
_SEQUENCE = re.compile(r"(?:[0-9]+ +(?:-1 +)?)*-2 *")
_COMPRESSED = (".gz", ".zst", ".zstd")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The first lines of a text, and how its name ends.

    >>> sample = Sample(ending=".dat", lines=("1 2", "", "milk"))
    >>> sample.share_of_numbers()
    0.5
    """

    ending: str
    lines: tuple[str, ...]

    def share_of_numbers(self) -> float:
        """Return the share of lines, of those that are not empty, that hold only numbers."""
        filled = [line for line in self.lines if line.strip()]
        clean = sum(_NUMBERS.fullmatch(line) is not None for line in filled)
        return clean / len(filled) if filled else 1.0

    def described(self, verb: str) -> str:
        """Return how many lines there are, in words, and what they do."""
        if len(self.lines) == 1:
            return f"the first line {verb}s"
        return f"the first {len(self.lines):,} lines {verb}"


def sample_of(source: Source) -> Sample:
    """Return what a guess may rest on: the ending of the name and up to 1,000 lines."""
    name = os.fspath(source.path).lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    ending = "" if source.is_stdin else os.path.splitext(name)[1]  # noqa: PTH122  (a text already)
    text = source.head.removeprefix(BOM).decode(errors="replace")
    lines = text.split("\n", SAMPLE)
    # The last may be all that is left, cut off in the middle, or nothing after the last newline.
    if len(lines) > SAMPLE or (len(lines) > 1 and (len(source.head) >= HEAD or not lines[-1])):
        lines.pop()
    return Sample(ending=ending, lines=tuple(line.removesuffix("\r") for line in lines))


def guess(sample: Sample, asked: Layout) -> Layout:
    """Complete a layout: its format unless it is given, then what the format leaves open.

    >>> from setveil.io.layout import Layout
    >>> guess(Sample(ending=".dat", lines=("1 2", "3")), Layout()).format
    'fimi'
    >>> found = guess(Sample(ending=".csv", lines=("a;b", "c;d;e")), Layout())
    >>> found.format, found.delimiter
    ('basket', ';')
    """
    if asked.format:
        delimiter = asked.delimiter or _delimiter_for(sample, asked)
        why = "as asked"
        if asked.format in {"basket", "long", "one-hot"} and not asked.delimiter:
            why = f"as asked; fields end at {delimiter!r}"
        return replace(asked, delimiter=delimiter, why=why)
    asked = replace(asked, guessed=True)
    return _as_lines(sample, asked) or _as_table(sample, asked) or _as_basket(sample, asked)


def _as_lines(sample: Sample, asked: Layout) -> Layout | None:
    """Recognise JSON lines, SPMF and FIMI; a delimiter that was asked for excludes them."""
    if asked.delimiter:
        return None
    filled = [line for line in sample.lines if line.strip()]
    if why := _why_json(sample.ending, filled):
        return replace(asked, format="jsonl", why=why)
    if why := _why_spmf(sample.ending, filled):
        return replace(asked, format="spmf", why=why)
    if asked.item_column is None and asked.id_column is None and (why := _why_fimi(sample)):
        return replace(asked, format="fimi", why=why)
    return None


def _why_json(ending: str, filled: list[str]) -> str:
    if ending in {".jsonl", ".ndjson", ".json"}:
        return f"the name ends in {ending}"
    first = filled[0].lstrip() if filled else ""
    is_json = first[:1] in {"[", "{"} and _is_json(first)
    return "the first line is a JSON array or object" if is_json else ""


def _why_spmf(ending: str, filled: list[str]) -> str:
    if ending == ".spmf":
        return "the name ends in .spmf"
    if any(line.startswith(("@ITEM=", "@CONVERTED_FROM_")) for line in filled):
        return "it has @ITEM= or @CONVERTED_FROM_ lines"
    sequences = filled and all(_SEQUENCE.fullmatch(line) for line in filled)
    return "every line is a sequence of numbers up to -2" if sequences else ""


def _why_fimi(sample: Sample) -> str:
    share = sample.share_of_numbers()
    named = sample.ending in {".dat", ".fimi"}
    # A stray word among numbers is an error to report, not a reason to read names.
    if share < (0.5 if named else 0.9):
        return ""
    most = "only" if share == 1 else "mostly"
    why = f"{sample.described('hold')} {most} whole numbers"
    return f"the name ends in {sample.ending} and {why}" if named else why


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _as_table(sample: Sample, asked: Layout) -> Layout | None:
    """Recognise a long or a one-hot table by its header and the lines below it."""
    for delimiter in [asked.delimiter] if asked.delimiter else DELIMITERS:
        rows = _rows(sample, delimiter)
        if not rows or any(len(row) != len(rows[0]) for row in rows):
            continue
        header, body = rows[0], rows[1:]
        id_place = find_column(header, asked.id_column, ID_NAMES)
        item_place = find_column(header, asked.item_column, ITEM_NAMES)
        if id_place is not None and item_place is not None and id_place != item_place:
            why = f"the header has the columns {header[id_place]!r} and {header[item_place]!r}"
            return replace(asked, format="long", delimiter=delimiter, why=why)
        place = one_hot_id(header, None, "") if asked.id_column is None else id_place
        cells = [[cell for i, cell in enumerate(row) if i != place] for row in body]
        if body and len(header) > 1 and not MARKS.issuperset(header) and _all_marks(cells):
            why = f"below a header of names {sample.described('hold')} only 0 and 1"
            return replace(asked, format="one-hot", delimiter=delimiter, why=why)
    return None


def _all_marks(rows: list[list[str]]) -> bool:
    return all(row and MARKS.issuperset(row) for row in rows) and any(map(any, rows))


def _as_basket(sample: Sample, asked: Layout) -> Layout:
    delimiter = asked.delimiter or _basket_delimiter(sample)
    why = f"{sample.described('fit')} no other format; items end at {delimiter!r}"
    return replace(asked, format="basket", delimiter=delimiter, why=why)


def _delimiter_for(sample: Sample, asked: Layout) -> str:
    """Choose a delimiter for a format that is given."""
    if asked.format not in {"long", "one-hot"}:
        return _basket_delimiter(sample)
    for delimiter in DELIMITERS:
        header = next(iter(_rows(sample, delimiter)), [])
        named = find_column(header, asked.id_column, ID_NAMES) is not None
        if len(header) > 1 and (named or asked.format == "one-hot"):
            return delimiter
    return _basket_delimiter(sample)


def _basket_delimiter(sample: Sample) -> str:
    """Choose what occurs in most lines, outside quotes."""
    held = Counter(
        delimiter
        for line in sample.lines
        for delimiter in DELIMITERS
        if delimiter in (re.sub(r'"[^"]*"', "", line) if QUOTE in line else line)
    )
    if held:
        return max(DELIMITERS, key=lambda delimiter: held[delimiter])
    if sample.ending == ".tsv":
        return "\t"
    # Without any of these, words stand apart by spaces, but a .csv holds one item per line.
    return "," if sample.ending in {".csv", ".basket"} else " "


def _rows(sample: Sample, delimiter: str) -> list[list[str]]:
    """Split the sample's lines up to the first malformed one; blank ones are left out."""
    problems = Problems(name="", on_error="skip")
    found = []
    for _, text, fields in records(iter(enumerate(sample.lines, 1)), delimiter, problems):
        if problems.count:  # perhaps only a quoted field that the sample cuts off
            break
        if text.strip():
            found.append(fields)
    return found
