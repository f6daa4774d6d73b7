"""Documents, one after the other, from folders, text files, JSON lines and tables.

Nothing but one document (or one line of a file) is held at a time.
"""

from __future__ import annotations

import html
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil.core.errors import LISTED, InputError, ParameterError, Problems
from setveil.core.files import shown_name
from setveil.io.delimited import checked_delimiter, records
from setveil.io.sources import FOREIGN, Source, plain_ending

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FORMATS = ("text", "jsonl", "csv")
TEXT_FIELDS = ("text", "body", "content")
NAME_FIELDS = ("id", "name", "title")
ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
}
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
REPLACEMENT = "\ufffd"
_JSON_OBJECT = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"[^"\n]*"\s*:')


@dataclass(frozen=True, kw_only=True)
class Document:
    """A text and what it is called; the name is for its owner and never part of an output.

    >>> Document(name="letter.txt", text="A fever.").text
    'A fever.'
    """

    name: str
    text: str


@dataclass(kw_only=True)
class DocumentCounts:
    """What was met while documents were read.

    Parameters
    ----------
    documents
        Documents handed on, empty ones included.
    empty
        Documents without any text.
    bad_encoding
        Documents with characters that could not be decoded; each was replaced by a sign.
    html
        Documents recognised as HTML and stripped of their tags.
    headers_cut, footers_cut
        Documents in which the pattern of a header or a footer was found.
    files_skipped
        Files of a folder that are no text.
    """

    documents: int = 0
    empty: int = 0
    bad_encoding: int = 0
    html: int = 0
    headers_cut: int = 0
    footers_cut: int = 0
    files_skipped: int = 0


