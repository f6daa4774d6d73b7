"""Lines of delimited fields, quoted where a field holds the delimiter, a quote or a newline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from setveil.core.errors import Problems

QUOTE = '"'
BLANKS = " \t"
DELIMITERS = (",", "\t", ";", "|")
NAMED = {
    "tab": "\t",
    "\\t": "\t",
    "space": " ",
    "comma": ",",
    "semicolon": ";",
    "pipe": "|",
}
LINE_ENDS = "end lines with a newline, or with carriage return and newline"


class _Malformed(Exception):  # noqa: N818  (a signal inside this module)
    def __init__(self, place: int, problem: str, fix: str) -> None:
        super().__init__(problem)
        self.place = place
        self.problem = problem
        self.fix = fix


def checked_delimiter(delimiter: str, what: str = "delimiter") -> str:
    r"""Return the delimiter (or separator) a user asked for, by itself or by name.

    >>> checked_delimiter("tab"), checked_delimiter("::")
    ('\t', '::')
    """
    delimiter = NAMED.get(delimiter, delimiter)
    if what == "separator" and delimiter in {"newline", "\\n", "\n"}:
        return "\n"
    if not delimiter or any(sign in delimiter for sign in (QUOTE, "\n", "\r", "\0")):
        raise ParameterError(
            f"the {what} {delimiter!r} cannot separate fields",
            fix='use a text without quotes and line ends, such as ";" or "tab"',
        )
    return delimiter


def header_delimiter(header: str) -> str:
    r"""Return what most often separates names in a header: a tab before others, else a comma.

    >>> [header_delimiter(line) for line in ("Age;Zip", "AnonID\tQuery, as typed", "x")]
    [';', '\t', ',']
    """
    return max(DELIMITERS, key=lambda sign: (header.count(sign), sign == "\t" and sign in header))


def split_fields(
    text: str,
    delimiter: str,
    more: Callable[[], str | None] = lambda: None,
    quote: str = QUOTE,
) -> tuple[str, list[str], list[int]]:
    r"""Split a record into its fields.

    Blanks around a field are dropped unless they stand within quotes; a quote inside a field that
    does not begin with one is an ordinary character.

    Parameters
    ----------
    text
        The record's first line.
    delimiter
        What separates fields.
    more
        Gives the next line when a quoted field goes on beyond the line's end; None at the end.
    quote
        What begins and ends a quoted field; empty where nothing does.

    Returns
    -------
    tuple
        The whole text of the record, its fields, and the place where each field begins.

    Examples
    --------
    >>> split_fields('a b, "c, d" ,5" pipe', ",")[1]
    ['a b', 'c, d', '5" pipe']
    """
    fields: list[str] = []
    starts: list[int] = []
    place = 0
    while True:
        place = _after_blanks(text, place, delimiter)
        starts.append(place)
        if quote and text.startswith(quote, place):
            field, text, place = _read_quoted(text, place, more, quote)
            place = _after_blanks(text, place, delimiter)
            at_end = place == len(text) or text[place:] == "\r"
            if not at_end and not text.startswith(delimiter, place):
                raise _Malformed(
                    place,
                    "follows a closing quote",
                    "write a quote inside a quoted field twice, or quote the whole field",
                )
        else:
            end = text.find(delimiter, place)
            at_end = end < 0
            end = len(text) - text.endswith("\r") if at_end else end
            field = text[place:end].strip(BLANKS)
            stray = text.find("\r", place, end)
            if stray >= 0:
                raise _Malformed(stray, "holds a carriage return inside the line", LINE_ENDS)
            place = end
        fields.append(field)
        if at_end:
            return text, fields, starts
        place += len(delimiter)


def _after_blanks(text: str, place: int, delimiter: str) -> int:
    while place < len(text) and text[place] in BLANKS and not text.startswith(delimiter, place):
        place += 1
    return place


def _read_quoted(
    text: str, start: int, more: Callable[[], str | None], quote: str
) -> tuple[str, str, int]:
    """Read a quoted field; return it, the text with the lines it took, and the place after it."""
    parts: list[str] = []
    lines = [text]
    place = start + 1
    line = text
    before = 0  # characters of earlier lines
    while True:
        end = line.find(quote, place)
        if end < 0:
            following = more()
            if following is None:
                raise _Malformed(
                    start, "opens a quote that is never closed", "close it, or double the quote"
                )
            parts += [line[place:], "\n"]
            before += len(line) + 1
            lines.append(following)
            line, place = following, 0
            continue
        parts.append(line[place:end])
        if not line.startswith(quote, end + 1):
            return "".join(parts), "\n".join(lines), before + end + 1
        parts.append(quote)
        place = end + 2


def place_of(text: str, place: int) -> tuple[int, int]:
    r"""Return how many lines further and at which column a place of a record stands.

    >>> place_of("a\nbc", 3)
    (1, 2)
    """
    return text.count("\n", 0, place), place - text.rfind("\n", 0, place)


class _Feed:
    """Lines one by one, remembering those a record took beyond its first."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self._lines = lines
        self._waiting: list[tuple[int, str]] = []  # given back, the next one last
        self.taken: list[tuple[int, str]] = []

    def first(self) -> tuple[int, str] | None:
        self.taken = []
        return self._waiting.pop() if self._waiting else next(self._lines, None)

    def more(self) -> str | None:
        entry = self._waiting.pop() if self._waiting else next(self._lines, None)
        if entry is None:
            return None
        self.taken.append(entry)
        return entry[1]

    def give_back(self) -> None:
        self._waiting += reversed(self.taken)


def records(
    lines: Iterator[tuple[int, str]], delimiter: str, problems: Problems, quote: str = QUOTE
) -> Iterator[tuple[int, str, list[str]]]:
    r"""Yield the line number, the text and the fields of each record.

    >>> from setveil.core.errors import Problems
    >>> rows = records(iter([(1, 'a,"b'), (2, 'c"'), (3, "")]), ",", Problems(name="x"))
    >>> [(line, fields) for line, _, fields in rows]
    [(1, ['a', 'b\nc']), (3, [''])]
    """
    feed = _Feed(lines)
    while entry := feed.first():
        number, line = entry
        if not (quote and quote in line) and "\r" not in line:
            yield number, line, [field.strip(BLANKS) for field in line.split(delimiter)]
            continue
        try:
            text, fields, _ = split_fields(line, delimiter, feed.more, quote)
        except _Malformed as error:
            whole = "\n".join([line, *(text for _, text in feed.taken)])
            further, column = place_of(whole, error.place)
            shown = whole[max(error.place - 1, 0) :].partition("\n")[0]
            problems.add(
                error.problem, line=number + further, column=column, text=shown, fix=error.fix
            )
            feed.give_back()  # only the first line is lost
        else:
            yield number, text, fields


def field_place(
    number: int, text: str, index: int, delimiter: str, quote: str = QUOTE
) -> tuple[int, int]:
    """Return line and column of a field of a well-formed record that begins at line `number`.

    >>> field_place(7, "a,  b", 1, ",")
    (7, 5)
    """
    starts = split_fields(text, delimiter, quote=quote)[2]
    further, column = place_of(text, starts[index])
    return number + further, column