@dataclass(frozen=True, kw_only=True)
class Documents:
    r"""The documents of a folder or a file: iterate over it once; `counts` tells what was met.

    Parameters
    ----------
    path
        A folder of text files (with its folders), a text file, JSON lines, or a table with a
        header; plain or compressed by gzip or zstd. ``-`` reads standard input.
    format
        ``text``, ``jsonl`` or ``csv`` (also for tabs); by the name and the first bytes if not
        given. The files of a folder are text.
    text_field
        Field or column that holds the text; ``text``, ``body`` or ``content`` if not given.
    delimiter
        What separates the columns of a table; a tab for ``.tsv``, else a comma.
    header_pattern
        A regular expression: what stands before the end of its first match is cut off.
    footer_pattern
        A regular expression: what stands after the beginning of its last match is cut off.
    on_error
        ``"raise"`` stops at the first malformed line, ``"skip"`` leaves such lines out.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "notes.jsonl")
    ...     _ = file.write_text('{"id": 7, "text": "<p>High</p><p>fever</p>"}\n{"text": " "}\n')
    ...     notes = Documents(path=file)
    ...     [(note.name, note.text) for note in notes]
    [('7', 'High\n\nfever'), ('line 2', '')]
    >>> notes.counts.html, notes.counts.empty
    (1, 1)
    """

    path: str | os.PathLike[str]
    format: str | None = None
    text_field: str | None = None
    delimiter: str | None = None
    header_pattern: str | None = None
    footer_pattern: str | None = None
    on_error: str = "raise"
    counts: DocumentCounts = field(default_factory=DocumentCounts, init=False, compare=False)
    problems: Problems = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise ParameterError(
                f"documents cannot be read as {self.format!r}", fix=f"use {', '.join(FORMATS)}"
            )
        if self.delimiter is not None:
            checked_delimiter(self.delimiter)
        for pattern in (self.header_pattern, self.footer_pattern):
            compile_pattern(pattern)
        problems = Problems(name=shown_name(self.path), on_error=self.on_error)
        object.__setattr__(self, "problems", problems)

    def __iter__(self) -> Iterator[Document]:
        header, footer = compile_pattern(self.header_pattern), compile_pattern(self.footer_pattern)
        for name, text in self._raw():
            yield self._finish(name, text, header, footer)

    def _raw(self) -> Iterator[tuple[str, str]]:
        if os.fspath(self.path) != "-" and Path(self.path).is_dir():
            yield from self._folder(Path(self.path))
            return
        with Source(self.path) as source:
            if not source.head:
                raise InputError("there is nothing in it", where=source.name, fix="give text")
            kind = foreign_kind(source.head)
            if kind:
                raise InputError(
                    f"this is {kind}", where=source.name, fix="give text, JSON lines or a table"
                )
            chosen = self.format or _format_of(source)
            if chosen == "jsonl":
                yield from self._json_lines(source)
            elif chosen == "csv":
                yield from self._table(source)
            else:
                yield Path(source.name).name, decode_text(source.read_all())

    def _folder(self, folder: Path) -> Iterator[tuple[str, str]]:
        found = 0
        for path in _files(folder):
            if plain_ending(path.name) in ENDINGS:
                self._skip(path, "is a table or JSON lines, which must be named by itself")
                continue
            try:
                with Source(path) as source:
                    kind = foreign_kind(source.head)
                    content = b"" if kind else source.read_all()
            except InputError as error:
                self._skip(path, error.what)
                continue
            if kind:
                self._skip(path, f"is {kind}")
                continue
            found += 1
            yield path.relative_to(folder).as_posix(), decode_text(content)
        if not found:
            raise InputError(
                "there is no text file in this folder",
                where=shown_name(folder),
                fix="name a folder that holds text files, or a file",
            )

    def _skip(self, path: Path, why: str) -> None:
        """Count a file of a folder that is no document; a folder may hold anything."""
        self.counts.files_skipped += 1
        if len(self.problems.skipped) < LISTED:
            self.problems.skipped.append((shown_name(path), "the file", why))

    def _finish(
        self, name: str, text: str, header: re.Pattern[str] | None, footer: re.Pattern[str] | None
    ) -> Document:
        counts = self.counts
        counts.documents += 1
        counts.bad_encoding += REPLACEMENT in text
        if looks_like_html(text):
            counts.html += 1
            text = html_to_text(text)
        if header and (match := header.search(text)):
            counts.headers_cut += 1
            text = text[match.end() :]
        if footer and (starts := [match.start() for match in footer.finditer(text)]):
            counts.footers_cut += 1
            text = text[: starts[-1]]
        text = text.strip()
        counts.empty += not text
        return Document(name=name, text=text)

    # --- JSON lines and tables ----------------------------------------------------------------

    def _json_lines(self, source: Source) -> Iterator[tuple[str, str]]:
        for number, line in lines(source):
            if not line.strip():
                continue
            try:
                value: Any = json.loads(line)
            except (ValueError, RecursionError):
                self._report("is not JSON", number, line)
                continue
            if not isinstance(value, dict):
                self._report("is not a JSON object", number, line)
                continue
            chosen = self.text_field or next((key for key in TEXT_FIELDS if key in value), "text")
            if chosen not in value:
                fix = f"name the field with --text-field: {_name_fields(value)}"
                self._report(f"has no field {chosen!r}", number, line, fix)
                continue
            text = value[chosen]
            if text is not None and not isinstance(text, str):
                self._report(f"has no text in the field {chosen!r}", number, line)
                continue
            named = next((value[key] for key in NAME_FIELDS if key in value), None)
            name = str(named) if isinstance(named, str | int) else f"line {number}"
            yield _whole_characters(name), _whole_characters(text or "")

    def _table(self, source: Source) -> Iterator[tuple[str, str]]:
        tabs = plain_ending(source.name) == ".tsv"
        delimiter = checked_delimiter(self.delimiter or ("tab" if tabs else "comma"))
        rows = records(lines(source), delimiter, self.problems)
        first = next(rows, None)
        header = first[2] if first else []
        lower = [column.lower() for column in header]
        wanted = self.text_field or next((key for key in TEXT_FIELDS if key in lower), None)
        if wanted is None or wanted.lower() not in lower:
            raise InputError(
                f"there is no column {wanted or 'text'!r} in line 1",
                where=source.name,
                fix=f"name the column of the text with --text-field: {_name_fields(header)}",
            )
        place = lower.index(wanted.lower())
        named = next((lower.index(key) for key in NAME_FIELDS if key in lower), None)
        for number, text, cells in rows:
            if not text.strip():
                continue
            if len(cells) != len(header):
                what = f"has {len(cells)} columns, not {len(header)}"
                self._report(what, number, text, "quote texts that hold the delimiter")
                continue
            yield (cells[named] if named is not None else f"line {number}"), cells[place]

    def _report(self, what: str, number: int, line: str, fix: str = "") -> None:
        fix = fix or 'write one object such as {"text": "..."} per line'
        self.problems.add(what, line=number, text=line, fix=fix)


def compile_pattern(pattern: str | None) -> re.Pattern[str] | None:
    """Return a user's regular expression, or say what is wrong with it; ``^`` begins any line.

    >>> compile_pattern("(")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: the pattern '(' is no regular expression: missing ), ...
    """
    if pattern is None:
        return None
    try:
        return re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise ParameterError(
            f"the pattern {pattern!r} is no regular expression: {error}",
            fix=r"correct it; a character such as ( or * is written \( or \*",
        ) from None


def decode_text(content: bytes) -> str:
    r"""Return the text of bytes: UTF-8, or UTF-16 with its mark; what is neither is replaced.

    >>> decode_text(b"caf\xe9"), decode_text("café".encode("utf-16"))
    ('caf\ufffd', 'café')
    """
    coding = "utf-16" if content.startswith(UTF_16) else "utf-8-sig"
    return content.decode(coding, "replace").replace("\0", " ")


def foreign_kind(head: bytes) -> str:
    """Return what the first bytes of something that is no text belong to; nothing for text.

    >>> foreign_kind(b"%PDF-1.7"), foreign_kind(b"A fever.")
    ('a PDF document', '')
    """
    if head.startswith(UTF_16):
        return ""
    known = next((kind for magic, kind in FOREIGN.items() if head.startswith(magic)), "")
    return known or ("a binary file" if b"\0" in head else "")


def lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line; what is no UTF-8 is replaced."""
    if source.head.startswith(UTF_16):
        yield from enumerate(decode_text(source.read_all()).split("\n"), 1)
        return
    number = 0
    for block in source.blocks():
        listed = block.decode("utf-8", "replace").replace("\0", " ").split("\n")
        if not listed[-1]:
            listed.pop()
        yield from enumerate(listed, number + 1)
        number += len(listed)


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and its folders by name, without hidden ones."""
    for inside, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(inside, name) for name in sorted(names) if not name.startswith("."))
        # A pipe in a folder would be waited for without end.
        yield from (path for path in paths if path.is_file() or path.is_symlink())


def _format_of(source: Source) -> str:
    """Return the format of a file by its name, or else by how it begins."""
    ending = plain_ending(source.name)
    if ending in ENDINGS:
        return ENDINGS[ending]
    return "jsonl" if _JSON_OBJECT.match(source.head) else "text"


def _whole_characters(text: str) -> str:
    """Return a text with "?" for half a surrogate pair, which JSON can spell and is no character.

    >>> _whole_characters("flu" + chr(0xD800))
    'flu?'
    """
    return text.encode("utf-8", "replace").decode()


def _name_fields(names: Iterable[object]) -> str:
    return ", ".join(map(str, list(names)[:10])) or "it has none"


# --- HTML: recognised by its tags, and stripped of them ---
#
# The standard library's parser takes quadratic time over markup that is never closed (8,000 times
# `<a ` cost it six seconds) and fails on some declarations; here one pass goes over the text.

_BLOCKS = (
    "address article aside blockquote body br caption center dd details div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol option "
    "p pre section summary table tbody td tfoot th thead title tr ul"
)
_INLINE = "a abbr b cite code em font i img q s small span strong sub sup tt u"
_HIDDEN = ("script", "style", "noscript", "template", "svg", "head")

_BLOCK = frozenset(_BLOCKS.split())
_START = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_KNOWN = re.compile(
    rf"<(?:/(?:{'|'.join([*_BLOCKS.split(), *_INLINE.split()])})\s*|(?:br|hr)\s*/?|"
    rf"(?:{'|'.join(_BLOCKS.split())})(?:\s+[a-z-]+\s*=[^<>]*)?)>",
    re.IGNORECASE,
)
# Possessive: what a tag's inside has taken is never given back, so a failure costs its length once.
_TAG = re.compile(r"""<(/?)([a-zA-Z][a-zA-Z0-9:-]*+)((?:[^<>"']|"[^"<]*"|'[^'<]*')*+)>""")
_DECLARATION = re.compile(r"<[!?][^<>]*+>")
_BLANKS = re.compile(r"[ \t\f\v]+")
_LINES = re.compile(r"\s*\n\s*\n\s*")
ENOUGH = 2  # tags in a text that make it HTML; a single one may stand in any text


def looks_like_html(text: str) -> bool:
    """Tell whether a text is HTML: it begins like a page, or holds two or more of its tags.

    >>> looks_like_html("<p>fever</p>"), looks_like_html("a <b and c> d <br> e")
    (True, False)
    """
    if "<" not in text:
        return False
    if _START.match(text):
        return True
    tags = _KNOWN.finditer(text)
    return sum(1 for _ in zip(tags, range(ENOUGH), strict=False)) == ENOUGH


def html_to_text(text: str) -> str:
    r"""Return the words a browser would show; a block ends with a blank line.

    >>> html_to_text("<h1>Flu</h1><p>High <b>fe</b>ver &amp; cough<script>x < 1</script></p>")
    'Flu\n\nHigh fever & cough'
    """
    parts: list[str] = []
    place = 0
    while True:
        start = text.find("<", place)
        if start < 0:
            parts.append(text[place:])
            break
        parts.append(text[place:start])
        shown, place = _markup(text, start)
        parts.append(shown)
    plain = html.unescape("".join(parts))
    return _LINES.sub("\n\n", _BLANKS.sub(" ", plain)).strip()


def _markup(text: str, start: int) -> tuple[str, int]:
    """Return what the markup at a ``<`` shows, and where the text goes on."""
    if text.startswith("<!--", start):
        end = text.find("-->", start + 4)
        return " ", len(text) if end < 0 else end + 3
    declaration = _DECLARATION.match(text, start)
    if declaration:
        return " ", declaration.end()
    tag = _TAG.match(text, start)
    if not tag:
        return "<", start + 1
    closing, name = tag[1], tag[2].lower()
    if name in _HIDDEN and not closing and not tag[3].endswith("/"):
        return " ", _after_hidden(text, name, tag.end())
    return "\n\n" if name in _BLOCK else "", tag.end()


def _after_hidden(text: str, name: str, start: int) -> int:
    """Return the place behind the end tag of an element that shows nothing."""
    end = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(text, start)
    return len(text) if end is None else end.end()
